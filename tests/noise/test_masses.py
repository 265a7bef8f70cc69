"""Probability masses of discrete columns, and which noise model each column has."""

import numpy as np
import pytest
from scipy import stats

from daguerreotype.data import Kind
from daguerreotype.noise import NOISE, FreeShape, Gaussian, Mass, NoiseEntry, make_noise, name_of, noise_by_column
from daguerreotype.noise.base import LikeliestFamily
from daguerreotype.noise.categorical import Categorical, CategoricalMass
from daguerreotype.noise.counts import CountMass, Counts
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.noise.gaussian import GaussianOnGrid, GridMass
from daguerreotype.noise.ordinal import Ordinal, OrdinalMass

GROUPS = np.array([0, 1, 2, 2, 1])
SHARES = np.log([1.0, 0.25, 0.9, 0.1, 0.75])
ORDERED = np.array([0, 1, 1, 2])
ORDERED_SHARES = np.log([1.0, 0.8, 0.2, 1.0])
CUTS = np.array([-1.0, 0.7])


def total(mass, outcomes, predictors):
    """Sum (m,) over all outcomes of the probabilities by predictors (m, q)."""
    return sum(np.exp(mass.log_mass(np.full(len(predictors), float(y)), predictors)) for y in outcomes)


# ------------------------------------------------------------------ probabilities


def test_masses_sum_to_one(rng):
    for mass, q in ((CategoricalMass(GROUPS, SHARES), 2), (OrdinalMass(CUTS, ORDERED, ORDERED_SHARES), 1)):
        assert isinstance(mass, Mass)
        predictors = 5 * rng.normal(size=(50, q))
        np.testing.assert_allclose(total(mass, range(len(mass.groups)), predictors), 1.0, atol=1e-12)
    for dispersion in (0.0, 1e-4, 0.3, 4.0):
        predictors = np.log([[0.01], [0.5], [3.0], [20.0]])
        np.testing.assert_allclose(total(CountMass(dispersion), range(3000), predictors), 1.0, atol=1e-9)


def test_counts_are_poisson_without_a_dispersion_and_have_the_variance_that_it_says_with_one(rng):
    predictors, counts = rng.normal(size=(50, 1)), rng.integers(20, size=50).astype(float)
    mean = np.exp(predictors[:, 0])
    poisson = stats.poisson.logpmf(counts, mean)
    np.testing.assert_allclose(CountMass(0.0).log_mass(counts, predictors), poisson, rtol=1e-12)
    np.testing.assert_allclose(CountMass(1e-8).log_mass(counts, predictors), poisson, atol=1e-4)
    for dispersion in (0.01, 0.5, 3.0):
        expected = stats.nbinom(1 / dispersion, 1 / (1 + dispersion * mean))
        np.testing.assert_allclose(expected.var(), mean + dispersion * mean**2)
        found = CountMass(dispersion).log_mass(counts, predictors)
        np.testing.assert_allclose(found, expected.logpmf(counts), rtol=1e-9)


def test_whole_numbers_have_the_normal_density_and_their_masses_sum_to_one(rng):
    means, variances = rng.uniform(-20, 20, size=(50, 1)), (0.4, 3.0, 60.0)
    for variance in variances:
        mass, numbers = GridMass(variance), rng.integers(-30, 30, size=50).astype(float)
        expected = stats.norm.logpdf(numbers, means[:, 0], np.sqrt(variance))
        np.testing.assert_allclose(mass.log_mass(numbers, means), expected, rtol=1e-12)
        np.testing.assert_allclose(total(mass, range(-100, 101), means), 1.0, atol=1e-3)


def test_log_masses_are_the_frequencies_of_draws(rng):
    predictors = np.array([[0.3, -0.8]])
    draws = np.argmax(np.append(0.0, predictors) + rng.gumbel(size=(400_000, 3)), axis=1)
    group = np.bincount(draws) / draws.size
    found = [np.exp(CategoricalMass(GROUPS, SHARES).log_mass(np.array([y]), predictors)[0]) for y in range(5)]
    np.testing.assert_allclose(found, group[GROUPS] * np.exp(SHARES), atol=0.004)
    levels = np.digitize(0.4 + rng.logistic(size=400_000), CUTS)
    group = np.bincount(levels) / levels.size
    mass = OrdinalMass(CUTS, ORDERED, ORDERED_SHARES)
    found = [np.exp(mass.log_mass(np.array([y]), np.array([[0.4]]))[0]) for y in range(4)]
    np.testing.assert_allclose(found, group[ORDERED] * np.exp(ORDERED_SHARES), atol=0.004)


def test_ordered_levels_far_from_what_is_predicted_lose_what_the_distance_says():
    mass = OrdinalMass(CUTS, np.arange(3), np.zeros(3))
    for eta in (-60.0, -38.0, 38.0, 60.0, 500.0):
        low, middle, high = (mass.log_mass(np.array([y]), np.array([[eta]]))[0] for y in (0.0, 1.0, 2.0))
        assert min(low, high) == pytest.approx(-abs(eta) + (-1.0 if eta > 0 else -0.7), abs=1e-9)
        # Between the cutpoints: the difference of two tails.
        tails = np.exp(0.7) - np.exp(-1.0) if eta > 0 else np.exp(1.0) - np.exp(-0.7)
        assert middle == pytest.approx(-abs(eta) + np.log(tails), abs=1e-9)


