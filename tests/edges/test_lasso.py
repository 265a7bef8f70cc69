"""The lasso at a fixed and at the BIC-chosen strength, against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LassoLarsIC

from daguerreotype.edges.base import Table
from daguerreotype.edges.lasso import LassoEdges
from daguerreotype.noise.gaussian import nll_of_variance


def correlated_table(seed, n, d):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(n, d))
    values -= values.mean(axis=0)
    return Table(values / values.std(axis=0), tuple(f"x{j}" for j in range(d)))


def dense(fit, table):
    weights = np.zeros(table.n_columns)
    weights[fit.parents] = fit.weights
    return weights


@pytest.mark.parametrize("seed", range(20))
def test_bic_chosen_weights_equal_scikit_learn_on_every_node(seed):
    table = correlated_table(seed, n=40 + 10 * seed, d=4 + seed // 2)
    models = LassoEdges().prepare(table)
    for node in range(table.n_columns):
        predecessors = np.delete(np.arange(table.n_columns), node)
        expected = LassoLarsIC(criterion="bic").fit(table.values[:, predecessors], table.values[:, node])
        fit = models.fit(node, predecessors)
        np.testing.assert_allclose(dense(fit, table)[predecessors], expected.coef_, rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(fit.parents, predecessors[np.abs(expected.coef_) > 1e-12])


@pytest.mark.parametrize("alpha", [1e-3, 0.03, 0.2, 0.7])
@pytest.mark.parametrize("n", [12, 100], ids=["fewer rows than columns", "many rows"])
def test_weights_at_a_fixed_strength_equal_coordinate_descent(alpha, n):
    table = correlated_table(3, n=n, d=15)
    models = LassoEdges(alpha=alpha).prepare(table)
    for node in (0, 7, 14):
        predecessors = np.delete(np.arange(15), node)
        expected = Lasso(alpha=alpha, fit_intercept=False, tol=1e-13, max_iter=1_000_000)
        expected.fit(table.values[:, predecessors], table.values[:, node])
        np.testing.assert_allclose(
            dense(models.fit(node, predecessors), table)[predecessors], expected.coef_, atol=1e-6
        )


def test_strength_zero_is_least_squares():
    table = correlated_table(0, n=80, d=10)
    expected = np.linalg.lstsq(table.values[:, :9], table.values[:, 9], rcond=None)[0]
    fit = LassoEdges(alpha=0).prepare(table).fit(9, np.arange(9))
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-8)


def test_a_strength_above_every_covariance_leaves_no_parent():
    table = correlated_table(0, n=80, d=6)
    fit = LassoEdges(alpha=1.01).prepare(table).fit(5, np.arange(5))
    assert fit.parents.size == 0
    assert fit.nll == nll_of_variance(table.moments[5, 5])


def test_a_strength_that_is_no_strength_is_refused():
    for alpha, message in (
        ("aic", "alpha must be 'bic', got 'aic'"),
        (-0.1, "alpha must be at least 0, got -0.1"),
        (np.inf, "alpha must be a finite number, got inf"),
        (None, "alpha must be a finite number, got None"),
    ):
        with pytest.raises(ValueError, match=message):
            LassoEdges(alpha=alpha).prepare(correlated_table(0, n=20, d=3))
