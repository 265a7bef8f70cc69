"""Entropies of noise of any shape, and densities that follow it."""

import numpy as np
import pytest
from scipy import stats

from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import MAX_ROWS, excess_entropy, negentropy
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from support.noises import NOISES

METHODS = ("maxent", "spacings", "three-spacings")


def entropy(sample, method):
    return excess_entropy(sample, method) + STANDARD_ENTROPY


def test_entropies_are_those_of_the_formulas_written_out(rng):
    """Vasicek (1976), with windows that end where the sample does; Hyvärinen (1998)."""
    sample, n, m = np.sort(rng.exponential(size=50)), 50, 7
    gaps = [sample[min(i + m, n - 1)] - sample[max(i - m, 0)] for i in range(n)]
    assert entropy(sample, "spacings") == pytest.approx(np.mean(np.log(n / (2 * m) * np.array(gaps))))
    u = (sample - sample.mean()) / sample.std()
    grid = np.linspace(-12, 12, 5001)
    tailed = np.mean(np.log(np.cosh(u))) - np.trapezoid(np.log(np.cosh(grid)) * stats.norm.pdf(grid), grid)
    skewed = np.mean(u * np.exp(-(u**2) / 2))
    negative = 79.047 * tailed**2 + 36 / (8 * np.sqrt(3) - 9) * skewed**2
    assert entropy(sample, "maxent") == pytest.approx(
        stats.norm(scale=sample.std()).entropy() - negative, rel=1e-4
    )


@pytest.mark.parametrize("noise", NOISES)
def test_spacings_estimate_the_entropy_of_noise_of_any_shape_three_with_the_same_bias(noise, rng):
    sample, true = NOISES[noise].rvs(20_000, random_state=rng), NOISES[noise].entropy()
    for method in ("spacings", "three-spacings"):
        assert entropy(sample, method) == pytest.approx(true, abs=0.04)
    mean = np.mean([entropy(part, "three-spacings") for part in NOISES[noise].rvs((100, 1000), random_state=rng)])
    assert true - 0.035 < mean < true + 0.015


def test_maxent_estimates_the_entropy_of_noise_near_the_gaussian(rng):
    for noise in ("normal", "laplace", "logistic"):
        sample = NOISES[noise].rvs(20_000, random_state=rng)
        assert entropy(sample, "maxent") == pytest.approx(NOISES[noise].entropy(), abs=0.06)


@pytest.mark.parametrize("method", METHODS)
def test_no_noise_has_the_entropy_of_the_gaussian_of_its_variance(method, rng):
    for noise in ("laplace", "uniform", "exponential"):
        sample = NOISES[noise].rvs(5_000, random_state=rng)
        assert entropy(sample, method) < stats.norm(scale=sample.std()).entropy() - 0.02


@pytest.mark.parametrize("method", METHODS)
def test_few_and_repeated_residuals_have_a_finite_entropy(method, rng):
    for sample in (*(rng.normal(size=n) for n in (2, 3, 4)), np.ones(3), np.repeat([0.0, 1.0], 30)):
        assert np.isfinite(entropy(sample, method))


@pytest.mark.parametrize("method", METHODS)
def test_the_likelihood_is_the_entropy_by_the_method_that_was_asked_for(method, rng):
    sample = rng.exponential(size=300)
    assert FreeShape(method).nll(sample) == entropy(sample, method)
    assert len({FreeShape(other).nll(sample) for other in METHODS}) == 3
    shifted = FreeShape(method).nll(7.0 * sample - 3.0)
    assert shifted == pytest.approx(entropy(sample, method) + np.log(7.0), abs=1e-9)


def test_negentropy_is_least_for_gaussian_noise(rng):
    found = {name: negentropy(noise.rvs(20_000, random_state=rng)) for name, noise in NOISES.items()}
    assert found["normal"] == pytest.approx(0.0, abs=1e-3)
    assert all(found[name] > 0.01 for name in found if name != "normal")


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
