import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.operators import project_permutahedron, sparsemap, top_k_sparsemax
from daguerreotype.operators.active_set import support_factor
from support.rankings import projection_by_quadratic_programming

METHODS = ("active-set", "peel")
methods = pytest.mark.parametrize("method", METHODS)


@methods
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("d", [1, 2, 3, 10, 50, 100, 500])
def test_the_mean_ranking_is_the_projection(method, scale, d, rng):
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


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_the_projection_is_that_of_quadratic_programming(d, scale, rng):
    for _ in range(5):
        theta = scale * rng.normal(size=d)
        np.testing.assert_allclose(
            project_permutahedron(theta), projection_by_quadratic_programming(theta), atol=1e-5
        )


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
def test_at_zero_it_returns_a_ranking_and_its_reverse(method):
    distribution = sparsemap(np.zeros(6), method=method)
    assert distribution.probs == pytest.approx([0.5, 0.5])
    assert (distribution.ranks.sum(axis=0) == 5).all()


@methods
def test_at_zero_a_random_state_chooses_the_ranking(method):
    first = sparsemap(np.zeros(9), method=method, random_state=0).ranks[0]
    again = sparsemap(np.zeros(9), method=method, random_state=0).ranks[0]
    other = sparsemap(np.zeros(9), method=method, random_state=1).ranks[0]
    assert (first == again).all()
    assert (first != other).any()


@methods
def test_towards_temperature_zero_only_the_sorted_order_is_left(method, rng):
    theta = rng.normal(size=30)
    distribution = sparsemap(theta, tau=1e-9, method=method)
    assert len(distribution) == 1
    assert (distribution.mode == np.argsort(theta)).all()


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


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 10])
def test_an_early_stop_bounds_the_support_and_more_iterations_come_closer(max_iter, rng):
    theta = rng.normal(size=30)
    projection = project_permutahedron(theta)

    def distance(iterations):
        distribution = sparsemap(theta, iterations)
        assert len(distribution) <= iterations
        return np.linalg.norm(distribution.mean_ranks + 1 - projection)

    assert distance(max_iter + 1) <= distance(max_iter) + 1e-12


def test_a_warm_start_from_the_solution_needs_a_single_iteration(rng):
    theta = rng.normal(size=25)
    solution = sparsemap(theta, 1000)
    again = sparsemap(theta, 1, warm_start=solution)
    np.testing.assert_allclose(again.mean_ranks, solution.mean_ranks, atol=1e-9)


def test_a_warm_start_from_elsewhere_does_not_change_the_mean(rng):
    theta = 5 * rng.normal(size=25)
    elsewhere = sparsemap(rng.normal(size=25), 1000)
    distribution = sparsemap(theta, 1000, warm_start=elsewhere)
    np.testing.assert_allclose(distribution.mean_ranks + 1, project_permutahedron(theta), atol=1e-8)


@given(st.integers(2, 12), st.integers(0, 2**31), st.floats(0.001, 3.0))
def test_along_a_path_of_scores_warm_starts_keep_the_mean_of_cold_ones(d, seed, step):
    rng = np.random.default_rng(seed)
    theta, last = rng.normal(size=d), None
    for _ in range(15):
        last = sparsemap(theta, 1000, warm_start=last)
        np.testing.assert_allclose(last.mean_ranks + 1, project_permutahedron(theta), atol=1e-8)
        assert len(last) <= d
        assert last.probs.sum() == pytest.approx(1.0, abs=1e-9)
        factor = np.tril(last.pullback.factor)[: len(last), : len(last)]
        np.testing.assert_allclose(support_factor(last.ranks), factor, atol=1e-9)
        theta = theta + step * rng.normal(size=d)


