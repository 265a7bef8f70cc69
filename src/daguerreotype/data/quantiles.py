"""Exact order statistics of columns too long to sort, in two passes over chunks of rows.

The first pass keeps a sketch: sorted samples of 2**l rows a value at level l, two of which collapse into one of
the next level by taking every other value (Munro and Paterson 1980). A collapse of values that stand for w rows
each moves no rank by more than w, so the sum of these bounds every rank. The second pass counts the rows below,
and keeps those between, two values of the sketch that must enclose the one in question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.data.streams import read_chunk

SIZE = 8192  # values of a column kept at each level; below twice as many rows the sketch is exact


class QuantileSketch:
    """Sorted samples of every column, from chunks of rows; merging sketches keeps the bound on ranks.

    Attributes
    ----------
    n_rows : int
        Rows taken in.
    rank_error : int
        How far the rank of any value can be off; 0 while all rows are kept.
    """

    def __init__(self) -> None:
        self.n_rows = self.rank_error = 0
        self._waiting: list[FloatArray] = []
        self._n_waiting = 0
        self._levels: list[FloatArray | None] = []  # (SIZE, d) each

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in rows (m, d)."""
        values, _ = read_chunk(chunk, number or 0)
        self.n_rows += len(values)
        first = 0
        while first < len(values):
            rows = values[first : first + SIZE - self._n_waiting]
            self._waiting.append(np.array(rows, dtype=np.float64))
            self._n_waiting += len(rows)
            first += len(rows)
            if self._n_waiting == SIZE:
                full, self._waiting, self._n_waiting = np.concatenate(self._waiting), [], 0
                self._carry(np.sort(full, axis=0), 0)
        return self

    def merge(self, other: "QuantileSketch") -> Self:
        """Take in the rows of another sketch; it is left as it is."""
        for rows in other._waiting:
            self.update(rows)
        for level, kept in enumerate(other._levels):
            if kept is not None:
                self.n_rows += SIZE << level
                self._carry(kept, level)
        self.rank_error += other.rank_error
        return self

    def _carry(self, kept: FloatArray, level: int) -> None:
        """Put a sorted sample at its level; two of one level make one of the next."""
        while level < len(self._levels) and (there := self._levels[level]) is not None:
            self.rank_error += 1 << level
            kept = np.sort(np.concatenate([there, kept]), axis=0)[level % 2 :: 2]
            self._levels[level] = None
            level += 1
        while level >= len(self._levels):
            self._levels.append(None)
        self._levels[level] = kept

    def enclose(self, ranks: IntArray) -> tuple[FloatArray, FloatArray]:
        """Values (q, d) below and above those that have ``ranks`` (q,), from 0, among the sorted rows."""
        parts = [(kept, 1 << level) for level, kept in enumerate(self._levels) if kept is not None]
        parts += [(rows, 1) for rows in self._waiting]
        values = np.concatenate([kept for kept, _ in parts])
        weights = np.concatenate([np.full(len(kept), weight) for kept, weight in parts])
        order = np.argsort(values, axis=0, kind="stable")
        values = np.take_along_axis(values, order, axis=0)
        upto = np.cumsum(weights[order], axis=0)  # rows up to each value, to within the error
        lower, upper = np.full((2, ranks.size, values.shape[1]), np.inf)
        for j, counts in enumerate(upto.T):
            below = np.searchsorted(counts, ranks - self.rank_error, side="right")
            above = np.searchsorted(counts, ranks + self.rank_error + 1, side="left")
            column = np.concatenate([values[:, j], [np.inf]])
            lower[:, j] = np.where(ranks < self.rank_error, -np.inf, column[np.minimum(below, len(counts) - 1)])
            upper[:, j] = column[above]
        return lower, upper


class OrderStatistics:
    """The values at given ranks of every column, from chunks of rows, each known to lie between two values.

    Parameters
    ----------
    ranks : array of shape (q,)
        From 0.
    lower, upper : array of shape (q, d)
        What `QuantileSketch.enclose` returned.
    """

    def __init__(self, ranks: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self.ranks, self.lower, self.upper = ranks, lower, upper
        self.n_rows = 0
        self._upto = np.zeros(lower.shape, dtype=np.int64)  # rows not above the lower value
        self._between: list[list[FloatArray]] = [[] for _ in range(lower.size)]

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in rows (m, d)."""
        columns = read_chunk(chunk, number or 0)[0].T.astype(np.float64)
        self.n_rows += columns.shape[1]
        d = self.lower.shape[1]
        for place in range(self.lower.size):
            q, j = divmod(place, d)
            above = columns[j] > self.lower[q, j]
            self._upto[q, j] += above.size - np.count_nonzero(above)
            self._between[place].append(columns[j][above & (columns[j] < self.upper[q, j])])
        return self

    def merge(self, other: "OrderStatistics") -> Self:
        """Take in what another one has found between the same values."""
        self.n_rows += other.n_rows
        self._upto = self._upto + other._upto
        self._between = [mine + its for mine, its in zip(self._between, other._between, strict=True)]
        return self

    @property
    def values(self) -> FloatArray:
        """The values (q, d)."""
        statistics = self.lower.copy()
        d = self.lower.shape[1]
        for place, parts in enumerate(self._between):
            q, j = divmod(place, d)
            between = np.sort(np.concatenate(parts)) if parts else np.zeros(0)
            at = int(self.ranks[q] - self._upto[q, j])
            if at >= 0:
                statistics[q, j] = between[at] if at < between.size else self.upper[q, j]
        return statistics


# ------------------------------------------------------------------ the values that columns have


N_QUANTILES = 65  # of each column, by which missing values are drawn
QUANTILE_ROWS = 2**14  # rows that tell them; the ends are those of all rows


@saved
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

    seen: Annotated[FloatArray, Shape("k", "d", empty=True)] = field(default_factory=lambda: np.zeros((0, 0)))
    set_to: Annotated[FloatArray, Shape("l", "d", empty=True)] = field(default_factory=lambda: np.zeros((0, 0)))

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
        quantiles: FloatArray = self.seen[~np.isnan(self.seen[:, column]), column]
        return quantiles

    def where_intervened(self, column: int) -> FloatArray:
        """What a column was set to; what was seen of it, if nobody knows."""
        quantiles: FloatArray = self.set_to[~np.isnan(self.set_to[:, column]), column]
        return quantiles if quantiles.size else self.of(column)


def _quantiles(values: FloatArray) -> FloatArray:
    """Quantiles of some values (m,), each a value that is there; none of none."""
    if not values.size:
        return values
    probs = np.linspace(0.0, 1.0, N_QUANTILES)
    quantiles = np.quantile(values[:QUANTILE_ROWS], probs, method="closest_observation")
    quantiles[0], quantiles[-1] = values.min(), values.max()
    return np.asarray(quantiles, dtype=np.float64)


def _side_by_side(columns: Sequence[FloatArray]) -> FloatArray:
    """Columns of different lengths as a matrix, nan below the shorter ones."""
    matrix = np.full((max(map(len, columns)), len(columns)), np.nan)
    for j, column in enumerate(columns):
        matrix[: column.size, j] = column
    return matrix
