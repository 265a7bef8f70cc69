"""Is a fit with several threads or processes the fit with one, and does it take no more of them than it may?"""

import os
import threading
from itertools import count
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_info

from daguerreotype.edges import BicEdges, LarsEdges
from daguerreotype.edges.base import Capabilities, EdgeEstimator, LocalModels
from daguerreotype.training import scores as fitting
from daguerreotype.training.run import Run
from daguerreotype.training.scores import FitWorkers
from support.fits import additive_data, linear_data
from support.learners import make_learner
from support.waiting import HANG

SHORT = {"scales": "none", "k": 10, "max_iter": 5, "n_restarts": 2}


class OwnEdges(EdgeEstimator):
    """An estimator of a user's: LARS, and a note of who fits, while how many threads are there.

    Nobody goes on before ``together`` threads have come, so that each has its share whatever else runs.
    """

    def __init__(self, together=1):
        self.threads, self.most, self.before = set(), 0, set(threading.enumerate())
        self.together, self.all_came = together, threading.Event()

    def __deepcopy__(self, memo):
        return self  # a cloned learner's notes are these

    def prepare(self, table, rules=None):
        return OwnModels(LarsEdges().prepare(table), self)

    def come(self):
        """Note who came, and wait for the others."""
        self.threads.add(threading.current_thread().name)
        self.most = max(self.most, len(set(threading.enumerate()) - self.before))
        if len(self.threads) >= self.together:
            self.all_came.set()
        assert self.all_came.wait(HANG)


class OwnModels(LocalModels):
    def __init__(self, models, notes):
        self.models, self.notes = models, notes

    def fit(self, node, predecessors):
        self.notes.come()
        return self.models.fit(node, predecessors)


