"""Additive spline edges: nested bases, planted curves and their direction, curves that can be asked for."""

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import BSpline

from daguerreotype import Daguerreotype
from daguerreotype.edges.additive import basis
from daguerreotype.edges.additive.basis import fit_nonlinear_basis, nonlinear_columns
from daguerreotype.edges.additive.estimators import BicEdges, GamEdges
from daguerreotype.edges.base import LocalFit, Table
from daguerreotype.training import Bilevel


def table_of(*columns, names=None):
    values = np.column_stack(columns)
    values = (values - values.mean(0)) / values.std(0)
    return Table(values, names or tuple(f"x{i}" for i in range(values.shape[1])))


def curved_pair(seed, n=500):
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=n)
    return cause, np.tanh(2 * cause) + 0.7 * np.abs(cause) + 0.3 * rng.normal(size=n)


def score(fit, n):
    return n * np.log(fit.variance) + np.log(n) * fit.dof


def natural_splines(values, knots):
    """Cubic splines that are straight beyond the outer knots, by truncated powers."""
    powers = np.maximum(values[:, None] - knots, 0.0) ** 3
    bends = (powers - powers[:, [-1]])[:, :-1] / (knots[-1] - knots[:-1])
    return np.column_stack([np.ones(values.size), values, (bends - bends[:, [-1]])[:, :-1]])


def test_bends_are_orthonormal_and_span_natural_splines_with_the_line_from_smooth_to_rough():
    values = np.random.default_rng(0).gamma(2.0, size=300)
    line = np.column_stack([np.ones(300), values])
    for n_knots in (3, 5, 9):
        knots = np.quantile(values, stats.norm.cdf(np.linspace(-2, 2, n_knots)))
        spline = fit_nonlinear_basis(values, n_knots)
        bends = nonlinear_columns(spline, values)
        np.testing.assert_allclose(bends.T @ bends / 300, np.eye(n_knots - 2), atol=1e-9)
        np.testing.assert_allclose(bends.T @ line / 300, 0, atol=1e-9)
        theirs, ours = natural_splines(values, knots), np.column_stack([line, bends])
        assert ours.shape == theirs.shape
        projected = theirs @ np.linalg.lstsq(theirs, ours, rcond=None)[0]
        np.testing.assert_allclose(projected, ours, atol=1e-7)
        roughness = np.sum(np.diff(spline.c, 2, axis=0) ** 2, axis=0)
        assert (np.diff(roughness) > 0).all()
    assert fit_nonlinear_basis(values, 2) is None  # natural splines of two knots are lines


def test_a_column_of_few_values_has_as_many_bends_as_these_can_tell_apart():
    for levels, bends in ((1, 0), (2, 0), (3, 1), (4, 2)):
        spline = fit_nonlinear_basis(np.tile(np.arange(levels, dtype=float), 60), 9)
        assert (0 if spline is None else spline.c.shape[1]) == bends


def test_bends_go_on_as_straight_lines_beyond_the_data():
    spline = fit_nonlinear_basis(np.random.default_rng(0).normal(size=100), 4)
    assert isinstance(spline, BSpline)
    for end, sign in ((spline.t[-1], 1.0), (spline.t[0], -1.0)):
        at = nonlinear_columns(spline, end + sign * np.array([0.0, 1e-6, 1.0, 2.0, 3.0]))
        np.testing.assert_allclose(
            at[2:] - at[0], np.array([[1.0], [2.0], [3.0]]) * (at[1] - at[0]) * 1e6, rtol=1e-3
        )


def test_many_columns_have_the_moments_that_few_have(monkeypatch, rng):
    X = rng.normal(size=(200, 4))
    X[:, 2] = np.round(X[:, 2])  # ties leave it fewer bends
    table = Table(X - X.mean(axis=0), tuple("abcd"))
    few = GamEdges().prepare(table).problem.moments
    monkeypatch.setattr(basis, "EXACT_SIZE", 1)
    many = GamEdges().prepare(table).problem.moments
    np.testing.assert_allclose(many, few, atol=1e-10)


def test_a_planted_curve_is_found_and_its_direction_scores_better():
    for seed in range(5):
        models = GamEdges().prepare(table_of(*curved_pair(seed)))
        forward, backward = models.fit(1, np.array([0])), models.fit(0, np.array([1]))
        alone = [models.fit(node, np.array([], dtype=int)) for node in (0, 1)]
        assert forward.parents.tolist() == [0]
        assert forward.dof > 1
        assert score(alone[0], 500) + score(forward, 500) < score(alone[1], 500) + score(backward, 500)


