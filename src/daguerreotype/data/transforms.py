r"""Scales of measurement: monotone transforms of single columns, with their Jacobians.

A Gaussian additive-noise model assumes the right scale. For  y = t(x)  the density of x is that of y times
:math:`|t'(x)|`, so likelihoods on different scales are compared after adding the mean of
:math:`\log |t'(x)|` (per row of data, summed over columns).
"""

from copy import copy
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

BLOCK = 2**16  # values of columns whose powers are searched for together: what a processor has at hand
LEAST_POWER, MOST_POWER = -3.0, 5.0


@runtime_checkable
class Scale(Protocol):
    """A fitted change of scale of every column."""

    @property
    def name(self) -> str:
        """What ``transform_`` calls it."""
        ...

    @property
    def n_parameters(self) -> int:
        """How many numbers were chosen to fit the data."""
        ...

    def apply(self, values: FloatArray) -> FloatArray:
        """Columns (n, d) on the new scale."""
        ...

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Logarithm of |t'(x)| for every value (n, d)."""
        ...


@dataclass(frozen=True)
class Identity:
    """Columns as they are."""

    name: str = "none"
    n_parameters: int = 0

    @classmethod
    def fit(cls, values: FloatArray, intervened: BoolArray | None = None) -> "Identity":
        """There is nothing to fit."""
        return cls()

    def apply(self, values: FloatArray) -> FloatArray:
        """The same values."""
        return values

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Zero."""
        return np.zeros(values.shape)


def likeliest_powers(columns: FloatArray, counted: BoolArray | None = None) -> FloatArray:
    """Powers (d,) of Yeo-Johnson transforms that make columns (n, d) look most Gaussian, where they count.

    The secant method on the derivative of the mean log-likelihood, for many columns at once, within brackets that
    shrink with its sign.
    """
    n, d = columns.shape
    powers = np.ones(d)
    size = max(1, BLOCK // n)
    for first in range(0, d, size):
        block = slice(first, first + size)
        shares = None if counted is None else counted[:, block] / counted[:, block].sum(axis=0)
        powers[block] = _search_powers(_PowerLikelihood(columns[:, block], shares))
    return powers


class _PowerLikelihood:
    """The likelihood of Yeo-Johnson powers of columns (n, d); shares (n, d) of rows in it, None for equal ones."""

    def __init__(self, columns: FloatArray, shares: FloatArray | None) -> None:
        self.positive = columns >= 0.0
        self.logs = np.log1p(np.abs(columns))
        self.shares = np.full((1, 1), 1.0 / len(columns)) if shares is None else shares
        self.jacobian = (self.shares * np.where(self.positive, self.logs, -self.logs)).sum(axis=0)

    def take(self, some: BoolArray) -> "_PowerLikelihood":
        """The same of some columns."""
        taken = copy(self)
        taken.positive, taken.logs = self.positive[:, some], self.logs[:, some]
        taken.shares = self.shares if self.shares.size == 1 else self.shares[:, some]
        taken.jacobian = self.jacobian[some]
        return taken

    def slope(self, power: FloatArray) -> FloatArray:
        r"""Derivative (d,) of the mean log-likelihood in the powers (d,).

        With k the power for x >= 0 and 2 less the power below, y = sign (e^{k log(1 + |x|)} - 1) / k and
        the log-likelihood is  -log(var y) / 2 + (power - 1) mean(sign log(1 + |x|)).
        """
        above, below = (np.where(np.abs(k) < 1e-6, 1e-6, k) for k in (power, 2.0 - power))  # 0: a logarithm
        inverse = np.where(self.positive, 1.0 / above, 1.0 / below)
        grown = np.expm1(self.logs / inverse)
        size = grown * inverse
        change = inverse * ((grown + 1.0) * self.logs - size)
        y = np.where(self.positive, size, -size)
        y -= (self.shares * y).sum(axis=0)
        weighted = self.shares * y
        slopes: FloatArray = self.jacobian - np.einsum("nd,nd->d", weighted, change) / np.einsum(
            "nd,nd->d", weighted, y
        )
        return slopes


def _search_powers(likelihood: _PowerLikelihood) -> FloatArray:
    """Where the slope of a likelihood is zero, of all columns."""
    powers = np.ones(likelihood.jacobian.size)
    places = np.arange(powers.size)
    last = powers.copy()
    before = likelihood.slope(last)
    low, high = np.where(before > 0.0, 1.0, LEAST_POWER), np.where(before > 0.0, MOST_POWER, 1.0)
    here = last + np.where(before > 0.0, 0.1, -0.1)
    for _ in range(60):
        slope = likelihood.slope(here)
        low, high = np.where(slope > 0.0, here, low), np.where(slope > 0.0, high, here)
        with np.errstate(divide="ignore", invalid="ignore"):
            best = here - slope * (here - last) / (slope - before)
        best = np.where((best > low) & (best < high), best, 0.5 * (low + high))  # also where it is nan
        powers[places] = best
        # The method's next step would be shorter by far.
        more = np.abs(best - here) > 1e-6
        if not more.any():
            break
        if not more.all():
            likelihood, places, low, high = likelihood.take(more), places[more], low[more], high[more]
        last, before, here = here[more], slope[more], best[more]
    return powers


@dataclass(frozen=True)
class OfSomeColumns:
    """A change of scale of some columns that leaves the others as they are."""

    scale: Scale
    columns: IntArray

    @property
    def name(self) -> str:
        """That of the scale."""
        return self.scale.name

    @property
    def n_parameters(self) -> int:
        """Those of the scale."""
        return self.scale.n_parameters

    def apply(self, values: FloatArray) -> FloatArray:
        """The columns in question on the new scale."""
        changed = values.copy()
        changed[:, self.columns] = self.scale.apply(values[:, self.columns])
        return changed

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Those of the columns in question, zero for the others."""
        slopes = np.zeros(values.shape)
        slopes[:, self.columns] = self.scale.log_slopes(values[:, self.columns])
        return slopes


def centre_and_spread(values: FloatArray, intervened: BoolArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations (d,) of columns, but for values intervened on (n, d)."""
    if intervened is None:
        return values.mean(axis=0), values.std(axis=0)
    columns = [column[~out] for column, out in zip(values.T, intervened.T, strict=True)]
    return np.array([each.mean() for each in columns]), np.array([each.std() for each in columns])
