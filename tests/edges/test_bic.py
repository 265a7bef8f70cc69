"""Linear edges by BIC: least squares, units, and degenerate columns."""

import numpy as np
import pytest

from daguerreotype.edges.additive.estimators import BicEdges
from daguerreotype.edges.base import Table
from support.fits import direct_fits, linear_data, standard_table


def table_of(values):
    values = values - values.mean(0)
    return Table(values, tuple(f"x{i}" for i in range(values.shape[1])))


def test_weights_variance_and_residuals_are_those_of_least_squares_in_any_units(rng):
    table, units = standard_table(linear_data(0, 200, 12)), 10.0 ** rng.uniform(-4, 4, 12)
    models, scaled = BicEdges().prepare(table), BicEdges().prepare(table_of(table.values * units))
    order = np.arange(12)
    for node, (fit, other) in enumerate(zip(direct_fits(models, order), direct_fits(scaled, order), strict=True)):
        design = table.values[:, fit.parents]
        expected = np.linalg.lstsq(design, table.values[:, node], rcond=None)[0]
        residuals = table.values[:, node] - design @ expected
        np.testing.assert_allclose(fit.weights, expected, rtol=1e-8)
        np.testing.assert_allclose(models.residuals(node, fit), residuals, atol=1e-9)
        assert fit.variance == pytest.approx(np.mean(residuals**2))
        assert fit.dof == fit.parents.size
        assert other.parents.tolist() == fit.parents.tolist()
        assert other.variance == pytest.approx(fit.variance * units[node] ** 2)
        np.testing.assert_allclose(other.weights, fit.weights * units[node] / units[fit.parents])


def test_of_two_equal_columns_only_the_first_becomes_a_parent():
    rng = np.random.default_rng(1)
    cause = rng.normal(size=100)
    values = np.column_stack([cause + rng.normal(size=100), cause, cause])
    fit = BicEdges().prepare(table_of(values)).fit(0, np.array([1, 2]))
    assert fit.parents.tolist() == [1]


def test_a_column_that_others_determine_has_them_as_parents_and_a_positive_variance():
    rng = np.random.default_rng(1)
    causes = rng.normal(size=(100, 2))
    values = np.column_stack([causes @ [1.0, -2.0], causes, rng.normal(size=(100, 3))])
    models = BicEdges().prepare(table_of(values))
    fit = models.fit(0, np.arange(1, 6))
    assert fit.parents.tolist() == [1, 2]
    assert 0 < fit.variance < 1e-9
    np.testing.assert_allclose(fit.weights, [1.0, -2.0], rtol=1e-8)


def test_a_constant_column_is_neither_parent_nor_child_and_its_variance_stays_positive():
    rng = np.random.default_rng(1)
    values = np.column_stack([np.full(50, 3.0), rng.normal(size=(50, 2))])
    models = BicEdges(penalty=0.01).prepare(table_of(values))
    assert 0 not in models.fit(1, np.array([0, 2])).parents
    constant = models.fit(0, np.array([1, 2]))
    assert constant.parents.size == 0
    assert constant.variance > 0
