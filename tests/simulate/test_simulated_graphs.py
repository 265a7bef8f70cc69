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


def depths(adjacency):
    """Longest path from a root to each node."""
    depth = np.zeros(len(adjacency))
    for node in nx.topological_sort(nx.from_numpy_array(adjacency, create_using=nx.DiGraph)):
        parents = np.flatnonzero(adjacency[:, node])
        depth[node] = depth[parents].max() + 1 if len(parents) else 0
    return depth


@given(
    kind=st.sampled_from(KINDS),
    d=st.integers(1, 25),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_every_draw_is_an_integer_dag_of_zeros_and_ones(kind, d, density, seed):
    adjacency = simulate_dag(d, density * capacity(kind, d), kind, random_state=seed)
    assert adjacency.shape == (d, d)
    assert adjacency.dtype == np.int64
    assert set(np.unique(adjacency)) <= {0, 1}
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(adjacency, create_using=nx.DiGraph))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "n_edges"), [(5, 3), (12, 17.5), (20, 40), (20, 64)])
def test_the_mean_number_of_edges_is_the_expected_one(kind, d, n_edges):
    n_edges = min(n_edges, capacity(kind, d))
    counts = [simulate_dag(d, n_edges, kind, random_state=seed).sum() for seed in range(600)]
    error = np.std(counts, ddof=1) / np.sqrt(len(counts))
    assert abs(np.mean(counts) - n_edges) <= 4 * error + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_the_capacity_is_reached_and_zero_edges_are_an_empty_graph(kind, d):
    assert simulate_dag(d, capacity(kind, d), kind, random_state=0).sum() == capacity(kind, d)
    assert simulate_dag(d, 0, kind, random_state=0).sum() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_node_order_says_nothing_about_the_graph(kind):
    forward = backward = 0
    first_depth = []
    for seed in range(400):
        adjacency = simulate_dag(12, 15, kind, random_state=seed)
        forward += np.triu(adjacency).sum()
        backward += np.tril(adjacency).sum()
        depth = depths(adjacency)
        first_depth.append(depth[0] - depth[1:].mean())
    assert stats.binomtest(int(forward), int(forward + backward)).pvalue > 1e-4
    assert stats.ttest_1samp(first_depth, 0.0).pvalue > 1e-4


def test_every_labelling_of_a_small_graph_is_equally_likely():
    counts = np.zeros((3, 3))
    for seed in range(3000):
        counts += simulate_dag(3, 1, "SF", random_state=seed)
    off_diagonal = counts[~np.eye(3, dtype=bool)]
    assert stats.chisquare(off_diagonal).pvalue > 1e-4


def test_erdos_renyi_pairs_are_joined_independently_of_each_other():
    counts = np.array([simulate_dag(6, 5, "ER", random_state=seed).sum() for seed in range(2000)])
    observed = np.bincount(counts, minlength=16)
    expected = 2000 * stats.binom.pmf(np.arange(16), 15, 5 / 15)
    pooled = [np.append(c[:10], c[10:].sum()) for c in (observed, expected)]
    assert stats.chisquare(*pooled).pvalue > 1e-4


def test_scale_free_hubs_are_common_effects_and_heavier_than_erdos_renyi_ones():
    def largest(kind, axis):
        return np.mean([simulate_dag(200, 400, kind, random_state=s).sum(axis=axis).max() for s in range(5)])

    in_degree, out_degree = 0, 1
    assert largest("SF", in_degree) > 2 * largest("ER", in_degree)
    assert largest("SF", out_degree) <= 3  # n_edges / d, and one more for the early nodes


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
def test_the_same_seed_gives_the_same_graph_and_another_seed_another_one(kind):
    same = [simulate_dag(20, 40, kind, random_state=7) for _ in range(2)]
    assert np.array_equal(*same)
    assert np.array_equal(same[0], simulate_dag(20, 40, kind, random_state=np.random.default_rng(7)))
    assert not np.array_equal(same[0], simulate_dag(20, 40, kind, random_state=8))
    assert not np.array_equal(simulate_dag(20, 40, kind), simulate_dag(20, 40, kind))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "WS"}, "kind must be 'SF', 'ER' or 'BP', got 'WS'."),
        ({"d": 0}, "d must be at least 1, got 0."),
        ({"d": 2.5}, "d must be a whole number of at least 1, got 2.5."),
        ({"n_edges": -1}, "n_edges must be at least 0, got -1."),
        ({"n_edges": np.nan}, "n_edges must be a finite number, got nan."),
        (
            {"n_edges": 46},
            "n_edges=46 is more than a SF graph of 10 nodes can hold: give at most 45, or more nodes.",
        ),
        (
            {"n_edges": 17, "kind": "BP"},
            "n_edges=17 is more than a BP graph of 10 nodes can hold: give at most 16, or more nodes.",
        ),
        ({"random_state": -1}, "random_state=-1 is negative: give an integer from 0 up."),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_give_instead(arguments, message):
    with pytest.raises(ValueError) as error:
        simulate_dag(**({"d": 10, "n_edges": 5} | arguments))
    assert str(error.value) == message


def test_a_random_state_of_another_type_is_refused():
    with pytest.raises(TypeError, match=r"random_state is of type str: give an integer, a numpy.random.Gen"):
        simulate_dag(10, 5, random_state="0")
