r"""Gaussian noise.

At the maximum likelihood variance v the negative log-likelihood per row is :math:`\frac12 \log(2 \pi e v)`, so
that variance and likelihood are two names of one number.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from daguerreotype._lib.records import saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.noise.base import DiscreteNoise, Mass, Outcomes

Number = TypeVar("Number", float, FloatArray)

# Entropy of a standard normal variable, in nats: what losses of orderings are measured from.
STANDARD_ENTROPY = float(0.5 * (np.log(2 * np.pi) + 1))
# Variance that residuals without any are given: one that has a logarithm, and that squares can be divided by.
LEAST_VARIANCE = float(np.sqrt(np.finfo(np.float64).tiny))
ROUNDING = 1.0 / 12.0  # variance of spreading a whole number uniformly over its cell


def nll_of_variance(variance: Number) -> Number:
    """Negative log-likelihood per row of Gaussian noise with this variance; minus infinity for none.

    >>> float(nll_of_variance(1.0).round(4))
    1.4189
    """
    with np.errstate(divide="ignore"):
        nll: Number = 0.5 * np.log(variance) + STANDARD_ENTROPY
    return nll


def variance_of_nll(nll: Number) -> Number:
    """The variance of Gaussian noise whose negative log-likelihood per row is ``nll``."""
    variance: Number = np.exp(2.0 * (nll - STANDARD_ENTROPY))
    return variance


@saved
@dataclass(frozen=True)
class GaussianDensity:
    """A normal distribution of mean zero."""

    variance: float

    def log_density(self, residuals: FloatArray) -> FloatArray:
        """Logarithm of the density (m,) at residuals (m,)."""
        density: FloatArray = -0.5 * (np.log(2 * np.pi * self.variance) + residuals**2 / self.variance)
        return density


@saved
@dataclass(frozen=True)
class Gaussian:
    """Normal noise of any variance: what least squares fits."""

    needs_residuals: bool = False
    max_rows: int | None = None

    def nll(self, residuals: FloatArray) -> float:
        """Of the variance of these residuals."""
        return float(nll_of_variance(self.fit(residuals).variance))

    def fit(self, residuals: FloatArray) -> GaussianDensity:
        """The normal distribution of the same variance."""
        return GaussianDensity(max(float(np.mean(residuals**2)), LEAST_VARIANCE))


# ------------------------------------------------------------------ whole numbers that are no counts


@saved
@dataclass(frozen=True)
class GridMass:
    """Whole numbers by the density of normal noise there, times the step of their grid, one.

    Attributes
    ----------
    variance : float
        Of the noise, rounding included.
    """

    variance: float

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of whole numbers (m,) by their means (m, 1)."""
        return GaussianDensity(self.variance).log_density(outcomes - predictors.reshape(-1))


@saved
@dataclass(frozen=True)
class GaussianOnGrid(DiscreteNoise):
    """Whole numbers with normal noise, whose likelihood is made from second moments."""

    name: str = "gaussian"

    masses: ClassVar = GridMass
    maximise: ClassVar = None

    def outcomes(self, codes: IntArray, n_fitted: int, kind: Kind) -> Outcomes:
        """The numbers themselves, with a variance."""
        return Outcomes(codes[:n_fitted], np.zeros(1), np.zeros(1), 0.0)

    def mass(self, outcomes: Outcomes, shape: FloatArray) -> Mass:
        """Normal noise, ``shape`` being its variance."""
        return GridMass(float(shape[0]))
