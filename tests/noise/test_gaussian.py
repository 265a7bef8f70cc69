import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from daguerreotype.edges import LocalFit
from daguerreotype.noise import Gaussian
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, nll_of_variance, variance_of_nll


def test_the_standard_entropy_is_that_of_a_standard_normal_variable():
    assert pytest.approx(stats.norm.entropy()) == STANDARD_ENTROPY


def test_the_likelihood_is_that_at_the_best_variance(rng):
    residuals = rng.laplace(size=200)
    best = optimize.minimize_scalar(
        lambda scale: -stats.norm(scale=scale).logpdf(residuals).mean(), bounds=(0.1, 10.0), method="bounded"
    )
    assert Gaussian().nll(residuals) == pytest.approx(best.fun, abs=1e-8)


def test_the_density_is_the_normal_one_of_the_same_mean_square(rng):
    residuals, points = 3 * rng.normal(size=50), np.linspace(-9, 9, 7)
    expected = stats.norm(scale=np.sqrt(np.mean(residuals**2))).logpdf(points)
    np.testing.assert_allclose(Gaussian().fit(residuals).log_density(points), expected, rtol=1e-12)


@given(st.floats(1e-8, 1e8))
def test_variance_and_likelihood_are_two_names_of_one_number(variance):
    nll = nll_of_variance(variance)
    assert nll == pytest.approx(stats.norm(scale=np.sqrt(variance)).entropy(), abs=1e-9)
    assert variance_of_nll(nll) == pytest.approx(variance, rel=1e-12)
    fit = LocalFit.gaussian(np.array([0]), np.array([1.0]), variance, 1.0)
    assert (fit.nll, fit.variance) == (nll, pytest.approx(variance, rel=1e-12))
