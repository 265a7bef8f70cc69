r"""Means, second and third moments of columns in one pass over chunks of rows, reproducible to the last bit.

A sum of floats depends on the sequence of its terms, and equally good graphs are told apart by less than that. So
sums are double-double numbers, to more digits than are kept. Whatever the chunks and their sequence, the result
rounds to the same matrix.

A double-double number is an unevaluated sum high + low of two floats with |low| at most half a unit in the last
place of high: about 106 bits (Dekker 1971). Its arithmetic rests on error-free transformations: `two_sum` (Knuth)
and `two_product` (Veltkamp's splitting, Dekker's product) return the rounded result and its rounding error, which
is a float itself.

Transforming every product of every row that way would cost some twenty times a matrix product. Whole blocks of
rows are split instead (Ozaki, Ogita, Oishi and Rump 2012). With  x = h + l,  h the first 21 bits of x on the scale
of its column in a block of rows,

.. math:: x'x = h'h + \tfrac12 (h + x)' l + \tfrac12 l' (h + x) .

The first product is exact in floats, whatever sums them up; the others are two million times smaller, so their
rounding errors are too. Columns of whole numbers, or of short floats far from zero, have no l at all.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from daguerreotype._lib.numba import algebra_kernel, kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.streams import (
    check_same_columns,
    chunk_names,
    chunk_values,
    read_source,
    refuse_not_finite,
)

SPLITTER = 2.0**27 + 1.0  # Veltkamp's constant for halves of a 53-bit significand
BITS = 21  # of h; a block sums products of h to at most 2 * 21 + 11 = 53 bits
BLOCK = 2**11  # rows
PANEL = 256  # columns; matrices are made a panel at a time
FAR = 8.0  # a column whose mean is this many standard deviations from zero is shifted


@dataclass(frozen=True, slots=True)
class DoubleDouble:
    """An array of numbers high + low; both parts may also be arrays, or floats, that broadcast."""

    high: Any
    low: Any

    def __getitem__(self, key: Any) -> "DoubleDouble":
        return DoubleDouble(self.high[key], self.low[key])

    def __neg__(self) -> "DoubleDouble":
        return DoubleDouble(-self.high, -self.low)

    def __add__(self, other: "DoubleDouble") -> "DoubleDouble":
        total = two_sum(self.high, other.high)
        return _fast_two_sum(total.high, total.low + (self.low + other.low))

    def __mul__(self, other: "DoubleDouble") -> "DoubleDouble":
        product = two_product(self.high, other.high)
        return _fast_two_sum(product.high, product.low + (self.high * other.low + self.low * other.high))

    def __truediv__(self, by: float) -> "DoubleDouble":
        quotient = self.high / by
        product = two_product(quotient, by)  # what is left of the dividend is divided again
        return _fast_two_sum(quotient, ((self.high - product.high) - product.low + self.low) / by)

    def round_to(self, bits: int) -> FloatArray:
        """Floats of fewer bits: results that differ far below the last one round to the same."""
        scaled = self.high * (2.0 ** (53 - bits) + 1.0)
        rounded: FloatArray = scaled - (scaled - self.high)
        return rounded


def zeros(*shape: int) -> DoubleDouble:
    """An array of zeros."""
    return DoubleDouble(np.zeros(shape), np.zeros(shape))


def two_sum(a: Any, b: Any) -> DoubleDouble:
    """TwoSum: fl(a + b) and its error, whichever of the two is larger (Knuth)."""
    total = a + b
    b_seen = total - a
    return DoubleDouble(total, (a - (total - b_seen)) + (b - b_seen))


def two_product(a: Any, b: Any) -> DoubleDouble:
    """TwoProduct: fl(a * b) and its error, but for underflow (Dekker)."""
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return DoubleDouble(product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low))


def _fast_two_sum(a: Any, b: Any) -> DoubleDouble:
    """FastTwoSum: the same as TwoSum for |a| >= |b|, in half the operations (Dekker)."""
    total = a + b
    return DoubleDouble(total, b - (total - a))


def _upper_half(a: Any) -> Any:
    """The first 26 bits, so that products of halves are exact (Veltkamp)."""
    scaled = a * SPLITTER
    return scaled - (scaled - a)


# ------------------------------------------------------------------ products of blocks of rows


def round_shift(columns: FloatArray) -> FloatArray:
    """A shift (d,) for columns (d, m): zero, or near a mean that is far from it; few bits, to subtract exactly."""
    mean, spread = columns.mean(axis=1), columns.std(axis=1)
    far = np.abs(mean) > FAR * spread
    step = np.ldexp(1.0, np.frexp(spread)[1])
    return np.where(far, np.where(spread > 0, np.round(mean / step) * step, columns[:, 0]), 0.0)


def panels(d: int) -> Iterator[tuple[slice, slice]]:
    """Each panel of columns, and all columns after it: the upper triangle of a matrix, block by block."""
    for first in range(0, d, PANEL):
        yield slice(first, min(first + PANEL, d)), slice(min(first + PANEL, d), d)


def add_products(sums: FloatArray, values: FloatArray) -> None:
    """Add [x, 1]' [x, 1] of values x (d, m) to sums (d + 1, d + 1), but not below the panels of the diagonal."""
    d, m = values.shape
    for part, _ in panels(d):
        sums[part, part.start : d] += values[part] @ values[part.start :].T
    sums[:d, d] += values.sum(axis=1)
    sums[d, d] += m


