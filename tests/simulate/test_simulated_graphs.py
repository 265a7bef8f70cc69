import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from daguerreotype.simulate import simulate_dag

KINDS = ["SF", "ER", "BP"]


def capacity(kind, d):
    if kind != "BP":
        return d * (d - 1) // 2
    causes = max(d // 5, 1)
    return causes * (d - causes)


@given(kind=st.sampled_from(KINDS), d=st.integers(1, 25), density=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_every_draw_is_an_integer_dag_of_zeros_and_ones(kind, d, density, seed):
    adjacency = simulate_dag(d, density * capacity(kind, d), kind, random_state=seed)
    assert adjacency.shape == (d, d)
    assert adjacency.dtype == np.int64
    assert set(np.unique(adjacency)) <= {0, 1}
    assert np.array_equal(adjacency, simulate_dag(d, density * capacity(kind, d), kind, random_state=seed))
    assert simulate_dag(d, capacity(kind, d), kind, random_state=seed).sum() == capacity(kind, d)
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(adjacency, create_using=nx.DiGraph))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "n_edges"), [(5, 3), (12, 17.5), (20, 40), (20, 64)])
def test_the_mean_number_of_edges_is_the_expected_one(kind, d, n_edges):
    n_edges = min(n_edges, capacity(kind, d))
    counts = [simulate_dag(d, n_edges, kind, random_state=seed).sum() for seed in range(600)]
    error = np.std(counts, ddof=1) / np.sqrt(len(counts))
    assert abs(np.mean(counts) - n_edges) <= 4 * error + 1e-9


def test_erdos_renyi_pairs_are_joined_independently_of_each_other():
    counts = np.array([simulate_dag(6, 5, "ER", random_state=seed).sum() for seed in range(2000)])
    observed = np.bincount(counts, minlength=16)
    expected = 2000 * stats.binom.pmf(np.arange(16), 15, 5 / 15)
    pooled = [np.append(c[:10], c[10:].sum()) for c in (observed, expected)]
    assert stats.chisquare(*pooled).pvalue > 1e-4


def test_scale_free_attachment_follows_in_degree_plus_one():
    # Three nodes, one edge each: the third node meets appeals 2 (first, pointed at by the second) and 1.
    n = 3000
    stars = sum(simulate_dag(3, 2, "SF", random_state=s).sum(axis=0).max() == 2 for s in range(n))
    assert stats.binomtest(int(stars), n, 2 / 3).pvalue > 1e-4


def test_a_fifth_of_the_nodes_of_a_bipartite_graph_cause_the_others():
    adjacency = simulate_dag(50, 10 * 40, "BP", random_state=0)
    causes = np.flatnonzero(adjacency.sum(axis=1))
    assert len(causes) == 10
    assert adjacency[:, causes].sum() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_node_order_says_nothing_about_the_graph(kind):
    graphs = np.array([simulate_dag(12, 15, kind, random_state=seed) for seed in range(400)])
    forward, total = int(np.triu(graphs).sum()), int(graphs.sum())
    assert stats.binomtest(forward, total).pvalue > 1e-4
    # No node has more causes than another but by chance.
    assert stats.f_oneway(*graphs.sum(axis=1).T).pvalue > 1e-4


def test_another_seed_or_none_gives_another_graph_and_a_generator_is_drawn_from():
    one = np.random.default_rng(7)
    states = (8, 9, None, None, one, one)
    assert len({simulate_dag(20, 40, random_state=state).tobytes() for state in states}) == len(states)


def test_a_bad_argument_is_refused_with_what_to_give_instead():
    full = "graph of 10 nodes can hold: give at most"
    cases = [
        ({"kind": "WS"}, "kind must be 'SF', 'ER' or 'BP', got 'WS'."),
        ({"d": 0}, "d must be at least 1, got 0."),
        ({"d": 2.5}, "d must be a whole number of at least 1, got 2.5."),
        ({"n_edges": -1}, "n_edges must be at least 0, got -1."),
        ({"n_edges": np.nan}, "n_edges must be a finite number, got nan."),
        ({"n_edges": 46}, f"n_edges=46 is more than a SF {full} 45, or more nodes."),
        ({"n_edges": 17, "kind": "BP"}, f"n_edges=17 is more than a BP {full} 16, or more nodes."),
        ({"random_state": -1}, "random_state=-1 is negative: give an integer from 0 up."),
        ({"random_state": "0"}, "random_state is of type str: give an integer, a numpy.random.Gen"),
    ]
    for arguments, message in cases:
        with pytest.raises((ValueError, TypeError)) as error:
            simulate_dag(**({"d": 10, "n_edges": 5} | arguments))
        assert str(error.value).startswith(message)
