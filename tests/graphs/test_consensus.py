"""The consensus is the best there is, a DAG at every threshold, and found without trying all orders."""

from itertools import permutations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daguerreotype.bootstrap.summary import Resample, summarise
from daguerreotype.graphs import consensus as module
from daguerreotype.graphs.consensus import best_order, consensus_order

SEEDS = st.integers(0, 2**32 - 1)


def random_resamples(seed, d, n, kinds=3):
    """Noisy copies of a few random orders, each with random edges along it."""
    rng = np.random.default_rng(seed)
    bases = [rng.permutation(d) for _ in range(rng.integers(1, kinds + 1))]
    resamples = []
    for index in range(n):
        order = bases[rng.integers(len(bases))].copy()
        i, j = rng.integers(d, size=2)
        order[[i, j]] = order[[j, i]]
        pairs = [[int(order[p]), int(order[q])] for p in range(d) for q in range(p + 1, d)]
        resamples.append(Resample(index, order.tolist(), [each for each in pairs if rng.random() < 0.8], 0))
    return resamples


def counted(resamples, threshold=0.5):
    return summarise(resamples, None, threshold, 0, {})


def along(weights, order):
    """Sum of weights from earlier to later."""
    return np.triu(weights[np.ix_(order, order)], 1).sum()


def values(edges, n, order):
    """What the consensus order maximises, first things first."""
    return (
        along(edges == n, order),
        along(np.where(edges == n, 0, np.maximum(2 * edges - n, 0)), order),
        along(edges, order),
    )


@given(seed=SEEDS, d=st.integers(1, 6), largest=st.sampled_from([1, 3, 1000]))
def test_no_order_has_a_larger_sum_of_weights(seed, d, largest):
    weights = np.random.default_rng(seed).integers(largest + 1, size=(d, d))
    order = best_order(weights)
    assert sorted(order) == list(range(d))
    assert along(weights, order) == max(along(weights, list(each)) for each in permutations(range(d)))


@given(seed=SEEDS, d=st.integers(1, 9), density=st.floats(0, 1))
def test_weights_without_cycles_are_all_kept_and_ties_stay_in_place(seed, d, density):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.integers(1, 5, size=(d, d)) * (rng.random((d, d)) < density), 1)
    np.testing.assert_array_equal(best_order(weights), np.arange(d))
    places = rng.permutation(d)
    shuffled = weights[np.ix_(places, places)]
    assert along(shuffled, best_order(shuffled)) == weights.sum()


@given(seed=SEEDS, d=st.integers(2, 9))
def test_many_columns_are_ordered_such_that_no_move_of_one_improves(seed, d):
    weights = np.random.default_rng(seed).integers(20, size=(d, d))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXACT", 1)
        order = best_order(weights).tolist()
    assert sorted(order) == list(range(d))
    for column, place in product(range(d), range(d)):
        moved = [each for each in order if each != column]
        moved.insert(place, column)
        assert along(weights, moved) <= along(weights, order)


@given(seed=SEEDS, d=st.integers(2, 6), n=st.integers(1, 12))
@example(seed=6292, d=5, n=3)  # majorities tie, and one of them leaves more room for the rest
def test_the_consensus_order_is_the_best_of_all_orders(seed, d, n):
    resamples = random_resamples(seed, d, n)
    edges = sum(each.adjacency().astype(int) for each in resamples)
    precedence = sum(each.precedence().astype(int) for each in resamples)
    order = consensus_order(edges, precedence, n)
    assert values(edges, n, order) == max(values(edges, n, list(each)) for each in permutations(range(d)))


@given(seed=SEEDS, n=st.integers(1, 9))
def test_no_dag_is_closer_to_the_graphs_of_the_resamples(seed, n):
    resamples = random_resamples(seed, 4, n)
    graphs = np.array([each.adjacency() for each in resamples])
    ours = np.count_nonzero(graphs != counted(resamples).consensus.astype(bool))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    for order in permutations(range(4)):
        for chosen in product([False, True], repeat=len(pairs)):
            dag = np.zeros((4, 4), dtype=bool)
            for (i, j), there in zip(pairs, chosen, strict=True):
                dag[order[j], order[i]] = there
            assert ours <= np.count_nonzero(graphs != dag)


@given(seed=SEEDS, d=st.integers(2, 20), n=st.integers(1, 12))
def test_the_consensus_is_a_dag_at_every_threshold_and_lower_ones_only_add_edges(seed, d, n):
    result = counted(random_resamples(seed, d, n))
    smaller = np.zeros((d, d), dtype=bool)
    for threshold in np.linspace(1, 0.01, 12):
        adjacency = result.consensus_at(threshold).astype(bool)
        assert nx.is_directed_acyclic_graph(nx.DiGraph(adjacency))
        assert (adjacency | ~smaller).all()
        assert (result.edge_frequencies[adjacency] >= threshold).all()
        smaller = adjacency


@given(seed=SEEDS, d=st.integers(2, 20), n=st.integers(1, 12))
def test_edges_of_all_graphs_are_in_the_consensus(seed, d, n):
    result = counted(random_resamples(seed, d, n))
    assert (result.consensus[result.edge_frequencies == 1] == 1).all()


def test_three_graphs_that_go_round_in_a_circle_still_give_a_dag():
    circle = [[0, 1], [1, 2], [2, 0]]
    orders = ([0, 1, 2], [1, 2, 0], [2, 0, 1])
    edges = ([circle[0], circle[1]], [circle[1], circle[2]], [circle[2], circle[0]])
    result = counted([Resample(k, orders[k], edges[k], 0) for k in range(3)])
    assert result.edge_frequencies[0, 1] == pytest.approx(2 / 3)
    assert result.consensus.sum() == 2
    assert result.order_stability < 1


def test_columns_without_majority_edges_follow_their_mean_position():
    resamples = [
        Resample(0, [3, 2, 1, 0], [], 0),
        Resample(1, [2, 3, 1, 0], [], 0),
        Resample(2, [3, 2, 0, 1], [], 0),
    ]
    np.testing.assert_array_equal(counted(resamples).consensus_order, [3, 2, 1, 0])


@given(seed=SEEDS, d=st.integers(2, 15))
def test_ancestors_are_those_of_the_transitive_closure(seed, d):
    (resample,) = random_resamples(seed, d, 1)
    closed = nx.transitive_closure_dag(nx.DiGraph(resample.adjacency()))
    np.testing.assert_array_equal(resample.ancestors(), nx.to_numpy_array(closed, nodelist=range(d)) > 0)


def test_among_many_columns_frequent_edges_are_kept_against_any_number_of_rare_ones(rng):
    d, n = 150, 10
    frequent = np.triu(rng.random((d, d)) < 0.03, 1)
    edges = np.where(frequent, rng.integers(6, n + 1, size=(d, d)), rng.integers(3, size=(d, d)))
    edges[frequent.T] = 0
    shuffled = rng.permutation(d)
    edges, frequent = edges[np.ix_(shuffled, shuffled)], frequent[np.ix_(shuffled, shuffled)]
    order = consensus_order(edges, np.zeros_like(edges), n)
    assert along(frequent, order) == frequent.sum()
    assert along(edges, order) > along(edges, order[::-1])