def assert_same(first, second):
    for name in ("adjacency_matrix_", "weights_", "causal_order_", "theta_", "loss_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for name in ("transform", "criterion"):
        np.testing.assert_array_equal(getattr(first._result, name), getattr(second._result, name))
    for name in ("refine_losses", "hits", "misses"):
        np.testing.assert_array_equal(getattr(first.history_, name), getattr(second.history_, name))
    assert (first.posterior_ is None) == (second.posterior_ is None)
    if first.posterior_ is not None:
        np.testing.assert_array_equal(first.posterior_.edges, second.posterior_.edges)


# ---------------------------------------------------------------------------- the same result


@pytest.mark.parametrize(
    "settings",
    [
        {"edges": "bic", "loss": "nll_ev"},
        {"edges": "gam"},
        {"edges": "gam", "loss": "entropy", "refine": False},
        {"edges": "lars", "loss": "bic"},
        {"edges": OwnEdges(), "loss": "bic", "refine": False},
        {"edges": Lasso(alpha=0.1), "loss": "bic", "refine": False, "max_iter": 2},
        {"edges": "gam", "scales": "auto"},
        {"edges": "bic", "knowledge": {"tiers": [[0, 1], [2, 3, 4, 5]]}, "loss": "bic"},
    ],
    ids=lambda settings: "-".join(str(value).split(" ")[0] for value in settings.values()),
)
def test_any_number_of_jobs_gives_the_same_fit(settings):
    for n_jobs, X in ((2, linear_data(0, 80, 6)), (3, additive_data(1, 80, 6))):
        alone = make_learner(**(SHORT | settings)).fit(X)
        assert_same(make_learner(n_jobs=n_jobs, **(SHORT | settings)).fit(X), alone)


def test_interventions_and_moments_allow_threads_too():
    X = linear_data(0, 90, 8)
    targets, settings = [0] * 20 + [None] * 70, {**SHORT, "n_restarts": 5, "edges": "bic", "loss": "bic"}
    alone, other = (make_learner(n_jobs=n, **settings).fit(X, interventions=targets) for n in (1, 2))
    assert_same(other, alone)
    alone, other = (make_learner(n_jobs=n, **settings).fit_moments(np.cov(X.T), 90) for n in (1, 2))
    assert_same(other, alone)


# ---------------------------------------------------------------------------- missing fits


def test_missing_fits_are_shared_out_among_threads():
    edges = OwnEdges(together=2)
    make_learner(edges=edges, loss="bic", n_jobs=2, **SHORT).fit(linear_data(0, 80, 8))
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

    class Models(LocalModels):
        can = Capabilities(processes=True)

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
    found = workers_of(models).map(models.fit, requests)
    assert [(node, total) for node, total, *_ in found] == [(node, node * (node - 1) // 2) for node in range(20)]
    assert os.getpid() not in {process for *_, process, _ in found}
    assert all(threads <= {1} for *_, threads in found)


def test_an_error_in_another_process_comes_back_in_its_own_words(sent_at_once):
    models = make_models()
    with pytest.raises(ValueError, match="no node -1"):
        workers_of(models).map(models.fit, [(1, np.arange(1)), (-1, np.arange(1))])


def test_models_that_cannot_leave_their_process_are_fitted_in_threads(sent_at_once):
    models = make_models(lock=threading.Lock())
    found = workers_of(models).map(models.fit, [(node, np.arange(node)) for node in range(4)])
    assert {process for *_, process, _ in found} == {os.getpid()}


@pytest.mark.parametrize(("seconds", "sent"), [(0.001, [False] * 3), (10.0, [False, True, True])])
def test_few_short_fits_stay_where_they_are_and_long_ones_are_sent_once_they_are_known(seconds, sent, monkeypatch):
    models, clock = make_models(), count(step=seconds)
    monkeypatch.setattr(fitting, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    workers = workers_of(models)
    for elsewhere in sent:
        found = workers.map(models.fit, [(node, np.arange(node)) for node in range(4)])
        assert (os.getpid() not in {process for *_, process, _ in found}) == elsewhere


def test_a_regressor_in_other_processes_gives_the_same_fit(sent_at_once):
    X, settings = linear_data(3, 60, 4), {**SHORT, "refine": False, "max_iter": 2, "k": 3}
    for loss, regressor in (("entropy", Lasso(alpha=0.1)), ("bic", HistGradientBoostingRegressor(max_iter=3))):
        settings["loss"] = loss
        alone, other = (make_learner(edges=regressor, n_jobs=n, **settings).fit(X) for n in (1, 2))
        assert_same(other, alone)


# ---------------------------------------------------------------------------- no more threads than asked for


def test_scales_restarts_and_fits_together_take_no_more_threads_than_jobs():
    X = linear_data(0, 60, 6)
    for n_jobs in (2, 4):
        edges = OwnEdges(together=2)
        make_learner(edges=edges, n_jobs=n_jobs, **(SHORT | {"scales": "auto", "loss": "bic"})).fit(X)
        assert 1 <= edges.most <= n_jobs


def test_a_fit_within_a_parallel_bootstrap_uses_one_thread():
    edges = OwnEdges()
    model = make_learner(edges=edges, loss="bic", n_jobs=4, **SHORT)
    with joblib.parallel_config("threading"):
        model.bootstrap(linear_data(0, 60, 5), 4, n_jobs=2)
    assert edges.threads
    assert not [name for name in edges.threads if name.startswith("daguerreotype")]


@pytest.mark.parametrize("edges", [OwnEdges(), BicEdges()], ids=["fits", "restarts"])
def test_a_fit_within_a_worker_of_joblib_starts_no_threads(edges, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a pool of threads")

    monkeypatch.setattr("daguerreotype._lib.parallel.ThreadPoolExecutor", refuse)
    monkeypatch.setattr("daguerreotype.training.refine.ThreadPoolExecutor", refuse)
    model, X = make_learner(edges=edges, loss="bic", n_jobs=2, **SHORT), linear_data(0, 60, 5)
    joblib.Parallel(2, backend="threading")(joblib.delayed(model.fit)(X) for _ in range(2))
    with pytest.raises(AssertionError, match="a pool of threads"):
        model.fit(X)
