"""The values that columns have: quantiles of what was seen of each, by which missing values are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.kinds import Kind

SIZE = 65  # quantiles of each column
ENOUGH = 2**14  # rows that tell them; the ends are those of all rows


@dataclass(frozen=True)
class Support:
    """Quantiles of columns, ends among them.

    Attributes
    ----------
    seen : array of shape (k, d)
        Different values that were seen, ascending: all levels, quantiles of counts and numbers. Where a column has
        fewer than others, nan follows.
    set_to : array of shape (k, d)
        Quantiles of what columns were set to where they were intervened on; nan without any.
    """

    seen: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    set_to: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of_rows(
        cls, values: FloatArray, kinds: Sequence[Kind] = (), intervened: BoolArray | None = None
    ) -> "Support":
        """Of rows (n, d) in an order of their own, nan where a value is missing."""
        d = values.shape[1]
        seen: list[FloatArray] = []
        set_to: list[FloatArray] = []
        for j in range(d):
            there = ~np.isnan(values[:, j])
            out = np.zeros_like(there) if intervened is None else intervened[:, j]
            levels = len(kinds[j].levels) if kinds and kinds[j].discrete else 0
            own = values[there & ~out, j]
            seen.append(np.arange(levels, dtype=np.float64) if levels else np.unique(_quantiles(own)))
            set_to.append(_quantiles(values[there & out, j]))
        return cls(_side_by_side(seen), _side_by_side(set_to))

    def of(self, column: int) -> FloatArray:
        """What was seen of a column, ascending."""
        known: FloatArray = self.seen[~np.isnan(self.seen[:, column]), column]
        return known

    def where_intervened(self, column: int) -> FloatArray:
        """What a column was set to; what was seen of it, if nobody knows."""
        known: FloatArray = self.set_to[~np.isnan(self.set_to[:, column]), column]
        return known if known.size else self.of(column)


def _quantiles(values: FloatArray) -> FloatArray:
    """Quantiles of some values (m,), each a value that is there; none of none."""
    if not values.size:
        return values
    probs = np.linspace(0.0, 1.0, SIZE)
    found = np.quantile(values[:ENOUGH], probs, method="closest_observation")
    found[0], found[-1] = values.min(), values.max()
    return np.asarray(found, dtype=np.float64)


def _side_by_side(columns: Sequence[FloatArray]) -> FloatArray:
    """Columns of different lengths as a matrix, nan below the shorter ones."""
    matrix = np.full((max(map(len, columns)), len(columns)), np.nan)
    for j, column in enumerate(columns):
        matrix[: column.size, j] = column
    return matrix
