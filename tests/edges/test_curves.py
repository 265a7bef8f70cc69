"""Curves that can be believed: natural bases from smooth to rough, effects that stay where rows support them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer

from daguerreotype import Daguerreotype
from daguerreotype.data.table import Table
from daguerreotype.edges import GamEdges
from daguerreotype.edges.additive.basis import (
    DEGREE,
    BSplines,
    fit_nonlinear_basis,
    knot_shares,
    nonlinear_columns,
)
from daguerreotype.operators import FixedOrder

SHAPES = ("normal", "lognormal", "cauchy", "gap", "cubed", "clumps")


def column(rng, shape, n):
    """A column of some shape."""
    x = rng.normal(size=n)
    return {
        "normal": x,
        "lognormal": np.exp(1.5 * x),
        "cauchy": rng.standard_cauchy(n),
        "gap": x + 30.0 * (rng.random(n) < 0.03),
        "cubed": x**3,
        "clumps": np.round(x) ** 2 + 0.01 * rng.random(n),
    }[shape]


def wiggle(rng, x, kind):
    """A function of a column by its ranks, so that its size does not hang on the tails."""
    u = (np.argsort(np.argsort(x)) + 0.5) / x.size
    return (np.sin(2 * np.pi * (1 + kind) * u), np.abs(u - 0.5), (u > rng.uniform(0.2, 0.9)) * 2.0)[kind % 3]


@st.composite
def tables(draw):
    """Two causes of any shape, correlated or not, and an effect of both, of even or uneven spread."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([60, 300, 900]))
    first = column(rng, draw(st.sampled_from(SHAPES)), n)
    second = column(rng, draw(st.sampled_from(SHAPES)), n) + draw(st.sampled_from([0.0, 0.5])) * first
    effect = 3.0 * wiggle(rng, first, draw(st.integers(0, 5))) + wiggle(rng, second, draw(st.integers(0, 5)))
    spread = draw(st.sampled_from([0.1, 1.0])) * np.exp(draw(st.sampled_from([0.0, 1.0])) * wiggle(rng, first, 1))
    effect = effect + spread * rng.normal(size=n)
    if draw(st.booleans()):
        effect = np.exp(effect)
    values = np.column_stack([first, second, effect])
    return (values - values.mean(axis=0)) / values.std(axis=0)


@given(tables())
@settings(max_examples=60, deadline=None)
def test_a_curve_never_leaves_what_its_rows_support_by_more_than_the_noise(values):
    table = Table(values, ("a", "b", "c"), families=("auto",) * 3)
    models = GamEdges().prepare(table)
    fit = models.fit_parents(2, np.array([0, 1]))
    noise = np.exp(fit.excess)
    predicted = models.predict(2, fit, values)
    left = values[:, 2] - (predicted if predicted.ndim == 1 else predicted[:, 0])
    for parent, used in zip(fit.parents, fit.used, strict=True):
        if used < 2:
            continue
        x = values[:, parent]
        ends = x.min() - 5 * np.ptp(x), x.max() + 5 * np.ptp(x)
        grid = np.concatenate([x, np.linspace(x.min(), x.max(), 500), np.linspace(*ends, 500)])
        at_rows, curve = (mean(models.curve(2, fit, parent, at)) for at in (x, grid))
        assert at_rows.min() <= curve.min() <= curve.max() <= at_rows.max()
        supported = at_rows + left
        assert supported.min() - 2 * noise <= curve.min() <= curve.max() <= supported.max() + 2 * noise


def mean(predicted):
    """Of a number, without its spread."""
    return predicted if predicted.ndim == 1 else predicted[:, 0]


def test_rows_of_large_noise_that_did_not_hold_a_curve_hold_its_bounds():
    held = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        cause = np.exp(1.5 * rng.normal(size=300))
        effect = np.cbrt(cause) + np.minimum(cause, 30.0) * rng.normal(size=300)
        values = np.column_stack([cause, effect])
        values = (values - values.mean(axis=0)) / values.std(axis=0)
        models = GamEdges().prepare(Table(values, ("a", "b"), families=("auto",) * 2))
        fit = models.fit_parents(1, np.array([0]))
        free = replace(fit, bounds=np.broadcast_to([[[-np.inf]], [[np.inf]]], fit.bounds.shape))
        reached = mean(models.curve(1, free, 0, values[:, 0]))
        bounded = mean(models.curve(1, fit, 0, values[:, 0]))
        held += not np.array_equal(reached, bounded)
        np.testing.assert_array_equal(bounded, reached.clip(*fit.bounds[:, 0, 0]))
    assert held


def test_lines_go_on_and_levels_have_no_bounds():
    rng = np.random.default_rng(1)
    cause, levels = rng.normal(size=300), rng.integers(3, size=300)
    frame = {
        "x": cause,
        "level": np.array(list("abc"))[levels],
        "y": cause + levels**2 + 0.3 * rng.normal(size=300),
    }
    frame = pd.DataFrame(frame)
    model = Daguerreotype(operator=FixedOrder([0, 1, 2])).fit(frame)
    far = model.curve("x", "y", [10.0, 20.0, 30.0])
    assert far[2] - far[1] == pytest.approx(far[1] - far[0], abs=1e-9)
    assert far[1] > far[0] + 5
    fit = model._result.training.fits[model._result.place[2]]
    assert np.isinf(fit.bounds).all()


