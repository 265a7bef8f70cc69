"""Is a fit with several threads or processes the fit with one, and does it take no more of them than it may?"""

import logging
import os
import signal
import threading
from itertools import count
from types import SimpleNamespace

import joblib
import networkx as nx
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_info

import daguerreotype.pipeline as pipeline
from daguerreotype import Daguerreotype
from daguerreotype.edges import BicEdges, LarsEdges
from daguerreotype.operators import top_k_sparsemax
from daguerreotype.training import fit_workers as fitting
from daguerreotype.training.fit_workers import FitWorkers
from daguerreotype.training.run import Run
from support.fits import additive_data, linear_data
from support.waiting import HANG, wait_until

SHORT = {"transform": "none", "k": 10, "max_iter": 5, "n_restarts": 2}


class OwnEdges:
    """An estimator of a user's: LARS, and a note of who fits, while how many threads are there.

    Nobody goes on before ``together`` threads have come, so that each has its share whatever else runs.
    """

    def __init__(self, together=1):
        self.threads, self.most, self.before = set(), 0, set(threading.enumerate())
        self.together, self.all_came = together, threading.Event()

    def __deepcopy__(self, memo):
        return self  # a cloned learner's notes are these

    def prepare(self, table):
        return OwnModels(LarsEdges().prepare(table), self)

    def come(self):
        """Note who came, and wait for the others."""
        self.threads.add(threading.current_thread().name)
        self.most = max(self.most, len(set(threading.enumerate()) - self.before))
        if len(self.threads) >= self.together:
            self.all_came.set()
        assert self.all_came.wait(HANG)


class OwnModels:
    def __init__(self, models, notes):
        self.models, self.notes = models, notes

    def fit(self, node, predecessors):
        self.notes.come()
        return self.models.fit(node, predecessors)


def assert_same(first, second):
    np.testing.assert_array_equal(first.adjacency_matrix_, second.adjacency_matrix_)
    np.testing.assert_array_equal(first.weights_, second.weights_)
    np.testing.assert_array_equal(first.causal_order_, second.causal_order_)
    np.testing.assert_array_equal(first.edge_shares_, second.edge_shares_)
    assert (first.posterior_ is None) == (second.posterior_ is None)
    if first.posterior_ is not None:
        np.testing.assert_array_equal(first.posterior_.edges, second.posterior_.edges)
    np.testing.assert_array_equal(first.theta_, second.theta_)
    np.testing.assert_array_equal(first.history_.refine_losses, second.history_.refine_losses)
    np.testing.assert_array_equal(first.history_.hits, second.history_.hits)
    np.testing.assert_array_equal(first.history_.misses, second.history_.misses)
    assert (first.loss_, first.transform_, first.criterion_) == (
        second.loss_,
        second.transform_,
        second.criterion_,
    )


# ---------------------------------------------------------------------------- the same result


@pytest.mark.parametrize(
    "settings",
    [
        {"edges": "bic", "loss": "bic"},
        {"edges": "bic", "loss": "nll_ev"},
        {"edges": "gam"},
        {"edges": "gam", "loss": "entropy", "refine": False},
        {"edges": "lars", "loss": "bic"},
        {"edges": "lasso", "loss": "entropy", "refine": False},
        {"edges": OwnEdges(), "loss": "bic", "refine": False},
        {"edges": Lasso(alpha=0.1), "loss": "bic", "refine": False, "max_iter": 2},
        {"edges": "gam", "transform": "auto"},
        {"edges": "bic", "knowledge": {"tiers": [[0, 1], [2, 3, 4, 5]]}, "loss": "bic"},
    ],
    ids=lambda settings: "-".join(str(value).split(" ")[0] for value in settings.values()),
)
def test_any_number_of_jobs_gives_the_same_fit(settings):
    for seed, draw in ((0, linear_data), (1, additive_data)):
        X = draw(seed, 80, 6)
        alone = Daguerreotype(**(SHORT | settings)).fit(X)
        for n_jobs in (2, 3):
            assert_same(Daguerreotype(**(SHORT | settings), n_jobs=n_jobs).fit(X), alone)


