"""Operators at any scale of the scores: exact to the last digits that rankings have, and never without an end."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.operators import (
    OrderDistribution,
    Precedence,
    k_best_rankings,
    project_permutahedron,
    sparsemap,
    top_k_sparsemax,
)
from daguerreotype.operators.saturation import close_gaps
from support.rankings import exact_duality_gap

EXPONENTS = [-320, -300, -9, 0, 3, 7, 9, 16, 18, 100, 300]
few = settings(max_examples=25)
numbers = st.builds(
    lambda digits, exponent: float(f"{digits / 8}e{exponent}"), st.integers(-24, 24), st.sampled_from(EXPONENTS)
)


@st.composite
def vectors(draw, most=4):
    """Scores of one size, of mixed sizes, tied, tiny, or close to each other and far from zero."""
    d = draw(st.integers(2, most))
    theta = np.array(draw(st.lists(numbers, min_size=d, max_size=d)))
    kind = draw(st.sampled_from(["mixed", "one size", "far from zero"]))
    if kind != "mixed":
        small = np.array(draw(st.lists(st.integers(-16, 16), min_size=d, max_size=d))) / 8
        size = 10.0 ** draw(st.sampled_from(EXPONENTS[1:]))
        theta = small * size if kind == "one size" else size + small
    return theta


@st.composite
def partial_orders(draw, d):
    order = draw(st.permutations(range(d)))
    chosen = draw(st.lists(st.booleans(), min_size=d * d, max_size=d * d))
    return [(order[i], order[j]) for i in range(d) for j in range(i + 1, d) if chosen[i * d + j]]


@st.composite
def problems(draw):
    """Scores that obey a partial order, a temperature, and the pairs."""
    theta = draw(vectors())
    pairs = draw(partial_orders(theta.size))
    return Precedence(pairs, theta.size).project(theta), draw(st.sampled_from([1.0, 0.3, 1e-9, 1e12])), pairs


@few
@given(problems())
@example(
    (np.array([1.8529800552201692e18, -1.7147076270169498e18, 1.3643918412508956e18]), 1.0, [(1, 0)])
)  # once without an end
def test_under_required_edges_sparsemap_is_exact_at_any_scale_of_scores_that_obey(problem):
    theta, tau, pairs = problem
    distribution = sparsemap(theta, tau=tau, precedence=pairs)
    assert exact_duality_gap(distribution, theta, tau, pairs) < 1e-7


@few
@given(problems(), st.integers(0, 2**16))
def test_a_warm_start_is_exact_at_any_scale(problem, seed):
    theta, tau, pairs = problem
    before = sparsemap(np.random.default_rng(seed).normal(size=theta.size))
    distribution = sparsemap(theta, tau=tau, precedence=pairs, warm_start=before)
    assert exact_duality_gap(distribution, theta, tau, pairs) < 1e-7


@pytest.mark.parametrize("method", ["active-set", "peel"])
@few
@given(theta=vectors(5), tau=st.sampled_from([1.0, 0.3, 1e-9, 1e12]))
def test_sparsemap_is_exact_at_any_scale(method, theta, tau):
    distribution = sparsemap(theta, tau=tau, method=method)
    assert exact_duality_gap(distribution, theta, tau) < 1e-11


@few
@given(vectors(5))
def test_the_projection_is_exact_at_any_scale(theta):
    mean = project_permutahedron(theta) - 1
    left = [Fraction(score) - Fraction(rank) for score, rank in zip(theta, mean, strict=True)]
    aligned = [sum(a * r for a, r in zip(left, ranks, strict=True)) for ranks in permutations(range(theta.size))]
    assert mean.sum() == pytest.approx(theta.size * (theta.size - 1) / 2)
    at_mean = sum(a * (Fraction(rank)) for a, rank in zip(left, mean, strict=True))
    # The mean has an error of a few roundings, which counts as often as the scores are large.
    slack = 1e-13 * (1 + max(map(abs, left)))
    assert max(aligned) - at_mean < slack


def test_the_required_order_of_close_scores_far_from_zero_shares_the_mass_as_near_zero():
    pairs, close = [(2, 0)], np.array([0.5, 0.0, 0.25, 1.0])
    near = sparsemap(close, precedence=pairs)
    for far in (1e9, 2.0**45):
        distribution = sparsemap(close + far, precedence=pairs)
        np.testing.assert_allclose(distribution.mean_ranks, near.mean_ranks, atol=1e-9)


def test_groups_that_are_far_apart_are_ranked_as_if_they_were_alone():
    theta = np.array([0.3, 1e17, 0.0, 1e17 + 16.0, 0.1])
    mean = sparsemap(theta, precedence=[(0, 4)]).mean_ranks
    alone = sparsemap(theta[[0, 2, 4]], precedence=[(0, 2)]).mean_ranks
    np.testing.assert_allclose(mean[[0, 2, 4]], alone, atol=1e-9)
    np.testing.assert_allclose(mean[[1, 3]], [3, 4], atol=1e-12)


@few
@given(vectors(5))
def test_closed_gaps_keep_the_order_and_span_no_more_than_the_squared_number_of_nodes(theta):
    ascending = np.sort(theta)
    closed = close_gaps(ascending, 1.0)
    assert (np.diff(closed) >= 0).all()
    assert np.ptp(closed) <= max(2e3, theta.size**2)


def test_scores_that_break_a_required_order_by_too_much_are_refused():
    with pytest.raises(
        ValueError, match=r"theta breaks the precedence 0 before 1 by too much: theta\[0\] = 1e\+18"
    ):
        sparsemap([1e18, 0.0, 5e17], precedence=[(0, 1)])
    obeying = Precedence([(0, 1)], 3).project([1e18, 0.0, 5e17])
    assert sparsemap(obeying, precedence=[(0, 1)]).probs.sum() == pytest.approx(1)


@few
@given(problems())
def test_peeling_under_required_edges_obeys_at_any_scale(problem):
    theta, tau, pairs = problem
    distribution = sparsemap(theta, tau=tau, method="peel", precedence=pairs)
    assert distribution.probs.sum() == pytest.approx(1)
    assert all((distribution.ranks[:, i] < distribution.ranks[:, j]).all() for i, j in pairs)


@few
@given(vectors(), st.integers(1, 24), st.sampled_from([1.0, 0.3, 1e-9, 1e12]))
def test_the_best_rankings_and_their_sparsemax_are_exact_at_any_scale(theta, k, tau):
    exact = [Fraction(score) for score in theta]
    scores = sorted(
        (
            sum(score * rank for score, rank in zip(exact, ranks, strict=True))
            for ranks in permutations(range(len(theta)))
        ),
        reverse=True,
    )[:k]
    found, _ = k_best_rankings(theta, k)
    assert len({tuple(row) for row in found.tolist()}) == len(scores)
    losses = [scores[0] - sum(score * int(rank) for score, rank in zip(exact, row, strict=True)) for row in found]
    slack = Fraction(2) ** -50 * (scores[0] - scores[-1])
    assert all(abs(loss - (scores[0] - score)) <= slack for loss, score in zip(losses, scores, strict=True))

    distribution = top_k_sparsemax(theta, k, tau=tau)
    levels = [(score - scores[0]) / Fraction(tau) for score in scores]
    size = max(j + 1 for j in range(len(levels)) if 1 + (j + 1) * levels[j] > sum(levels[: j + 1]))
    threshold = (sum(levels[:size]) - 1) / size
    expected = [float(max(level - threshold, 0)) for level in levels]
    padded = np.append(distribution.probs, np.zeros(len(expected) - len(distribution)))
    np.testing.assert_allclose(padded, expected, atol=1e-12)


def test_rankings_of_scores_whose_differences_overflow_are_all_found():
    ranks, scores = k_best_rankings([1.7e308, -1.7e308, 0.0], 6)
    assert len(ranks) == 6
    assert ranks[0].tolist() == [2, 0, 1]
    assert not np.isnan(scores).any()


def test_one_ranking_carries_all_mass_whatever_its_score():
    only = OrderDistribution.of_order(np.array([2, 0, 1]))
    distribution = sparsemap([1e15, 2e15, 0.0], precedence=[(0, 1), (2, 0)], warm_start=only)
    assert distribution.probs.tolist() == [1.0]


@pytest.mark.parametrize("operator", ["sparsemap", "sparsemap-peel", "sparsemap-warm", "sparsemax"])
def test_a_fit_that_starts_from_variances_of_huge_columns_ends_and_obeys(operator, rng):
    X = rng.normal(size=(100, 4)) * [1e9, 3e9, 2e9, 1e9]
    settings = {"edges": "bic", "transform": "none", "standardize": False, "max_iter": 5, "refine": False}
    learner = Daguerreotype(
        operator=operator, init="variances", knowledge=Knowledge(required=[("x1", "x2")]), **settings
    ).fit(X)
    assert learner.adjacency_matrix_[1, 2]
