import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.graphs import Dag, align, as_adjacency, as_dag, depths, find_cycle, topological_order

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
NAMES = ("a", "b", "c")


def frame(entries, index, columns):
    return pd.DataFrame(entries, index=index and list(index), columns=list(columns))


def test_a_graph_of_any_type_is_read_as_booleans_with_its_names():
    weighted = nx.DiGraph()
    weighted.add_nodes_from(NAMES)
    weighted.add_weighted_edges_from([("a", "b", -0.3), ("b", "c", 0.0)])
    labelled = frame(CHAIN, NAMES, NAMES)
    named = [labelled.loc[["c", "a", "b"]], pd.DataFrame(CHAIN, columns=NAMES), weighted]
    # Labels from 0 to d - 1 are positions.
    moved = pd.DataFrame(CHAIN)
    plain = [CHAIN.tolist(), nx.DiGraph([(1, 2), (0, 1)]), moved.loc[[2, 0, 1], [1, 2, 0]], moved[[1, 2, 0]]]
    plain += [CHAIN.astype(dtype) for dtype in (bool, int, np.int8, np.uint8, float, np.float32, object)]
    for graphs, names in ((named, NAMES), (plain, None)):
        for graph in graphs:
            dag = as_dag(graph)
            assert dag.names == names
            assert dag.adjacency.dtype == np.bool_
            np.testing.assert_array_equal(dag.adjacency, CHAIN == 1)
    assert [Dag(CHAIN == 1).label(2), Dag(CHAIN == 1, NAMES).label(2)] == ["2", "c"]


def test_a_checked_graph_passes_through_and_the_input_stays_as_it_was():
    matrix = CHAIN.astype(float)
    dag = as_dag(matrix)
    assert as_dag(dag) is dag
    assert as_adjacency(dag) is dag
    dag.adjacency[0, 2] = True
    np.testing.assert_array_equal(matrix, CHAIN)


def test_what_is_no_graph_is_refused_in_the_words_of_the_user():
    text, number = TypeError, ValueError
    for graph, error, message in (
        (np.zeros((2, 3)), number, r"my graph has shape \(2, 3\); expected a square matrix"),
        (np.zeros(4), number, r"my graph has shape \(4,\); expected a square matrix"),
        (pd.DataFrame(np.zeros((3, 2)), columns=["a", "b"]), number, r"my graph has shape \(3, 2\)"),
        (np.zeros((0, 0)), number, "my graph has no nodes"),
        (nx.DiGraph(), number, "my graph has no nodes"),
        ([[0, 0.37], [0, 0]], number, r"entry \(0, 1\) of my graph is 0.37; .* pass W != 0"),
        ([[0, 0], [-1, 0]], number, r"entry \(1, 0\) of my graph is -1; .* pass W != 0"),
        ([[0, np.nan], [0, 0]], number, r"entry \(0, 1\) of my graph is nan; .* Fill missing entries"),
        ([["0", "x"], ["0", "0"]], text, "my graph has entries that are not numbers"),
        ([[0, "x"], [None, object()]], text, "my graph has entries that are not numbers"),
        (nx.Graph([(0, 1)]), text, "my graph is an undirected networkx graph; expected"),
        (frame([[0, 2], [0, 0]], "uv", "uv"), number, r"entry \(u, v\) of my graph is 2;"),
        (frame([[0, pd.NA], [0, 0]], None, "uv").astype("Int8"), number, r"entry \(u, v\) of my graph is nan;"),
        (frame(np.zeros((2, 2)), "uw", "uv"), number, "my graph has rows u, w and columns u, v; expected"),
        (frame(np.zeros((2, 2)), None, "uu"), number, "my graph has repeated column names: u"),
    ):
        with pytest.raises(error, match=message):
            as_dag(graph, "my graph")


def test_a_cycle_is_named():
    graph = nx.DiGraph([("rain", "grass"), ("grass", "shoes"), ("shoes", "rain"), ("rain", "mood")])
    with pytest.raises(ValueError, match=r"the graph has a cycle: .*; expected a directed acyclic") as caught:
        as_dag(graph)
    assert "grass -> shoes" in str(caught.value)
    assert "mood" not in str(caught.value)


matrices = st.integers(1, 7).flatmap(
    lambda d: st.lists(st.booleans(), min_size=d * d, max_size=d * d).map(lambda x: np.array(x).reshape(d, d))
)


@given(matrices)
def test_a_cycle_is_found_exactly_where_networkx_sees_one_and_follows_edges(matrix):
    cycle = find_cycle(matrix)
    graph = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    assert (cycle is None) == nx.is_directed_acyclic_graph(graph)
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        assert all(matrix[i, j] for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@given(matrices)
def test_depth_is_the_generation_of_networkx_and_the_order_puts_causes_first(matrix):
    dag = np.triu(matrix, 1).T
    graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)
    depth = depths(dag)
    for level, nodes in enumerate(nx.topological_generations(graph)):
        assert (depth[nodes] == level).all()
    order = topological_order(dag)
    assert sorted(order) == list(range(len(dag)))
    assert not np.tril(dag[np.ix_(order, order)]).any()


def test_graphs_are_aligned_by_name_or_by_position_where_one_side_has_no_names():
    named = frame(CHAIN, NAMES, NAMES)
    for pair in (align(named, nx.DiGraph([("b", "c"), ("a", "b")])), align(named, CHAIN), align(CHAIN, named)):
        assert [dag.names for dag in pair] == [NAMES, NAMES]
        np.testing.assert_array_equal(pair[0].adjacency, pair[1].adjacency)


def test_graphs_that_cannot_be_aligned_are_refused_in_words():
    path = nx.DiGraph([(f"t{i}", f"t{i + 1}") for i in range(11)])
    ab, cycle, empty = nx.DiGraph([("a", "b")]), [[0, 1], [1, 0]], np.zeros((2, 2))
    for true, estimated, text in (
        (ab, nx.DiGraph([("a", "z"), ("a", "y")]), "only the true graph has b; only .* has z, y. Rename or drop"),
        (path, nx.DiGraph([("x", "y")]), "t0, t1, t2, t3, t4 and 7 more"),
        (CHAIN, empty, "the true graph has 3 nodes and the estimated graph 2"),
        (cycle, empty, r"true graph has a cycle: (0 -> 1 -> 0|1 -> 0 -> 1).*orient it with consistent_extension"),
        ([[0, 0], [0, 1]], empty, "the true graph has a cycle: 1 -> 1;"),
        (empty, [[0, 0.5], [0, 0]], r"of the estimated graph is 0\.5"),
    ):
        with pytest.raises(ValueError, match=text):
            align(true, estimated)