def add_exact_products(
    sums: DoubleDouble,
    values: FloatArray,
    shift: FloatArray,
    largest: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
) -> None:
    """Add the same of values less their shift to double-double sums.

    No shifted value exceeds ``largest`` (d,). Values and the scratch arrays ``upper`` and ``lower``, all (d, m),
    are overwritten.
    """
    d, m = values.shape
    # fl(fl(x + c) - c) with c = 1.5 * 2^(e + 52 - BITS) rounds |x| < 2^e to BITS bits on the scale of 2^e.
    cut = np.ldexp(1.5, np.frexp(largest)[1] + 52 - BITS)
    kept = split(values, shift, cut, upper, lower)
    both = values  # h + x from now on
    for part, rest in panels(d):
        for other in (part, rest) if rest.start < d else (part,):
            found = sums[part, other]
            cross = _cross_products(part, other, both, lower, kept)
            add_in_place(found.high, found.low, upper[part] @ upper[other].T, cross)
    ones, rests = np.ones((m, 1)), np.zeros((d, 1))
    rests[kept] = lower[: kept.size] @ ones
    found = sums[:d, d:]
    add_in_place(found.high, found.low, upper @ ones, rests)
    sums.high[d, d] += m


def _cross_products(
    rows: slice, columns: slice, both: FloatArray, lower: FloatArray, kept: IntArray
) -> FloatArray:
    """((h + x)' l + l' (h + x)) / 2 of some columns with others; ``lower`` holds l of columns ``kept`` alone."""
    cross = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    some = slice(*np.searchsorted(kept, (columns.start, columns.stop)))
    cross[:, kept[some] - columns.start] = 0.5 * (both[rows] @ lower[some].T)
    if rows == columns:
        return cross + cross.T
    some = slice(*np.searchsorted(kept, (rows.start, rows.stop)))
    cross[kept[some] - rows.start] += 0.5 * (lower[some] @ both[columns].T)
    return cross


