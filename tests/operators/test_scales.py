"""Operators at any scale of the scores: exact to the last digits that rankings have, and never without an end."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daguerreotype import Knowledge
from daguerreotype.operators import (
    Precedence,
    k_best_rankings,
    sparsemap,
    top_k_sparsemax,
)
from support.learners import make_learner
from support.rankings import exact_duality_gap

EXPONENTS = [-320, -300, -9, 0, 3, 7, 9, 16, 18, 100, 299]
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


@pytest.mark.parametrize("method", ["active-set", "peel"])
@few
@given(theta=vectors(5), tau=st.sampled_from([1.0, 0.3, 1e-9, 1e12]))
def test_sparsemap_is_exact_at_any_scale(method, theta, tau):
    distribution = sparsemap(theta, tau=tau, method=method)
    assert exact_duality_gap(distribution, theta, tau) < 1e-11


@few
@given(vectors(), st.data())
@example(np.array([459201.864, -0.775, 0.068, 0.502, -0.132]), None)
def test_scores_that_break_the_required_order_are_projected_exactly_or_refused(theta, data):
    pairs = [(0, 2), (3, 2)] if data is None else data.draw(partial_orders(theta.size))
    try:
        distribution = sparsemap(theta, precedence=pairs)
    except ValueError:  # its text is told by the next test
        theta = Precedence(pairs, theta.size).project(theta)
        distribution = sparsemap(theta, precedence=pairs)
    assert distribution.probs.sum() == pytest.approx(1, abs=1e-9)
    assert exact_duality_gap(distribution, theta, 1.0, pairs) < 1e-7


def test_the_refusal_of_wide_scores_names_the_pair():
    message = "precedence 0 before 1 by too much for method='active-set' at tau = 0.5: theta\\[0\\] = 5000 and "
    with pytest.raises(
        ValueError, match=message + r"theta\[1\] = 0. Project .* order first: Precedence\(...\).project"
    ):
        sparsemap([5000.0, 0.0, 1.0], tau=0.5, precedence=[(0, 1)])


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
    best, _ = k_best_rankings(theta, k)
    assert len({tuple(row) for row in best.tolist()}) == len(scores)
    losses = [scores[0] - sum(score * int(rank) for score, rank in zip(exact, row, strict=True)) for row in best]
    slack = Fraction(2) ** -50 * (scores[0] - scores[-1])
    assert all(abs(loss - (scores[0] - score)) <= slack for loss, score in zip(losses, scores, strict=True))

    distribution = top_k_sparsemax(theta, k, tau=tau)
    levels = [(score - scores[0]) / Fraction(tau) for score in scores]
    size = max(j + 1 for j in range(len(levels)) if 1 + (j + 1) * levels[j] > sum(levels[: j + 1]))
    threshold = (sum(levels[:size]) - 1) / size
    expected = [float(max(level - threshold, 0)) for level in levels]
    padded = np.append(distribution.probs, np.zeros(len(expected) - len(distribution)))
    np.testing.assert_allclose(padded, expected, atol=1e-12)


def test_a_fit_that_starts_from_variances_of_huge_columns_ends_and_obeys(rng):
    X = rng.normal(size=(100, 4)) * [1e9, 3e9, 2e9, 1e9]
    settings = {"edges": "bic", "scales": "none", "standardize": False, "max_iter": 5, "refine": False}
    learner = make_learner(
        operator="sparsemap", start="variances", knowledge=Knowledge(required=[("x1", "x2")]), **settings
    ).fit(X)
    assert learner.adjacency_matrix_[1, 2]
