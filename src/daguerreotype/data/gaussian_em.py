r"""Means and covariances of rows with gaps, by the EM algorithm for normal columns, and draws of what is missing.

Given the precision matrix Q, the missing values m of a row have conditional precision :math:`Q_{mm}` and mean
:math:`\mu_m - Q_{mm}^{-1} Q_{mo} (x_o - \mu_o)`: a row costs what its gaps cost, however many columns there are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.parallel import one_thread
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-7  # of correlations, from one step to the next
MOST_STEPS = 500
RIDGE = 1e-9  # share of its variance that each column is given beside, so that precisions exist


@dataclass(frozen=True)
class NormalFit:
    """Maximum likelihood of a normal distribution for rows with gaps.

    Attributes
    ----------
    mean : array of shape (d,)
        Means.
    covariance : array of shape (d, d)
        Covariances.
    n_steps : int
        Steps that it took.
    """

    mean: FloatArray
    covariance: FloatArray
    n_steps: int = 0

    @property
    def precision(self) -> FloatArray:
        """The inverse of the covariance (d, d), of a little more than it."""
        inverse = np.linalg.inv(self.covariance + RIDGE * np.diag(np.diag(self.covariance)))
        symmetric: FloatArray = 0.5 * (inverse + inverse.T)
        return symmetric

    def on_scale(self, centre: FloatArray, scale: FloatArray) -> "NormalFit":
        """The distribution of columns that were centred and scaled so before."""
        return NormalFit(centre + scale * self.mean, self.covariance * scale[:, None] * scale, self.n_steps)


class GappyRows:
    """Rows (n, d) with nan where a value is missing, laid out for EM.

    Parameters
    ----------
    values : array of shape (n, d)
        The rows. Every column has a value somewhere.
    """

    def __init__(self, values: FloatArray) -> None:
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.gaps: BoolArray = np.isnan(self.values)
        bits = np.packbits(self.gaps, axis=1)
        # Rows with the same gaps share their algebra: one after the other.
        self.order: IntArray = np.lexsort(bits.T[::-1]).astype(np.int64)
        self.order = self.order[self.gaps[self.order].any(axis=1)]
        self.complete: FloatArray = self.values[~self.gaps.any(axis=1)]

    def expected(self, mean: FloatArray, precision: FloatArray) -> NormalFit:
        """Means and covariances (divided by n) that are expected of all rows, the missing given the seen."""
        n, d = self.values.shape
        filled, spread = np.empty((self.order.size, d)), np.zeros((d, d))
        fill_rows(self.values, self.order, mean, precision, np.zeros((0, 0)), filled, spread)
        total = self.complete.sum(axis=0) + filled.sum(axis=0)
        new = total / n
        second = spread
        for part in (self.complete, filled):
            centred = part - new
            second = second + centred.T @ centred
        return NormalFit(new, second / n)

    def draw(self, mean: FloatArray, precision: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Rows (n, d) with draws of the missing values given those that are not missing."""
        drawn = self.values.copy()
        filled = np.empty((self.order.size, self.values.shape[1]))
        noise = rng.standard_normal(filled.shape)
        fill_rows(self.values, self.order, mean, precision, noise, filled, np.zeros((0, 0)))
        drawn[self.order] = filled
        return drawn


def fit_normal(values: FloatArray, max_steps: int = MOST_STEPS, tolerance: float = TOLERANCE) -> NormalFit:
    """The likeliest normal distribution of rows (n, d) with nan where a value is missing.

    EM from the observed means and variances, on standardized columns, until correlations settle.
    """
    centre, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varies = scale > 0.0
    if not varies.all():  # a function of a column may be constant where that column is seen
        mean, covariance = centre.copy(), np.zeros((centre.size, centre.size))
        if varies.any():
            some = fit_normal(values[:, varies], max_steps, tolerance)
            mean[varies], covariance[np.ix_(varies, varies)] = some.mean, some.covariance
        return NormalFit(mean, covariance)
    rows = GappyRows((values - centre) / scale)
    return iterate(rows.expected, max_steps, tolerance, centre.size).on_scale(centre, scale)


def iterate(
    expect: Callable[[FloatArray, FloatArray], NormalFit], max_steps: int, tolerance: float, d: int
) -> NormalFit:
    """Where steps of EM end, from a mean and a precision to what is expected; uncorrelated columns come first."""
    found = NormalFit(np.zeros(d), np.eye(d))
    with one_thread:  # inverses of small matrices, many times
        for step in range(1, max_steps + 1):
            new = expect(found.mean, found.precision)
            change = max(np.abs(new.covariance - found.covariance).max(), np.abs(new.mean - found.mean).max())
            found = NormalFit(new.mean, new.covariance, step)
            if change < tolerance:
                break
    return found


@kernel
def fill_rows(
    values: FloatArray,
    order: IntArray,
    mean: FloatArray,
    precision: FloatArray,
    noise: FloatArray,
    filled: FloatArray,
    spread: FloatArray,
) -> None:
    """Write rows of ``values`` in ``order`` with their gaps filled, by conditional means, and noise if any.

    ``spread`` (d, d), unless it is empty, gains the conditional covariances. A row whose gaps are those of the one
    before uses its factor again.
    """
    d = values.shape[1]
    gaps, n_gaps = np.empty(d, dtype=np.int64), 0
    factor, inverse, right = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for place in range(order.size):
        row = order[place]
        same = place > 0
        count = 0
        for j in range(d):
            if np.isnan(values[row, j]):
                if same and not (count < n_gaps and gaps[count] == j):
                    same = False
                gaps[count] = j
                count += 1
        same = same and count == n_gaps
        n_gaps = count
        if not same:
            for a in range(count):  # Cholesky: Q_mm = L L'
                for b in range(a + 1):
                    total = precision[gaps[a], gaps[b]]
                    for k in range(b):
                        total -= factor[a, k] * factor[b, k]
                    if a == b:
                        factor[a, a] = np.sqrt(max(total, 1e-300))
                    else:
                        factor[a, b] = total / factor[b, b]
            if spread.size:
                for b in range(count):  # the inverse of L, column by column
                    for a in range(b, count):
                        total = 1.0 if a == b else 0.0
                        for k in range(b, a):
                            total -= factor[a, k] * inverse[k, b]
                        inverse[a, b] = total / factor[a, a]
        for j in range(d):
            filled[place, j] = values[row, j]
        for a in range(count):
            total = 0.0
            for j in range(d):
                if not np.isnan(values[row, j]):
                    total -= precision[gaps[a], j] * (values[row, j] - mean[j])
            right[a] = total
        for a in range(count):  # L y = right
            total = right[a]
            for k in range(a):
                total -= factor[a, k] * right[k]
            right[a] = total / factor[a, a]
        if noise.size:
            for a in range(count):
                right[a] += noise[place, a]
        for a in range(count - 1, -1, -1):  # L' x = y
            total = right[a]
            for k in range(a + 1, count):
                total -= factor[k, a] * right[k]
            right[a] = total / factor[a, a]
        for a in range(count):
            filled[place, gaps[a]] = mean[gaps[a]] + right[a]
        if spread.size:
            for a in range(count):
                for b in range(a + 1):
                    total = 0.0
                    for k in range(a, count):
                        total += inverse[k, a] * inverse[k, b]
                    spread[gaps[a], gaps[b]] += total
                    if a != b:
                        spread[gaps[b], gaps[a]] += total
