"""What rows say of a number given its parents, against plain numpy and an optimiser of the same likelihood."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from daguerreotype import Daguerreotype
from daguerreotype.data import Kind
from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import Table
from daguerreotype.edges import GamEdges
from daguerreotype.edges.additive import basis
from daguerreotype.edges.additive.local_score import log_spread
from daguerreotype.edges.base import EdgeRules
from daguerreotype.noise.free_shape import CHANCE, gain_of_shape, gaussian_spacings
from support.noises import looks_gaussian

N = 409  # so that copies have the same quantiles
BOTH = np.array([0, 1])  # parents of the effect
NOISES = ("normal", "laplace", "uniform", "exponential")


def draw(seed, n=N, noise="normal", spread=0.4):
    """Causes a and b of c, whose spread depends on a."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    rest = getattr(rng, noise)(size=n)
    return np.column_stack([a, b, a + np.sin(2 * b) + np.exp(spread * a) * (rest - rest.mean()) / rest.std()])


def table_of(values, family="auto", **settings):
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    names = tuple("abcdefg"[: values.shape[1]])
    return Table(standard, names, families=(family,) * values.shape[1], **settings)


def prepared(values, family="auto"):
    table = table_of(values, family)
    return table, GamEdges().prepare(table)


def design_of(models, table, fit):
    """The columns of a fit, and those of them that its mean and its spread have."""
    by_parent = zip(fit.parents, fit.used, strict=True)
    bases = [basis.columns(column) for basis, column in zip(models.bases, table.values.T, strict=True)]
    columns = [bases[i][:, :used] for i, used in by_parent]
    within = [
        basis.columns(basis.within(column)) for basis, column in zip(models.bases, table.values.T, strict=True)
    ]
    products = [within[i][:, a] * within[j][:, b] for i, j, a, b in fit.products]
    design = np.column_stack([np.ones(len(table.values)), *columns, *products])
    used = fit.coefficients != 0.0
    return design, [design[:, used[:, q]] for q in range(used.shape[1])]


def gain_beyond_chance(rest):
    """What a free shape gains over a Gaussian by spacings, more than chance; nothing if moments look Gaussian."""
    return 0.0 if looks_gaussian(rest) else max(gain_of_shape(rest, gaussian_spacings(rest.size), CHANCE), 0.0)


def least_squares(design, y):
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]


def likeliest_spread(mean, spread, y):
    """The noise, and the nats per row beyond a standard normal's, where mean and log variance are likeliest."""

    def residuals(beta, gamma):
        return (y - mean @ beta) * np.exp(-0.5 * spread @ gamma)

    def loss(both):
        beta, gamma = np.split(both, [mean.shape[1]])
        return np.mean(0.5 * residuals(beta, gamma) ** 2 + 0.5 * spread @ gamma) - 0.5

    beta = np.linalg.lstsq(mean, y, rcond=None)[0]
    start = np.concatenate([beta, [np.log(np.var(y - mean @ beta))], np.zeros(spread.shape[1] - 1)])
    best = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    return best.fun, residuals(*np.split(best.x, [mean.shape[1]]))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("family", ["", "auto", "free-shape"])
def test_without_spread_a_number_loses_what_least_squares_leaves_less_what_its_shape_gains(family, noise):
    alike = shaped = 0
    for seed in range(6):
        spread = 0.0 if family == "auto" else 0.4  # where it is open
        table, models = prepared(draw(seed, noise=noise, spread=spread), family)
        fit = models.fit_parents(2, BOTH)
        if family == "auto" and fit.coefficients.shape[1] == 2:  # by chance
            continue
        alike += 1
        rest = least_squares(design_of(models, table, fit)[0], table.values[:, 2])
        always = gain_of_shape(rest, gaussian_spacings(N), 0.0)
        gain = {"": 0.0, "auto": gain_beyond_chance(rest), "free-shape": always}[family]
        assert fit.coefficients.shape[1] == 1
        assert fit.excess == pytest.approx(np.log(rest.std()) - gain, abs=1e-9)
        shaped += gain > 0.0
        np.testing.assert_allclose(models.residuals(2, fit), rest, atol=1e-9)
    assert alike >= 5
    assert family != "auto" or (shaped == 0 if noise == "normal" else shaped >= alike - 1)


