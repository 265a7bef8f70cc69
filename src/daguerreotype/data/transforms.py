r"""Scales of measurement: monotone transforms of single columns, with their Jacobians.

A Gaussian additive-noise model assumes the right scale. For  y = t(x)  the density of x is that of y times
:math:`|t'(x)|`, so likelihoods on different scales are compared after adding the mean of
:math:`\log |t'(x)|` (per row of data, summed over columns).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

ENOUGH = 100_000  # rows to choose a power by


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


@dataclass(frozen=True)
class ShiftedLog:
    """log(x + shift) of every column; only columns that are not positive throughout are shifted."""

    shift: FloatArray
    name: str = "log"
    n_parameters: int = 0

    @classmethod
    def fit(cls, values: FloatArray, intervened: BoolArray | None = None) -> "ShiftedLog":
        """Bring the smallest value of a column that has zeros or negative values to 1 % of its range."""
        low, spread = values.min(axis=0), np.ptp(values, axis=0)
        return cls(np.where(low > 0.0, 0.0, 0.01 * spread - low))

    def apply(self, values: FloatArray) -> FloatArray:
        """Logarithms; unseen smaller values are clipped to the smallest that has one."""
        return np.log(self._shifted(values))

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Minus the logarithms."""
        return -np.log(self._shifted(values))

    def _shifted(self, values: FloatArray) -> FloatArray:
        shifted: FloatArray = np.maximum(values + self.shift, np.finfo(np.float64).tiny)
        return shifted


@dataclass(frozen=True)
class YeoJohnson:
    """Yeo-Johnson power transform of every standardized column, its power by maximum likelihood."""

    centre: FloatArray
    scale: FloatArray
    power: FloatArray
    name: str = "yeo-johnson"

    @property
    def n_parameters(self) -> int:
        """One power per column."""
        return int(self.power.size)

    @classmethod
    def fit(cls, values: FloatArray, intervened: BoolArray | None = None) -> "YeoJohnson":
        """Choose each column's power so that it looks most Gaussian, but for values intervened on (n, d)."""
        centre, scale = centre_and_spread(values, intervened)
        standard = (values - centre) / scale
        columns = list(standard.T)
        if intervened is not None:
            columns = [column[~out] for column, out in zip(columns, intervened.T, strict=True)]
        from scipy import stats

        # The rows of long columns say the same over and over: those that are looked at fix the power to 0.01.
        some = [column[:: 1 + column.size // ENOUGH] for column in columns]
        power = np.array([np.clip(stats.yeojohnson_normmax(column), -3.0, 5.0) for column in some])
        return cls(centre, scale, power)

    def apply(self, values: FloatArray) -> FloatArray:
        """Power transform of the standardized columns."""
        standard = (values - self.centre) / self.scale
        from scipy import stats

        columns = [stats.yeojohnson(c, lmbda=p) for c, p in zip(standard.T, self.power, strict=True)]
        return np.column_stack(columns)

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """(power - 1) sign(x) log(1 + |x|), less the log scale."""
        standard = (values - self.centre) / self.scale
        bent = (self.power - 1.0) * np.sign(standard) * np.log1p(np.abs(standard))
        slopes: FloatArray = bent - np.log(self.scale)
        return slopes


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
