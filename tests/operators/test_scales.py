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
    wide_scores,
)
from daguerreotype.operators.saturation import close_gaps
from daguerreotype.operators.wide_scores import decompose_wide, is_wide
from support.rankings import exact_duality_gap, exact_projection

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


@st.composite
def broken_problems(draw):
    """Scores that may break a partial order, a temperature, and the pairs."""
    theta = draw(vectors())
    return theta, draw(st.sampled_from([1.0, 0.3, 1e-9, 1e12, 1e-300])), draw(partial_orders(theta.size))


@few
@given(broken_problems())
@example((np.array([1e18, 0.0, 5e17]), 1.0, [(0, 1)]))  # two rankings tie in whatever is large
@example(
    (
        np.array(
            [459201.8644968992, -0.7752941763581861, 0.06785360375396772, 0.5016253648203906, -0.1317625965401782]
        ),
        1.0,
        [(0, 2), (3, 2)],
    )
)  # doubles were wrong by 0.003
@example((np.array([1.7e308, -1.7e308, 0.0, 1.0]), 1e-300, [(0, 1)]))
def test_the_mean_is_the_exact_projection_however_far_scores_break_the_required_order(problem):
    theta, tau, pairs = problem
    distribution = sparsemap(theta, tau=tau, precedence=pairs)
    assert distribution.probs.sum() == pytest.approx(1, abs=1e-9)
    exact = np.array(exact_projection(theta, tau, pairs), dtype=float)
    np.testing.assert_allclose(distribution.mean_ranks, exact, atol=1e-6)