def test_curves_have_the_shape_of_the_planted_functions():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 1000))
    functions = np.sin(2 * first), second**2
    table = table_of(first, second, sum(functions) + 0.3 * rng.normal(size=1000))
    models = GamEdges().prepare(table)
    fit = models.fit(2, np.array([0, 1]))
    for parent, function in enumerate(functions):
        curve = models.curve(2, fit, parent, table.values[:, parent])
        assert np.corrcoef(curve, function)[0, 1] > 0.97
        assert fit.norms[parent] == pytest.approx(curve.std())
        assert curve.mean() == pytest.approx(0, abs=1e-9)


def test_curves_add_up_to_what_the_residuals_leave():
    rng = np.random.default_rng(4)
    causes = rng.normal(size=(3, 400))
    table = table_of(*causes, causes[0] + np.cos(2 * causes[1]) + 0.4 * rng.normal(size=400))
    models = GamEdges().prepare(table)
    fit = models.fit(3, np.array([0, 1, 2]))
    fitted = sum(models.curve(3, fit, parent, table.values[:, parent]) for parent in fit.parents)
    residuals = models.residuals(3, fit)
    np.testing.assert_allclose(table.values[:, 3] - fitted, residuals, atol=1e-9)
    assert fit.variance == pytest.approx(np.mean(residuals**2))
    assert fit.used.tolist() == [1, 4]
    bends = nonlinear_columns(fit_nonlinear_basis(table.values[:, 1], 9), table.values[:, 1])
    design = np.column_stack([table.values[:, :2], bends[:, :3]])
    best = np.linalg.lstsq(design, table.values[:, 3], rcond=None)[1][0] / 400
    assert fit.variance == pytest.approx(best)


def test_linear_effects_stay_linear_and_agree_with_linear_edges():
    rng = np.random.default_rng(5)
    causes = rng.normal(size=(3, 1000))
    table = table_of(*causes, causes[0] - 0.5 * causes[2] + rng.normal(size=1000))
    spline = GamEdges(penalty=2.0).prepare(table).fit(3, np.array([0, 1, 2]))
    linear = BicEdges(penalty=2.0).prepare(table).fit(3, np.array([0, 1, 2]))
    assert spline.parents.tolist() == linear.parents.tolist() == [0, 2]
    assert spline.dof == linear.dof == 2
    assert spline.variance == pytest.approx(linear.variance)
    np.testing.assert_allclose(spline.weights, linear.weights)
    np.testing.assert_allclose(spline.norms, linear.norms)


def test_the_weight_of_a_curve_is_the_slope_of_the_best_line_through_it():
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(2, 1000))
    effect = -2 * np.tanh(2 * first) + second**2 + 0.3 * second + 0.3 * rng.normal(size=1000)
    for scale in (1.0, 7.0):
        values = np.column_stack([scale * first, second, effect])
        table = Table(values - values.mean(axis=0), ("a", "b", "c"))
        models = GamEdges().prepare(table)
        fit = models.fit(2, np.array([0, 1]))
        assert (fit.used > 1).all()
        for parent, weight in enumerate(fit.weights):
            column = table.values[:, parent]
            assert weight == pytest.approx(np.polyfit(column, models.curve(2, fit, parent, column), 1)[0])
        assert fit.weights[0] < 0 < fit.weights[1]


def test_norms_tell_a_parabola_from_nothing_and_a_curve_from_a_line_of_its_slope():
    rng = np.random.default_rng(8)
    cause = rng.normal(size=1000)
    parabola = GamEdges().prepare(table_of(cause, cause**2 + 0.3 * rng.normal(size=1000))).fit(1, np.array([0]))
    assert abs(parabola.weights[0]) < 0.1
    assert parabola.norms[0] > 0.9
    table = table_of(cause, cause + cause**2 + rng.normal(size=1000))
    curve, line = (edges.prepare(table).fit(1, np.array([0])) for edges in (GamEdges(), BicEdges()))
    np.testing.assert_allclose(curve.weights, line.weights)
    assert curve.norms[0] > 1.2 * line.norms[0]


