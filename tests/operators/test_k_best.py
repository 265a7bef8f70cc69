from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.operators import k_best_rankings, order_to_ranks
from daguerreotype.operators.k_best import k_best_tree
from support.rankings import all_rankings, best_scores

scores = st.floats(-1e3, 1e3, allow_subnormal=False)
tied_scores = st.integers(-2, 2).map(float)


@st.composite
def problems(draw, entries=scores):
    """Scores, a number of rankings, and pairs that the sorted order obeys (often none)."""
    theta = np.array(draw(st.lists(entries, min_size=1, max_size=6)))
    k = draw(st.integers(1, 800))
    order = np.argsort(theta, kind="stable")
    pairs = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=4))
    precedence = [(order[a], order[b]) for a, b in pairs if a < b < theta.size]
    return theta, k, precedence


@given(problems() | problems(tied_scores), st.none() | st.integers(0, 10))
def test_the_k_best_rankings_equal_brute_force_with_ties_and_precedence(problem, random_state):
    theta, k, precedence = problem
    ranks, found = k_best_rankings(theta, k, precedence=precedence, random_state=random_state)
    expected = best_scores(theta, k, precedence)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose((ranks + 1) @ theta, expected, atol=1e-9)
    assert len({tuple(row) for row in ranks.tolist()}) == len(ranks)
    assert all((ranks[:, i] < ranks[:, j]).all() for i, j in precedence)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7])
def test_every_k_up_to_all_rankings_of_seven_nodes_is_exact(d, rng):
    theta = rng.normal(size=d)
    everything = best_scores(theta, factorial(d))
    for k in {1, 2, 3, 7, 10, 100, 719, 720, 5040} & set(range(1, factorial(d) + 1)):
        np.testing.assert_allclose(k_best_rankings(theta, k)[1], everything[:k], atol=1e-12)


def test_no_ranking_outside_scores_higher_than_one_inside(rng):
    theta = rng.normal(size=6)
    inside, _ = k_best_rankings(theta, 40)
    outside = {tuple(row) for row in all_rankings(6).tolist()} - {tuple(row) for row in inside.tolist()}
    best_outside = max((np.array(list(outside)) + 1) @ theta)
    assert min((inside + 1) @ theta) >= best_outside - 1e-12


@pytest.mark.parametrize("theta", [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]])
def test_k_beyond_all_rankings_gives_all_of_them(theta):
    ranks, _ = k_best_rankings(theta, 10**9)
    assert sorted(ranks.tolist()) == all_rankings(3).tolist()


def test_the_first_ranking_sorts_the_scores(rng):
    theta = rng.normal(size=50)
    assert (k_best_rankings(theta, 5)[0][0] == order_to_ranks(np.argsort(theta))).all()


@given(problems() | problems(tied_scores))
def test_each_ranking_is_its_parent_with_the_named_neighbours_swapped(problem):
    theta, k, precedence = problem
    tree = k_best_tree(theta, k, precedence=precedence)
    for s in range(1, len(tree.ranks)):
        parent, (u, v) = tree.parents[s], tree.swaps[s]
        assert parent < s
        assert tree.ranks[parent, v] == tree.ranks[parent, u] + 1
        swapped = tree.ranks[parent].copy()
        swapped[[u, v]] = swapped[[v, u]]
        assert (swapped == tree.ranks[s]).all()


@pytest.mark.parametrize("d", [30, 200, 1000])
def test_rankings_of_many_nodes_are_distinct_valid_and_sorted_by_score(d, rng):
    theta = rng.normal(size=d)
    ranks, found = k_best_rankings(theta, 500)
    assert (np.sort(ranks, axis=1) == np.arange(d)).all()
    assert len(np.unique(ranks, axis=0)) == 500
    assert (np.diff(found) <= 0).all()
    np.testing.assert_allclose((ranks + 1) @ theta, found, rtol=1e-9, atol=1e-9)


def test_many_rankings_of_many_nodes_are_a_prefix_of_even_more(rng):
    theta = rng.normal(size=60)
    few, many = k_best_rankings(theta, 300)[1], k_best_rankings(theta, 3000)[1]
    np.testing.assert_allclose(few, many[:300], rtol=1e-12)


def test_permuting_the_nodes_permutes_the_rankings(rng):
    theta, shuffle = rng.normal(size=9), rng.permutation(9)
    ranks, _ = k_best_rankings(theta, 50)
    assert (k_best_rankings(theta[shuffle], 50)[0] == ranks[:, shuffle]).all()


def test_ties_go_to_the_smaller_node_index_by_default():
    assert k_best_rankings(np.zeros(40), 1)[0][0].tolist() == list(range(40))


def test_ties_are_broken_differently_by_different_seeds_and_alike_by_the_same():
    def first(seed):
        return k_best_rankings(np.zeros(12), 20, random_state=seed)[0].tolist()

    assert first(1) == first(1)
    assert len({str(first(seed)) for seed in range(10)}) == 10


def test_ties_between_scores_that_need_not_be_in_index_order_obey_the_precedence():
    ranks, _ = k_best_rankings(np.zeros(4), 24, precedence=[(3, 0), (2, 1)])
    assert len(ranks) == 6
    assert (ranks[:, 3] < ranks[:, 0]).all()


def test_a_generator_as_random_state_is_advanced():
    generator = np.random.default_rng(3)
    first = k_best_rankings(np.zeros(8), 5, random_state=generator)[0]
    second = k_best_rankings(np.zeros(8), 5, random_state=generator)[0]
    assert (first != second).any()


@pytest.mark.parametrize(
    ("theta", "k", "message"),
    [
        ([0.0, np.nan, np.nan], 2, r"theta must be finite, but theta\[1\] is nan \(and 1 more\)"),
        ([np.inf, 0.0], 2, r"theta\[0\] is inf"),
        ([], 2, "theta is empty"),
        ([[0.0, 1.0]], 2, r"shape \(1, 2\)"),
        (0.5, 2, "vector"),
        (["a", "b"], 2, "vector of numbers"),
        ([0.0, 1.0], 0, "k must be at least 1, got 0"),
        ([0.0, 1.0], 2.5, "k must be a whole number"),
        ([0.0, 1.0], True, "k must be a whole number"),
    ],
)
def test_bad_input_is_refused_with_what_was_seen(theta, k, message):
    with pytest.raises(ValueError, match=message):
        k_best_rankings(theta, k)


@pytest.mark.parametrize(
    ("precedence", "message"),
    [
        ([(1, 0)], r"theta breaks the precedence 1 before 0: theta\[1\] = 1 is larger than theta\[0\] = 0"),
        ([(0, 7)], "node indices from 0 to 2"),
        ([(0, 1, 2)], "pairs"),
    ],
)
def test_a_precedence_that_theta_breaks_is_refused(precedence, message):
    with pytest.raises(ValueError, match=message):
        k_best_rankings([0.0, 1.0, 2.0], 3, precedence=precedence)


def test_a_precedence_that_contradicts_itself_is_refused_even_among_ties():
    with pytest.raises(ValueError, match=r"contradict each other: no order of nodes \[0, 1\]"):
        k_best_rankings([0.0, 0.0, 0.0], 3, precedence=[(0, 1), (1, 0)])


def test_huge_but_finite_scores_are_accepted():
    assert k_best_rankings([1e200, -1e200], 2)[0].tolist() == [[1, 0], [0, 1]]


def test_the_callers_array_is_left_alone(rng):
    theta = rng.normal(size=5)
    before = theta.copy()
    k_best_rankings(theta, 10)
    assert (theta == before).all()
