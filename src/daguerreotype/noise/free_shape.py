r"""Noise of any shape, by the spacings of sorted residuals.

The log-likelihood of independent noise of unknown shape is minus its entropy. Where noise is not Gaussian the
entropies of the two directions of an edge differ, even for linear mechanisms.

The entropy of n values is estimated by spacings of up to m of them on either side, fewer at the ends (Vasicek
1976; Ebrahimi, Pflughoeft and Soofi 1994), and compared with what Gaussian values show on average:

.. math:: L = \frac{1}{n} \sum_i \log (x_{(\min(i + m, n))} - x_{(\max(i - m, 1))}) .

Wide spacings, of about a root of n values, give up detail for calm: what two sets of parents leave of a node
differs little by chance alone. A shape can be asked to gain more than several standard deviations of what chance
does.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import digamma, ndtri

from daguerreotype._lib.numba import algebra_kernel, kernel, subkernel
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray
from daguerreotype.noise.gaussian import LEAST_VARIANCE, STANDARD_ENTROPY, GaussianDensity

# Rows of a longer table whose residuals are looked at. They tell the entropy of noise to within 0.004 nats, and by
# how much directions of a weak edge differ to within 0.0004: under t(5) noise a correlation of 0.1 makes 0.002.
MAX_ROWS = 2**16
LEAST_STEPS = 2  # sorted values from the middle of a spacing to its ends, at least
STEPS = 2.0 / 3.0  # of them for a root of n
LEAST_SPACING = 1e-12  # of standardized residuals
CROWD = 64  # values in one bucket of a sort, above which it is left to numpy
CHANCE = 3.0  # standard deviations of what chance gains, that a shape must gain to count


class GaussianSpacings(NamedTuple):
    """Spacings of n standardized Gaussian values: how many steps they have, their mean logarithm and deviation."""

    steps: int
    mean: float
    deviation: float


@lru_cache(maxsize=64)
def gaussian_spacings(n: int) -> GaussianSpacings:
    """What `shape_gain` compares n values with."""
    m = max(LEAST_STEPS, round(STEPS * np.sqrt(n)))
    if n <= 2 * m:
        return GaussianSpacings(m, 0.0, 0.0)
    quantiles, places = ndtri((np.arange(n) + 0.5) / n), np.arange(n)
    low, high = np.maximum(places - m, 0), np.minimum(places + m, n - 1)
    density = np.log((quantiles[high] - quantiles[low]) * n / (high - low))
    mean = float(np.mean(density + digamma(high - low)) - digamma(n + 1))
    # As simulation shows, from 50 to 4000 rows: what this leaves of the mean, and the deviation to within 5 %.
    return GaussianSpacings(m, mean + (1.4 - 0.052 * np.sqrt(n)) / n, 0.354 * n**-0.583)


@algebra_kernel
def mean_and_variance(values: FloatArray, both: FloatArray) -> float:
    """Write mean and variance of values (n,) to ``both`` (2,); returns the variance."""
    n, total = values.size, 0.0
    for t in range(n):
        total += values[t]
    mean, total = total / n, 0.0
    for t in range(n):
        total += (values[t] - mean) * (values[t] - mean)
    both[0] = mean
    both[1] = total / n
    return float(both[1])


@subkernel
def sort(values: FloatArray, mean: float, spread: float, ordered: FloatArray) -> None:
    """Write the values (n,) in ascending order: to buckets by a sigmoid of theirs, then by insertion.

    Buckets are of about equal share for most shapes; where one is crowded, numpy's sort is quicker.
    """
    n, size = values.size, 2 * values.size
    places, ends = np.empty(n, dtype=np.int32), np.zeros(size, dtype=np.int32)
    per_spread = 1.0 / spread
    for t in range(n):
        z = (values[t] - mean) * per_spread
        place = int((1.0 + z / np.sqrt(1.6 + z * z)) * 0.4999 * size)
        places[t] = min(max(place, 0), size - 1)
    crowd = 0
    for t in range(n):
        ends[places[t]] += 1
        crowd = max(crowd, ends[places[t]])
    if crowd > CROWD:
        ordered[:] = np.sort(values)
        return
    total = 0
    for bucket in range(size):
        total += ends[bucket]
        ends[bucket] = total
    for t in range(n):
        place = places[t]
        ends[place] -= 1
        ordered[ends[place]] = values[t]
    for t in range(1, n):
        value, k = ordered[t], t
        while k > 0 and ordered[k - 1] > value:
            ordered[k] = ordered[k - 1]
            k -= 1
        ordered[k] = value


@subkernel
def shape_gain(values: FloatArray, usual: GaussianSpacings, doubt: float) -> float:
    """Nats per row that a free shape of values (n,) gains over a Gaussian, less what chance does.

    A gain g counts as  g - c^2 / g,  c being ``doubt`` deviations by chance: what is clear counts nearly whole,
    and nothing jumps where doubt begins (the garrote of Breiman 1995). ``usual`` are the `gaussian_spacings` of n.
    Copies of rows are no likelier than rows: a value that is there several times counts once.
    """
    n, m, ordered, both = values.size, usual.steps, np.empty(values.size), np.empty(2)
    variance = mean_and_variance(values, both)
    if variance <= LEAST_VARIANCE:
        return 0.0
    spread = np.sqrt(variance)
    sort(values, both[0], spread, ordered)
    least = LEAST_SPACING * spread
    count = 1
    for t in range(1, n):
        if ordered[t] - ordered[count - 1] > least:
            ordered[count] = ordered[t]
            count += 1
    if 2 * count < n or count <= 2 * m:  # too many copies to tell a shape
        return 0.0
    total, product, per_spread = 0.0, 1.0, 1.0 / spread
    for t in range(count):
        low, high = t - m if t > m else 0, t + m if t + m < count else count - 1
        product *= (ordered[high] - ordered[low]) * per_spread
        if (t & 7) == 7:  # one logarithm for eight
            total += np.log(product)
            product = 1.0
    total += np.log(product)
    rarer = n / count  # of fewer values spacings are wider
    gain = usual.mean + np.log(rarer) - total / count
    chance = doubt * usual.deviation * np.sqrt(rarer)
    return float(gain - chance * chance / gain if gain > chance else gain - chance)


@kernel
def gain_of_shape(values: FloatArray, usual: GaussianSpacings, doubt: float) -> float:
    """What `shape_gain` says, for Python."""
    return shape_gain(values, usual, doubt)


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
    doubt : float
        How much more than a Gaussian a shape must gain to count, in standard deviations of what chance gains.
        Noise that does not is Gaussian. Minus infinity: the shape always counts.
    """

    doubt: float = -np.inf
    needs_residuals: bool = True
    max_rows: int | None = MAX_ROWS

    def nll(self, residuals: FloatArray) -> float:
        """Entropy of the residuals: minus the mean log-likelihood under their own shape."""
        return self.excess(residuals) + STANDARD_ENTROPY

    def excess(self, residuals: FloatArray) -> float:
        """The entropy beyond that of a standard normal variable."""
        sample = residuals[:MAX_ROWS]
        return float(np.log(_spread(sample))) - self._gain(sample)

    def _gain(self, sample: FloatArray) -> float:
        """Nats per row that the shape gains over a Gaussian."""
        if self.doubt == -np.inf:
            return gain_of_shape(sample, gaussian_spacings(sample.size), 0.0)
        return max(gain_of_shape(sample, gaussian_spacings(sample.size), self.doubt), 0.0)

    def fit(self, residuals: FloatArray) -> GaussianDensity | RelativeDensity:
        """A histogram of sqrt(n) bins beside the logistic distribution of the same variance, or a Gaussian."""
        sample = residuals[:MAX_ROWS]
        if self.doubt > -np.inf and self._gain(sample) <= 0.0:
            return GaussianDensity(_spread(residuals) ** 2)
        scale = float(np.sqrt(3.0) / np.pi * _spread(sample))
        size = max(1, round(np.sqrt(sample.size)))
        counts, _ = np.histogram(_logistic(sample / scale), size, (0.0, 1.0))
        # Half a residual more in every bin: none has density zero.
        return RelativeDensity(scale, (counts + 0.5) / (sample.size + 0.5 * size) * size)
