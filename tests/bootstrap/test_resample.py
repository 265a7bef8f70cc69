"""Resamples are drawn and counted as they should be."""

import io
import logging
import sys
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from daguerreotype import Daguerreotype
from daguerreotype.bootstrap import bootstrap
from daguerreotype.training import Bilevel
from support.fits import linear_data
from support.learners import make_learner
from support.resampling import QUICK, ByMean, assert_same, draws_by_hand

NAMES = ["age", "dose", "diet", "outcome"]


@pytest.fixture
def table(rng):
    return pd.DataFrame(rng.normal(size=(40, 4)), columns=NAMES)


def collider(seed, n=500):
    """a -> c <- b and a column that has to do with nothing."""
    rng = np.random.default_rng(seed)
    a, b, u = rng.normal(size=(3, n))
    return pd.DataFrame({"u": u, "c": a - b + 0.5 * rng.normal(size=n), "a": a, "b": b})


# ---------------------------------------------------------------------- what is counted


def test_frequencies_are_means_over_refits_by_hand_with_the_same_seeds():
    X = linear_data(0, 100, 4)
    adjacencies, paths, befores = [], [], []
    for seed, rows in draws_by_hand(100, 7, 6):
        model = make_learner(random_state=seed, **QUICK).fit(X[rows])
        adjacencies.append(model.adjacency_matrix_)
        closed = nx.transitive_closure_dag(nx.DiGraph(model.adjacency_matrix_))
        paths.append(nx.to_numpy_array(closed, nodelist=range(4)))
        place = list(model.causal_order_).index
        befores.append([[place(i) < place(j) for j in range(4)] for i in range(4)])
    assert len({each.tobytes() for each in adjacencies}) > 1
    result = make_learner(**QUICK).bootstrap(X, 6, random_state=7)
    np.testing.assert_allclose(result.edge_frequencies, np.mean(adjacencies, axis=0))
    np.testing.assert_allclose(result.ancestor_frequencies, np.mean(paths, axis=0))
    np.testing.assert_allclose(result.order_frequencies, np.mean(befores, axis=0))


def test_stability_is_the_mean_agreement_of_related_pairs_with_the_consensus_order(table):
    result = bootstrap(ByMean(), table, 20)
    place = {name: number for number, name in enumerate(result.consensus_order)}
    signs = []
    for seed, rows in draws_by_hand(40, 0, 20):
        graph = nx.DiGraph(pairwise(ByMean(random_state=seed).fit(table.iloc[rows]).causal_order_))
        for cause, effect in nx.transitive_closure_dag(graph).edges:
            signs.append(1 if place[cause] < place[effect] else -1)
    assert result.order_stability == pytest.approx(np.mean(signs))
    assert result.order_stability < 1


def test_orders_that_never_change_are_perfectly_stable(table):
    result = bootstrap(ByMean(), table + 10 * np.arange(4), 5)
    assert result.order_stability == 1
    assert result.consensus_order == NAMES
    assert (result.consensus.to_numpy() == np.eye(4, k=1)).all()


def test_without_any_edge_there_is_no_order_to_be_stable(rng):
    result = make_learner(penalty=1000.0, **QUICK).bootstrap(rng.normal(size=(50, 3)), 2)
    assert not result.edge_frequencies.any()
    assert np.isnan(result.order_stability)
    assert result.consensus_graph.number_of_edges() == 0


@pytest.mark.parametrize("scheme", [{}, {"fraction": 0.5, "replace": False}], ids=["bootstrap", "halves"])
def test_strong_edges_are_frequent_and_an_independent_column_stays_alone(scheme):
    strong, spurious = [], []
    for seed in range(3):
        result = make_learner(**QUICK).bootstrap(collider(seed), 20, **scheme)
        frequencies = result.edge_frequencies
        strong.append(frequencies.loc[["a", "b"], "c"].min())
        spurious.append(max(frequencies.loc["u"].max(), frequencies["u"].max()))
        assert set(result.consensus_graph.edges) == {("a", "c"), ("b", "c")}
    assert np.mean(strong) > 0.9
    assert np.mean(spurious) < 0.2


def test_a_direction_that_the_data_leave_open_is_near_one_half(rng):
    cause = rng.normal(size=300)
    X = np.column_stack([cause, cause + rng.normal(size=300)])
    frequencies = make_learner(**QUICK).bootstrap(X, 40).edge_frequencies
    assert frequencies[0, 1] + frequencies[1, 0] == 1
    assert 0.25 < frequencies[0, 1] < 0.75


