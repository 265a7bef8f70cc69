from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.operators import project_permutahedron, sparsemap

methods = pytest.mark.parametrize("method", ["active-set", "peel"])


@methods
def test_the_mean_ranking_is_the_projection(method, rng):
    for d, scale in product((1, 2, 3, 10, 50, 200), (1e-6, 1e-3, 1.0, 10.0, 1e3, 1e6)):
        theta = scale * rng.normal(size=d)
        distribution = sparsemap(theta, 20 * d, tau=2.0, method=method)
        np.testing.assert_allclose(distribution.mean_ranks + 1, project_permutahedron(theta / 2.0), atol=1e-8)
        assert distribution.probs.sum() == pytest.approx(1.0, abs=1e-12)
        assert (distribution.probs > 0).all()


@methods
@given(st.lists(st.integers(-4, 4).map(lambda x: x / 2), min_size=1, max_size=9))
def test_with_ties_the_mean_ranking_is_the_projection(method, theta):
    distribution = sparsemap(theta, 200, method=method)
    np.testing.assert_allclose(distribution.mean_ranks + 1, project_permutahedron(theta), atol=1e-9)
    assert (np.sort(distribution.ranks, axis=1) == np.arange(len(theta))).all()
    assert len(np.unique(distribution.ranks, axis=0)) == len(distribution)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=40))
def test_the_projection_satisfies_the_optimality_conditions(theta):
    theta = np.array(theta)
    projection = project_permutahedron(theta)
    d = theta.size
    # Feasible: the sums of the smallest entries majorise those of 1, 2, ..., and all entries sum to the same.
    sums, bounds = np.cumsum(np.sort(projection)), np.cumsum(np.arange(1, d + 1))
    assert (sums >= bounds - 1e-8).all()
    assert sums[-1] == pytest.approx(bounds[-1])
    # Optimal: no ranking is better aligned with the residual than the projection itself.
    residual = theta - projection
    best = np.sort(residual) @ np.arange(1, d + 1)
    assert best <= residual @ projection + 1e-7 * max(1.0, abs(best))


@methods
def test_at_most_as_many_rankings_as_nodes_carry_mass(method, rng):
    for d in (5, 20, 60):
        assert len(sparsemap(0.01 * rng.normal(size=d), 1000, method=method)) <= d


def test_by_peeling_the_sorted_order_carries_at_least_half_of_the_mass(rng):
    for scale in (1e-3, 1.0, 30.0):
        theta = scale * rng.normal(size=40)
        distribution = sparsemap(theta, method="peel")
        assert (distribution.mode == np.argsort(theta)).all()
        assert distribution.probs.max() >= 0.5


def test_an_early_stop_bounds_the_support_and_more_iterations_come_closer(rng):
    theta = rng.normal(size=30)
    projection, last = project_permutahedron(theta), np.inf
    for max_iter in range(1, 12):
        distribution = sparsemap(theta, max_iter)
        assert len(distribution) <= max_iter
        distance = np.linalg.norm(distribution.mean_ranks + 1 - projection)
        assert distance <= last + 1e-12
        last = distance


# The active set of many nodes ends in a tail of tiny weights that changes with every small step, so whole
# solutions are compared for few nodes only; the next test covers many.
@pytest.mark.parametrize(
    ("method", "d"),
    [("active-set", 2), ("active-set", 4), ("active-set", 5), *(("peel", d) for d in (2, 4, 9, 25))],
)
@pytest.mark.parametrize("scale", [0.05, 1.0, 4.0])
def test_vjp_equals_finite_differences(method, d, scale, rng):
    theta = scale * rng.normal(size=d)

    def solve(scores):
        return sparsemap(scores, 1000, tau=0.8, method=method)

    distribution = solve(theta)
    weights = rng.normal(size=len(distribution))
    gradient = distribution.vjp(weights)
    step = 1e-6
    compared = 0
    for change in np.eye(d) * step:
        above, below = solve(theta + change), solve(theta - change)
        if all(np.array_equal(moved.ranks, distribution.ranks) for moved in (above, below)):
            difference = (above.probs - below.probs) @ weights / (2 * step)
            assert gradient @ change / step == pytest.approx(difference, abs=1e-6, rel=1e-5)
            compared += 1
    assert compared >= d / 2


@pytest.mark.parametrize("max_iter", [3, 10, 1000])
@pytest.mark.parametrize("d", [9, 25, 80])
def test_vjp_of_the_active_set_is_that_of_least_squares_on_its_support(d, max_iter, rng):
    theta = rng.normal(size=d)
    distribution = sparsemap(theta, max_iter, tau=0.8)
    ranks, m = distribution.ranks, len(distribution)
    # Weights that sum to one and bring the mean closest to theta / tau: one linear system, differentiated.
    system = np.block([[ranks @ ranks.T, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    weights = rng.normal(size=m)
    expected = np.linalg.lstsq(system, np.append(weights, 0.0), rcond=None)[0][:m] @ ranks / 0.8
    solved = np.linalg.lstsq(system, np.append(ranks @ (theta / 0.8), 1.0), rcond=None)[0][:m]
    np.testing.assert_allclose(distribution.probs, solved, atol=1e-6)
    np.testing.assert_allclose(distribution.vjp(weights), expected, rtol=1e-4, atol=1e-6)


@methods
def test_at_zero_the_derivative_points_from_one_ranking_to_its_reverse(method):
    distribution = sparsemap(np.zeros(4), method=method)
    gradient = distribution.vjp(np.array([1.0, 0.0]))
    difference = distribution.ranks[0] - distribution.ranks[1]
    np.testing.assert_allclose(gradient, difference / (difference @ difference), atol=1e-12)


def test_bad_input_is_refused_with_what_was_seen():
    cases = [
        ({"theta": [np.nan, 0.0]}, "finite"),
        ({"theta": []}, "empty"),
        ({"theta": np.zeros((2, 2))}, "shape"),
        ({"theta": [0.0, 1.0], "tau": 0.0}, "tau must be positive"),
        ({"theta": [0.0, 1.0], "max_iter": 0}, "max_iter must be at least 1"),
        ({"theta": [0.0, 1.0], "method": "simplex"}, "'active-set' or 'peel', got 'simplex'"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            sparsemap(**arguments)
    with pytest.raises(ValueError, match="finite"):
        project_permutahedron([0.0, np.inf])