@kernel
def split(both: FloatArray, shift: FloatArray, cut: FloatArray, upper: FloatArray, lower: FloatArray) -> IntArray:
    """Split values (d, m) less their shift into x = h + l, and put h + x in place of the values.

    Lower parts fill the first rows of ``lower``, one for each column in which some l is not zero; these columns
    are returned, ascending.
    """
    kept, n_kept = np.empty(shift.size, dtype=np.int64), 0
    for j in range(shift.size):
        differing = 0
        for t in range(both.shape[1]):
            x = both[j, t] - shift[j]
            h = (x + cut[j]) - cut[j]
            upper[j, t] = h
            lower[n_kept, t] = x - h
            both[j, t] = x + h
            differing += x != h
        if differing:  # or the next column overwrites this row of lower
            kept[n_kept] = j
            n_kept += 1
    return kept[:n_kept]


@kernel
def add_in_place(high: FloatArray, low: FloatArray, first: FloatArray, second: FloatArray) -> None:
    """Add first + second to high + low: ``two_sum``, then the sum of two double-doubles, without their arrays."""
    for i in range(high.shape[0]):
        for j in range(high.shape[1]):
            a, b = first[i, j], second[i, j]
            found = a + b
            b_seen = found - a
            rest = (a - (found - b_seen)) + (b - b_seen)
            a = high[i, j]
            total = a + found
            b_seen = total - a
            rest = ((a - (total - b_seen)) + (found - b_seen)) + (low[i, j] + rest)
            high[i, j] = total + rest
            low[i, j] = rest - (high[i, j] - total)


KEPT = 46  # bits of second moments; the last of 53 may depend on the sequence of rows
QUIET = np.errstate(over="ignore", invalid="ignore")  # values too large to square show in the result