@pytest.mark.parametrize("noise", NOISES)
def test_spread_is_as_likely_as_an_optimiser_makes_it_or_nearly(noise):
    taken = 0
    for seed in range(6):
        table, models = prepared(draw(seed, noise=noise))
        fit = models.fit_parents(2, BOTH)
        if fit.coefficients.shape[1] == 1:
            continue
        taken, y = taken + 1, table.values[:, 2]
        design, (mean, spread) = design_of(models, table, fit)
        fitted, log_spread = (design @ fit.coefficients).T
        log_spread = np.clip(log_spread, fit.coefficients[0, 1] - 3.5, fit.coefficients[0, 1] + 2.0)
        left = (y - fitted) * np.exp(-log_spread)
        nll = np.mean(0.5 * left**2 + log_spread) - 0.5
        assert fit.excess == pytest.approx(nll - gain_beyond_chance(left), abs=1e-9)
        least, _ = likeliest_spread(mean, spread, y)
        # Squares far out count less in the steps than in the likelihood.
        assert least - 1e-7 <= nll <= least + (0.002 if noise in ("normal", "uniform") else 0.02)
        np.testing.assert_allclose(models.residuals(2, fit), left, atol=1e-9)
    assert taken >= (6 if noise in ("normal", "uniform") else 4)  # squares of others say less


def test_rows_far_out_have_no_other_spread_than_training_rows_had():
    table, models = prepared(draw(0))
    fit = models.fit_parents(2, BOTH)
    far = np.array([[-50.0, 0.0, 0.0], [50.0, 0.0, 0.0], [3.0, 20.0, 0.0]])
    spread, seen = (log_spread(fit, models.predict(2, fit, rows)) for rows in (far, table.values))
    assert seen.min() <= spread.min() < spread.max() <= seen.max()


def test_spread_is_taken_where_it_gains_more_than_its_price_and_a_floor():
    price, taken = 0.5 * np.log(N) / N, []
    for strength in (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4):
        for seed in range(4):
            table, models = prepared(draw(seed, spread=strength))
            y = table.values[:, 2]
            fit = models.fit_parents(2, BOTH)
            _, (mean, *spread) = design_of(models, table, fit)
            own = (
                spread[0]
                if spread
                else np.column_stack([np.ones(N), models.bases[0].columns(table.values[:, 0])[:, :2]])
            )
            rest = least_squares(mean, y)
            nll, left = likeliest_spread(mean, own, y)
            gained = np.log(rest.std()) - gain_beyond_chance(rest) - nll + gain_beyond_chance(left)
            gained -= (own.shape[1] - 1) * price + 0.02
            if abs(gained) > 0.005:
                assert bool(spread) == (gained > 0.0), (strength, seed)
                taken.append(bool(spread))
    assert 5 < np.sum(taken) < len(taken) - 5


def test_gaussian_noise_of_one_spread_gains_nothing_but_for_chance():
    taken = shaped = 0
    for seed in range(200):
        table, models = prepared(draw(seed, n=200, spread=0.0))
        fit = models.fit_parents(2, BOTH)
        taken += fit.coefficients.shape[1] > 1
        rest = least_squares(design_of(models, table, fit)[0], table.values[:, 2])
        shaped += fit.excess < np.log(rest.std()) - 1e-9
    assert taken <= 2
    assert shaped <= 4


def test_a_number_beside_levels_is_weighed_in_its_own_units():
    for seed, noise in enumerate(NOISES):
        rng, kinds = np.random.default_rng(seed), (Kind("categorical", levels=("x", "y", "z")), Kind(), Kind())
        level, a = rng.integers(3, size=N), 3.0 + 2.0 * rng.normal(size=N)
        y = a + np.array([0.0, 1.0, -2.0])[level] + np.exp(0.4 * (a - 3.0)) * getattr(rng, noise)(size=N)
        values = np.column_stack([level, a, y])
        models = GamEdges().prepare(
            Table(values, tuple("kay"), kinds=kinds, families=("categorical", "auto", "auto"))
        )
        fit = models.fit_parents(2, BOTH)
        predicted, left = models.predict(2, fit, values), models.residuals(2, fit)
        spread = log_spread(fit, predicted)
        np.testing.assert_allclose(left, (y - predicted[:, 0]) * np.exp(-spread))
        nll = np.mean(0.5 * left**2 + spread) - 0.5
        assert fit.excess == pytest.approx(nll - gain_beyond_chance(left), abs=1e-9)


def test_a_number_on_another_scale_loses_what_a_gaussian_there_loses_as_a_density_of_rows_as_they_came(rng):
    a = rng.normal(size=N)
    came = np.column_stack([a, np.exp(0.8 * a + 0.5 * rng.normal(size=N))])
    table = Table(came, ("a", "b"))
    scaled = table.with_other_scales(table.on_scale(ColumnScales.as_measured(2), True), N)
    models, rescaled = GamEdges().prepare(scaled.table), scaled.table.rescaled
    fit = models.fit_parents(1, np.array([0]))
    own = rescaled.scales.take([fit.scale])
    assert own.names[0].endswith("log")
    rest = least_squares(design_of(models, scaled.table, fit)[0], own.apply(came[:, 1:])[:, 0])
    density = stats.norm(0, rest.std()).logpdf(rest) + own.log_slopes(came[:, 1:])[:, 0]
    price = 0.5 * np.log(N) / N * own.n_parameters[0] + 0.01
    assert fit.nll + np.log(scaled.spread[1]) == pytest.approx(price - density.mean(), abs=1e-9)
    np.testing.assert_allclose(models.residuals(1, fit) * rescaled.spread[fit.scale], rest, atol=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), factors=st.tuples(*3 * [st.floats(0.01, 100.0)]))