# ---------------------------------------------------------------------- what goes in and comes out


def test_names_in_names_out(table):
    result = bootstrap(ByMean(), table, 3)
    for matrix in (result.edge_frequencies, result.order_frequencies, result.consensus, *result.edge_intervals()):
        assert matrix.index.tolist() == matrix.columns.tolist() == NAMES
    assert set(result.consensus_graph.nodes) == set(result.consensus_order) == set(NAMES)


@pytest.mark.parametrize("kind", [np.asarray, lambda table: table.to_numpy().tolist()], ids=["array", "list"])
def test_a_table_without_names_gives_arrays_with_the_same_numbers(table, kind):
    plain, named = bootstrap(ByMean(), kind(table), 5), bootstrap(ByMean(), table, 5)
    assert isinstance(plain.edge_frequencies, np.ndarray)
    np.testing.assert_array_equal(plain.consensus, named.consensus)
    assert [NAMES[j] for j in plain.consensus_order] == named.consensus_order
    assert set(plain.consensus_graph.nodes) == {0, 1, 2, 3}


def test_neither_learner_nor_table_is_changed():
    X = linear_data(0, 60, 3)
    model, before = make_learner(**QUICK).fit(X), X.copy()
    state = dict(vars(model))
    model.bootstrap(X[:, :2], 2)
    assert vars(model) == state
    np.testing.assert_array_equal(X, before)


def test_edges_of_the_consensus_carry_their_frequencies(table):
    result = bootstrap(ByMean(), table, 9)
    for cause, effect, data in result.consensus_graph.edges(data=True):
        assert data == {
            "frequency": result.edge_frequencies.loc[cause, effect],
            "reverse_frequency": result.edge_frequencies.loc[effect, cause],
        }
    lower = replace(result, threshold=0.2)
    assert lower.consensus_graph.number_of_edges() > result.consensus_graph.number_of_edges()
    pd.testing.assert_frame_equal(lower.consensus, result.consensus_at(0.2))


def test_intervals_are_those_of_wilson(table):
    result = bootstrap(ByMean(), table, 20)
    lower, upper = result.edge_intervals(0.9)
    for cause in NAMES:
        for effect in NAMES:
            hits = round(20 * result.edge_frequencies.loc[cause, effect])
            expected = binomtest(hits, 20).proportion_ci(0.9, method="wilson")
            assert (lower.loc[cause, effect], upper.loc[cause, effect]) == pytest.approx(
                (expected.low, expected.high)
            )


def test_the_record_keeps_what_the_run_was(table):
    result = bootstrap(ByMean(scale=2.0), table, 3, random_state=5, fraction=0.5, replace=False, threshold=0.7)
    assert (result.n_resamples, result.random_state, result.threshold) == (3, 5, 0.7)
    assert result.settings["learner"] == "ByMean"
    assert (result.settings["scale"], result.settings["fraction"], result.settings["replace"]) == (2.0, 0.5, False)
    assert "threshold=0.7" in repr(result)
    with pytest.raises(FrozenInstanceError):
        result.threshold = 0.1


# ---------------------------------------------------------------------- how rows are drawn


def test_more_resamples_begin_with_the_same_ones(table):
    few, many = bootstrap(ByMean(), table, 3), bootstrap(ByMean(), table, 6)
    difference = 6 * many.edge_frequencies - 3 * few.edge_frequencies
    assert difference.to_numpy().min() >= -1e-12
    assert difference.to_numpy().sum() == pytest.approx(3 * 3)


def test_without_replacement_no_row_comes_twice():
    class Counted(ByMean):
        sizes = []

        def fit(self, X):
            self.sizes.append((len(X), len(np.unique(X[:, 0]))))
            return super().fit(X)

    X = np.arange(60.0).reshape(20, 3)
    bootstrap(Counted(), X, 4, fraction=0.4, replace=False)
    assert Counted.sizes == [(8, 8)] * 4
    Counted.sizes.clear()
    bootstrap(Counted(), X, 4)
    assert all(drawn == 20 > different for drawn, different in Counted.sizes)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_fit_parameters_with_one_entry_per_row_go_with_their_rows(table, kind):
    first = table["age"]
    labels = [str(value) for value in first]
    for values in (first.to_numpy(), first):
        bootstrap(ByMean(), kind(table), 3, fit_params={"first": values, "labels": labels, "name": "abc"})
    with pytest.raises(TypeError, match="came with other rows"):
        bootstrap(ByMean(), kind(table), 3, fit_params={"first": first[::-1].to_numpy()})


