"""Orders against the true graph, and how far data give them away, against numpy and CausalDisco."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from daguerreotype.graphs import depths, topological_order
from daguerreotype.metrics import (
    order_divergence,
    r2_sortability,
    sortability_warning,
    topological_order_correlation,
    var_sortability,
)

CHAIN = np.eye(4, k=1, dtype=int)
COLLIDER = pd.DataFrame([[0, 0, 1], [0, 0, 1], [0, 0, 0]], columns=["rain", "hose", "grass"])
graphs = st.tuples(st.integers(2, 10), st.floats(0, 1), st.integers(0, 10**6))


@given(graphs)
def test_divergence_is_the_number_of_true_edges_that_point_back(random_dag, parameters):
    d, density, seed = parameters
    rng = np.random.default_rng(seed)
    true, order = random_dag(rng, d, density), rng.permutation(d)
    forbidden = np.tril(true[np.ix_(order, order)]).sum()
    assert order_divergence(true, order) == forbidden
    assert order_divergence(true, order[::-1]) == true.sum() - forbidden
    assert order_divergence(true, topological_order(true)) == 0


@given(graphs)
def test_the_correlation_is_that_of_numpy_and_does_not_depend_on_names(random_dag, parameters):
    d, density, seed = parameters
    rng = np.random.default_rng(seed)
    true, order, moved = random_dag(rng, d, density), rng.permutation(d), rng.permutation(d)
    value = topological_order_correlation(true, order)
    expected = np.corrcoef(np.argsort(order), depths(true))[0, 1] if true.any() else 0.0
    assert value == pytest.approx(expected)
    relabelled, same_order = true[np.ix_(moved, moved)], np.argsort(moved)[order]
    assert topological_order_correlation(relabelled, same_order) == pytest.approx(value, abs=1e-12)


def test_an_order_is_given_by_names_or_by_positions():
    names = ["grass", "rain", "hose"]
    for order in (names, [2, 0, 1], np.array(names), pd.Index([2, 0, 1]), iter(names)):
        assert order_divergence(COLLIDER, order) == 2


def test_what_is_no_order_is_refused_with_the_nodes_at_fault():
    cases = [
        (CHAIN, [0, 1, 2], r"not a permutation of the 4 nodes \(missing: 3\)"),
        (CHAIN, [0, 1, 2, 4], r"\(missing: 3; unknown: 4\)"),
        (CHAIN, [0, 1, 2, 3, 3], r"\(repeated: 3\)"),
        (COLLIDER, ["rain", "hose", "gras"], r"\(missing: grass; unknown: gras\). Give every node once"),
    ]
    for true, order, text in cases:
        for metric in (order_divergence, topological_order_correlation):
            with pytest.raises(ValueError, match=text):
                metric(true, order)
    with pytest.raises(TypeError, match="order holds entries of type list; expected node indices or names"):
        order_divergence(nx.DiGraph([(0, 1)]), [[0], [1]])


problems = st.tuples(st.integers(2, 15), st.floats(0.05, 1), st.integers(0, 10**6))


def draw_data(dag, rng, n=60):
    """Linear data with noise of equal variance: variances grow along the edges."""
    weights = dag * rng.uniform(0.5, 2, dag.shape) * rng.choice([-1, 1], dag.shape)
    return rng.normal(size=(n, len(dag))) @ np.linalg.inv(np.eye(len(dag)) - weights)


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@given(problems)
def test_sortabilities_equal_those_of_causaldisco(random_dag, parameters):
    d, density, seed = parameters
    rng = np.random.default_rng(seed)
    true = random_dag(rng, d, density)
    assume(true.any())
    X = draw_data(true, rng)
    analytics = pytest.importorskip("CausalDisco.analytics")
    assert var_sortability(X, true) == pytest.approx(analytics.var_sortability(X, true))
    assert var_sortability(standardized(X), true) == 0.5
    assert r2_sortability(standardized(X), true) == pytest.approx(analytics.r2_sortability(X, true, tol=1e-9))


def test_a_column_that_repeats_others_is_fully_explained_and_the_rest_as_by_regression(rng):
    X = rng.normal(size=(50, 4))
    X[:, 2] = X[:, 0] + X[:, 1]
    X[:, 3] += X[:, 0]
    # columns 0, 1 and 2 tie at R² = 1; column 3 scores less: both paths into it fall, 0 -> 1 -> 2 tie
    edges_between_ties = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    edges_from_3 = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]]
    assert r2_sortability(X, edges_between_ties) == 0.5
    assert r2_sortability(X, edges_from_3) == 1.0
    assert r2_sortability(rng.normal(size=(4, 6)), np.eye(6, k=1)) == 0.5  # more columns than rows


def test_columns_are_matched_to_named_nodes_by_name(rng):
    X = pd.DataFrame(rng.normal(size=(100, 4)) * [1, 10, 100, 1000], columns=list("abcd"))
    true = pd.DataFrame(CHAIN, columns=list("abcd"))
    assert var_sortability(X[list("dbca")], true) == 1.0
    assert var_sortability(X, CHAIN) == var_sortability(X.to_numpy(), true) == 1.0
    numbered = X.set_axis(range(4), axis=1)
    assert var_sortability(numbered, true) == var_sortability(numbered[[3, 1, 0, 2]], CHAIN) == 1.0


def test_a_graph_without_edges_has_no_sortability(rng):
    assert np.isnan(var_sortability(rng.normal(size=(5, 3)), np.zeros((3, 3))))
    assert np.isnan(r2_sortability(rng.normal(size=(9, 3)), np.zeros((3, 3))))


def test_without_a_graph_the_warning_names_the_columns_of_extreme_variance(rng):
    X = pd.DataFrame(rng.normal(size=(500, 3)) * [1, 30, 5], columns=["height", "income", "age"])
    warning = sortability_warning(X)
    assert "(height) to" in warning
    assert "(income)" in warning
    assert "Standardize the columns" in warning
    assert sortability_warning(standardized(X)) is None


def test_standardizing_silences_the_variance_and_not_the_r2(rng):
    true = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    X = rng.normal(size=(2000, 4))
    X[:, 2] += X[:, 0] + X[:, 1]
    both, one = sortability_warning(X, true), sortability_warning(standardized(X), true)
    assert "Var-sortability" in both
    assert "Var-sortability" not in one
    for warning in (both, one):
        assert "R²-sortability is 1.00: sorting the columns by growing R² given all others" in warning
        assert "Standardizing does not remove this" in warning


def test_data_that_give_nothing_away_bring_no_warning(rng):
    X = standardized(rng.normal(size=(300, 4)))
    assert sortability_warning(X, np.zeros((4, 4))) is None
    assert sortability_warning(X[:, [0, 1]], [[0, 1], [0, 0]]) is None


def test_data_that_do_not_fit_are_refused_in_the_words_of_the_user(rng):
    cases = [
        (np.zeros(4), "expected a table, with rows and columns"),
        (np.zeros((1, 4)), r"the data have shape \(1, 4\); expected \(n, d\) with n >= 2 rows"),
        (np.ones((9, 3)), "the data have 3 columns and the true graph 4 nodes"),
        (np.full((9, 4), np.nan), r"X has 36 NaN values: '0' \(9\), .* Missing values must be imputed"),
        (
            pd.DataFrame({"a": [1, 2], "b": [3, 5], "c": [np.inf, 1], "d": [0, 1]}),
            r"X has 1 infinite value: 'c' \(1\); the first is in row 1",
        ),
    ]
    for X, text in cases:
        for measure in (var_sortability, r2_sortability, sortability_warning):
            with pytest.raises(ValueError, match=text):
                measure(X, CHAIN)
    true = pd.DataFrame(CHAIN, columns=list("abcd"))
    X = pd.DataFrame(rng.normal(size=(9, 4)), columns=list("abcd"))
    with pytest.raises(ValueError, match="only the true graph has d; only the data has x"):
        var_sortability(X.rename(columns={"d": "x"}), true)
    with pytest.raises(ValueError, match=r"columns without variation have no R²: b\. Drop them"):
        r2_sortability(X.assign(b=0.1), CHAIN)
    with pytest.raises(ValueError, match=r"could not convert to numbers: column 'colour' holds"):
        sortability_warning(pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]}))
