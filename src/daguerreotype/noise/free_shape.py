r"""Noise of any shape, by the spacings of sorted residuals (Vasicek 1976).

The log-likelihood of independent noise of unknown shape is minus its entropy. Where noise is not Gaussian the
entropies of the two directions of an edge differ, even for linear mechanisms.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, GaussianDensity

# Rows of a longer table whose residuals are looked at. They tell the entropy of noise to within 0.004 nats, and by
# how much directions of a weak edge differ to within 0.0004: under t(5) noise a correlation of 0.1 makes 0.002.
MAX_ROWS = 2**16
LEAST_SPACING = 1e-12  # of standardized residuals
BACKGROUND = 3.0  # standard deviations of the normal distribution that covers what was never seen


def entropy(residuals: FloatArray, method: Literal["maxent", "spacings"] = "spacings") -> float:
    """Differential entropy (nats) of a sample (n,).

    "spacings" is Vasicek's estimate with windows of sqrt(n): any shape. "maxent" corrects the Gaussian entropy by two
    nonpolynomial moments (Hyvärinen 1998): smooth, for noise not too far from Gaussian.
    """
    scale = float(residuals.std())
    u = (residuals - residuals.mean()) / scale
    n = u.size
    if method == "spacings":
        u.sort()
        m = max(1, round(np.sqrt(n)))
        upper, lower = u[np.minimum(np.arange(n) + m, n - 1)], u[np.maximum(np.arange(n) - m, 0)]
        spacings = np.maximum(upper - lower, LEAST_SPACING)
        standard = float(np.mean(np.log(n / (2 * m) * spacings)))
    else:
        # The weights and the Gaussian mean of log cosh are those of Hyvärinen (1998).
        skewed = float(np.mean(u * np.exp(-0.5 * u * u)))
        tailed = float(np.mean(np.log(np.cosh(u)))) - 0.37457
        standard = STANDARD_ENTROPY - (79.047 * tailed**2 + 7.4129 * skewed**2)
    return float(standard + np.log(scale))


def negentropy(residuals: FloatArray) -> float:
    """How far a sample is from Gaussian: the entropy that it lacks of a Gaussian of its variance, in nats."""
    return float(np.log(residuals.std())) + STANDARD_ENTROPY - entropy(residuals, "maxent")


@dataclass(frozen=True)
class SpacingsDensity:
    r"""A histogram whose bins hold equally many residuals, over a wide normal distribution.

    With m = sqrt(n) residuals to a bin its heights are the m-spacings that :func:`entropy` takes logarithms of. A
    share :math:`1 / m` of the mass lies under the normal distribution, so that no value has density zero.

    Attributes
    ----------
    edges : array of shape (b + 1,)
        Where bins begin and end, ascending: quantiles of the residuals.
    heights : array of shape (b,)
        Densities of the bins.
    background : GaussianDensity
        The wide normal distribution.
    share : float
        Its mass.
    """

    edges: FloatArray
    heights: FloatArray
    background: GaussianDensity
    share: float

    def log_density(self, residuals: FloatArray) -> FloatArray:
        """Logarithm of the density (m,) at residuals (m,)."""
        wide = self.share * np.exp(self.background.log_density(residuals))
        bins = np.clip(np.searchsorted(self.edges, residuals, side="right") - 1, 0, self.heights.size - 1)
        inside = (residuals >= self.edges[0]) & (residuals <= self.edges[-1])
        density: FloatArray = np.log(wide + (1.0 - self.share) * np.where(inside, self.heights[bins], 0.0))
        return density


@dataclass(frozen=True)
class FreeShape:
    """Noise of any shape.

    Parameters
    ----------
    method : {"spacings", "maxent"}
        How its entropy is estimated; see :func:`entropy`.
    """

    method: Literal["spacings", "maxent"] = "spacings"
    needs_residuals: bool = True
    max_rows: int | None = MAX_ROWS

    def nll(self, residuals: FloatArray) -> float:
        """Entropy of the residuals: minus the mean log-likelihood under their own shape."""
        return entropy(residuals[:MAX_ROWS], self.method)

    def fit(self, residuals: FloatArray) -> SpacingsDensity:
        """The histogram of the residuals' spacings."""
        some = residuals[:MAX_ROWS]
        m = max(1, round(np.sqrt(some.size)))
        ranks = np.linspace(0.0, 1.0, max(some.size // m, 1) + 1)
        edges = np.unique(np.quantile(some, ranks))
        background = GaussianDensity(float(BACKGROUND**2 * some.var()))
        if edges.size < 2:  # all residuals are one value
            return SpacingsDensity(np.array([0.0, 1.0]), np.zeros(1), background, 1.0)
        counts, _ = np.histogram(some, edges)
        return SpacingsDensity(edges, counts / (some.size * np.diff(edges)), background, 1.0 / m)
