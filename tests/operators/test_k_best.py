import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.operators import k_best_rankings
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


@given(problems() | problems(tied_scores))
def test_the_k_best_rankings_equal_brute_force_with_ties_and_precedence(problem):
    theta, k, precedence = problem
    before = theta.copy()
    ranks, scores = k_best_rankings(theta, k, precedence=precedence)
    assert (theta == before).all()
    expected = best_scores(theta, k, precedence)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    np.testing.assert_allclose((ranks + 1) @ theta, expected, atol=1e-9)
    assert len({tuple(row) for row in ranks.tolist()}) == len(ranks)
    assert all((ranks[:, i] < ranks[:, j]).all() for i, j in precedence)


def test_k_beyond_all_rankings_gives_all_of_them():
    for theta in ([0.5, -1.0, 2.0], [0.0, 0.0, 0.0]):
        ranks, _ = k_best_rankings(theta, 10**9)
        assert sorted(ranks.tolist()) == all_rankings(3).tolist()


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


def test_rankings_of_many_nodes_are_distinct_valid_sorted_and_a_prefix_of_even_more(rng):
    for d in (30, 1000):
        theta = rng.normal(size=d)
        ranks, scores = k_best_rankings(theta, 500)
        assert (np.argsort(ranks[0]) == np.argsort(theta)).all()
        assert (np.sort(ranks, axis=1) == np.arange(d)).all()
        assert len(np.unique(ranks, axis=0)) == 500
        assert (np.diff(scores) <= 0).all()
        np.testing.assert_allclose((ranks + 1) @ theta, scores, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(scores, k_best_rankings(theta, 3000)[1][:500], rtol=1e-12)


def test_ties_go_to_the_smaller_node_but_where_the_precedence_says_otherwise():
    assert k_best_rankings(np.zeros(40), 1)[0][0].tolist() == list(range(40))
    ranks, _ = k_best_rankings(np.zeros(4), 24, precedence=[(3, 0), (2, 1)])
    assert len(ranks) == 6
    assert (ranks[:, 3] < ranks[:, 0]).all()


def test_bad_input_is_refused_with_what_was_seen():
    cases = [
        ([0.0, np.nan, np.nan], 2, r"theta must be finite and at most .*, but theta\[1\] is nan \(and 1 more\)"),
        ([np.inf, 0.0], 2, r"theta\[0\] is inf"),
        ([0.0, -1.7e308], 2, r"at most 1e\+300 in size, but theta\[1\] is -1.7e\+308"),
        ([], 2, "theta is empty"),
        ([[0.0, 1.0]], 2, r"vector with one score per node, but has shape \(1, 2\)"),
        (["a", "b"], 2, "vector of numbers"),
        ([0.0, 1.0], 0, "k must be at least 1, got 0"),
        ([0.0, 1.0], 2.5, "k must be a whole number"),
    ]
    for theta, k, message in cases:
        with pytest.raises(ValueError, match=message):
            k_best_rankings(theta, k)


def test_a_precedence_that_cannot_be_obeyed_is_refused():
    rising, level = [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]
    cases = [
        (
            rising,
            [(1, 0)],
            r"breaks the precedence 1 before 0: theta\[1\] = 1 is larger than theta\[0\] = 0",
        ),
        (rising, [(0, 7)], "node indices from 0 to 2"),
        (rising, [(0, 1, 2)], "pairs"),
        (level, [(0, 1), (1, 0)], r"contradict each other: no order of nodes \[0, 1\]"),
    ]
    for theta, precedence, message in cases:
        with pytest.raises(ValueError, match=message):
            k_best_rankings(theta, 3, precedence=precedence)