def test_a_line_is_bent_once_the_noise_that_hid_its_curve_is_explained():
    rng = np.random.default_rng(8)
    curved, other = rng.normal(size=(2, 400))
    effect = 3 * curved + 0.04 * (curved**2 - 1) + np.abs(other) + 0.2 * rng.normal(size=400)
    models = GamEdges().prepare(table_of(curved, other, effect))
    assert models.fit(2, np.array([0])).dof == 1
    assert (models.fit(2, np.array([0, 1])).used > 1).all()


def test_duplicated_and_constant_columns_give_finite_results():
    cause, effect = curved_pair(1)
    values = np.column_stack([cause, cause, effect, effect, np.zeros(500)])
    models = GamEdges(penalty=0.1).prepare(Table(values - values.mean(0), tuple("abcde")))
    for node in range(5):
        moves = models.fit_moves(node, np.delete(np.arange(5), node))
        for part in (moves.own, moves.before, moves.after):
            assert np.isfinite(part).all()
    assert models.fit(2, np.array([0, 1, 4])).parents.tolist() == [0]


def test_too_few_knots_are_refused():
    for n_knots in (1, 0, 2.5, "4"):
        with pytest.raises(ValueError, match=r"n_knots must be (a whole number of )?at least 2, got"):
            GamEdges(n_knots=n_knots).prepare(table_of(*curved_pair(0)))


def test_a_curve_of_a_column_that_is_no_parent_is_refused_by_name():
    cause, effect = curved_pair(0)
    noise = np.random.default_rng(9).normal(size=500)
    models = GamEdges().prepare(table_of(cause, effect, noise, names=("dose", "outcome", "noise")))
    fit = models.fit(1, np.array([0, 2]))
    with pytest.raises(ValueError, match=r"'noise' is not a parent of 'outcome'.*one of its parents: 'dose'"):
        models.curve(1, fit, 2, np.zeros(1))
    with pytest.raises(ValueError, match=r"one of its parents: none"):
        models.curve(1, models.fit(1, np.array([], dtype=int)), 2, np.zeros(1))


def test_a_fit_without_curves_is_refused():
    models = GamEdges().prepare(table_of(*curved_pair(0)))
    plain = LocalFit(np.array([0]), np.array([1.0]), 1.0, 1.0)
    with pytest.raises(TypeError, match=r"expected the AdditiveFit that fit returned.*got LocalFit"):
        models.residuals(1, plain)


def test_few_rows_of_noise_do_not_bend_edges_into_being():
    for n, d in ((15, 30), (30, 30), (30, 100)):
        values = np.random.default_rng(0).normal(size=(n, d))
        curved, straight = (
            Daguerreotype(edges=edges, scales="none", training=Bilevel(loss="bic", n_restarts=0))
            .fit(values)
            .adjacency_matrix_.sum()
            for edges in ("gam", "bic")
        )
        assert curved == straight <= 6


@pytest.mark.parametrize("edges", [GamEdges(), BicEdges()], ids=["gam", "bic"])
def test_fits_of_many_requests_are_those_of_each_alone(edges, rng):
    data = table_of(*(rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))).T)
    requests = [(node, np.flatnonzero(rng.random(6) < 0.6)) for node in rng.integers(6, size=60).tolist()]
    requests = [(node, before[before != node]) for node, before in requests]
    models, alone = edges.prepare(data), edges.prepare(data)
    fork = models.fork()
    for fits in (models.fit_many(requests), fork.fit_many(requests[::-1])[::-1]):
        for fit, (node, before) in zip(fits, requests, strict=True):
            expected = alone.fit(node, before)
            np.testing.assert_array_equal(fit.parents, expected.parents)
            np.testing.assert_array_equal(fit.weights, expected.weights)
            assert (fit.nll, fit.dof) == (expected.nll, expected.dof)


def test_a_column_keeps_rough_columns_where_something_asks_for_them_whatever_the_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    X[:, 1] = np.sin(3.5 * X[:, 0]) + 0.5 * rng.normal(size=600)
    X[:, 3] = np.tanh(X[:, 2]) + 0.5 * rng.normal(size=600)
    X -= X.mean(axis=0)
    for factors in ([1.0, 1.0, 1.0, 1.0], [1e-3, 1e3, 50.0, 0.2], [1e4, 0.1, 1e-4, 7.0]):
        models = GamEdges().prepare(Table(X * factors, tuple("abcd")))
        assert [basis.width for basis in models.bases] == [8, 4, 4, 4]
        assert [basis.stops for basis in models.bases] == [(1, 2, 4, 8), *3 * [(1, 2, 4)]]
        assert models.fit(1, np.array([0, 2, 3])).used.tolist() == [8]
