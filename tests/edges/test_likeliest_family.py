"""Families of discrete columns are chosen inside the local score: for every parent set the likeliest, paid for."""

import numpy as np
import pytest
from scipy import optimize, stats

from daguerreotype import Daguerreotype
from daguerreotype.data import Kind
from daguerreotype.data.table import Table
from daguerreotype.edges import GamEdges
from daguerreotype.noise.categorical import CategoricalMass
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, GridMass
from daguerreotype.noise.ordinal import OrdinalMass
from daguerreotype.operators import FixedOrder

COUNT, RATING = Kind("count"), Kind("ordinal", levels=(1, 2, 3, 4))
N = 600


def table_of(columns, kinds, families):
    """A table of numbers of variance one, and discrete columns of these families, "auto" being any."""
    scaled = [
        (column - column.mean()) / column.std() if kind.name == "continuous" else column
        for column, kind in zip(columns, kinds, strict=True)
    ]
    values = np.column_stack(scaled).astype(np.float64)
    return Table(values, tuple("abcdef"[: len(kinds)]), kinds=tuple(kinds), families=tuple(families))


def prepare(columns, kinds, families):
    return GamEdges().prepare(table_of(columns, kinds, families))


def length(fit):
    """Nats per row, with the parameters of parents and of the shape paid for."""
    return fit.nll + 0.5 * np.log(N) / N * fit.dof


def temperatures(rng, number):
    return np.rint(60 + 5 * number + 4 * rng.normal(size=number.size))


def visits(rng, number):
    return rng.poisson(np.exp(0.3 + 0.5 * number))


def grade(rng, number, level):
    """Levels whose order helps with the number, and is of no use with the other column."""
    signal = 1.5 * number + rng.logistic(size=number.size)
    ordered = np.digitize(signal, [-1.5, 0.0, 1.5])
    return np.where(level == 1, rng.choice([0, 3, 1, 2], p=[0.45, 0.45, 0.05, 0.05], size=number.size), ordered)


# ------------------------------------------------------------------ whole numbers


def test_the_likelihood_of_whole_numbers_is_that_of_a_normal_regression_with_their_rounding():
    rng = np.random.default_rng(0)
    number = rng.normal(size=N)
    numbers = temperatures(rng, number)
    models = prepare([number, numbers], [Kind(), COUNT], ["", "auto"])
    for parents in (np.zeros(0, dtype=np.int64), np.array([0])):
        fit = models.fit_parents(1, parents)
        mass, predicted = models.mass(1, fit), models.predict(1, fit, models._table.values)
        assert isinstance(mass, GridMass)
        design = np.column_stack([np.ones(N), models.columns(models._table.values)[:, : fit.used.sum()]])
        rest = numbers - design @ np.linalg.lstsq(design, numbers, rcond=None)[0]
        assert mass.variance == pytest.approx(np.mean(rest**2) + 1 / 12, rel=1e-6)
        np.testing.assert_allclose(numbers - predicted, rest, atol=1e-6)
        expected = -stats.norm.logpdf(rest, scale=np.sqrt(mass.variance)).mean() + 1 / 24 / mass.variance
        assert fit.nll == pytest.approx(expected, abs=1e-9)
        assert fit.dof == fit.used.sum() + 1  # the variance, as a dispersion would


def test_the_likelihood_of_counts_is_that_of_scipy():
    rng = np.random.default_rng(1)
    number = rng.normal(size=N)
    counts = visits(rng, number)
    spread = rng.negative_binomial(0.7, 0.7 / (0.7 + np.exp(0.5 + 0.6 * number)))
    models = prepare([number, counts, spread], [Kind(), COUNT, COUNT], ["", "auto", "auto"])
    poisson, dispersed = (models.fit_parents(node, np.array([0])) for node in (1, 2))
    predicted = [models.predict(node, fit, models._table.values) for node, fit in ((1, poisson), (2, dispersed))]
    assert poisson.nll == pytest.approx(-stats.poisson.logpmf(counts, np.exp(predicted[0])).mean(), abs=1e-9)
    size = 1 / models.mass(2, dispersed).dispersion
    masses = stats.nbinom.logpmf(spread, size, size / (size + np.exp(predicted[1])))
    assert dispersed.nll == pytest.approx(-masses.mean(), abs=1e-9)


def test_temperatures_are_numbers_and_small_counts_are_poisson_or_spread_more():
    rng = np.random.default_rng(2)
    number = rng.normal(size=N)
    narrow = np.rint(100 + 2 * number + rng.normal(size=N))  # of a variance far below their mean
    wide = np.rint(100 + 30 * number + 25 * rng.normal(size=N)).clip(0)
    spread = rng.negative_binomial(0.7, 0.7 / (0.7 + np.exp(0.5 + 0.6 * number)))
    columns = [number, narrow, wide, visits(rng, number), spread]
    models = prepare(columns, [Kind(), *[COUNT] * 4], ["", *["auto"] * 4])
    parents = np.array([0])
    masses = [models.mass(node, models.fit(node, parents)) for node in range(1, 5)]
    assert [type(mass) for mass in masses] == [GridMass, GridMass, CountMass, CountMass]
    assert masses[2].dispersion == 0.0 < masses[3].dispersion


# ------------------------------------------------------------------ the likeliest is taken


