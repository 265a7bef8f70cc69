"""The lasso and the adaptive LARS-lasso against scikit-learn, and where scikit-learn has no answer."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, LassoLarsIC, LinearRegression

from daguerreotype.edges.base import Table
from daguerreotype.edges.lasso import LarsEdges, LassoEdges
from daguerreotype.edges.lasso_path import sweep
from daguerreotype.noise.gaussian import nll_of_variance


def linear_table(seed, *, n=None, d=None, scaled=True):
    """Columns of a random linear DAG, in random order."""
    rng = np.random.default_rng(seed)
    d = d or int(rng.integers(3, 16))
    n = n or int(rng.integers(d + 3, 300))
    edges = np.triu(rng.random((d, d)) < min(1.0, rng.uniform(1, 8) / d), 1)
    weights = edges * rng.uniform(0.5, 2.0, (d, d)) * rng.choice([-1, 1], (d, d))
    values = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - weights)
    values = values[:, rng.permutation(d)]
    values -= values.mean(axis=0)
    return Table(values / values.std(axis=0) if scaled else values, tuple(f"x{j}" for j in range(d)))


def local_problems(table, seed):
    """Every node with its predecessors in one random order."""
    order = np.random.default_rng(seed).permutation(table.n_columns)
    return [(int(order[k]), np.sort(order[:k])) for k in range(1, order.size)]


def dense(fit, table):
    weights = np.zeros(table.n_columns)
    weights[fit.parents] = fit.weights
    return weights


# ------------------------------------------------------------------ the lasso


def test_weights_of_the_lasso_by_bic_equal_scikit_learn_on_every_node():
    for seed in range(20):
        table = linear_table(seed, n=40 + 10 * seed, d=4 + seed // 2)
        models = LassoEdges().prepare(table)
        for node in range(table.n_columns):
            predecessors = np.delete(np.arange(table.n_columns), node)
            expected = LassoLarsIC(criterion="bic").fit(table.values[:, predecessors], table.values[:, node])
            fit = models.fit(node, predecessors)
            np.testing.assert_allclose(dense(fit, table)[predecessors], expected.coef_, rtol=1e-8, atol=1e-8)
            np.testing.assert_array_equal(fit.parents, predecessors[np.abs(expected.coef_) > 1e-12])


@pytest.mark.parametrize("alpha", [0, 1e-3, 0.03, 0.2, 0.7])
def test_weights_at_a_fixed_strength_equal_coordinate_descent_and_at_strength_zero_least_squares(alpha):
    for n in (12, 100) if alpha else (80,):
        table = linear_table(3, n=n, d=15)
        models = LassoEdges(alpha=alpha).prepare(table)
        for node in (0, 7, 14):
            predecessors = np.delete(np.arange(15), node)
            X, y = table.values[:, predecessors], table.values[:, node]
            if alpha:
                model = Lasso(alpha=alpha, fit_intercept=False, tol=1e-13, max_iter=1_000_000)
                expected = model.fit(X, y).coef_
            else:
                expected = np.linalg.lstsq(X, y, rcond=None)[0]
            found = dense(models.fit(node, predecessors), table)[predecessors]
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_strength_above_every_covariance_leaves_no_parent():
    table = linear_table(0, n=80, d=6)
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
            LassoEdges(alpha=alpha).prepare(linear_table(0, n=20, d=3))


# ------------------------------------------------------------------ adaptive LARS


def test_weights_equal_scikit_learn_on_every_node_of_a_hundred_problems_some_with_columns_that_leave_again():
    longer = 0
    for seed in range(100):
        table = linear_table(seed, scaled=seed % 2 == 0)
        models = LarsEdges().prepare(table)
        for node, predecessors in local_problems(table, seed):
            inputs, target = table.values[:, predecessors], table.values[:, node]
            scale = np.abs(LinearRegression().fit(inputs, target).coef_)
            model = LassoLarsIC(criterion="bic").fit(inputs * scale, target)
            expected = model.coef_ * scale
            fit = models.fit(node, predecessors)
            np.testing.assert_allclose(dense(fit, table)[predecessors], expected, rtol=1e-8, atol=1e-8)
            np.testing.assert_array_equal(fit.parents, predecessors[np.abs(expected) > 1e-12])
            longer += model.alphas_.size > predecessors.size + 1
    assert longer > 5


def test_the_graph_of_an_order_equals_sortnregress():
    baselines = pytest.importorskip("CausalDisco.baselines")
    table = linear_table(4, n=250, d=8)
    scores = np.random.default_rng(0).normal(size=8)
    expected = baselines.sort_regress(table.values, scores)
    models, order = LarsEdges().prepare(table), np.argsort(scores)
    for k, node in enumerate(order):
        np.testing.assert_allclose(
            dense(models.fit(int(node), np.sort(order[:k])), table), expected[:, node], rtol=1e-8, atol=1e-8
        )


def test_a_change_of_units_changes_the_weights_by_that_factor_and_no_parent():
    table = linear_table(7, n=150, d=8)
    models = LarsEdges().prepare(table)
    for unit in (1e-6, 1e-2, 1e5):
        for units in (np.full(8, unit), np.where(np.arange(8) == 0, unit, 1.0)):
            changed = LarsEdges().prepare(Table(table.values * units, table.names))
            for node, predecessors in local_problems(table, 0):
                fit, other = models.fit(node, predecessors), changed.fit(node, predecessors)
                np.testing.assert_array_equal(fit.parents, other.parents)
                np.testing.assert_allclose(
                    fit.weights * units[node] / units[fit.parents], other.weights, rtol=1e-7
                )
                np.testing.assert_allclose(fit.variance * units[node] ** 2, other.variance, rtol=1e-7)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 20), d=st.integers(2, 25))
@settings(max_examples=60, deadline=None)
def test_few_rows_give_finite_weights_and_a_variance_within_the_moment(seed, n, d):
    table = linear_table(seed, n=n, d=d, scaled=False)
    models = LarsEdges().prepare(table)
    for node, predecessors in local_problems(table, seed):
        fit = models.fit(node, predecessors)
        assert np.isfinite(fit.weights).all()
        assert -np.inf < fit.nll <= nll_of_variance(table.moments[node, node])


def test_with_fewer_rows_than_columns_the_strong_parent_is_found_and_few_others():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 60))
    values[:, 59] += 5 * values[:, 3]
    values -= values.mean(axis=0)
    fit = LarsEdges().prepare(Table(values, tuple(map(str, range(60))))).fit(59, np.arange(59))
    assert 3 in fit.parents
    assert fit.parents.size < 10


def test_of_exact_copies_one_is_a_parent():
    table = linear_table(1, n=100, d=5)
    rng = np.random.default_rng(0)
    target = 2 * table.values[:, 0] + 0.1 * rng.normal(size=100)
    values = np.column_stack([table.values, -3 * table.values[:, 0], target - target.mean()])
    fit = LarsEdges().prepare(Table(values, tuple("abcdefg"))).fit(6, np.arange(6))
    assert np.isin(fit.parents, [0, 5]).sum() == 1
    assert fit.variance < 0.02


@given(seed=st.integers(0, 10_000), noise=st.sampled_from([0.0, 1e-12, 1e-9, 1e-7, 1e-5]))
@settings(max_examples=60, deadline=None)
def test_near_collinear_predecessors_give_finite_weights_and_a_true_variance(seed, noise):
    table = linear_table(seed, n=60, d=6)
    rng = np.random.default_rng(seed)
    copies = table.values @ rng.normal(size=(6, 3)) + noise * rng.normal(size=(60, 3))
    values = np.column_stack([table.values, copies - copies.mean(axis=0)])
    values = values[:, rng.permutation(9)]
    models = LarsEdges().prepare(Table(values, tuple("abcdefghi")))
    for node, predecessors in local_problems(models.table, seed):
        fit = models.fit(node, predecessors)
        assert np.isfinite(fit.weights).all()
        moment = models.table.moments[node, node]
        assert -np.inf < fit.nll <= nll_of_variance(moment)
        square = np.mean(models.residuals(node, fit) ** 2)
        assert fit.variance == pytest.approx(square, rel=1e-6, abs=2e-8 * moment)


def test_a_node_without_noise_gets_its_true_parents_and_no_others():
    table = linear_table(3, n=100, d=8)
    values = table.values.copy()
    values[:, 7] = values[:, 1] - 2 * values[:, 4]
    fit = LarsEdges().prepare(Table(values, table.names)).fit(7, np.arange(7))
    np.testing.assert_array_equal(fit.parents, [1, 4])
    np.testing.assert_allclose(fit.weights, [1, -2], rtol=1e-5)
    assert 0 < fit.variance < 1e-9


def test_a_constant_column_is_neither_a_parent_nor_a_reason_to_fail():
    table = linear_table(2, n=80, d=4)
    values = table.values.copy()
    values[:, 1] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = LarsEdges().prepare(Table(values, table.names))
        assert 1 not in models.fit(3, np.array([0, 1, 2])).parents
        assert models.fit(1, np.array([0, 2, 3])).parents.size == 0


def test_sweeping_twice_restores_the_tableau_and_sweeping_every_column_inverts_it():
    table = linear_table(5, n=100, d=6)
    tableau = table.moments.copy()
    for column in (2, 4, 4, 2):
        sweep(tableau, column)
    np.testing.assert_allclose(tableau, table.moments, rtol=1e-12, atol=1e-12)
    for column in range(6):
        sweep(tableau, column)
    np.testing.assert_allclose(tableau, np.linalg.inv(table.moments), rtol=1e-9)
