"""Draws are those that the docstrings promise: distributions, coefficients, functions."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from daguerreotype.simulate import simulate_dag, simulate_data
from daguerreotype.simulate.equations import SIGNALS, draw_weights

EDGE = np.array([[0, 1], [0, 0]])
FORK = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
STANDARD = {
    "gaussian": stats.norm(),
    "exponential": stats.expon(loc=-1),
    "gumbel": stats.gumbel_r(loc=-np.euler_gamma * np.sqrt(6) / np.pi, scale=np.sqrt(6) / np.pi),
    "uniform": stats.uniform(loc=-np.sqrt(3), scale=2 * np.sqrt(3)),
    "laplace": stats.laplace(scale=np.sqrt(0.5)),
}


@pytest.mark.parametrize("noise", STANDARD)
def test_regression_on_the_true_parents_recovers_weights_and_noise_scales(noise):
    truth = simulate_dag(8, 14, "ER", random_state=0)
    scales = np.linspace(0.5, 2, 8)
    drawn = simulate_data(truth, 20_000, noise=noise, noise_scale=scales, random_state=1)
    assert np.array_equal(drawn.weights != 0, truth == 1)
    for node in range(8):
        parents = np.flatnonzero(truth[:, node])
        design = np.column_stack([np.ones(20_000), drawn.X[:, parents]])
        estimate, *_ = np.linalg.lstsq(design, drawn.X[:, node], rcond=None)
        residual = drawn.X[:, node] - design @ estimate
        errors = residual.std() * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
        assert (np.abs(estimate - np.r_[0, drawn.weights[parents, node]]) < 5 * errors).all()
        assert np.isclose(residual.std(), scales[node], rtol=0.05)
    noises = (drawn.X - drawn.X @ drawn.weights) / scales
    assert stats.kstest(noises.ravel(), STANDARD[noise].cdf).pvalue > 1e-3


def test_weights_are_uniform_on_ranges_that_are_equally_likely():
    drawn = draw_weights(40_000, [(-2.0, -0.5), (0.5, 1.0)], np.random.default_rng(0))
    negative = drawn[drawn < 0]
    assert stats.binomtest(len(negative), 40_000).pvalue > 1e-3
    assert stats.kstest(negative, stats.uniform(-2, 1.5).cdf).pvalue > 1e-3
    assert stats.kstest(drawn[drawn > 0], stats.uniform(0.5, 0.5).cdf).pvalue > 1e-3


def test_a_logistic_node_is_one_with_the_probability_of_the_sigmoid():
    drawn = simulate_data(FORK, 40_000, mechanism="logistic", random_state=0)
    assert stats.binomtest(int(drawn.X[:, 0].sum()), 40_000).pvalue > 1e-3
    for a, b in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        cell = drawn.X[(drawn.X[:, 0] == a) & (drawn.X[:, 1] == b), 2]
        chance = expit(a * drawn.weights[0, 2] + b * drawn.weights[1, 2])
        assert stats.binomtest(int(cell.sum()), len(cell), chance).pvalue > 1e-3


def test_a_poisson_node_has_a_log_link_and_a_rate_of_at_most_a_thousand():
    drawn = simulate_data(EDGE, 40_000, mechanism="poisson", weights=[(0.4, 0.5)], random_state=0)
    cause, effect = drawn.X.T
    assert np.isclose(cause.mean(), 1, atol=0.03)
    for count in range(4):
        cell = effect[cause == count]
        rate = np.exp(drawn.weights[0, 1] * count)
        assert abs(cell.mean() - rate) < 4.5 * np.sqrt(rate / len(cell))
        assert np.isclose(cell.var(), rate, rtol=0.15)
    steep = simulate_data(
        EDGE, 4000, mechanism="poisson", weights=[(50, 50)], interventions={0: 9}, random_state=0
    )
    assert np.isclose(steep.X[:, 1].mean(), 1000, rtol=0.01)


@pytest.mark.parametrize("mechanism", ["mlp", "mim", "gp", "gp-add"])
def test_a_nonlinear_node_has_no_weights_and_noise_of_the_scale_that_was_asked_for(mechanism):
    n = 4000 if mechanism[:2] != "gp" else 500
    with_noise, without = (
        simulate_data(FORK, n, mechanism=mechanism, noise="laplace", noise_scale=[1, 1, scale], random_state=0)
        for scale in (0.7, 0.0)
    )
    assert with_noise.weights is None
    residual = with_noise.X[:, 2] - without.X[:, 2]
    assert stats.kstest(residual / 0.7, STANDARD["laplace"].cdf).pvalue > 1e-3
    linear = simulate_data(FORK, n, noise="laplace", random_state=0)  # a node without parents is noise
    assert np.array_equal(with_noise.X[:, :2], linear.X[:, :2])


def test_an_mlp_is_a_sum_of_a_hundred_sigmoids_and_a_mim_of_three_waves(rng):
    ones, far, at = [(1.0, 1.0)], np.array([0.0, 1e9, -1e9]), np.linspace(-2, 2, 5)
    assert np.allclose(SIGNALS["mlp"](far[:, None], ones, rng), [50, 100, 0])
    assert np.allclose(SIGNALS["mim"](at[:, None], ones, rng), np.tanh(at) + np.cos(at) + np.sin(at))


def rbf(points):
    return np.exp(-0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=-1))


class UnitDraws:
    """Stands in for a generator so that a linear map of its draws shows its matrix."""

    def standard_normal(self, size):
        return np.eye(size)


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 5.0, 300.0])  # the last is too wide for the series
@pytest.mark.parametrize("p", [1, 3])
def test_a_process_has_exactly_the_covariance_of_its_kernel(p, spread):
    points = spread * np.random.default_rng(0).normal(size=(600, p))
    points[:3] = 0.0
    root = SIGNALS["gp"](points, [], UnitDraws())
    assert (root.shape[1] < 600) == (p == 1 and spread < 300)
    assert np.allclose(root @ root.T, rbf(points), rtol=0, atol=1e-9)


def test_an_additive_process_is_the_sum_of_one_for_each_parent(rng):
    points = rng.normal(size=(50, 2))
    alone = np.random.default_rng(1)
    parts = [SIGNALS["gp"](points[:, [i]], [], alone) for i in range(2)]
    np.testing.assert_allclose(SIGNALS["gp-add"](points, [], np.random.default_rng(1)), sum(parts))