def test_predictions_however_far_give_finite_masses():
    far = np.array([[-1e4], [1e4]])
    for y in (0.0, 1.0, 50.0):
        assert np.isfinite(CountMass(0.0).log_mass(np.full(2, y), far)).all()
        assert np.isfinite(CountMass(0.7).log_mass(np.full(2, y), far)).all()
    assert np.isfinite(CategoricalMass(np.arange(2), np.zeros(2)).log_mass(np.zeros(2), far)).all()


# ------------------------------------------------------------------ noise by column

KINDS = (Kind(), Kind("binary", levels=("no", "yes")), Kind("count", "given"), Kind("ordinal", levels=(1, 2, 3)))
LABELS = ["dose", "sick", "visits", "grade"]


def choose(noise, continuous=None, kinds=KINDS, labels=LABELS):
    return noise_by_column(noise, continuous or FreeShape(), kinds, labels)


def test_noise_is_that_of_the_kind_unless_a_name_an_object_or_a_dict_says_otherwise():
    shape, own = FreeShape(), FreeShape(CHANCE)
    counts, levels = LikeliestFamily((Counts(), GaussianOnGrid())), LikeliestFamily((Ordinal(), Categorical()))
    sick, visits, grade = usual = [make_noise("bernoulli"), counts, levels]
    level, poisson, spread = (make_noise(name) for name in ("categorical", "poisson", "negative-binomial"))
    for noise, expected in (
        ("auto", [shape, *usual]),
        ("gaussian", [Gaussian(), *usual]),
        ("poisson", [shape, sick, poisson, grade]),
        ("categorical", [shape, level, visits, level]),
        (own, [own, *usual]),
        ({"dose": own}, [own, *usual]),
        ({"visits": "negative-binomial", "dose": "gaussian", "grade": "auto"}, [Gaussian(), sick, spread, grade]),
        ({"visits": "counts", "grade": "ordinal"}, [shape, sick, Counts(), Ordinal()]),
    ):
        assert list(choose(noise)) == expected
    assert choose({2: "poisson"}, labels=range(4))[2] == poisson
    assert choose("auto", kinds=[Kind("categorical", levels=tuple("abc"))], labels=[0]) == (level,)


def test_noise_that_does_not_fit_is_refused_with_what_would():
    for noise, message in (
        ({"vists": "poisson"}, r"noise names 'vists', which is no column; columns are 'dose', 'sick'.*"),
        (
            {"dose": "poisson"},
            r"noise 'poisson' cannot describe 'dose', which is continuous: choose 'gaussian', 'free-shape', or "
            r"say kinds=\{'dose': 'count'\}\.",
        ),
        (
            {"visits": "gaussian"},
            r"noise 'gaussian' cannot describe 'visits', which is count \(given\): choose 'counts', 'poisson', "
            r"'negative-binomial', or say kinds=\{'visits': 'continuous'\}\.",
        ),
        ({"visits": FreeShape()}, r"noise FreeShape\(.*\) cannot describe 'visits', which is count \(given\): "),
        ({"visits": "cauchy"}, r"noise must be 'auto', one of 'gaussian'.*got 'cauchy'"),
        ({"dose": 3}, r"noise must be 'auto', one of 'gaussian'.*got 3"),
        ("cauchy", r"noise must be 'auto', one of 'gaussian'.*a dict of these by column.*got 'cauchy'"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(noise)


def test_a_name_that_describes_no_column_is_refused():
    with pytest.raises(ValueError, match=r"noise='poisson' can describe none of the columns: they are continuous"):
        choose("poisson", kinds=[Kind(), Kind()], labels=[0, 1])


def test_a_new_noise_model_says_which_kinds_it_describes(monkeypatch):
    monkeypatch.setitem(NOISE, "own", NoiseEntry(Gaussian, "for a test"))
    assert choose("own")[0] == Gaussian()
    assert choose({"dose": "own"})[0] == Gaussian()
    with pytest.raises(ValueError, match="cannot describe 'sick'"):
        choose({"sick": "own"})


def test_the_name_of_the_likeliest_family_is_that_of_what_was_fitted():
    counts, levels = choose("auto")[2:]
    for noise, mass, name in (
        (counts, CountMass(0.0), "poisson"),
        (counts, CountMass(0.2), "negative-binomial"),
        (counts, GridMass(2.0), "gaussian"),
        (levels, OrdinalMass(CUTS, ORDERED, ORDERED_SHARES), "ordinal"),
        (levels, CategoricalMass(GROUPS, SHARES), "categorical"),
    ):
        assert name_of(noise, mass) == name
        with pytest.raises(
            TypeError, match=r"counts or gaussian noise has no|ordinal or categorical noise has no"
        ):
            noise.nll(np.zeros(3))


def test_noise_of_discrete_columns_has_no_residuals_and_says_so():
    for name, entry in NOISE.items():
        if entry.kinds != ("continuous",):
            model = entry.make()
            assert not model.needs_residuals
            for ask in (model.nll, model.fit):
                with pytest.raises(TypeError, match=f"{name} noise has no residuals"):
                    ask(np.zeros(3))