def test_interventions_and_moments_allow_threads_too():
    X = linear_data(0, 90, 8)
    targets, settings = [0] * 20 + [None] * 70, {**SHORT, "n_restarts": 5, "edges": "bic", "loss": "bic"}
    alone, other = (Daguerreotype(**settings, n_jobs=n).fit(X, interventions=targets) for n in (1, 2))
    assert_same(other, alone)
    alone, other = (Daguerreotype(**settings, n_jobs=n).fit_moments(np.cov(X.T), 90) for n in (1, 2))
    assert_same(other, alone)


# ---------------------------------------------------------------------------- missing fits


def test_missing_fits_are_shared_out_among_threads():
    edges = OwnEdges(together=2)
    Daguerreotype(edges=edges, loss="bic", n_jobs=2, **SHORT).fit(linear_data(0, 80, 8))
    assert len(edges.threads) == 2
    assert edges.most == 1


@pytest.fixture
def sent_at_once(monkeypatch):
    monkeypatch.setattr(fitting, "START", -1.0)
    monkeypatch.setattr(fitting, "WORTH", -1.0)


def workers_of(models, n_jobs=2):
    return FitWorkers(models, Run(n_jobs=n_jobs))


def make_models(**attributes):
    """Models that hold Python's lock. A local class goes to other processes by value."""

    class Models:
        needs_processes = True

        def fit(self, node, predecessors):
            if node < 0:
                raise ValueError(f"no node {node}")
            threads = {library["num_threads"] for library in threadpool_info()}
            return node, predecessors.sum(), os.getpid(), threads

    models = Models()
    for name, value in attributes.items():
        setattr(models, name, value)
    return models