# ---------------------------------------------------------------------- what cannot be fitted


def test_rows_with_a_constant_column_are_drawn_again():
    X = linear_data(0, 40, 3)
    X[:, 2] = np.arange(40) == 7  # absent from more than a third of all draws
    result = make_learner(**QUICK).bootstrap(X, 8)
    assert result.n_redraws > 0
    assert result.failures == {}
    assert result.n_resamples == 8


def test_a_resample_that_fails_whatever_is_drawn_is_left_out_and_listed(table, caplog):
    seeds = [seed for seed, _ in draws_by_hand(40, 0, 8)]
    failing = [index for index, seed in enumerate(seeds) if seed % 2 == 0]
    assert 0 not in failing
    with caplog.at_level(logging.WARNING, "daguerreotype"):
        result = bootstrap(ByMean(even_seeds_fail=True), table, 8)
    assert result.failures == dict.fromkeys(failing, "an even seed")
    assert (result.n_resamples, result.n_redraws) == (8 - len(failing), 10 * len(failing))
    assert f"{len(failing)} of 8 resamples could not be fitted" in caplog.text
    assert result.order_frequencies.loc["age", "dose"] + result.order_frequencies.loc["dose", "age"] == 1


def test_a_first_resample_that_fails_ends_the_run_with_the_reason():
    with pytest.raises(
        ValueError, match=r"the first resample could not be fitted in 10 draws of 30 rows.*loss must be"
    ):
        bootstrap(Daguerreotype(training=Bilevel(loss="nothing")), linear_data(0, 30, 3), 5)


def test_an_error_that_is_not_about_values_comes_through():
    class Broken(ByMean):
        def fit(self, X):
            raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        bootstrap(Broken(), np.eye(5), 5)


def test_a_table_that_cannot_be_learned_from_is_refused_with_its_own_rows(table):
    table.loc[9, "dose"] = np.nan
    with pytest.raises(ValueError, match=r"1 NaN value: 'dose' \(1\); the first is in row 10"):
        make_learner(missing="error", **QUICK).bootstrap(table, 5)


def test_resamples_of_a_table_with_gaps_have_gaps(table):
    table.loc[::7, "dose"] = np.nan
    found = make_learner(**{**QUICK, "edges": "bic", "loss": "bic"}).bootstrap(table, 4)
    assert found.n_resamples == 4
    assert not found.failures


def test_settings_are_checked_before_any_work(table):
    for arguments, message in (
        ({"fraction": 0.0}, "fraction must be above 0 and at most 1, got 0.0"),
        ({"fraction": 1.5}, "fraction must be above 0 and at most 1, got 1.5"),
        ({"replace": False}, "replace=False with fraction=1.0 draws the same rows every time. Give a smaller"),
        ({"threshold": 0}, "threshold must be above 0 and at most 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            bootstrap(ByMean(), table, **arguments)


def test_thresholds_and_confidences_outside_their_range_are_refused(table):
    result = bootstrap(ByMean(), table, 2)
    with pytest.raises(ValueError, match=r"threshold must be above 0 and at most 1, got 1.01"):
        result.consensus_at(1.01)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 95"):
        result.edge_intervals(95)


# ---------------------------------------------------------------------- what is shown


@pytest.mark.parametrize("verbose", [0, 1])
def test_one_bar_if_verbose_and_nothing_else(table, verbose, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    bootstrap(ByMean(verbose=verbose), table, 4)
    assert shown.getvalue().count("resamples") == verbose
    assert ("4/4" in shown.getvalue()) == bool(verbose)


def test_the_learner_is_silent_and_alone_in_its_worker(table):
    class Seen(ByMean):
        settings = []

        def fit(self, X):
            self.settings.append((self.n_jobs, self.verbose))
            return super().fit(X)

    result = bootstrap(Seen(n_jobs=4, verbose=2), table, 2)
    assert Seen.settings == [(1, 0)] * 2
    assert_same(result, bootstrap(ByMean(), table, 2))