def test_the_sequence_of_rows_changes_nothing_and_units_change_the_loss_by_their_logarithm(seed, factors):
    values, fits = draw(seed, noise=NOISES[seed % 4], spread=0.4 * (seed % 3 > 0)), []
    for changed in (values, np.random.default_rng(seed).permutation(values), values * factors):
        table = Table(changed - changed.mean(axis=0), tuple("abc"), families=("auto",) * 3)
        fits.append(GamEdges().prepare(table).fit_parents(2, BOTH))
    first, shuffled, scaled = fits
    assert shuffled.nll == pytest.approx(first.nll, abs=1e-7)
    assert scaled.nll == pytest.approx(first.nll + np.log(factors[2]), abs=1e-6)
    assert first.dof == shuffled.dof == scaled.dof


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), limited=st.booleans())
@example(seed=135, limited=False)  # where a spread has as many parameters as shrinking let go
def test_what_a_walk_ends_with_is_weighed_as_its_score_and_as_given_parents_are(seed, limited):
    values = np.column_stack([draw(seed, noise=NOISES[seed % 4]), draw(seed + 1, noise="laplace")])
    values[:, 3:] += 0.5 * values[:, :3]
    rules = EdgeRules(
        ~np.eye(6, dtype=np.bool_), np.zeros((6, 6), dtype=np.bool_), np.full(6, 2 if limited else 5)
    )
    models, fresh = (GamEdges().prepare(table_of(values), rules if limited else None) for _ in range(2))
    alike = 0
    for node in range(6):
        before = np.setdiff1d(np.arange(6), node)
        ranks = (np.arange(6) == node).astype(np.int64)[None, :]
        score = fresh.score_many(ranks, np.zeros(1, dtype=np.int64), np.array([node]))[0]
        for _ in range(2):  # the second walk is an old one
            fit = models.fit(node, before)
            assert (fit.excess, fit.dof) == pytest.approx(score, abs=1e-12)
        members = np.isin(np.arange(6), fit.parents)[None, :]
        given_parents, exact = models.score_parents(node, members)[0], models.fit_parents(node, fit.parents)
        assert (exact.excess, exact.dof) == pytest.approx(given_parents, abs=1e-12)
        if np.array_equal(exact.used, fit.used) and np.array_equal(exact.products, fit.products):
            alike += 1
            assert given_parents == pytest.approx(score, abs=1e-12)
    assert alike >= 3  # curves of given parents may be others than those that a walk grew


def test_completed_tables_that_are_alike_say_what_one_does(monkeypatch):
    monkeypatch.setattr(basis, "knot_shares", partial(np.linspace, 0.0, 1.0))
    for seed, noise in enumerate(NOISES):
        values = draw(seed, noise=noise)
        once, often = table_of(values), table_of(np.tile(values, (3, 1)), copies=3)
        first, second = (GamEdges().prepare(table).fit_parents(2, BOTH) for table in (once, often))
        assert (second.excess, second.dof) == pytest.approx((first.excess, first.dof), abs=1e-6)
        np.testing.assert_allclose(second.coefficients, first.coefficients, atol=1e-6)


def test_a_loaded_model_scores_rows_and_shows_curves_as_the_one_that_was_saved(tmp_path):
    X = draw(3, noise="laplace")
    X[:, 2] = np.exp(0.3 * X[:, 2])
    for columns in (X, draw(4)):
        model = Daguerreotype(posterior=0).fit(columns)
        fits = model._result.training.fits
        assert any(fit.scale >= 0 or fit.coefficients.shape[1] > 1 for fit in fits)
        model.save(tmp_path / "model.dag")
        loaded = Daguerreotype.load(tmp_path / "model.dag")
        assert loaded.score(columns) == pytest.approx(model.score(columns), abs=1e-12)
        for cause, effect in np.argwhere(model.adjacency_matrix_):
            grid = np.linspace(columns[:, cause].min(), columns[:, cause].max(), 9)
            expected = model.curve(cause, effect, grid)
            np.testing.assert_array_equal(loaded.curve(cause, effect, grid), expected)
