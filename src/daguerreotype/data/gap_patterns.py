"""Rows with gaps in one pass over chunks: sums by which columns are seen, from which EM finds all moments."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.accumulators import chunk_names, chunk_values, refuse_not_finite
from daguerreotype.data.gaussian_em import MOST_STEPS, TOLERANCE, GappyRows, NormalFit, iterate
from daguerreotype.data.moments import QUIET, Moments
from daguerreotype.data.streams import Accumulator, Source

FULL = 2**30  # bytes of rows and sums with gaps that are held at most

A = TypeVar("A", bound=Accumulator)


@dataclass
class Pattern:
    """Rows in which the same columns are seen: the rows, or sums over them once there are many.

    Attributes
    ----------
    seen : array of shape (k,)
        The columns.
    n_rows : int
        Rows in the sums.
    centre : array of shape (k,)
        Taken off before rows are summed, near their mean: a mean of 1e12 costs no digit of a variance of 1.
    total : array of shape (k,)
        Their sum, less the centre each.
    products : array of shape (k, k)
        Sum of their outer products about the centre.
    rows : list of arrays of shape (m, k)
        Rows that are not in the sums.
    """

    seen: IntArray
    n_rows: int
    centre: FloatArray
    total: FloatArray
    products: FloatArray
    rows: list[FloatArray]

    @classmethod
    def empty(cls, seen: IntArray) -> Self:
        """No rows of these columns."""
        return cls(seen, 0, np.zeros(seen.size), np.zeros(seen.size), np.zeros((0, 0)), [])

    @property
    def size(self) -> int:
        """Numbers that are held."""
        return self.products.size + sum(part.size for part in self.rows)

    @QUIET
    def add(self, rows: FloatArray) -> None:
        """Take in rows (m, k); those of a pattern with many become sums."""
        self.rows.append(rows)
        waiting = sum(map(len, self.rows))
        if waiting > self.seen.size:
            some, self.rows = np.concatenate(self.rows), []
            centre = self.centre if self.n_rows else some.mean(axis=0)
            some -= centre
            self._add_sums(waiting, centre, some.sum(axis=0), some.T @ some)

    @QUIET
    def merge(self, other: "Pattern") -> None:
        """Take in the rows of another one; it is left as it is."""
        if other.n_rows:
            centre = self.centre if self.n_rows else other.centre
            self._add_sums(other.n_rows, centre, *other.sums_about(centre))
        for rows in other.rows:
            self.add(rows)

    def sums_about(self, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum (k,) and sum of outer products (k, k) of the rows in the sums, less ``origin`` (k,) each."""
        shift = self.centre - origin
        cross = np.outer(shift, self.total)
        total: FloatArray = self.total + self.n_rows * shift
        return total, self.products + cross + cross.T + self.n_rows * np.outer(shift, shift)

    def _add_sums(self, n_rows: int, centre: FloatArray, total: FloatArray, products: FloatArray) -> None:
        self.n_rows, self.centre, self.total = self.n_rows + n_rows, centre, self.total + total
        self.products = self.products + products if self.products.size else products


