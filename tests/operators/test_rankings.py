import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from daguerreotype.operators import (
    complete_dag,
    hyperplanes_crossed,
    order_to_ranks,
    ranks_to_order,
    score_intervals,
)

vectors = st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=8).map(np.array)
pairs = st.integers(1, 7).flatmap(
    lambda d: st.tuples(*[st.lists(st.integers(-3, 3).map(float), min_size=d, max_size=d).map(np.array)] * 2)
)


def dag_of(theta):
    return complete_dag(order_to_ranks(np.argsort(theta, kind="stable")))


def reversals(first, second):
    """Structural Hamming distance of two complete DAGs: each differing pair is one reversal."""
    return int(np.triu(first != second).sum())


@given(st.permutations(range(6)))
def test_order_and_ranks_are_inverse_to_each_other(order):
    ranks = order_to_ranks(order)
    assert ranks_to_order(ranks).tolist() == list(order)
    assert [order[p] for p in ranks] == list(range(6))


def test_several_orders_are_inverted_row_by_row(rng):
    orders = np.array([rng.permutation(7) for _ in range(4)])
    assert (order_to_ranks(orders) == [order_to_ranks(order) for order in orders]).all()


def test_the_complete_dag_has_an_edge_from_each_node_to_all_later_ones():
    assert complete_dag([1, 0, 2]).tolist() == [[0, 0, 1], [1, 0, 1], [0, 0, 0]]


@given(vectors, st.data())
def test_a_score_within_its_interval_leaves_the_order_and_beyond_it_changes_it(theta, data):
    assume(np.unique(theta).size == theta.size)
    i = data.draw(st.integers(0, theta.size - 1))
    low, high = score_intervals(theta)[i]
    share = data.draw(st.floats(0.01, 0.99))
    inside = theta.copy()
    inside[i] += share * (np.clip(high, -1e3, 1e3) if share > 0.5 else np.clip(low, -1e3, 1e3))
    assume(np.unique(inside).size == theta.size)  # an interval of one rounding error has no inside
    assert (np.argsort(inside) == np.argsort(theta)).all()
    for bound in (low, high):
        if np.isfinite(bound):
            outside = theta.copy()
            outside[i] += bound + np.sign(bound) * 1e-6
            assert (np.argsort(outside) != np.argsort(theta)).any()


def test_the_first_and_last_score_can_move_out_without_limit():
    assert score_intervals([1.0, 3.0]).tolist() == [[-np.inf, 2.0], [-2.0, np.inf]]


@given(pairs)
def test_the_distance_of_complete_dags_is_at_most_the_hyperplanes_crossed(two):
    theta, other = two
    assert reversals(dag_of(theta), dag_of(other)) <= hyperplanes_crossed(theta, other)


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_without_ties_the_distance_equals_the_hyperplanes_crossed(theta, other):
    theta, other = np.array(theta, float), np.array(other, float)
    assert reversals(dag_of(theta), dag_of(other)) == hyperplanes_crossed(theta, other)


@given(st.permutations(range(8)), st.integers(0, 6), st.integers(1, 7))
def test_swapping_positions_i_and_j_reverses_twice_the_distance_less_one_edges(order, i, j):
    assume(i < j)
    swapped = list(order)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    before, after = complete_dag(order_to_ranks(order)), complete_dag(order_to_ranks(swapped))
    assert reversals(before, after) == 2 * (j - i) - 1


@pytest.mark.parametrize("bad", [[0, 0, 1], [1, 2, 3], [-1, 0], [0.5, 1.0], 3])
def test_what_is_no_permutation_is_refused(bad):
    with pytest.raises(ValueError, match="order must"):
        order_to_ranks(bad)


def test_score_vectors_of_different_length_are_refused():
    with pytest.raises(ValueError, match="same length, got 2 and 3"):
        hyperplanes_crossed([0.0, 1.0], [0.0, 1.0, 2.0])
