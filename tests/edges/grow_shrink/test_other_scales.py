"""Targets on several scales, against searches for a column of its own that holds the other scale."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.data.table import RescaledColumns, Table
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.edges.base import EdgeRules
from support.fits import standard_table

EDGES = {"bic": BicEdges(), "gam": GamEdges(), "trust": GamEdges(trust=100.0)}


def scaled_table(seed, n=150, d=5, n_others=6, instead=False):
    """A table, and some of its columns on other scales."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.7) + np.eye(d))
    values += 0.3 * np.roll(values, 1, axis=1) ** 2
    table = standard_table(values)
    nodes = np.sort(rng.choice(d, n_others, replace=not instead))
    other = np.sinh(table.values[:, nodes]) + 0.2 * table.values[:, nodes] ** 2
    other = (other - other.mean(axis=0)) / other.std(axis=0)
    offsets = np.zeros(n_others) if instead else 0.05 * rng.normal(size=n_others)
    return Table(table.values, table.names, rescaled=RescaledColumns(nodes, other, offsets, instead=instead))


def scale_of(models, node, before):
    """The place of the scale that a search ends on; -1 for the table's own."""
    return max(models.search(node, before).target - models._table.n_columns, -1)


def alone(table, place):
    """The table with one of its other columns as one more column."""
    values = np.column_stack([table.values, table.rescaled.values[:, place]])
    return Table(values, (*table.names, "other"))


@pytest.mark.parametrize(("name", "seed"), list(product(EDGES, range(3))))
def test_a_node_on_another_scale_is_fitted_like_a_column_that_holds_it(name, seed):
    table = scaled_table(seed)
    models, d = EDGES[name].prepare(table), table.n_columns
    for place, node in enumerate(table.rescaled.columns):
        before = np.setdiff1d(np.random.default_rng(seed).permutation(d)[:4], node)
        found = models.fit_on(place, node, before)
        own = EDGES[name].prepare(alone(table, place))
        expected = own.fit(d, before)
        np.testing.assert_array_equal(found.parents, expected.parents)
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9)
        assert found.nll - table.rescaled.offsets[place] == pytest.approx(expected.nll, abs=1e-9)
        assert models.score_on(place, node, before) == pytest.approx((found.excess, found.dof))
        left = own.residuals(d, expected)
        np.testing.assert_allclose(models.residuals_on(place, node, found), left, atol=1e-9)


@pytest.mark.parametrize("name", EDGES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_node_is_scored_on_its_likeliest_scale(name, seed):
    table, rng = scaled_table(seed), np.random.default_rng(seed)
    d, n = table.n_columns, table.n_rows
    models, single = EDGES[name].prepare(table), EDGES[name].prepare(table)
    ranks = np.stack([rng.permutation(d) for _ in range(3)])
    rows, nodes = np.repeat(np.arange(3), d), np.tile(np.arange(d), 3)
    scores = models.score_many(ranks, rows, nodes)
    for (excess, dof), row, node in zip(scores, rows, nodes, strict=True):
        before = np.flatnonzero(ranks[row] < ranks[row, node])
        places = [-1, *np.flatnonzero(table.rescaled.columns == node)]
        on_scales = [single.score_on(place, node, before) for place in places]
        losses = [excess + 0.5 * np.log(n) / n * dof for excess, dof in on_scales]
        best = int(np.argmin(losses))
        assert (excess, dof) == pytest.approx(on_scales[best], abs=1e-12)
        assert scale_of(models, node, before) == places[best]
        fit, expected = models.fit(node, before), single.fit_on(places[best], node, before)
        np.testing.assert_array_equal(fit.parents, expected.parents)
        np.testing.assert_allclose(fit.weights, expected.weights)
    sets = rng.random((20, d)) < 0.5
    for node in range(d):
        sets[:, node] = False
        chosen = [models.search_shapes(node, np.flatnonzero(members)) for members in sets]
        expected = [(shapes.excess, shapes.dof) for shapes in chosen]
        np.testing.assert_allclose(models.score_parents(node, sets), expected, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_sweeps_and_moves_know_all_scales(seed):
    table = scaled_table(seed)
    d, per_dof = table.n_columns, 0.5 * np.log(table.n_rows) / table.n_rows
    order = np.random.default_rng(seed).permutation(d)
    models = GamEdges().prepare(table)

    def loss(sequence):
        ranks = np.argsort(sequence)[None, :]
        scores = GamEdges().prepare(table).score_many(ranks, np.zeros(d, dtype=np.int64), np.arange(d))
        return float(scores @ [1.0, per_dof] @ np.ones(d))

    found, value = models.sweep(order, per_dof, np.zeros((0, 0), dtype=np.bool_))
    assert value == pytest.approx(loss(found), abs=1e-10)
    for node in order:  # one turn each, by hand
        others = order[order != node]
        trials = [np.insert(others, q, node) for q in range(d)]
        losses = np.array([loss(trial) for trial in trials])
        moves = GamEdges().prepare(table).fit_moves(node, others)
        for q, trial in enumerate(trials):
            terms = [moves.own[q], *moves.before[:q], *moves.after[q:]]
            assert np.sum(terms @ np.array([1.0, per_dof])) == pytest.approx(loss(trial), abs=1e-10)
        here = int(np.flatnonzero(order == node)[0])
        best = int(np.argmin(losses))
        order = trials[best] if losses[best] < losses[here] - 1e-10 * max(1.0, abs(losses[here])) else order
    np.testing.assert_array_equal(found, order)


@pytest.mark.parametrize("name", EDGES)
def test_a_scale_may_stand_instead_of_the_tables_own(name):
    table = scaled_table(3, n_others=3, instead=True)
    models = EDGES[name].prepare(table)
    everyone = np.arange(table.n_columns)
    for node in everyone:
        before = everyone[everyone != node]
        place = table.rescaled.place(node)
        assert scale_of(models, node, before) == place
        fit, expected = models.fit(node, before), models.fit_on(place, node, before)
        np.testing.assert_array_equal(fit.parents, expected.parents)
        np.testing.assert_allclose(models.residuals(node, fit), models.residuals_on(place, node, expected))
        residuals = models.residuals(node, fit)
        assert fit.excess == pytest.approx(0.5 * np.log(np.mean(residuals**2)), abs=1e-9)


def test_required_and_forbidden_parents_are_those_of_the_node_on_every_scale():
    table = scaled_table(5, n_others=5)
    d = table.n_columns
    required, allowed = np.zeros((d, d), dtype=np.bool_), ~np.eye(d, dtype=np.bool_)
    node = int(table.rescaled.columns[0])
    kept, left_out, *_ = (i for i in range(d) if i != node)
    required[kept, node], allowed[left_out, node] = True, False
    models = GamEdges(penalty=50.0).prepare(table, EdgeRules(allowed, required))
    before = np.flatnonzero(allowed[:, node])
    for place in (-1, *np.flatnonzero(table.rescaled.columns == node)):
        parents = models.fit_on(place, node, before).parents
        assert kept in parents
        assert left_out not in parents
