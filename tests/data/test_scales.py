"""Scales of single columns, fitted, tried and chosen."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from daguerreotype.data.scales import SCALES, ColumnScales, check_scale, family, straighter_logs
from daguerreotype.data.table import Table
from daguerreotype.graphs import to_cpdag
from support.fits import linear_data
from support.learners import make_learner


def skewed(seed=0, n=80):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.lognormal(size=n), rng.normal(size=n), -rng.exponential(size=n), 5 + rng.random(n)]
    )


def test_the_jacobian_is_the_derivative_of_the_scale():
    values, step = skewed(), 1e-6
    for name in ("none", "log", "yeo-johnson"):
        scales = ColumnScales.fit(name, values)
        slopes = (scales.apply(values + step) - scales.apply(values - step)) / (2 * step)
        np.testing.assert_allclose(scales.log_slopes(values), np.log(slopes), rtol=1e-4, atol=1e-4)


def test_a_logarithm_starts_at_zero_or_a_hundredth_of_the_range_below_columns_that_are_not_positive():
    values = 1.0 + np.abs(skewed())
    np.testing.assert_allclose(ColumnScales.fit("log", values).apply(values), np.log(values))
    values = skewed() - 3.0
    spread = np.ptp(values, axis=0)
    lowest = ColumnScales.fit("log", values).apply(values).min(axis=0)
    np.testing.assert_allclose(lowest[:3], np.log(0.01 * spread[:3]))


def test_an_unknown_scale_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"scales must be 'none', 'log', 'yeo-johnson' or 'auto', got 'sqrt'"):
        check_scale("sqrt")


# ---------------------------------------------------------------------------- which one is chosen


@pytest.mark.parametrize("edges", ["bic", "gam"])
def test_auto_takes_the_scale_on_which_the_data_were_made(edges):
    linear = 0.5 * linear_data(0, 400, 4)
    settings = {"edges": edges, "loss": "bic", "k": 10, "max_iter": 50, "n_restarts": 2}
    assert make_learner(**settings).fit(linear)._result.transform == "none"
    assert make_learner(**settings).fit(np.exp(linear))._result.transform == "log"


def test_log_on_exponentials_learns_what_none_learns_on_the_logarithms():
    X = linear_data(2, 150, 5)
    X = 0.4 * X / X.std(axis=0)  # a range so small that the exponentials are clearly positive and not shifted
    settings = {"edges": "bic", "loss": "bic", "k": 20}
    on_log = make_learner(scales="log", **settings).fit(np.exp(X))
    plain = make_learner(scales="none", **settings).fit(X)
    assert on_log.loss_ == pytest.approx(plain.loss_, abs=1e-9)
    np.testing.assert_array_equal(to_cpdag(on_log.adjacency_matrix_), to_cpdag(plain.adjacency_matrix_))


def test_powers_are_those_of_greatest_likelihood(rng):
    shapes = np.exp(rng.normal(size=300)), -rng.exponential(size=300), rng.normal(size=300), rng.random(300)
    X = np.column_stack(shapes)
    for out in (None, rng.random(X.shape) < 0.2):
        scale = ColumnScales.fit("yeo-johnson", X, out)
        standard = (X - scale.parameters[:, 1]) / scale.parameters[:, 2]
        for j, column in enumerate(standard.T):
            column = column if out is None else column[~out[:, j]]
            # The library's search ends where its function no longer tells neighbours apart.
            assert scale.parameters[j, 0] == pytest.approx(stats.yeojohnson_normmax(column), abs=1e-6)
            expected = stats.yeojohnson(standard[:, j], scale.parameters[j, 0])
            np.testing.assert_allclose(scale.apply(X)[:, j], expected)


def test_no_power_goes_beyond_its_bounds(rng):
    X = np.exp(4 * rng.normal(size=(300, 2))) * [1.0, -1.0]
    power = ColumnScales.fit("yeo-johnson", X).parameters[:, 0]
    np.testing.assert_allclose(power, [-3.0, 5.0], atol=1e-5)


def likelier_logs(values, positive, least):
    """By least squares: with all columns on both scales at first, then on those that were chosen."""
    logs, chosen = np.log(np.where(positive, values, 1.0)), None
    for _ in range(2):
        before, chosen = chosen, np.zeros(positive.size, dtype=bool)
        for i in np.flatnonzero(positive):
            rest, y = np.arange(positive.size) != i, np.column_stack([values[:, i], logs[:, i]])
            both = np.hstack([np.ones((len(values), 1)), values[:, rest], logs[:, rest & positive]])
            columns = both if before is None else np.where(before, logs, values) * rest + ~rest
            left = (y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]).var(axis=0) / y.var(axis=0)
            chosen[i] = 0.5 * np.log(left[0] / left[1]) > least
    return chosen


def test_logarithms_are_chosen_that_least_squares_explain_better_whatever_units_and_sequence():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, on_log = linear_data(seed, 800, 5), rng.random(5) < 0.5
        X *= 0.6 / X.std(axis=0)
        X[:, on_log] = np.exp(X[:, on_log])
        X[:, ~on_log] += 5.0 * (rng.random(5) < 0.5)[~on_log]
        positive = X.min(axis=0) > 0.0
        chosen = straighter_logs(X, positive, 800, 0.004, 0.01)
        unrelated = np.abs(np.corrcoef(X.T) - np.eye(5)).max(axis=0) < 0.15
        np.testing.assert_array_equal(chosen[~unrelated], likelier_logs(X, positive, 0.014)[~unrelated])
        order = rng.permutation(5)
        moved = straighter_logs(X[:, order] * 10.0 ** rng.integers(-3, 4, 5), positive[order], 800, 0.004, 0.01)
        np.testing.assert_array_equal(moved, chosen[order])


def test_scales_go_on_with_a_density_of_total_mass_one_beyond_what_was_seen(rng):
    column = rng.beta(2.0, 3.0, size=100)
    scales, beyond = family(column), np.geomspace(1e-6, 1e8, 20_000)
    values = repeated(np.concatenate([-beyond[::-1], np.linspace(0.0, 1.0, 20_001), 1.0 + beyond]), scales)
    on_scale, slopes = scales.apply(values), np.exp(scales.log_slopes(values))
    assert (np.diff(on_scale, axis=0) > 0.0).all()
    from_middle = np.clip(on_scale - scales.apply(repeated(column, scales)).mean(axis=0), -700.0, 700.0)
    mass = np.trapezoid(slopes / np.cosh(from_middle) / np.pi, values, axis=0)
    np.testing.assert_allclose(mass, 1.0, atol=2e-3)


# ---------------------------------------------------------------------------- of single columns

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "with zeros": lambda rng, n: np.round(3 * rng.exponential(size=n)),
    "negative": lambda rng, n: -rng.lognormal(size=n),
    "shares": lambda rng, n: rng.beta(0.5, 0.5, size=n),
    "heavy tails": lambda rng, n: rng.standard_t(1.5, size=n),
    "far away": lambda rng, n: 1e6 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-9 * rng.lognormal(size=n),
}


def repeated(column, scales):
    return np.repeat(column[:, None], len(scales.names), axis=1)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_scale_of_a_family_is_finite_and_increasing_and_has_its_slope(shape, seed):
    column = SHAPES[shape](np.random.default_rng(seed), 60)
    scales = family(column)
    values = repeated(np.unique(column), scales)
    on_scale = scales.apply(values)
    assert np.isfinite(on_scale).all()
    assert np.isfinite(scales.log_slopes(values)).all()
    assert (np.diff(on_scale, axis=0) > 0).all()
    beyond = repeated(np.array([-1e9, 1e9]), scales)  # what was never seen
    assert np.isfinite([scales.apply(beyond), scales.log_slopes(beyond)]).all()
    # Between neighbours that are not too close there is a point that has the slope of the line through both.
    far = np.diff(values[:, 0]) > 1e-3 * column.std()
    slopes = np.diff(on_scale, axis=0) / np.diff(values, axis=0)
    inside = [scales.log_slopes(values[:-1] + share * np.diff(values, axis=0)) for share in np.linspace(0, 1, 21)]
    assert (np.log(slopes) <= np.max(inside, axis=0) + 1e-2)[far].all()
    assert (np.log(slopes) >= np.min(inside, axis=0) - 1e-2)[far].all()


def test_on_normal_scores_any_column_alone_is_gaussian_unless_its_values_are_few(rng):
    for draw in (rng.lognormal, rng.random, partial(rng.standard_t, 3)):
        column = np.tanh(draw(size=3000))
        scores = family(column).named("quantiles").apply(column[:, None])[:, 0]
        assert stats.kstest(scores, "norm").statistic < 0.05
        assert scores.std() == pytest.approx(1.0, abs=0.05)
    assert "quantiles" not in family(rng.integers(0, 3, 3000).astype(float)).names


def test_the_plain_logarithm_is_for_positive_columns_alone(rng):
    assert "log" in family(rng.lognormal(size=50)).names
    assert "log" not in family(rng.normal(size=50)).names
    assert "shifted log" in family(rng.normal(size=50)).names


def test_scales_have_words_and_one_name_if_one_fits_all():
    names = ("none", "log", "shifted log", "mirrored log", "logit", "asinh", "modulus", "quantiles")
    parameters = np.zeros((8, 9))
    parameters[2:7, 0], parameters[4:7, 1] = [-2.5, 9.0, 0.0, 1.0, 1.0], [1.0, 2.0, 2.0]
    parameters[6, 2] = 0.5
    scales = ColumnScales(names, parameters)
    assert scales.words[:4] == ("none", "log", "log(x - 2.5)", "-log(9 - x)")
    assert scales.words[4:] == ("logit(0, 1)", "asinh((x - 1) / 2)", "modulus(0.5, (x - 1) / 2)", "quantiles")
    assert scales.name == "per column"
    assert scales.take([1, 2]).name == "log"
    assert scales.take([0]).name == "none"
    assert scales.n_parameters.tolist() == [0, 0, 1, 1, 2, 2, 2, 7]
    assert set(SCALES) == {*names, "yeo-johnson"}


def test_scales_are_replaced_column_by_column():
    measured = ColumnScales.as_measured(3)
    changed = measured.replaced([2, 0], ColumnScales(("log", "logit"), np.array([[1.0, 0, 0], [0.0, 1.0, 0.0]])))
    assert changed.names == ("logit", "none", "log")
    assert measured.names == ("none",) * 3


def test_offsets_are_of_the_rows_that_are_fitted(rng):
    table = Table(rng.lognormal(size=(4000, 2)), ("a", "b")).canonical(np.arange(2))
    scaled = table.on_scale(ColumnScales.as_measured(2), True)
    whole, first = (table.with_other_scales(scaled, 4000, n).table.rescaled for n in (None, 500))
    slopes = first.scales.log_slopes(table.values[:, first.columns])
    np.testing.assert_allclose(
        first.offsets - whole.offsets, slopes.mean(axis=0) - slopes[:500].mean(axis=0), atol=1e-9
    )


@pytest.mark.parametrize("intervened", [False, True])
def test_offsets_make_likelihoods_on_all_scales_comparable(rng, intervened):
    values = np.column_stack([rng.lognormal(size=4000), rng.standard_t(8, size=4000)])
    out = np.zeros(values.shape, dtype=np.bool_)
    out[:1000, 0] = intervened
    values[:1000, 0] *= 3.0 if intervened else 1.0
    table = Table(values, ("a", "b"), intervened=out if intervened else None).canonical(np.arange(2))
    scaled = table.on_scale(ColumnScales.as_measured(2), True)
    others = table.with_other_scales(scaled, 4000).table.rescaled
    nats = np.full(others.columns.size, np.nan)
    for place, node in enumerate(others.columns):
        counted = np.ones(4000, dtype=np.bool_) if table.intervened is None else ~table.intervened[:, node]
        x, own = table.values[counted, node], others.scales.take([place])
        y, h = own.apply(x[:, None])[:, 0], others.scales.take([place]).log_slopes(x[:, None])[:, 0]
        np.testing.assert_allclose(others.values[counted, place], (y - y.mean()) / y.std(), atol=1e-9)
        price = 0.5 * np.log(4000) / 4000 * own.n_parameters[0] + 0.01
        # What a Gaussian on the scale loses as a density of the column on the table's scale, x / spread.
        loss = -(stats.norm(y.mean(), y.std()).logpdf(y) + h).mean() - np.log(scaled.spread[node])
        assert others.offsets[place] == pytest.approx(loss - stats.norm.entropy() + price, abs=1e-9)
        nats[place] = stats.norm(x.mean(), x.std()).entropy() - np.log(scaled.spread[node]) - loss
    first, second = others.columns == 0, others.columns == 1
    assert (others.searched == (first & (nats == nats[first].max()))).all()  # the other column is on its own
    assert nats[second].max() < 0.05 < nats[others.searched][0]
    assert set(np.array(others.scales.names)[others.searched]) <= {"log", "shifted log"}


def test_other_scales_are_only_for_columns_that_do_not_look_gaussian_alone_or_beside_the_others(rng):
    a, b, c = rng.normal(size=(3, 2000))
    table = Table(np.column_stack([a, b, b**3, c]), tuple("abcd")).canonical(np.arange(4))
    others = table.with_other_scales(table.on_scale(ColumnScales.as_measured(4), True), 2000).table.rescaled
    assert np.unique(others.columns).tolist() == [1, 2]
    alone = Table(np.column_stack([a, c]), ("a", "d")).canonical(np.arange(2))
    assert alone.with_other_scales(alone.on_scale(ColumnScales.as_measured(2), True), 2000).table.rescaled is None
