"""Local models whose columns are each fitted on rows of their own."""

import copy
import pickle

import numpy as np
import pytest

from daguerreotype.edges.additive.estimators import BicEdges, GamEdges
from daguerreotype.edges.base import (
    Table,
)
from daguerreotype.edges.interventional import prepare_by_group, row_groups
from daguerreotype.edges.lasso import LarsEdges, LassoEdges
from support.fits import linear_data

D = 5
CLOSED_FORM = {"bic": BicEdges(), "gam": GamEdges(), "lars": LarsEdges(), "lasso": LassoEdges()}


@pytest.fixture
def table():
    """Columns 1 and 3 were set in the first rows, column 4 in some others, far from where they usually are."""
    values = linear_data(1, n=150, d=D)
    intervened = np.zeros(values.shape, dtype=bool)
    intervened[:40, [1, 3]] = intervened[30:60, 4] = True
    values = np.where(intervened, 3.0 + np.random.default_rng(5).normal(size=values.shape), values)
    return Table(values, tuple("abcde"), intervened=intervened)


def prepared(estimator, table):
    return prepare_by_group(table, estimator.prepare)


def others(node):
    return np.delete(np.arange(D), node)


def least_squares(table, node, parents):
    """Intercept and coefficients of one column on others, from the rows in which it was not set."""
    rows = ~table.intervened[:, node]
    design = np.column_stack([np.ones(rows.sum()), table.values[rows][:, parents]])
    return np.linalg.lstsq(design, table.values[rows, node], rcond=None)[0], rows


def test_columns_that_were_set_in_the_same_rows_share_a_group(table):
    group, kept = row_groups(table.intervened)
    assert len(kept) == 3
    assert group[1] == group[3] != group[4] != group[0] == group[2] != group[1]
    for node in range(D):
        np.testing.assert_array_equal(kept[group[node]], ~table.intervened[:, node])


def test_a_fit_by_bic_is_least_squares_with_an_intercept_on_the_rows_that_count(table):
    models = prepared(BicEdges(), table)
    for node in range(D):
        fit = models.fit(node, others(node))
        (intercept, *weights), rows = least_squares(table, node, fit.parents)
        np.testing.assert_allclose(fit.weights, weights, rtol=1e-9)
        fitted = intercept + table.values[:, fit.parents] @ weights
        residuals = (table.values[:, node] - fitted)[rows]
        assert fit.variance == pytest.approx(np.mean(residuals**2), rel=1e-9)
        np.testing.assert_allclose(models.residuals(node, fit), residuals, atol=1e-9)
        np.testing.assert_allclose(models.predict(node, fit, table.values), fitted, atol=1e-9)


@pytest.mark.parametrize("edges", CLOSED_FORM)
def test_a_fit_is_that_of_the_estimator_on_the_rows_that_count_alone(table, edges):
    estimator = CLOSED_FORM[edges]
    models = prepared(estimator, table)
    for node in range(D):
        kept = table.values[~table.intervened[:, node]]
        centre = kept.mean(axis=0)
        alone = estimator.prepare(Table(kept - centre, table.names))
        fit, same = models.fit(node, others(node)), alone.fit(node, others(node))
        np.testing.assert_array_equal(fit.parents, same.parents)
        np.testing.assert_allclose(fit.weights, same.weights, rtol=1e-12)
        assert (fit.variance, fit.dof) == pytest.approx((same.variance, same.dof), rel=1e-12)
        predicted = alone.predict(node, same, table.values - centre) + centre[node]
        np.testing.assert_allclose(models.predict(node, fit, table.values), predicted, rtol=1e-12)


@pytest.mark.parametrize("estimator", [BicEdges(), GamEdges()])
def test_scores_of_many_fits_and_moves_are_those_of_single_fits(table, estimator, rng):
    models = prepared(estimator, table)

    def assert_scores(score, node, predecessors):
        fit = models.fit(int(node), np.sort(predecessors))
        np.testing.assert_allclose(score, [fit.excess, fit.dof], rtol=1e-9, atol=1e-12)

    ranks = np.array([rng.permutation(D) for _ in range(6)])
    rows, nodes = rng.integers(6, size=20), rng.integers(D, size=20)
    for row, node, score in zip(rows, nodes, models.score_many(ranks, rows, nodes), strict=True):
        assert_scores(score, node, np.flatnonzero(ranks[row] < ranks[row, node]))
    order = np.array([3, 0, 4, 2])
    moves = models.fit_moves(1, order)
    for place in range(D):
        assert_scores(moves.own[place], 1, order[:place])
    for place, node in enumerate(order):
        assert_scores(moves.before[place], node, order[:place])
        assert_scores(moves.after[place], node, np.append(order[:place], 1))


def test_fits_of_many_nodes_are_those_of_each(table):
    linear = pytest.importorskip("daguerreotype.edges.linear")
    models = prepared(linear.LinearEdges(max_iter=30, device="cpu"), table)
    requests = [(node, others(node)) for node in (4, 0, 1, 3, 2)]
    for (node, predecessors), fit in zip(requests, models.fit_many(requests), strict=True):
        same = models.fit(node, predecessors)
        np.testing.assert_array_equal(fit.parents, same.parents)
        np.testing.assert_array_equal(fit.weights, same.weights)


def test_curves_and_the_mean_of_the_rows_that_count_add_up_to_predictions(table):
    models, without = prepared(GamEdges(), table), 0
    for node in range(D):
        fit = models.fit(node, others(node))
        if fit.products.size:  # which are no part of curves
            continue
        without += 1
        curves = [models.curve(node, fit, int(parent), table.values[:, parent]) for parent in fit.parents]
        mean = table.values[~table.intervened[:, node], node].mean()
        np.testing.assert_allclose(models.predict(node, fit, table.values), mean + sum(curves), atol=1e-9)
    assert without > 1


def test_copies_and_a_predictor_without_the_table_predict_the_same_and_nothing_is_changed(table):
    values, intervened = table.values.copy(), table.intervened.copy()
    models = prepared(GamEdges(), table)
    fit = models.fit(4, others(4))
    predicted = models.predict(4, fit, table.values)
    copies = copy.deepcopy(models), pickle.loads(pickle.dumps(models))
    for again in (*copies, models.predictor()):
        np.testing.assert_array_equal(again.predict(4, fit, table.values), predicted)
    for again in copies:
        assert all(own is not original for own, original in zip(again.parts, models.parts, strict=True))
    assert not models.predictor().can.search
    np.testing.assert_array_equal(table.values, values)
    np.testing.assert_array_equal(table.intervened, intervened)
