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


@pytest.mark.parametrize("node", range(D))
def test_a_fit_by_bic_is_least_squares_with_an_intercept_on_the_rows_that_count(table, node):
    models = prepared(BicEdges(), table)
    fit = models.fit(node, others(node))
    (intercept, *weights), rows = least_squares(table, node, fit.parents)
    np.testing.assert_allclose(fit.weights, weights, rtol=1e-9)
    residuals = table.values[:, node] - intercept - table.values[:, fit.parents] @ weights
    assert fit.variance == pytest.approx(np.mean(residuals[rows] ** 2), rel=1e-9)
    np.testing.assert_allclose(models.residuals(node, fit), residuals[rows], atol=1e-9)
    np.testing.assert_allclose(
        table.values[:, node] - models.predict(node, fit, table.values), residuals, atol=1e-9
    )


@pytest.mark.parametrize("edges", CLOSED_FORM)
@pytest.mark.parametrize("node", range(D))
def test_a_fit_is_that_of_the_estimator_on_the_rows_that_count_alone(table, edges, node):
    estimator = CLOSED_FORM[edges]
    kept = table.values[~table.intervened[:, node]]
    centre = kept.mean(axis=0)
    alone = estimator.prepare(Table(kept - centre, table.names))
    models = prepared(estimator, table)
    fit, same = models.fit(node, others(node)), alone.fit(node, others(node))
    np.testing.assert_array_equal(fit.parents, same.parents)
    np.testing.assert_allclose(fit.weights, same.weights, rtol=1e-12)
    assert (fit.variance, fit.dof) == pytest.approx((same.variance, same.dof), rel=1e-12)
    np.testing.assert_allclose(
        models.predict(node, fit, table.values),
        alone.predict(node, same, table.values - centre) + centre[node],
        rtol=1e-12,
    )


@pytest.mark.parametrize("estimator", [BicEdges(), GamEdges()])
def test_moves_are_the_fits_of_all_positions(table, estimator):
    models = prepared(estimator, table)
    order = np.array([3, 0, 4, 2])
    moves = models.fit_moves(1, order)
    for place in range(D):
        own = models.fit(1, np.sort(order[:place]))
        np.testing.assert_allclose(moves.own[place], [own.excess, own.dof], rtol=1e-9, atol=1e-12)
    for place, node in enumerate(order):
        without = models.fit(int(node), np.sort(order[:place]))
        behind = models.fit(int(node), np.sort(np.append(order[:place], 1)))
        np.testing.assert_allclose(moves.before[place], [without.excess, without.dof], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(moves.after[place], [behind.excess, behind.dof], rtol=1e-9, atol=1e-12)


def test_scores_of_many_fits_are_theirs(table, rng):
    models = prepared(GamEdges(), table)
    ranks = np.array([rng.permutation(D) for _ in range(6)])
    rows, nodes = rng.integers(6, size=20), rng.integers(D, size=20)
    for row, node, score in zip(rows, nodes, models.score_many(ranks, rows, nodes), strict=True):
        fit = models.fit(int(node), np.flatnonzero(ranks[row] < ranks[row, node]))
        np.testing.assert_allclose(score, [fit.excess, fit.dof], rtol=1e-9, atol=1e-12)


def test_fits_of_many_nodes_are_those_of_each(table):
    linear = pytest.importorskip("daguerreotype.edges.linear")
    models = prepared(linear.LinearEdges(max_iter=30, device="cpu"), table)
    requests = [(node, others(node)) for node in (4, 0, 1, 3, 2)]
    for (node, predecessors), fit in zip(requests, models.fit_many(requests), strict=True):
        same = models.fit(node, predecessors)
        np.testing.assert_array_equal(fit.parents, same.parents)
        np.testing.assert_array_equal(fit.weights, same.weights)


def test_curves_and_the_mean_of_the_rows_that_count_add_up_to_predictions(table):
    models = prepared(GamEdges(), table)
    for node in range(D):
        fit = models.fit(node, others(node))
        curves = [models.curve(node, fit, int(parent), table.values[:, parent]) for parent in fit.parents]
        mean = table.values[~table.intervened[:, node], node].mean()
        np.testing.assert_allclose(models.predict(node, fit, table.values), mean + sum(curves), atol=1e-9)


def test_a_predictor_without_the_table_predicts_the_same(table):
    models = prepared(GamEdges(), table)
    fit = models.fit(4, others(4))
    alone = models.predictor()
    np.testing.assert_array_equal(alone.predict(4, fit, table.values), models.predict(4, fit, table.values))
    assert not alone.can.search


@pytest.mark.parametrize("again", [copy.deepcopy, lambda models: pickle.loads(pickle.dumps(models))])
def test_copies_are_of_their_own(table, again):
    models = prepared(BicEdges(), table)
    other = again(models)
    assert all(mine is not theirs for mine, theirs in zip(other.parts, models.parts, strict=True))
    fit = models.fit(1, others(1))
    np.testing.assert_array_equal(other.predict(1, fit, table.values), models.predict(1, fit, table.values))


def test_neither_values_nor_mask_are_changed(table):
    values, intervened = table.values.copy(), table.intervened.copy()
    models = prepared(GamEdges(), table)
    fit = models.fit(1, others(1))
    models.predict(1, fit, table.values)
    np.testing.assert_array_equal(table.values, values)
    np.testing.assert_array_equal(table.intervened, intervened)