def test_rows_far_out_are_scored_by_what_was_seen():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 2))
    effect = np.sin(2 * x[:, 0]) + x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=400)
    table = Table(np.column_stack([x, effect]), ("a", "b", "c"))
    models = GamEdges().prepare(table)
    fit = models.fit(2, np.array([0, 1]))
    assert len(fit.products)
    far = models.predict(2, fit, np.array([[40.0, 40.0, 0.0], [400.0, 400.0, 0.0], [-40.0, 400.0, 0.0]]))
    assert far[0] == pytest.approx(far[1])
    assert np.abs(far).max() < 15.0


def test_curves_of_streams_are_bounded_as_those_of_tables():
    rng = np.random.default_rng(3)
    cause = np.exp(rng.normal(size=3000))
    X = np.column_stack([cause, np.tanh(np.log(cause)) + 0.3 * rng.normal(size=3000)])
    plain = {"edges": "gam", "scales": "none", "noise": "gaussian", "operator": FixedOrder([0, 1])}
    whole = Daguerreotype(**plain).fit(X)
    chunks = Daguerreotype(**plain).fit_chunks(lambda: iter(np.array_split(X, 7)))
    grid = np.linspace(-100.0, 300.0, 2000)
    curves = [model.curve(0, 1, grid) for model in (whole, chunks)]
    np.testing.assert_allclose(*curves, atol=0.1)
    assert np.ptp(curves[0]) < 3.5


# ------------------------------------------------------------------ natural bases


@pytest.mark.parametrize("shape", SHAPES)
def test_natural_bases_are_orthonormal_orthogonal_to_lines_and_ordered_by_roughness(shape):
    values = column(np.random.default_rng(4), shape, 400)
    spline = fit_nonlinear_basis(values, 9)
    columns = nonlinear_columns(spline, values)
    lines = np.column_stack([np.ones(400), (values - values.mean()) / values.std()])
    np.testing.assert_allclose(columns.T @ columns / 400, np.eye(columns.shape[1]), atol=1e-6)
    np.testing.assert_allclose(columns.T @ lines / 400, 0, atol=1e-6)
    rough = np.diff(spline.c, 2, axis=0)
    gram = rough.T @ rough
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-6 * gram.max())
    assert (np.diff(np.diag(gram)) > 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_natural_bases_are_bsplines_of_scipy_without_curvature_at_the_ends(shape):
    values = column(np.random.default_rng(5), shape, 400)
    spline = fit_nonlinear_basis(values, 9)
    low, high = spline.t[DEGREE], spline.t[-DEGREE - 1]
    inside = np.linspace(low, high, 300)
    np.testing.assert_allclose(
        nonlinear_columns(spline, inside), BSpline(spline.t, spline.c, DEGREE)(inside), atol=1e-9
    )
    curvature = BSpline(spline.t, spline.c, DEGREE).derivative(2)
    largest = np.abs(curvature(spline.t[DEGREE:-DEGREE])).max(axis=0)
    for end in (low, high):
        assert (np.abs(curvature(end)) < 1e-6 * largest).all()
    for end, away in ((low, -1.0), (high, 1.0)):
        steps = np.array([0.0, 1.0, 2.0, 5.0]) * away * (high - low)
        beyond = nonlinear_columns(spline, end + steps)
        slope = BSpline(spline.t, spline.c, DEGREE).derivative()(end)
        np.testing.assert_allclose(beyond - beyond[0], np.outer(steps, slope), rtol=1e-6, atol=1e-9)


def test_the_line_and_the_basis_span_the_natural_splines_on_the_same_knots():
    values = np.random.default_rng(6).gamma(2.0, size=300)
    for n_knots in (2, 3, 5, 9):
        spline = fit_nonlinear_basis(values, n_knots)
        width = 0 if spline is None else spline.c.shape[1]
        assert width == n_knots - 2
        if spline is None:
            continue
        knots = np.quantile(values, knot_shares(n_knots))[:, None]
        theirs = SplineTransformer(knots=knots, extrapolation="linear").fit_transform(values[:, None])
        ours = np.column_stack([np.ones(300), values, nonlinear_columns(spline, values)])
        projected = theirs @ np.linalg.lstsq(theirs, ours, rcond=None)[0]
        np.testing.assert_allclose(projected, ours, atol=1e-7)


def test_bsplines_sum_to_one_and_give_back_their_column_however_far_out():
    values = np.random.default_rng(7).lognormal(size=200)
    splines = BSplines([np.quantile(values, knot_shares(9))])
    far = np.concatenate([values, [-1e3, 1e3]])
    columns = splines(far[:, None])
    np.testing.assert_allclose(columns.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(columns @ splines.slopes(0), far, rtol=1e-9)
