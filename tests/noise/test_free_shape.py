import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import MAX_ROWS, excess_entropy, negentropy
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from support.noises import NOISES

METHODS = ("maxent", "spacings", "three-spacings")


def entropy(sample, method):
    return excess_entropy(sample, method) + STANDARD_ENTROPY


@pytest.mark.parametrize("method", ["spacings", "three-spacings"])
@pytest.mark.parametrize("noise", NOISES)
def test_spacings_estimate_the_entropy_of_noise_of_any_shape(noise, method, rng):
    sample = NOISES[noise].rvs(20_000, random_state=rng)
    assert entropy(sample, method) == pytest.approx(NOISES[noise].entropy(), abs=0.04)


@pytest.mark.parametrize("noise", NOISES)
def test_three_spacings_have_the_same_bias_whatever_the_shape(noise, rng):
    samples = NOISES[noise].rvs((100, 1000), random_state=rng)
    mean = np.mean([entropy(sample, "three-spacings") for sample in samples])
    assert NOISES[noise].entropy() - 0.035 < mean < NOISES[noise].entropy() + 0.015


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("method", METHODS)
def test_entropies_of_a_few_values_are_finite(method, n, rng):
    assert np.isfinite(entropy(rng.normal(size=n), method))
    assert np.isfinite(entropy(np.ones(n), method))


@pytest.mark.parametrize("noise", ["normal", "laplace", "logistic"])
def test_maxent_estimates_the_entropy_of_noise_near_the_gaussian(noise, rng):
    sample = NOISES[noise].rvs(20_000, random_state=rng)
    assert entropy(sample, "maxent") == pytest.approx(NOISES[noise].entropy(), abs=0.06)


@pytest.mark.parametrize("noise", ["laplace", "uniform", "exponential"])
@pytest.mark.parametrize("method", METHODS)
def test_no_noise_has_the_entropy_of_the_gaussian_of_its_variance(noise, method, rng):
    sample = NOISES[noise].rvs(5_000, random_state=rng)
    assert entropy(sample, method) < stats.norm(scale=sample.std()).entropy() - 0.02


@pytest.mark.parametrize("method", METHODS)
@given(scale=st.floats(0.01, 100.0), shift=st.floats(-10.0, 10.0), seed=st.integers(0, 20))
def test_entropy_grows_by_the_log_of_the_scale_and_ignores_shifts(method, scale, shift, seed):
    sample = np.random.default_rng(seed).laplace(size=50)
    expected = entropy(sample, method) + np.log(scale)
    assert entropy(scale * sample + shift, method) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_repeated_residuals_still_have_a_finite_entropy(method):
    assert np.isfinite(entropy(np.repeat([0.0, 1.0], 30), method))


@pytest.mark.parametrize("method", METHODS)
def test_the_likelihood_is_the_entropy_by_the_method_that_was_asked_for(method, rng):
    sample = rng.exponential(size=300)
    assert FreeShape(method).nll(sample) == entropy(sample, method)
    other = next(each for each in METHODS if each != method)
    assert FreeShape(method).nll(sample) != entropy(sample, other)


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
