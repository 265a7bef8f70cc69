"""Probability masses of discrete columns, and which noise model each column has."""

import numpy as np
import pytest
from scipy import stats

from daguerreotype.data import Kind
from daguerreotype.noise import NOISE, FreeShape, Gaussian, Mass, NoiseEntry, make_noise, noise_by_column
from daguerreotype.noise.categorical import CategoricalMass
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.ordinal import OrdinalMass

GROUPS = np.array([0, 1, 2, 2, 1])
SHARES = np.log([1.0, 0.25, 0.9, 0.1, 0.75])
ORDERED = np.array([0, 1, 1, 2])
ORDERED_SHARES = np.log([1.0, 0.8, 0.2, 1.0])
CUTS = np.array([-1.0, 0.7])


def total(mass, outcomes, predictors):
    """Sum (m,) over all outcomes of the probabilities by predictors (m, q)."""
    return sum(np.exp(mass.log_mass(np.full(len(predictors), float(y)), predictors)) for y in outcomes)


# ------------------------------------------------------------------ probabilities


@pytest.mark.parametrize("mass", [CategoricalMass(GROUPS, SHARES), OrdinalMass(CUTS, ORDERED, ORDERED_SHARES)])
def test_the_masses_of_all_levels_sum_to_one(mass, rng):
    assert isinstance(mass, Mass)
    predictors = 5 * rng.normal(size=(50, 2 if isinstance(mass, CategoricalMass) else 1))
    np.testing.assert_allclose(total(mass, range(len(mass.groups)), predictors), 1.0, atol=1e-12)


@pytest.mark.parametrize("dispersion", [0.0, 1e-4, 0.3, 4.0])
def test_the_masses_of_all_counts_sum_to_one(dispersion):
    predictors = np.log([[0.01], [0.5], [3.0], [20.0]])
    np.testing.assert_allclose(total(CountMass(dispersion), range(3000), predictors), 1.0, atol=1e-9)


def test_counts_without_a_dispersion_are_poisson(rng):
    predictors, counts = rng.normal(size=(50, 1)), rng.integers(20, size=50).astype(float)
    expected = stats.poisson.logpmf(counts, np.exp(predictors[:, 0]))
    np.testing.assert_allclose(CountMass(0.0).log_mass(counts, predictors), expected, rtol=1e-12)


@pytest.mark.parametrize("dispersion", [0.01, 0.5, 3.0])
def test_counts_with_a_dispersion_have_the_variance_that_it_says(dispersion, rng):
    predictors, counts = rng.normal(size=(50, 1)), rng.integers(20, size=50).astype(float)
    mean, size = np.exp(predictors[:, 0]), 1 / dispersion
    expected = stats.nbinom(size, size / (size + mean))
    np.testing.assert_allclose(expected.var(), mean + dispersion * mean**2)
    np.testing.assert_allclose(
        CountMass(dispersion).log_mass(counts, predictors), expected.logpmf(counts), rtol=1e-9
    )


def test_a_small_dispersion_is_next_to_poisson(rng):
    predictors, counts = rng.normal(size=(50, 1)), rng.integers(9, size=50).astype(float)
    near, exact = (CountMass(each).log_mass(counts, predictors) for each in (1e-7, 0.0))
    np.testing.assert_allclose(near, exact, atol=1e-4)


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


@pytest.mark.parametrize("eta", [-60.0, -38.0, 38.0, 60.0, 500.0])
def test_ordered_levels_far_from_what_is_predicted_lose_what_the_distance_says(eta):
    mass = OrdinalMass(CUTS, np.arange(3), np.zeros(3))
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


def test_by_default_every_column_has_the_noise_of_its_kind():
    expected = [FreeShape(), make_noise("bernoulli"), make_noise("counts"), make_noise("ordinal")]
    assert list(choose("auto")) == expected
    assert choose("auto", kinds=[Kind("categorical", levels=tuple("abc"))], labels=[0]) == (
        make_noise("categorical"),
    )


def test_one_name_holds_for_all_columns_that_it_can_describe():
    assert choose("gaussian")[0] == Gaussian()
    assert choose("gaussian")[1:] == choose("auto")[1:]
    assert choose("poisson") == (*choose("auto")[:2], make_noise("poisson"), make_noise("ordinal"))
    both = choose("categorical")
    assert both == (
        FreeShape(),
        make_noise("categorical"),
        make_noise("counts"),
        make_noise("categorical"),
    )


def test_an_object_holds_for_continuous_columns():
    own = FreeShape("maxent")
    assert choose(own) == (own, *choose("auto")[1:])
    assert choose({"dose": own}) == (own, *choose("auto")[1:])


def test_a_dict_names_the_noise_of_single_columns():
    found = choose({"visits": "negative-binomial", "dose": "gaussian", "grade": "auto"})
    assert found == (
        Gaussian(),
        make_noise("bernoulli"),
        make_noise("negative-binomial"),
        make_noise("ordinal"),
    )
    assert choose({2: "poisson"}, labels=range(4))[2] == make_noise("poisson")


@pytest.mark.parametrize(
    ("noise", "message"),
    [
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
        (
            {"visits": FreeShape()},
            r"noise FreeShape\(.*\) cannot describe 'visits', which is count \(given\): choose ",
        ),
        ({"visits": "cauchy"}, r"noise must be 'auto', one of 'gaussian'.*got 'cauchy'"),
        ({"dose": 3}, r"noise must be 'auto', one of 'gaussian'.*got 3"),
        ("cauchy", r"noise must be 'auto', one of 'gaussian'.*a dict of these by column.*got 'cauchy'"),
    ],
)
def test_noise_that_does_not_fit_is_refused_with_what_would(noise, message):
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


@pytest.mark.parametrize("name", [name for name, entry in NOISE.items() if entry.kinds != ("continuous",)])
def test_noise_of_discrete_columns_has_no_residuals_and_says_so(name):
    model = NOISE[name].make()
    assert not model.needs_residuals
    for ask in (model.nll, model.fit):
        with pytest.raises(TypeError, match=f"{name} noise has no residuals"):
            ask(np.zeros(3))