def test_fits_that_hold_python_are_made_in_other_processes_with_one_thread_each(sent_at_once):
    models = make_models()
    requests = [(node, np.arange(node)) for node in range(20)]
    found = workers_of(models).each(models.fit, requests)
    assert [(node, total) for node, total, *_ in found] == [(node, node * (node - 1) // 2) for node in range(20)]
    assert os.getpid() not in {process for *_, process, _ in found}
    assert all(threads <= {1} for *_, threads in found)


def test_an_error_in_another_process_comes_back_in_its_own_words(sent_at_once):
    models = make_models()
    with pytest.raises(ValueError, match="no node -1"):
        workers_of(models).each(models.fit, [(1, np.arange(1)), (-1, np.arange(1))])


def test_models_that_cannot_leave_their_process_are_fitted_in_threads(sent_at_once):
    models = make_models(lock=threading.Lock())
    found = workers_of(models).each(models.fit, [(node, np.arange(node)) for node in range(4)])
    assert {process for *_, process, _ in found} == {os.getpid()}


@pytest.mark.parametrize(("seconds", "sent"), [(0.001, [False] * 3), (10.0, [False, True, True])])
def test_few_short_fits_stay_where_they_are_and_long_ones_are_sent_once_they_are_known(seconds, sent, monkeypatch):
    models, clock = make_models(), count(step=seconds)
    monkeypatch.setattr(fitting, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    workers = workers_of(models)
    for elsewhere in sent:
        found = workers.each(models.fit, [(node, np.arange(node)) for node in range(4)])
        assert (os.getpid() not in {process for *_, process, _ in found}) == elsewhere


@pytest.mark.parametrize("loss", ["bic", "entropy"])
def test_a_regressor_in_other_processes_gives_the_same_fit(loss, sent_at_once):
    X, settings = linear_data(3, 60, 4), {**SHORT, "loss": loss, "refine": False, "max_iter": 2, "k": 3}
    for regressor in (Lasso(alpha=0.1), HistGradientBoostingRegressor(max_iter=3)):
        alone, other = (Daguerreotype(edges=regressor, n_jobs=n, **settings).fit(X) for n in (1, 2))
        assert_same(other, alone)


# ---------------------------------------------------------------------------- no more threads than asked for


def test_scales_restarts_and_fits_together_take_no_more_threads_than_jobs():
    X = linear_data(0, 60, 6)
    for n_jobs in (2, 4, 6):
        edges = OwnEdges(together=2)
        Daguerreotype(edges=edges, n_jobs=n_jobs, **(SHORT | {"transform": "auto", "loss": "bic"})).fit(X)
        assert 1 <= edges.most <= n_jobs


def test_a_fit_within_a_parallel_bootstrap_uses_one_thread():
    edges = OwnEdges()
    model = Daguerreotype(edges=edges, loss="bic", n_jobs=4, **SHORT)
    with joblib.parallel_config("threading"):
        model.bootstrap(linear_data(0, 60, 5), 4, n_jobs=2)
    assert edges.threads
    assert not [name for name in edges.threads if name.startswith("daguerreotype")]


@pytest.mark.parametrize("edges", [OwnEdges(), BicEdges()], ids=["fits", "restarts"])
def test_a_fit_within_a_worker_of_joblib_starts_no_threads(edges, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a pool of threads")

    monkeypatch.setattr("daguerreotype._lib.parallel.ThreadPoolExecutor", refuse)
    monkeypatch.setattr("daguerreotype.training.parallel_restarts.ThreadPoolExecutor", refuse)
    model, X = Daguerreotype(edges=edges, loss="bic", n_jobs=2, **SHORT), linear_data(0, 60, 5)
    joblib.Parallel(2, backend="threading")(joblib.delayed(model.fit)(X) for _ in range(2))
    with pytest.raises(AssertionError, match="a pool of threads"):
        model.fit(X)


# ---------------------------------------------------------------------------- Ctrl-C


def press_ctrl_c():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


ENDLESS = {"max_iter": 10**7, "patience": 10**7, "tol": 0.0}


def test_ctrl_c_on_the_first_scale_ends_the_fit(caplog):
    steps = count(1)

    def operator(theta, tau):
        if next(steps) == 20:
            press_ctrl_c()
        return top_k_sparsemax(theta, 5, tau=tau)

    X = np.exp(linear_data(0, 60, 4))  # on which another scale would be tried
    with caplog.at_level(logging.INFO, "daguerreotype"):
        model = Daguerreotype(operator, "bic", **ENDLESS).fit(X)
    assert model.interrupted_
    assert model.transform_ == "none"
    assert "chose scales" not in caplog.text
    assert nx.is_directed_acyclic_graph(model.causal_graph_)


def test_ctrl_c_while_scales_are_compared_keeps_what_was_found(caplog, monkeypatch):
    def pressed(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "choose_scales", pressed)
    X = np.exp(linear_data(0, 100, 4))
    with caplog.at_level(logging.WARNING, "daguerreotype"):
        model = Daguerreotype(edges="bic").fit(X)
    assert "interrupted while scales were compared" in caplog.text
    assert model.interrupted_
    assert model.transform_ == "none"
    assert nx.is_directed_acyclic_graph(model.causal_graph_)


def test_ctrl_c_during_missing_fits_keeps_the_best_so_far(caplog):
    fits = count(1)

    class Edges(OwnEdges):
        def prepare(self, table):
            models = super().prepare(table)
            fit, pressed = models.fit, threading.Lock()

            def counted(node, predecessors):
                # In the thread that hears it, once. While a kernel returns its arrays numba makes an error of it.
                heard = threading.current_thread() is threading.main_thread()
                if next(fits) >= 40 and heard and pressed.acquire(blocking=False):
                    press_ctrl_c()
                return fit(node, predecessors)

            models.fit = counted
            return models

    with caplog.at_level(logging.WARNING, "daguerreotype"):
        model = Daguerreotype(edges=Edges(), loss="bic", transform="none", n_jobs=2, **ENDLESS).fit(
            linear_data(0, 60, 8)
        )
    assert "the best order so far is kept" in caplog.text
    assert model.interrupted_
    assert nx.is_directed_acyclic_graph(model.causal_graph_)


def test_ctrl_c_while_restarts_run_ahead_keeps_the_best_so_far(caplog):
    X, before = linear_data(5, 100, 30, density=0.2), set(threading.enumerate())

    def restarts_run():
        """Whether two threads of ours are at it; nothing else of such a fit has any."""
        new = set(threading.enumerate()) - before
        return sum(thread.name.startswith("daguerreotype") for thread in new) == 2

    def press_when_they_run():
        try:
            wait_until(restarts_run)
        finally:
            press_ctrl_c()

    threading.Thread(target=press_when_they_run).start()
    with caplog.at_level(logging.WARNING, "daguerreotype"):
        model = Daguerreotype(
            edges="bic", loss="bic", transform="none", max_iter=1, n_restarts=10**6, n_jobs=2
        ).fit(X)
    assert "interrupted while refining: the best order so far is kept" in caplog.text
    assert model.interrupted_
    assert nx.is_directed_acyclic_graph(model.causal_graph_)
