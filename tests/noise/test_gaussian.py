"""Gaussian noise: its best variance, and variance and likelihood as two names of one number."""

import numpy as np
import pytest
from scipy import stats

from daguerreotype.edges import LocalFit
from daguerreotype.noise import Gaussian
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, nll_of_variance, variance_of_nll


def test_the_likelihood_is_that_of_the_normal_density_of_the_same_mean_square(rng):
    residuals, points = 3 * rng.laplace(size=200), np.linspace(-9, 9, 7)
    best = stats.norm(scale=np.sqrt(np.mean(residuals**2)))
    assert Gaussian().nll(residuals) == pytest.approx(-best.logpdf(residuals).mean(), abs=1e-12)
    np.testing.assert_allclose(Gaussian().fit(residuals).log_density(points), best.logpdf(points), rtol=1e-12)
    assert pytest.approx(stats.norm.entropy()) == STANDARD_ENTROPY


def test_variance_and_likelihood_are_two_names_of_one_number():
    for variance in (1e-8, 0.3, 1.0, 7.0, 1e8):
        nll = nll_of_variance(variance)
        assert nll == pytest.approx(stats.norm(scale=np.sqrt(variance)).entropy(), abs=1e-9)
        assert variance_of_nll(nll) == pytest.approx(variance, rel=1e-12)
        fit = LocalFit.gaussian(np.array([0]), np.array([1.0]), variance, 1.0)
        assert (fit.nll, fit.variance) == (nll, pytest.approx(variance, rel=1e-12))
