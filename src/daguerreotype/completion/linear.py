"""Expected moments of linear mechanisms with normal noise: EM without draws."""

import numpy as np

from daguerreotype.completion.mechanisms import Mechanisms
from daguerreotype.data.gaussian_em import GappyRows
from daguerreotype.data.table import Summary
from daguerreotype.noise.gaussian import GaussianDensity


def expected_summary(rows: GappyRows, mechanisms: Mechanisms, before: Summary) -> Summary:
    r"""Moments that are expected of rows with gaps if their columns come from linear mechanisms.

    With W the weights and D the noise variances, the precision is :math:`(I - W) D^{-1} (I - W)'`.
    """
    scaled, d = mechanisms.scaled, len(mechanisms.fits)
    weights, variances = np.eye(d), np.empty(d)
    for node, (fit, noise) in enumerate(zip(mechanisms.fits, mechanisms.densities, strict=True)):
        assert isinstance(noise, GaussianDensity)
        weights[fit.parents, node] = -fit.weights
        variances[node] = noise.variance
    weights = weights / scaled.spread[:, None]  # columns as they came
    expected = rows.expected(scaled.centre, (weights / variances) @ weights.T)
    return Summary(before.n_rows, expected.mean, expected.covariance, before.skewness, before.low, before.high)
