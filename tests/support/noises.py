"""Noise distributions of mean zero whose entropies and densities are known."""

import numpy as np
from scipy import stats

NOISES = {
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "uniform": stats.uniform(-1, 2),
    "exponential": stats.expon(loc=-1),
    "logistic": stats.logistic(),
    "t(5)": stats.t(5),
}


def looks_gaussian(sample):
    """Whether skewness, kurtosis and mean distance are within 2.5 standard deviations of a Gaussian sample's."""
    u = (sample - sample.mean()) / sample.std()
    expected = ((u**3, 0.0, 6.0), (u**4, 3.0, 24.0), (abs(u), np.sqrt(2 / np.pi), 1 - 3 / np.pi))
    return all(abs(part.mean() - mean) <= 2.5 * np.sqrt(variance / u.size) for part, mean, variance in expected)
