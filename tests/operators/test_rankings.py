import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from daguerreotype.operators import complete_dag, order_to_ranks, ranks_to_order, score_intervals

vectors = st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=8).map(np.array)


@given(st.permutations(range(6)))
def test_order_and_ranks_are_inverse_to_each_other(order):
    ranks = order_to_ranks(order)
    assert ranks_to_order(ranks).tolist() == list(order)
    assert [order[p] for p in ranks] == list(range(6))
    both = order_to_ranks([order, order[::-1]])  # row by row
    assert (both[0] == ranks).all()
    assert (both[1] == order_to_ranks(order[::-1])).all()


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


def test_what_is_no_permutation_is_refused():
    for bad in ([0, 0, 1], [1, 2, 3], [-1, 0], [0.5, 1.0], 3):
        with pytest.raises(ValueError, match="order must"):
            order_to_ranks(bad)
