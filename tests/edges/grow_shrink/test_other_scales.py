"""Targets on several scales, against least squares on each."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import RescaledColumns, Table
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.edges.base import EdgeRules
from daguerreotype.noise.free_shape import gain_of_shape, gaussian_spacings
from support.fits import standard_table
from support.noises import looks_gaussian

EDGES = {"bic": BicEdges(), "gam": GamEdges(), "trust": GamEdges(trust=100.0)}


def scaled_table(seed, n=150, d=5, n_others=6, noise=""):
    """A table, and some of its columns on other scales, on some of which parents are searched for."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.7) + np.eye(d))
    values += 0.3 * np.roll(values, 1, axis=1) ** 2
    table = standard_table(values)
    nodes = np.sort(rng.choice(d, n_others))
    other = np.sinh(table.values[:, nodes]) + rng.random(n_others) * table.values[:, nodes] ** 2
    centre, spread = other.mean(axis=0), other.std(axis=0)
    offsets, searched = 0.05 * rng.normal(size=n_others), np.arange(n_others) % 2 == 0
    scales = ColumnScales.as_measured(n_others)
    rescaled = RescaledColumns(nodes, scales, centre, spread, (other - centre) / spread, offsets, searched)
    return Table(table.values, table.names, rescaled=rescaled, families=(noise,) * d)


def targets_of(table, node):
    """Of a search: the node, and the node on each other scale where parents are searched for."""
    searched = table.rescaled.columns[table.rescaled.searched]
    return [node, *(table.n_columns + np.flatnonzero(searched == node))]


@pytest.mark.parametrize(("name", "seed"), list(product(EDGES, range(3))))
def test_a_node_with_gaussian_noise_gets_the_scale_of_least_squares(name, seed):
    table, rng = scaled_table(seed), np.random.default_rng(seed)
    rescaled, moved = table.rescaled, 0
    models = EDGES[name].prepare(table)
    for node, target in [(i, target) for i in range(5) for target in targets_of(table, i)]:
        found = models.search_target(target, np.setdiff1d(rng.permutation(5)[:4], node))
        columns = models.columns_of(target, found.owners, found.used)
        design = np.column_stack([np.ones(150), *models.problem.rows[columns]])
        rests, losses = {}, {}
        for place in (-1, *np.flatnonzero(rescaled.columns == node)):
            y = table.values[:, node] if place < 0 else rescaled.values[:, place]
            rests[place] = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
            losses[place] = np.log(rests[place].std()) + (rescaled.offsets[place] if place >= 0 else 0.0)
        own = -1 if target < 5 else np.flatnonzero(rescaled.searched)[target - 5]
        expected = min(losses, key=losses.get)
        moved += expected != own
        weighed = models.weigh(found)
        assert weighed.scale == expected
        assert found.excess == weighed.excess == pytest.approx(losses[expected], abs=1e-9)
        np.testing.assert_allclose(
            design @ weighed.coefficients[:, 0],
            (table.values[:, node] if expected < 0 else rescaled.values[:, expected]) - rests[expected],
            atol=1e-8,
        )
    assert moved > 0


def test_a_node_whose_noise_is_open_keeps_the_scale_of_its_search_where_it_looks_gaussian_there():
    kept = 0
    for seed in range(6):
        table = scaled_table(seed, noise="free-shape")
        models = EDGES["bic"].prepare(table)
        for node in range(5):
            found = models.search_target(node, np.setdiff1d(np.arange(5), node))
            weighed = models.weigh(found)
            design = np.column_stack(
                [np.ones(150), *models.problem.rows[models.columns_of(node, found.owners, found.used)]]
            )
            rest = table.values[:, node] - design @ np.linalg.lstsq(design, table.values[:, node], rcond=None)[0]
            if looks_gaussian(rest):
                kept += 1
                assert weighed.scale == -1
                gain = gain_of_shape(rest, gaussian_spacings(150), 0.0)
                assert weighed.excess == pytest.approx(np.log(rest.std()) - gain, abs=1e-9)
    assert kept > 5


@pytest.mark.parametrize("name", EDGES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_node_is_scored_on_its_likeliest_scale(name, seed):
    table, rng = scaled_table(seed), np.random.default_rng(seed)
    d, n = table.n_columns, 60.0 if name == "trust" else 150.0  # rows of evidence
    models, single = EDGES[name].prepare(table), EDGES[name].prepare(table)
    ranks = np.stack([rng.permutation(d) for _ in range(3)])
    rows, nodes = np.repeat(np.arange(3), d), np.tile(np.arange(d), 3)
    scores = models.score_many(ranks, rows, nodes)
    for (excess, dof), row, node in zip(scores, rows, nodes, strict=True):
        before = np.flatnonzero(ranks[row] < ranks[row, node])
        on_scales = [single.search_target(target, before) for target in targets_of(table, node)]
        best = min(on_scales, key=lambda chosen: chosen.excess + 0.5 * np.log(n) / n * chosen.dof)
        assert (excess, dof) == pytest.approx((best.excess, best.dof), abs=1e-12)
        fit, expected = models.fit(node, before), single.weigh(best)
        assert fit.scale == expected.scale
        np.testing.assert_array_equal(fit.parents, single.parents_of(best))
        np.testing.assert_array_equal(fit.coefficients[1:], expected.coefficients[1:])
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


def test_required_and_forbidden_parents_are_those_of_the_node_on_every_scale():
    table = scaled_table(5, n_others=5)
    d = table.n_columns
    required, allowed = np.zeros((d, d), dtype=np.bool_), ~np.eye(d, dtype=np.bool_)
    node = int(table.rescaled.columns[0])
    kept, left_out, *_ = (i for i in range(d) if i != node)
    required[kept, node], allowed[left_out, node] = True, False
    models = GamEdges(penalty=50.0).prepare(table, EdgeRules(allowed, required))
    before = np.flatnonzero(allowed[:, node])
    assert len(targets_of(table, node)) > 1
    for target in targets_of(table, node):
        parents = models.parents_of(models.search_target(target, before))
        assert kept in parents
        assert left_out not in parents