class Moments:
    r"""Number of rows, means, covariances, skewness and range of columns, from chunks of rows.

    :math:`\frac1n \sum_t (x_t - \bar x)(x_t - \bar x)'`, of values less a shift near their mean, so that a mean of
    1e9 costs no digit of a variance of 1. Chunks of any size, in any sequence, give the same bits.

    Parameters
    ----------
    names : sequence, optional
        Column names; by default those of the first chunk, or x0, x1, ...
    exact : bool
        Whether sums are taken to more digits than are kept. Otherwise they are those of plain floats, in a
        third of the time.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.data import Moments
    >>> first, second = Moments().update(np.array([[1.0, 0.0], [2.0, 4.0]])), Moments()
    >>> second = second.update(np.array([[3.0, 2.0]]))
    >>> first.merge(second).covariance
    array([[0.66666667, 0.66666667],
           [0.66666667, 2.66666667]])
    """

    def __init__(self, names: Sequence[Hashable] | None = None, *, exact: bool = True) -> None:
        self.exact = exact
        self._names = None if names is None else tuple(names)
        self.named = names is not None
        self.n_chunks = 0
        self._waiting: list[FloatArray] = []  # rows of chunks that do not fill a block yet
        self._n_waiting = self._n_summed = 0
        self._done: Moments | None = None  # the same with no rows waiting, once it was asked for
        self._shift: FloatArray = np.zeros(0)
        self._sums = zeros(0, 0)  # of [x, 1]' [x, 1], x less the shift
        self._cubes: FloatArray = np.zeros(0)
        self._low: FloatArray = np.zeros(0)
        self._high: FloatArray = np.zeros(0)
        self._scratch: FloatArray = np.zeros((0, 0, 0))

    # ------------------------------------------------------------------ taking in

    @classmethod
    def from_chunks(cls, source: Any, *, names: Sequence[Hashable] | None = None) -> Self:
        """Moments of files, of an iterable of arrays or frames, or of a dask DataFrame: see `read_source`."""
        return read_source(source).gather(lambda: cls(names))

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in rows (m, d): an array, a DataFrame, or a batch of pyarrow.

        Messages call the chunk by its ``number``, by default how many were taken in before.
        """
        self._done = None
        number = self.n_chunks if number is None else number
        values = chunk_values(chunk, number)
        self._names, self.named = check_same_columns(
            self._names, self.named, chunk_names(chunk), values.shape[1], number
        )
        first = 0
        while first < len(values):
            block = values[first : first + BLOCK - self._n_waiting]
            if len(block) == BLOCK:
                self._add_block(block, first, number)
            else:
                self._wait(block, first, number)
            first += len(block)
        self.n_chunks += 1
        return self

    def merge(self, other: "Moments") -> Self:
        """Take in the rows that another one has seen; it is left as it is."""
        if other.n_rows == 0:
            return self
        self._done = None
        self._names, self.named = check_same_columns(
            self._names, self.named, other.names if other.named else None, len(other.names), self.n_chunks
        )
        for rows in other._waiting:
            self.update(rows)
            self.n_chunks -= 1
        self.n_chunks += other.n_chunks
        if other._n_summed:
            if self._n_summed == 0:
                self._begin(other._shift)
            sums, cubes = other._moved(self._shift)
            self._n_summed += other._n_summed
            self._sums = self._sums + sums
            self._cubes = self._cubes + cubes
            self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)
        return self

    def _wait(self, rows: FloatArray, first: int, number: int) -> None:
        """Keep a copy of rows, which begin at row ``first`` of chunk ``number``, until they make a block."""
        if not np.isfinite(rows).all():
            refuse_not_finite(rows, self.names, number, first)
        self._waiting.append(np.array(rows, dtype=np.float64))
        self._n_waiting += len(rows)
        if self._n_waiting == BLOCK:
            block, self._waiting, self._n_waiting = np.concatenate(self._waiting), [], 0
            self._add_block(block, 0, number)

    def _begin(self, shift: FloatArray) -> None:
        """Empty sums about ``shift`` (d,)."""
        d = shift.size
        self._shift = shift
        self._sums = zeros(d + 1, d + 1)
        self._cubes, self._low, self._high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)

    @QUIET
    def _add_block(self, rows: FloatArray, first: int, number: int) -> None:
        """Sums of at most one block of rows (m, d), which begin at row ``first`` of chunk ``number``."""
        m, d = rows.shape
        if self._scratch.shape[1:] != (d, m):
            self._scratch = np.empty((3 if self.exact else 1, d, m))
        values, *more = self._scratch
        values[:] = rows.T
        low, high = values.min(axis=1), values.max(axis=1)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            refuse_not_finite(values.T, self.names, number, first)
        if self._n_summed == 0:
            self._begin(round_shift(values))
        _add_cubes(values, self._shift, self._cubes)
        if self.exact:
            largest = np.maximum(np.abs(low - self._shift), np.abs(high - self._shift))
            add_exact_products(self._sums, values, self._shift, largest, *more)
        else:
            values -= self._shift[:, None]
            add_products(self._sums.high, values)
        self._n_summed += m
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    def _moved(self, shift: FloatArray) -> tuple[DoubleDouble, FloatArray]:
        """Sums and cubes about another shift: of y + e, with e the difference of the shifts."""
        if np.array_equal(shift, self._shift):
            return self._sums, self._cubes
        d = shift.size
        n, sums = float(self._n_summed), self._sums[:d, d]  # of y
        e = two_sum(self._shift, -shift)
        moved = e * DoubleDouble(n, 0.0)
        new_sums = sums + moved
        # sum (y + e)(y + e)' = sum y y' + (sum y) e' + e (sum y)' + n e e'
        squares = self._sums[:d, :d] + (_outer(sums, e) + (_outer(e, sums) + _outer(moved, e)))
        total = zeros(d + 1, d + 1)
        for whole, part, vector in (
            (total.high, squares.high, new_sums.high),
            (total.low, squares.low, new_sums.low),
        ):
            whole[:d, :d], whole[:d, d], whole[d, :d] = part, vector, vector
        total.high[d, d] = n
        diagonal = np.diagonal(self._sums.high)[:d]
        cubes = self._cubes + 3.0 * e.high * diagonal + 3.0 * e.high**2 * sums.high + n * e.high**3
        return total, cubes

    # ------------------------------------------------------------------ reading out

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Column names as they were given; x0, x1, ... without any."""
        if self._names is None:
            raise ValueError("no chunk was taken in yet, so there are no columns: call update first.")
        return self._names

    @property
    def n_rows(self) -> int:
        """How many rows were taken in."""
        return self._n_summed + self._n_waiting

    @property
    def mean(self) -> FloatArray:
        """Means (d,)."""
        done = self._finished()
        d = done._shift.size
        mean = done._sums[:d, d] / float(done.n_rows) + DoubleDouble(done._shift, 0.0)
        return mean.round_to(52)

    @property
    def covariance(self) -> FloatArray:
        """Covariances (d, d), divided by n."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        mean = done._sums[:d, d] / n  # about the shift
        return done._read_out(-mean, mean)

    @property
    def second(self) -> FloatArray:
        """Second moments about zero (d, d), divided by n."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        if not done._shift.any():
            return done._read_out()
        # with y = x - c:  mean(x x') = mean(y y') + mean(y) c' + c mean(x)'
        mean, shift = done._sums[:d, d] / n, DoubleDouble(done._shift, np.zeros(d))
        return done._read_out(mean, shift, shift, mean + shift)

    @QUIET
    def _read_out(self, *vectors: DoubleDouble) -> FloatArray:
        """Sums of squares by n, plus products of the vectors, taken two and two."""
        d, n = self._shift.size, float(self.n_rows)
        matrix = np.empty((d, d))
        for part, rest in panels(d):
            columns = slice(part.start, d)
            sums = self._sums[part, columns]
            found = sums / n if self.exact else DoubleDouble(sums.high / n, 0.0)
            for left, right in zip(vectors[::2], vectors[1::2], strict=True):
                found = found + left[part, None] * right[None, columns]
            matrix[part, columns] = found.round_to(KEPT)
            matrix[rest, part] = matrix[part, rest].T
            square = np.triu(matrix[part, part])
            matrix[part, part] = square + np.triu(square, 1).T
        return matrix

    @property
    def skewness(self) -> FloatArray:
        """Third standardized moments (d,); 0 for constant columns."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        mean, square = done._sums.high[:d, d] / n, np.diagonal(done._sums.high)[:d] / n
        third = done._cubes / n - 3.0 * mean * square + 2.0 * mean**3
        scale = np.diag(self.covariance) ** 1.5
        skewness: FloatArray = np.divide(third, scale, out=np.zeros(d), where=scale > 0)
        return skewness

    @property
    def low(self) -> FloatArray:
        """Least values (d,)."""
        return self._finished()._low

    @property
    def high(self) -> FloatArray:
        """Largest values (d,)."""
        return self._finished()._high

    def _finished(self) -> "Moments":
        """The same with no rows waiting."""
        if self.n_rows == 0:
            raise ValueError("no rows were taken in yet, so there are no moments: call update first.")
        if not self._n_waiting:
            return self
        if self._done is None:
            done = Moments()
            own = {
                "_sums": DoubleDouble(self._sums.high.copy(), self._sums.low.copy()),
                "_cubes": self._cubes.copy(),
            }
            nothing = np.zeros((0, 0, 0))
            vars(done).update(vars(self), _waiting=[], _n_waiting=0, _scratch=nothing, **own)
            done._add_block(np.concatenate(self._waiting), 0, 0)  # rows that were found finite
            done._scratch = nothing
            self._done = done
        return self._done


def _outer(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Outer product (d, d) of two vectors."""
    return a[:, None] * b[None, :]


@algebra_kernel
def _add_cubes(values: FloatArray, shift: FloatArray, cubes: FloatArray) -> None:
    """Add the sums of the cubes of values (d, m) less their shift to those so far (d,)."""
    for j in range(cubes.size):
        total = 0.0
        for t in range(values.shape[1]):
            x = values[j, t] - shift[j]
            total += x * x * x
        cubes[j] += total