def test_the_family_is_the_one_of_the_shortest_code_for_every_parent_set():
    rng = np.random.default_rng(3)
    number, level = rng.normal(size=N), rng.integers(2, size=N).astype(float)
    columns = [number, level, grade(rng, number, level), temperatures(rng, number), visits(rng, number)]
    kinds = [Kind(), Kind("binary", levels=(0, 1)), RATING, COUNT, COUNT]
    gaussian = prepare(columns, [*kinds[:3], Kind(), Kind()], ["", "bernoulli", "ordinal", "", ""])
    models = prepare(columns, kinds, ["", "bernoulli", *["auto"] * 3])
    alone = {
        name: prepare(
            columns, kinds, ["", "bernoulli", name if name != "counts" else "ordinal", "counts", "counts"]
        )
        for name in ("ordinal", "categorical", "counts")
    }
    assert gaussian.problem.families.shape[0] == 5
    for parents in ([], [0], [1], [0, 1]):
        parents = np.array(parents, dtype=np.int64)
        both = [alone[name].fit_parents(2, parents) for name in ("ordinal", "categorical")]
        chosen = models.fit_parents(2, parents)
        assert length(chosen) == pytest.approx(min(map(length, both)), abs=1e-9)
        assert chosen.family == int(np.argmin(list(map(length, both))))
        for node in (3, 4):
            chosen, counts = models.fit_parents(node, parents), alone["counts"].fit_parents(node, parents)
            assert length(chosen) <= length(counts) + 1e-12
            assert (chosen.family == 0) == (length(chosen) > length(counts) - 1e-9)


def test_levels_are_ordered_given_some_parents_and_not_given_others():
    rng = np.random.default_rng(4)
    number, level = rng.normal(size=N), rng.integers(2, size=N).astype(float)
    kinds = [Kind(), Kind("binary", levels=(0, 1)), RATING]
    models = prepare([number, level, grade(rng, number, level)], kinds, ["", "bernoulli", "auto"])
    masses = [models.mass(2, models.fit_parents(2, np.array([parent]))) for parent in (0, 1)]
    assert isinstance(masses[0], OrdinalMass)
    assert isinstance(masses[1], CategoricalMass)


def test_all_ways_to_ask_agree_on_the_family():
    rng = np.random.default_rng(5)
    number, level = rng.normal(size=N), rng.integers(2, size=N).astype(float)
    columns = [number, level, grade(rng, number, level), temperatures(rng, number)]
    kinds = [Kind(), Kind("binary", levels=(0, 1)), RATING, COUNT]
    models = prepare(columns, kinds, ["", "bernoulli", "auto", "auto"])
    ranks = np.array([[0, 1, 2, 3]])
    for node in (2, 3):
        before = np.arange(node)
        fit = models.fit(node, before)
        (walked,) = models.score_many(ranks, np.array([0]), np.array([node]))
        sets = np.isin(np.arange(4), fit.parents)[None]
        (given,) = models.score_parents(node, sets)
        price = 0.5 * np.log(N) / N
        expected = fit.nll - STANDARD_ENTROPY + price * fit.dof
        assert walked[0] + price * walked[1] == pytest.approx(expected, abs=1e-9)
        assert given[0] + price * given[1] <= expected + 1e-9
        mass = models.mass(node, fit)
        lost = -mass.log_mass(columns[node].astype(float), models.predict(node, fit, models._table.values)).mean()
        rounding = 1 / 24 / mass.variance if isinstance(mass, GridMass) else 0.0
        assert fit.nll == pytest.approx(lost + rounding, abs=1e-9)


def test_an_ordinal_maximum_is_that_of_a_general_optimiser():
    rng = np.random.default_rng(6)
    number, none = rng.normal(size=N), np.zeros(N)
    levels = grade(rng, number, none)
    models = prepare([number, levels], [Kind(), RATING], ["", "auto"])
    fit = models.fit_parents(1, np.array([0]))
    design = models.columns(models._table.values)[:, : fit.used.sum()]
    ends = np.array([-np.inf, np.inf])

    def nll(theta):
        cuts = np.insert(ends, 1, np.cumsum([theta[0], *np.exp(theta[1:3])]))
        eta = design @ theta[3:]
        masses = stats.logistic.cdf(cuts[levels + 1] - eta) - stats.logistic.cdf(cuts[levels] - eta)
        return -np.log(masses).mean()

    best = optimize.minimize(nll, np.zeros(3 + design.shape[1]), method="BFGS", options={"gtol": 1e-8}).fun
    assert fit.nll == pytest.approx(best, abs=1e-5)


# ------------------------------------------------------------------ a learner


def test_columns_say_which_family_each_got_and_named_ones_are_kept():
    import pandas as pd

    rng = np.random.default_rng(7)
    number = rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "number": number,
            "degrees": temperatures(rng, number).astype(int),
            "visits": visits(rng, number),
            "grade": grade(rng, number, np.zeros(N)) + 1,
        }
    )
    kinds, order = {"degrees": "count", "visits": "count", "grade": "ordinal"}, FixedOrder(list(frame))
    left_open = Daguerreotype(operator=order, kinds=kinds).fit(frame)
    assert left_open.columns_["noise"].tolist()[1:] == ["gaussian", "poisson", "ordinal"]
    assert left_open.edges_.set_index("effect").loc["degrees", "unit"] == "degrees per number"
    assert np.isfinite(left_open.score(frame))
    named = {"degrees": "counts", "grade": "categorical"}
    asked_for = Daguerreotype(operator=order, kinds=kinds, noise=named).fit(frame)
    assert asked_for.columns_["noise"].tolist()[1:] == ["poisson", "poisson", "categorical"]
    assert left_open.score(frame) > asked_for.score(frame)
