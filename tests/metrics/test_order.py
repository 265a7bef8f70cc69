import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.graphs import depths, topological_order
from daguerreotype.metrics import order_divergence, topological_order_correlation

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
