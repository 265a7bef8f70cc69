from itertools import pairwise, permutations, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.graphs import depths, topological_order
from daguerreotype.metrics import order_divergence, shd, topological_order_correlation

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


def test_the_divergence_is_the_smallest_distance_of_a_graph_with_this_order(random_dag, rng):
    true = random_dag(rng, 4, 0.7)
    upper = np.triu_indices(4, 1)
    for order in permutations(range(4)):
        distances = []
        for edges in product([0, 1], repeat=6):
            graph = np.zeros((4, 4), dtype=int)
            graph[np.take(order, upper[0]), np.take(order, upper[1])] = edges
            distances.append(shd(true, graph))
        assert order_divergence(true, order) == min(distances)


def test_the_correlation_of_a_chain_is_1_in_order_and_minus_1_reversed():
    assert topological_order_correlation(CHAIN, [0, 1, 2, 3]) == pytest.approx(1)
    assert topological_order_correlation(CHAIN, [3, 2, 1, 0]) == pytest.approx(-1)


@given(graphs)
def test_the_correlation_is_that_of_numpy_and_does_not_depend_on_names(random_dag, parameters):
    d, density, seed = parameters
    rng = np.random.default_rng(seed)
    true, order, moved = random_dag(rng, d, density), rng.permutation(d), rng.permutation(d)
    value = topological_order_correlation(true, order)
    if true.any():
        assert value == pytest.approx(np.corrcoef(np.argsort(order), depths(true))[0, 1])
    relabelled, same_order = true[np.ix_(moved, moved)], np.argsort(moved)[order]
    assert topological_order_correlation(relabelled, same_order) == pytest.approx(value, abs=1e-12)


@given(graphs)
def test_the_correlation_reaches_1_only_where_there_is_a_single_topological_order(random_dag, parameters):
    d, density, seed = parameters
    true = random_dag(np.random.default_rng(seed), d, density)
    order = topological_order(true)
    single = all(true[i, j] for i, j in pairwise(order))
    value = topological_order_correlation(true, order)
    assert (value > 1 - 1e-9) == single
    assert topological_order_correlation(true, order[::-1]) == pytest.approx(-value)


def test_nodes_of_one_level_are_interchangeable():
    values = [topological_order_correlation(COLLIDER, order) for order in ([0, 1, 2], [1, 0, 2])]
    assert values[0] == pytest.approx(values[1])
    assert values[0] == pytest.approx(np.sqrt(3) / 2)


@pytest.mark.parametrize("d", [1, 3])
def test_without_edges_every_order_has_correlation_and_divergence_zero(d):
    assert topological_order_correlation(np.zeros((d, d)), range(d)) == 0.0
    assert order_divergence(np.zeros((d, d)), range(d)) == 0


@pytest.mark.parametrize(
    "order",
    [
        ["grass", "rain", "hose"],
        [2, 0, 1],
        np.array(["grass", "rain", "hose"]),
        pd.Index([2, 0, 1]),
        (name for name in ["grass", "rain", "hose"]),
    ],
    ids=["names", "positions", "array", "index", "generator"],
)
def test_an_order_is_given_by_names_or_by_positions(order):
    assert order_divergence(COLLIDER, order) == 2


@pytest.mark.parametrize(
    ("true", "order", "text"),
    [
        (CHAIN, [0, 1, 2], r"not a permutation of the 4 nodes \(missing: 3\)"),
        (CHAIN, [0, 1, 2, 4], r"\(missing: 3; unknown: 4\)"),
        (CHAIN, [0, 1, 2, 2], r"\(missing: 3; repeated: 2\)"),
        (CHAIN, [0, 1, 2, 3, 3], r"\(repeated: 3\)"),
        (COLLIDER, ["rain", "hose"], r"\(missing: grass\)"),
        (COLLIDER, ["rain", "hose", "gras"], r"\(missing: grass; unknown: gras\). Give every node once"),
    ],
)
@pytest.mark.parametrize("metric", [order_divergence, topological_order_correlation])
def test_what_is_no_order_is_refused_with_the_nodes_at_fault(metric, true, order, text):
    with pytest.raises(ValueError, match=text):
        metric(true, order)


def test_an_order_of_lists_is_refused():
    with pytest.raises(TypeError, match="order holds entries of type list; expected node indices or names"):
        order_divergence(nx.DiGraph([(0, 1)]), [[0], [1]])
