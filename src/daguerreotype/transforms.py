r"""On which scale are the columns measured? Transforms of single columns, with their Jacobians.

A Gaussian additive-noise model assumes the right scale. For  y = t(x)  the density of x is that of y times
:math:`|t'(x)|`, so likelihoods on different scales are compared after adding the mean of
:math:`\log |t'(x)|` (per row of data, summed over columns).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats

from daguerreotype.arrays import FloatArray


class Transform(Protocol):
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

    def log_jacobian(self, values: FloatArray) -> FloatArray:
        """Sum over columns of log |t'(x)|, per row (n,)."""
        ...


@dataclass(frozen=True)
class Identity:
    """Columns as they are."""

    name: str = "none"
    n_parameters: int = 0

    def apply(self, values: FloatArray) -> FloatArray:
        """The same values."""
        return values

    def log_jacobian(self, values: FloatArray) -> FloatArray:
        """Zero."""
        return np.zeros(values.shape[0])


@dataclass(frozen=True)
class ShiftedLog:
    """log(x + shift) of every column; only columns that are not positive throughout are shifted."""

    shift: FloatArray
    name: str = "log"
    n_parameters: int = 0

    @classmethod
    def fit(cls, values: FloatArray) -> "ShiftedLog":
        """Bring the smallest value of a column that has zeros or negative values to 1 % of its range."""
        low, spread = values.min(axis=0), np.ptp(values, axis=0)
        return cls(np.where(low > 0.0, 0.0, 0.01 * spread - low))

    def apply(self, values: FloatArray) -> FloatArray:
        """Logarithms; unseen smaller values are clipped to the smallest that has one."""
        return np.log(self._shifted(values))

    def log_jacobian(self, values: FloatArray) -> FloatArray:
        """Minus the sum of the logarithms."""
        jacobian: FloatArray = -np.log(self._shifted(values)).sum(axis=1)
        return jacobian

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
    def fit(cls, values: FloatArray) -> "YeoJohnson":
        """Choose each column's power so that it looks most Gaussian."""
        centre, scale = values.mean(axis=0), values.std(axis=0)
        standard = (values - centre) / scale
        power = np.array([np.clip(stats.yeojohnson_normmax(column), -3.0, 5.0) for column in standard.T])
        return cls(centre, scale, power)

    def apply(self, values: FloatArray) -> FloatArray:
        """Power transform of the standardized columns."""
        standard = (values - self.centre) / self.scale
        columns = [stats.yeojohnson(c, lmbda=p) for c, p in zip(standard.T, self.power, strict=True)]
        return np.column_stack(columns)

    def log_jacobian(self, values: FloatArray) -> FloatArray:
        """Sum over columns of (power - 1) sign(x) log(1 + |x|), less the log scales."""
        standard = (values - self.centre) / self.scale
        bent = (self.power - 1.0) * np.sign(standard) * np.log1p(np.abs(standard))
        jacobian: FloatArray = bent.sum(axis=1) - np.log(self.scale).sum()
        return jacobian


def fit_transforms(name: str, values: FloatArray) -> list[Transform]:
    """The candidates behind a name: one, or all three for "auto"."""
    makers: dict[str, Callable[[FloatArray], Transform]] = {
        "none": lambda _: Identity(),
        "log": ShiftedLog.fit,
        "yeo-johnson": YeoJohnson.fit,
    }
    if name != "auto" and name not in makers:
        raise ValueError(f"transform must be 'none', 'log', 'yeo-johnson' or 'auto', got {name!r}.")
    return [makers[kind](values) for kind in (makers if name == "auto" else [name])]
