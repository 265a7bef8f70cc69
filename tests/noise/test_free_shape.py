"""Entropies of noise of any shape by spacings, beyond chance or in any case, and densities that follow it."""

import numpy as np
import pytest

from daguerreotype.noise import FreeShape, Gaussian, name_of
from daguerreotype.noise.free_shape import CHANCE, MAX_ROWS, gain_of_shape, gaussian_spacings
from support.noises import NOISES


def mean_log_spacing(sample, m):
    """Of spacings from m values below each to m above, as far as there are, in standard deviations."""
    places = np.arange(sample.size)
    ordered = np.sort(sample) / sample.std()
    return np.mean(np.log(ordered[np.minimum(places + m, places[-1])] - ordered[np.maximum(places - m, 0)]))


def less_chance(gain, chance):
    """A gain as far as it counts beside what chance does."""
    return gain - chance**2 / gain if gain > chance else gain - chance


def test_the_gain_of_a_shape_is_what_its_spacings_lack_of_those_of_gaussian_samples(rng):
    for n in (30, 200, 2000):
        m = gaussian_spacings(n).steps
        usual = np.array([mean_log_spacing(rng.normal(size=n), m) for _ in range(1500)])
        assert gaussian_spacings(n).mean == pytest.approx(usual.mean(), abs=4 * usual.std() / np.sqrt(usual.size))
        assert gaussian_spacings(n).deviation == pytest.approx(usual.std(), rel=0.1)
        for noise in NOISES.values():
            sample = noise.rvs(n, random_state=rng)
            for doubt in (0.0, CHANCE):
                gain = gaussian_spacings(n).mean - mean_log_spacing(sample, m)
                gain = less_chance(gain, doubt * gaussian_spacings(n).deviation)
                assert gain_of_shape(sample, gaussian_spacings(n), doubt) == pytest.approx(gain, abs=1e-12)


def test_a_value_that_is_there_several_times_counts_once(rng):
    sample = rng.exponential(size=400)
    copied, usual = np.concatenate([sample, sample[:200]]), gaussian_spacings(600)
    spacings = mean_log_spacing(sample, usual.steps) + np.log(sample.std() / copied.std())
    gain = usual.mean + np.log(600 / 400) - spacings
    assert gain_of_shape(copied, usual, 0.0) == pytest.approx(gain, abs=1e-12)
    assert gain_of_shape(np.repeat(sample, 3), gaussian_spacings(1200), 0.0) == 0.0  # too few are left to tell


@pytest.mark.parametrize("n", [50, 500, 5000])
def test_gaussian_noise_gains_nothing_but_for_chance_and_other_noise_does_where_rows_tell(n, rng):
    gains = [gain_of_shape(rng.normal(size=n), gaussian_spacings(n), CHANCE) for _ in range(1000)]
    assert np.mean(np.array(gains) > 0.0) < 0.015
    for noise in ("laplace", "uniform", "exponential"):
        samples = NOISES[noise].rvs((50, n), random_state=rng)
        told = np.mean([gain_of_shape(sample, gaussian_spacings(n), CHANCE) > 0.0 for sample in samples])
        assert told >= 0.95 or n < 500


@pytest.mark.parametrize("noise", NOISES)
def test_spacings_estimate_the_entropy_of_noise_of_any_shape(noise, rng):
    sample, true = NOISES[noise].rvs(20_000, random_state=rng), NOISES[noise].entropy()
    for model in (FreeShape(), FreeShape(CHANCE)):
        assert model.nll(sample) == pytest.approx(true, abs=0.03)


def test_noise_whose_shape_does_not_go_beyond_chance_is_gaussian(rng):
    doubtful, gaussian, sample = FreeShape(CHANCE), Gaussian(), rng.normal(size=500)
    sample -= sample.mean()
    assert doubtful.nll(sample) == pytest.approx(gaussian.nll(sample), abs=1e-12)
    assert doubtful.fit(sample).variance == pytest.approx(gaussian.fit(sample).variance, abs=1e-12)
    assert name_of(doubtful, doubtful.fit(sample)) == "gaussian"
    skewed = rng.exponential(size=500)
    skewed -= skewed.mean()
    gain, chance = gaussian.nll(skewed) - FreeShape().nll(skewed), CHANCE * gaussian_spacings(500).deviation
    assert doubtful.nll(skewed) == pytest.approx(gaussian.nll(skewed) - less_chance(gain, chance), abs=1e-12)
    assert doubtful.nll(skewed) < gaussian.nll(skewed)
    points = np.linspace(-1.0, 4.0, 50)
    expected = FreeShape().fit(skewed).log_density(points)
    np.testing.assert_array_equal(doubtful.fit(skewed).log_density(points), expected)
    assert name_of(doubtful, doubtful.fit(skewed)) == "free-shape"


def test_rows_beyond_those_that_tell_change_nothing(rng):
    few = rng.laplace(size=MAX_ROWS)
    many = np.concatenate([few, 100 * rng.normal(size=1000)])
    assert FreeShape().nll(many) == FreeShape().nll(few)
    np.testing.assert_array_equal(FreeShape().fit(many).heights, FreeShape().fit(few).heights)


def test_the_density_follows_the_shape_where_it_has_a_gap(rng):
    two = np.concatenate([rng.normal(-5, 0.5, size=5_000), rng.normal(5, 0.5, size=5_000)])
    within, between = FreeShape().fit(two).log_density(np.array([-5.0, 0.0]))
    assert within > between + 4


def test_beyond_all_residuals_the_density_falls_like_that_of_the_logistic_distribution(rng):
    density = FreeShape().fit(rng.uniform(-1, 1, size=1000))
    far = density.log_density(np.array([-40.0, -30.0, 30.0, 40.0, 4000.0]))
    assert np.isfinite(far).all()
    np.testing.assert_allclose(np.diff(far)[[0, 2]], np.array([10.0, -10.0]) / density.scale, rtol=1e-9)