def test_a_warm_start_keeps_most_rankings_where_a_cold_one_changes_many(rng):
    theta, first = rng.normal(size=20), None
    for _ in range(20):
        theta = theta + 0.001 * rng.normal(size=20)
        first = sparsemap(theta, 1000, warm_start=first)

    def shared(distribution):
        return len(as_set(first) & as_set(distribution)) / len(distribution)

    def as_set(distribution):
        return set(map(bytes, distribution.ranks))

    moved = theta + 0.001 * rng.normal(size=20)
    assert shared(sparsemap(moved, 1000, warm_start=first)) > 0.8
    assert shared(sparsemap(moved, 1000)) < 0.3


def test_a_warm_start_of_rankings_that_depend_on_each_other_does_not_change_the_mean(rng):
    theta = rng.normal(size=5)
    many = top_k_sparsemax(theta, 60, tau=1000.0)  # more than d of them
    assert len(many) > 5
    distribution = sparsemap(theta, 1000, warm_start=many)
    np.testing.assert_allclose(distribution.mean_ranks + 1, project_permutahedron(theta), atol=1e-9)


def test_the_derivative_after_a_warm_start_is_that_on_its_support(rng):
    theta = 0.3 * rng.normal(size=6)
    warm = sparsemap(theta + 0.05 * rng.normal(size=6), 1000)
    for _ in range(20):  # until the support is that of a whole face, which small steps do not leave
        warm = sparsemap(theta + 0.05 * rng.normal(size=6), 1000, warm_start=warm)
    solution = sparsemap(theta, 1000, warm_start=warm)
    weights = rng.normal(size=len(solution))
    for i in range(6):
        step = 1e-6 * np.eye(6)[i]
        ends = [sparsemap(theta + sign * step, 1000, warm_start=solution).probs @ weights for sign in (1, -1)]
        assert solution.vjp(weights)[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_a_warm_start_of_other_size_is_refused():
    with pytest.raises(ValueError, match="warm_start ranks 3 nodes, but theta has 2"):
        sparsemap([0.0, 1.0], warm_start=sparsemap(np.zeros(3)))


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
def test_the_derivative_of_the_mean_ranking_is_that_of_the_projection(method, rng):
    # Holds for any decomposition: d mean / d theta is block-wise centring, here of a single block.
    theta = 0.1 * rng.normal(size=12)
    distribution = sparsemap(theta, 1000, method=method)
    direction = rng.normal(size=12)
    gradient = distribution.vjp(distribution.ranks @ direction)
    np.testing.assert_allclose(gradient, direction - direction.mean(), atol=1e-6)


@methods
def test_at_zero_the_derivative_points_from_one_ranking_to_its_reverse(method):
    distribution = sparsemap(np.zeros(4), method=method)
    gradient = distribution.vjp(np.array([1.0, 0.0]))
    difference = distribution.ranks[0] - distribution.ranks[1]
    np.testing.assert_allclose(gradient, difference / (difference @ difference), atol=1e-12)


@methods
def test_permuting_the_nodes_permutes_the_distribution(method, rng):
    theta, shuffle = rng.normal(size=12), rng.permutation(12)
    plain, shuffled = sparsemap(theta, method=method), sparsemap(theta[shuffle], method=method)
    np.testing.assert_allclose(shuffled.probs, plain.probs, atol=1e-9)
    assert (shuffled.ranks == plain.ranks[:, shuffle]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"theta": [np.nan, 0.0]}, "finite"),
        ({"theta": []}, "empty"),
        ({"theta": np.zeros((2, 2))}, "shape"),
        ({"theta": [0.0, 1.0], "tau": 0.0}, "tau must be positive"),
        ({"theta": [0.0, 1.0], "max_iter": 0}, "max_iter must be at least 1"),
        ({"theta": [0.0, 1.0], "method": "simplex"}, "'active-set' or 'peel', got 'simplex'"),
    ],
)
def test_bad_input_is_refused_with_what_was_seen(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparsemap(**arguments)


def test_the_projection_refuses_scores_that_are_not_finite():
    with pytest.raises(ValueError, match="finite"):
        project_permutahedron([0.0, np.inf])