def draw_broken(seed, d, size, density=0.3):
    """Scores of which one or all are of the given size, against a random partial order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(d).tolist()
    pairs = [(order[i], order[j]) for i in range(d) for j in range(i + 1, d) if rng.random() < density]
    pairs.append((order[0], order[1]))
    kind = seed % 3
    theta = rng.normal(size=d)
    if kind == 0:  # one breaks, the others differ by little
        theta[order[0]] += size
    elif kind == 1:
        theta *= size
    else:  # many tie in whatever is large
        theta += rng.integers(-2, 3, size=d) * size
    return theta, pairs, rng


@pytest.mark.parametrize("size", [1e0, 1e2, 1e4, 1e6, 1e9, 1e16, 1e18, 1e30, 1e100, 1e300])
def test_whole_numbers_give_the_exact_projection_of_scores_of_any_size(size):
    for seed in range(15):
        theta, pairs, _ = draw_broken(seed, 4 + seed % 2, size)
        mean = mean_of_whole_numbers(theta, pairs)
        exact = np.array(exact_projection(theta, 1.0, pairs), dtype=float)
        np.testing.assert_allclose(mean, exact, atol=1e-11)


def mean_of_whole_numbers(theta, pairs):
    d = theta.size
    order = Precedence(pairs, d)
    nodes = order.sort(order.project(theta))
    before = order.before[np.ix_(nodes, nodes)]
    m, weights, ranks, _ = decompose_wide(theta[nodes], 1.0, 100, before, np.empty((0, d), int), np.empty(0))
    mean = np.empty(d)
    mean[nodes] = weights[:m] @ ranks[:m]
    return mean


@pytest.mark.parametrize("size", [1e0, 1e1, 1e2, 1e3])
@pytest.mark.parametrize("d", [3, 6, 10])
def test_whole_numbers_and_doubles_agree_where_both_have_the_digits(d, size):
    for seed in range(9):
        theta, pairs, _ = draw_broken(seed, d, size / 3, density=1 / d)
        doubles = sparsemap(theta, precedence=pairs).mean_ranks
        # Doubles tie what differs by a 1e-9th of the largest score, in each of the products of a ranking.
        np.testing.assert_allclose(mean_of_whole_numbers(theta, pairs), doubles, atol=1e-9 * d**2 * max(d, size))


def moves_of_one_node(order, before):
    """Every move that obeys: 1 for later or -1 for earlier, the node, and the nodes that it passes."""
    for at, node in enumerate(order):
        for step in (1, -1):
            passed = []
            for p in range(at + step, len(order) if step > 0 else -1, step):
                if before[node, order[p]] or before[order[p], node]:
                    break
                passed.append(order[p])
                yield step, node, passed


@pytest.mark.parametrize("size", [1e4, 1e9, 1e18, 1e300])
@pytest.mark.parametrize("d", [15, 40])
def test_many_nodes_obey_and_no_move_of_a_node_gains_however_far_scores_break_the_required_order(d, size):
    for seed in range(6):
        theta, pairs, _ = draw_broken(seed, d, size, density=1.5 / d)
        distribution = sparsemap(theta, 1000, precedence=pairs)
        assert distribution.probs.sum() == pytest.approx(1, abs=1e-12)
        assert all((distribution.ranks[:, i] < distribution.ranks[:, j]).all() for i, j in pairs)
        weights = [Fraction(prob) for prob in distribution.probs.tolist()]
        columns = distribution.ranks.T.tolist()
        left = [
            Fraction(score) - sum(w * rank for w, rank in zip(weights, column, strict=True))
            for score, column in zip(theta.tolist(), columns, strict=True)
        ]
        aligned = [sum(a * rank for a, rank in zip(left, row, strict=True)) for row in distribution.ranks.tolist()]
        assert max(aligned) - min(aligned) < 1e-6
        before = Precedence(pairs, d).before
        for order in distribution.orders.tolist():
            for step, node, passed in moves_of_one_node(order, before):
                assert step * (len(passed) * left[node] - sum(left[other] for other in passed)) < 1e-6


@pytest.mark.parametrize("size", [1e3, 1e4, 1e5])
def test_the_derivative_at_scores_that_break_a_required_order_by_far_is_that_of_finite_differences(size):
    checked, step = 0, 2.0**-12  # probabilities are linear as long as the support stays
    for seed in range(0, 30, 3):
        theta, pairs, rng = draw_broken(seed, 5, 3 * size)
        distribution = sparsemap(theta, precedence=pairs)
        gradient = rng.normal(size=len(distribution))
        ends = [[sparsemap(theta + s * e, precedence=pairs) for s in (step, -step)] for e in np.eye(5)]
        if all(np.array_equal(end.ranks, distribution.ranks) for pair in ends for end in pair):
            numeric = [(up.probs - down.probs) @ gradient / (2 * step) for up, down in ends]
            np.testing.assert_allclose(distribution.vjp(gradient), numeric, atol=1e-6)
            checked += len(distribution) > 1
    assert checked >= 3


def test_a_warm_start_is_left_where_it_cannot_carry_mass_and_the_mean_is_the_same_at_huge_scores():
    for seed in range(12):
        theta, pairs, rng = draw_broken(seed, 6, 1e300)
        before = sparsemap(rng.normal(size=6), precedence=pairs)
        warm = sparsemap(theta, precedence=pairs, warm_start=before)
        np.testing.assert_allclose(warm.mean_ranks, sparsemap(theta, precedence=pairs).mean_ranks, atol=1e-9)
        again = sparsemap(theta, precedence=pairs, warm_start=warm)
        np.testing.assert_allclose(again.mean_ranks, warm.mean_ranks, atol=1e-9)


def test_the_worst_first_ranking_is_left_behind(monkeypatch):
    """Local search may begin with a poor one."""
    problems = [draw_broken(seed, 5, 1e300)[:2] for seed in range(12)]
    expected = [mean_of_whole_numbers(*problem) for problem in problems]
    best = wide_scores._best_ranking
    monkeypatch.setattr(wide_scores, "_best_ranking", lambda keys, *rest: best([-key for key in keys], *rest))
    for problem, mean in zip(problems, expected, strict=True):
        np.testing.assert_allclose(mean_of_whole_numbers(*problem), mean, atol=1e-9)


def test_few_iterations_give_few_rankings_of_huge_scores():
    theta, pairs, _ = draw_broken(0, 10, 1e18, density=0.1)
    assert len(sparsemap(theta, precedence=pairs)) > 3
    for max_iter in (1, 2, 3):
        assert len(sparsemap(theta, max_iter, precedence=pairs)) <= max_iter


@few
@given(problems())
def test_scores_that_obey_never_need_whole_numbers(problem):
    theta, tau, pairs = problem
    nodes = Precedence(pairs, theta.size).sort(theta)
    assert not is_wide(close_gaps(theta[nodes], tau))


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