class GapPatterns:
    """Accumulator of rows with gaps.

    Attributes
    ----------
    n_rows : int
        Rows taken in.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.counts: IntArray = np.zeros(0, dtype=np.int64)  # gaps of each column
        self.low: FloatArray = np.zeros(0)
        self.high: FloatArray = np.zeros(0)
        self._patterns: dict[bytes, Pattern] = {}

    def update(self, values: FloatArray, number: int | None = None) -> Self:
        """Take in rows (m, d), nan where a value is missing; some value is in each."""
        if not len(values):
            return self
        gaps = np.isnan(values)
        if not self.n_rows:
            self._begin(values.shape[1])
        self.n_rows += len(values)
        self.counts = self.counts + gaps.sum(axis=0)
        self.low = np.fmin(self.low, np.fmin.reduce(values, axis=0))
        self.high = np.fmax(self.high, np.fmax.reduce(values, axis=0))
        bits = np.packbits(gaps, axis=1)
        kinds, place = np.unique(bits, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(place.ravel(), minlength=len(kinds)))
        for key, some in zip(kinds, np.split(order, ends[:-1]), strict=True):
            seen = np.flatnonzero(~gaps[some[0]])
            self._of(key.tobytes(), seen).add(np.array(values[np.ix_(some, seen)], dtype=np.float64))
        held = 8 * sum(pattern.size for pattern in self._patterns.values())
        if held > FULL:
            raise ValueError(
                f"rows with gaps differ in {len(self._patterns)} ways in what is missing, too many to be summed "
                "up in one pass: leave such rows out with missing='drop', or give columns with many gaps no part."
            )
        return self

    def _begin(self, d: int) -> None:
        """Nothing of d columns."""
        self.counts, self.low, self.high = np.zeros(d, dtype=np.int64), np.full(d, np.inf), np.full(d, -np.inf)

    def _of(self, key: bytes, seen: IntArray) -> Pattern:
        if key not in self._patterns:
            self._patterns[key] = Pattern.empty(seen)
        return self._patterns[key]

    def merge(self, other: "GapPatterns") -> Self:
        """Take in what another one did; it is left as it is."""
        if not other.n_rows:
            return self
        if not self.n_rows:
            self._begin(other.counts.size)
        self.n_rows += other.n_rows
        self.counts = self.counts + other.counts
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        for key, pattern in other._patterns.items():
            self._of(key, pattern.seen).merge(pattern)
        return self

    def seen_together(self, n_complete: int) -> FloatArray:
        """In how many rows (d, d) two columns are both seen, complete rows among them."""
        together = np.full((self.counts.size, self.counts.size), float(n_complete))
        for pattern in self._patterns.values():
            together[np.ix_(pattern.seen, pattern.seen)] += pattern.n_rows + sum(map(len, pattern.rows))
        return together

    def fit_normal(self, complete: Moments) -> NormalFit:
        """The likeliest normal distribution of these rows and of complete ones."""
        d = self.counts.size
        centre, scale = self._location(complete)
        heavy: list[tuple[IntArray, int, FloatArray, FloatArray]] = []
        light: list[FloatArray] = [np.zeros((0, d))]
        if complete.n_rows:
            total = complete.n_rows * (complete.mean - centre) / scale
            products = complete.n_rows * complete.covariance / (scale[:, None] * scale)
            heavy.append(
                (np.arange(d), complete.n_rows, total, products + np.outer(total, total) / complete.n_rows)
            )
        for pattern in self._patterns.values():
            seen, shift, unit = pattern.seen, centre[pattern.seen], scale[pattern.seen]
            if pattern.n_rows:
                total, about = pattern.sums_about(shift)
                heavy.append((seen, pattern.n_rows, total / unit, about / (unit[:, None] * unit)))
            for part in pattern.rows:
                rows = np.full((len(part), d), np.nan)
                rows[:, seen] = (part - shift) / unit
                light.append(rows)
        expect = partial(_expected, heavy, GappyRows(np.concatenate(light)), complete.n_rows + self.n_rows)
        return iterate(expect, MOST_STEPS, TOLERANCE, d).on_scale(centre, scale)

    def _location(self, complete: Moments) -> tuple[FloatArray, FloatArray]:
        """Means and spreads (d,) of all that is seen, to begin with."""
        d = self.counts.size
        n, first, second = np.zeros((3, d))
        # Without complete rows, some row with gaps has seen each column; otherwise its ends may be infinite.
        middle: FloatArray = complete.mean if complete.n_rows else 0.5 * self.low + 0.5 * self.high
        if complete.n_rows:
            n, second = n + complete.n_rows, second + complete.n_rows * np.diag(complete.covariance)
        for pattern in self._patterns.values():
            shift = middle[pattern.seen]
            if pattern.n_rows:
                total, about = pattern.sums_about(shift)
                n[pattern.seen] += pattern.n_rows
                first[pattern.seen] += total
                second[pattern.seen] += np.diag(about)
            for part in pattern.rows:
                n[pattern.seen] += len(part)
                first[pattern.seen] += (part - shift).sum(axis=0)
                second[pattern.seen] += ((part - shift) ** 2).sum(axis=0)
        mean = first / n
        spread: FloatArray = np.sqrt(np.maximum(second / n - mean**2, np.finfo(np.float64).tiny))
        return middle + mean, spread


def _expected(
    heavy: list[tuple[IntArray, int, FloatArray, FloatArray]],
    light: GappyRows,
    n_rows: int,
    mean: FloatArray,
    precision: FloatArray,
) -> NormalFit:
    """What is expected of all rows: from sums over those of some patterns, and from rows of the others."""
    total, products = np.zeros(mean.size), np.zeros(precision.shape)
    if len(light.values):
        expected = light.expected(mean, precision)
        total += len(light.values) * expected.mean
        products += len(light.values) * (expected.covariance + np.outer(expected.mean, expected.mean))
    for seen, n, first, second in heavy:
        _expect(seen, n, first, second, mean, precision, total, products)
    new = total / n_rows
    return NormalFit(new, products / n_rows - np.outer(new, new))


def _expect(
    seen: IntArray,
    n: int,
    first: FloatArray,
    second: FloatArray,
    mean: FloatArray,
    precision: FloatArray,
    total: FloatArray,
    products: FloatArray,
) -> None:
    """Add what is expected of n rows, of which sums over the seen columns are known, to sums over all columns."""
    missing = np.setdiff1d(np.arange(mean.size), seen)
    if not missing.size:
        total += first
        products += second
        return
    inverse = np.linalg.inv(precision[np.ix_(missing, missing)])
    onto = -inverse @ precision[np.ix_(missing, seen)]  # (m, k)
    offset = mean[missing] - onto @ mean[seen]
    filled = onto @ first + n * offset
    total[seen] += first
    total[missing] += filled
    products[np.ix_(seen, seen)] += second
    cross = onto @ second + np.outer(offset, first)
    products[np.ix_(missing, seen)] += cross
    products[np.ix_(seen, missing)] += cross.T
    within = onto @ second @ onto.T + np.outer(onto @ first, offset) + np.outer(offset, onto @ first)
    products[np.ix_(missing, missing)] += within + n * (np.outer(offset, offset) + inverse)


class SplitRows(Generic[A]):
    """Accumulator that gives complete rows to one, and sums up or leaves out rows with gaps.

    Parameters
    ----------
    inner : Accumulator
        Takes in complete rows.
    gaps : GapPatterns or None
        Takes in the others; None leaves them out.
    """

    def __init__(self, inner: A, gaps: GapPatterns | None = None) -> None:
        self.inner, self.gaps, self.n_left_out = inner, gaps, 0
        self.counts: IntArray = np.zeros(0, dtype=np.int64)  # gaps of each column in rows that were left out
        self.names: tuple[Hashable, ...] | None = None

    @property
    def n_rows(self) -> int:
        """Rows taken in."""
        return self.inner.n_rows + (0 if self.gaps is None else self.gaps.n_rows)

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in a chunk, as it is if it has no gaps."""
        values, names = chunk_values(chunk, number or 0), chunk_names(chunk)
        self.names = names if self.names is None else self.names
        gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=np.bool_)
        rows = gaps.any(axis=1)
        if not rows.any():
            self.inner.update(chunk, number)
            return self
        complete = values[~rows]
        self.inner.update(complete if names is None else pd.DataFrame(complete, columns=list(names)), number)
        some = values[rows & ~gaps.all(axis=1)]
        if np.isinf(some).any():
            labels = [f"x{i}" for i in range(values.shape[1])] if names is None else list(map(str, names))
            refuse_not_finite(np.where(np.isnan(some), 0.0, some), labels, number or 0, 0)
        if self.gaps is not None:
            self.gaps.update(some, number)
        else:
            self.n_left_out += int(rows.sum())
            self.counts = _sum(self.counts, gaps.sum(axis=0))
        return self

    def merge(self, other: "SplitRows[A]") -> Self:
        """Take in what another one did."""
        self.inner.merge(other.inner)
        self.names = other.names if self.names is None else self.names
        self.n_left_out += other.n_left_out
        self.counts = _sum(self.counts, other.counts)
        if self.gaps is not None and other.gaps is not None:
            self.gaps.merge(other.gaps)
        return self


class CompleteRows:
    """The rows of a source that have no gaps.

    Attributes
    ----------
    n_left_out : int
        Rows with gaps, in the last pass.
    counts : array of shape (d,)
        Gaps of each column in them.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.n_left_out = source, 0
        self.counts: IntArray = np.zeros(0, dtype=np.int64)

    @property
    def once(self) -> bool:
        """Whether the rows can be read only once."""
        return self.source.once

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """What an accumulator has after all rows without gaps."""
        found = self.source.gather(partial(_only_complete, empty), progress)
        self.n_left_out, self.counts = found.n_left_out, found.counts
        return found.inner


def _sum(first: IntArray, second: IntArray) -> IntArray:
    """Counts of both; either may be empty."""
    return first + second if first.size and second.size else first if first.size else second


def _only_complete(empty: Callable[[], A]) -> SplitRows[A]:
    return SplitRows(empty())
