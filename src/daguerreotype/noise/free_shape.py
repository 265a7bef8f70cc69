r"""Noise of any shape, by the spacings of sorted residuals.

The log-likelihood of independent noise of unknown shape is minus its entropy. Where noise is not Gaussian the
entropies of the two directions of an edge differ, even for linear mechanisms.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from scipy.special import digamma

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray
from daguerreotype.noise.gaussian import LEAST_VARIANCE, STANDARD_ENTROPY

# Rows of a longer table whose residuals are looked at. They tell the entropy of noise to within 0.004 nats, and by
# how much directions of a weak edge differ to within 0.0004: under t(5) noise a correlation of 0.1 makes 0.002.
MAX_ROWS = 2**16
STEPS = 3  # sorted values from one end of a spacing to the other
LEAST_SPACING = 1e-12  # of standardized residuals


Method = Literal["maxent", "spacings", "three-spacings"]


def excess_entropy(residuals: FloatArray, method: Method = "spacings") -> float:
    """Differential entropy (nats) of a sample (n,) beyond that of a standard normal variable.

    "spacings" is Vasicek's estimate with windows of sqrt(n): any shape, and small differences come out best, but
    estimates of different shapes are off by up to 0.1 nats from each other. "three-spacings" has no such bias (the
    mean log of a sum of three exponential variables is known): for comparisons of shapes and scales. "maxent"
    corrects the Gaussian entropy by two nonpolynomial moments (Hyvärinen 1998): smooth, for noise not too far from
    Gaussian.
    """
    scale = _spread(residuals)
    u = (residuals - residuals.mean()) / scale
    n = u.size
    if method == "spacings":
        u.sort()
        m = max(1, round(np.sqrt(n)))
        upper, lower = u[np.minimum(np.arange(n) + m, n - 1)], u[np.maximum(np.arange(n) - m, 0)]
        spacings = np.maximum(upper - lower, LEAST_SPACING)
        standard = float(np.mean(np.log(n / (2 * m) * spacings))) - STANDARD_ENTROPY
    elif method == "three-spacings" and n > STEPS:
        u.sort()
        m, spacings = STEPS, u[STEPS:] - u[:-STEPS]
        # Copies of rows are no likelier than rows: no spacing may be between copies of one alone.
        while m * m < n and spacings.min() <= LEAST_SPACING:
            m += 1
            spacings = u[m:] - u[:-m]
        mean = float(np.mean(np.log((n + 1) * np.maximum(spacings, LEAST_SPACING))))
        standard = mean - float(digamma(m)) - STANDARD_ENTROPY
    else:
        # The weights and the Gaussian mean of log cosh are those of Hyvärinen (1998).
        skewed = float(np.mean(u * np.exp(-0.5 * u * u)))
        tailed = float(np.mean(np.log(np.cosh(u)))) - 0.37457
        standard = -(79.047 * tailed**2 + 7.4129 * skewed**2)
    return float(standard + np.log(scale))


def negentropy(residuals: FloatArray) -> float:
    """How far a sample is from Gaussian: the entropy that it lacks of a Gaussian of its variance, in nats."""
    return float(np.log(_spread(residuals))) - excess_entropy(residuals, "maxent")


def _spread(residuals: FloatArray) -> float:
    """Standard deviation, above zero even where all residuals are the same."""
    return float(np.sqrt(max(residuals.var(), LEAST_VARIANCE)))


@saved
@dataclass(frozen=True)
class RelativeDensity:
    r"""A logistic density g times a histogram of the residuals' ranks under it: :math:`f(x) = g(x) \, h(G(x))`.

    The histogram has mean one, so that f is a density; sqrt(n) bins of equal logistic mass follow any shape, and
    the tails, where there are few residuals, are those of the logistic distribution.

    Attributes
    ----------
    scale : float
        Of the logistic distribution, which has the variance of the residuals.
    heights : array of shape (b,)
        Of the histogram.
    """

    scale: float
    heights: Annotated[FloatArray, Shape("b", filled=True)]

    def log_density(self, residuals: FloatArray) -> FloatArray:
        """Logarithm of the density (m,) at residuals (m,)."""
        steep = np.abs(residuals / self.scale)
        logistic = -steep - 2.0 * np.log1p(np.exp(-steep)) - np.log(self.scale)
        bins = (_logistic(residuals / self.scale) * self.heights.size).astype(np.int64)
        density: FloatArray = logistic + np.log(self.heights[np.minimum(bins, self.heights.size - 1)])
        return density


def _logistic(values: FloatArray) -> FloatArray:
    """The logistic distribution function, without overflow."""
    shares: FloatArray = 0.5 + 0.5 * np.tanh(0.5 * values)
    return shares


@saved
@dataclass(frozen=True)
class FreeShape:
    """Noise of any shape.

    Parameters
    ----------
    method : {"spacings", "maxent", "three-spacings"}
        How its entropy is estimated; see :func:`excess_entropy`.
    """

    method: Method = "spacings"
    needs_residuals: bool = True
    max_rows: int | None = MAX_ROWS

    def nll(self, residuals: FloatArray) -> float:
        """Entropy of the residuals: minus the mean log-likelihood under their own shape."""
        return self.excess(residuals) + STANDARD_ENTROPY

    def excess(self, residuals: FloatArray) -> float:
        """The entropy beyond that of a standard normal variable."""
        return excess_entropy(residuals[:MAX_ROWS], self.method)

    def fit(self, residuals: FloatArray) -> RelativeDensity:
        """A histogram of sqrt(n) bins relative to the logistic distribution of the same variance."""
        sample = residuals[:MAX_ROWS]
        scale = float(np.sqrt(3.0) / np.pi * _spread(sample))
        size = max(1, round(np.sqrt(sample.size)))
        counts, _ = np.histogram(_logistic(sample / scale), size, (0.0, 1.0))
        # Half a residual more in every bin: none has density zero.
        return RelativeDensity(scale, (counts + 0.5) / (sample.size + 0.5 * size) * size)
