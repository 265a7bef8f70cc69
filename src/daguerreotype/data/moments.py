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

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from daguerreotype._lib.numba import algebra_kernel, kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.streams import (
    check_same_columns,
    read_chunk,
    read_source,
    refuse_not_finite,
)

SPLITTER = 2.0**27 + 1.0  # Veltkamp's constant for halves of a 53-bit significand
BITS = 21  # of h; a block sums products of h to at most 2 * 21 + 11 = 53 bits
BLOCK = 2**11  # rows
PANEL = 256  # rows of a matrix that are read out at a time
FEATURE_ROWS = 2**12  # rows whose features are laid out at a time: there may be many more features than columns
FAR = 8.0  # a column whose mean is this many standard deviations from zero is shifted
KEPT = 46  # bits of second moments; the last of 53 may depend on the sequence of rows
QUIET = np.errstate(over="ignore", invalid="ignore")  # values too large to square show in the result


@dataclass(frozen=True, slots=True)
class DoubleDouble:
    """An array of numbers high + low; both parts may also be arrays, or floats, that broadcast."""

    high: Any
    low: Any

    def __getitem__(self, key: Any) -> "DoubleDouble":
        return DoubleDouble(self.high[key], self.low[key])

    def __add__(self, other: "DoubleDouble") -> "DoubleDouble":
        total = two_sum(self.high, other.high)
        return two_sum(total.high, total.low + (self.low + other.low))

    def __mul__(self, other: "DoubleDouble") -> "DoubleDouble":
        product = two_product(self.high, other.high)
        return two_sum(product.high, product.low + (self.high * other.low + self.low * other.high))

    def __truediv__(self, by: float) -> "DoubleDouble":
        quotient = self.high / by
        product = two_product(quotient, by)  # what is left of the dividend is divided again
        return two_sum(quotient, ((self.high - product.high) - product.low + self.low) / by)

    def round_to(self, bits: int) -> FloatArray:
        """Floats of fewer bits: results that differ far below the last one round to the same."""
        scaled = self.high * (2.0 ** (53 - bits) + 1.0)
        rounded: FloatArray = scaled - (scaled - self.high)
        return rounded


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


def add_exact_products(
    sums: DoubleDouble,
    values: FloatArray,
    shift: FloatArray,
    largest: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
) -> None:
    """Add x x' of values (d, m) less their shift to double-double sums (d, d).

    No shifted value exceeds ``largest`` (d,). Values and the scratch arrays ``upper`` and ``lower``, all (d, m),
    are overwritten.
    """
    # fl(fl(x + c) - c) with c = 1.5 * 2^(e + 52 - BITS) rounds |x| < 2^e to BITS bits on the scale of 2^e.
    cut = np.ldexp(1.5, np.frexp(largest)[1] + 52 - BITS)
    if split(values, shift, cut, upper, lower):
        cross = 0.5 * (values @ lower.T)  # values are h + x now
        cross = cross + cross.T
    else:
        cross = np.zeros(sums.high.shape)
    add_in_place(sums.high, sums.low, upper @ upper.T, cross)


@kernel
def split(both: FloatArray, shift: FloatArray, cut: FloatArray, upper: FloatArray, lower: FloatArray) -> bool:
    """Split values (d, m) less their shift into x = h + l, and put h + x in place of the values.

    Returns whether some l is not zero.
    """
    differing = False
    for j in range(shift.size):
        for t in range(both.shape[1]):
            x = both[j, t] - shift[j]
            h = (x + cut[j]) - cut[j]
            upper[j, t] = h
            lower[j, t] = x - h
            both[j, t] = x + h
            differing |= x != h
    return differing


@kernel
def add_in_place(high: FloatArray, low: FloatArray, first: FloatArray, second: FloatArray) -> None:
    """Add first + second to high + low: ``two_sum``, then the sum of two double-doubles, without their arrays."""
    for i in range(high.shape[0]):
        for j in range(high.shape[1]):
            a, b = first[i, j], second[i, j]
            added = a + b
            b_seen = added - a
            rest = (a - (added - b_seen)) + (b - b_seen)
            a = high[i, j]
            total = a + added
            b_seen = total - a
            rest = ((a - (total - b_seen)) + (added - b_seen)) + (low[i, j] + rest)
            high[i, j] = total + rest
            low[i, j] = rest - (high[i, j] - total)


@algebra_kernel
def _add_cubes(values: FloatArray, shift: FloatArray, cubes: FloatArray) -> None:
    """Add the sums of the cubes of values (d, m) less their shift to those so far (d,)."""
    for j in range(cubes.size):
        total = 0.0
        for t in range(values.shape[1]):
            x = values[j, t] - shift[j]
            total += x * x * x
        cubes[j] += total


# ------------------------------------------------------------------ the accumulator


@dataclass(frozen=True)
class Summary:
    """Moments of columns: means, covariances (divided by n), skewness, least and largest values.

    The skewness of a constant column is 0.
    """

    n_rows: int
    mean: FloatArray
    covariance: FloatArray
    skewness: FloatArray
    low: FloatArray
    high: FloatArray

    def take(self, columns: IntArray) -> "Summary":
        """The same of these columns in this order."""
        vectors = (vector[columns] for vector in (self.skewness, self.low, self.high))
        return Summary(self.n_rows, self.mean[columns], self.covariance[np.ix_(columns, columns)], *vectors)


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
    features : callable, optional
        From rows (m, d) to functions of them (m, p), whose moments are wanted in place of the columns' own.

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

    def __init__(
        self,
        names: Sequence[Hashable] | None = None,
        *,
        exact: bool = True,
        features: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self.exact, self._features = exact, features
        self._names = None if names is None else tuple(names)
        self.named = names is not None
        self.n_chunks = self._n_summed = 0
        self._waiting: FloatArray = np.zeros((0, 0))  # rows that do not fill a block yet
        # Of a block [x, 1] of d + 1 columns, of which the last is constant.
        self._shift: FloatArray = np.zeros(0)
        self._sums = DoubleDouble(np.zeros((0, 0)), np.zeros((0, 0)))  # of [x, 1]' [x, 1], x less the shift
        self._cubes: FloatArray = np.zeros(0)
        self._low: FloatArray = np.zeros(0)
        self._high: FloatArray = np.zeros(0)
        self._scratch: FloatArray = np.zeros((0, 0, 0))

    @classmethod
    def from_chunks(cls, source: Any, *, names: Sequence[Hashable] | None = None) -> Self:
        """Moments of files, of an iterable of arrays or frames, or of a dask DataFrame: see `read_source`."""
        return read_source(source).gather(lambda: cls(names))

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in rows (m, d): an array, a DataFrame, or a batch of pyarrow.

        Messages call the chunk by its ``number``, by default how many were taken in before.
        """
        number = self.n_chunks if number is None else number
        values, names = read_chunk(chunk, number)
        if self._features is None:
            self._take_in(values, names, number, 0)
        else:
            for first in range(0, len(values), FEATURE_ROWS):
                self._take_in(self._features(values[first : first + FEATURE_ROWS]), None, number, first)
        self.n_chunks += 1
        return self

    def merge(self, other: "Moments") -> Self:
        """Take in the rows that another one has seen; it is left as it is."""
        if other.n_rows == 0:
            return self
        self._take_in(other._waiting, other.names if other.named else None, self.n_chunks, 0)
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

    def _take_in(
        self, values: FloatArray, names: tuple[Hashable, ...] | None, number: int, first_row: int
    ) -> None:
        """Add the blocks that rows (m, d) of a chunk fill, behind those that wait, and let the rest wait."""
        self._names, self.named = check_same_columns(self._names, self.named, names, values.shape[1], number)
        if not np.isfinite(values).all():
            refuse_not_finite(values, self.names, number, first_row)
        rows = np.concatenate([self._waiting, values]) if len(self._waiting) else values
        full = len(rows) - len(rows) % BLOCK
        for first in range(0, full, BLOCK):
            self._add_block(rows[first : first + BLOCK])
        self._waiting = np.array(rows[full:], dtype=np.float64)

    def _begin(self, shift: FloatArray) -> None:
        """Empty sums about ``shift`` (d + 1,)."""
        size = shift.size
        self._shift = shift
        self._sums = DoubleDouble(np.zeros((size, size)), np.zeros((size, size)))
        self._cubes, self._low, self._high = np.zeros(size), np.full(size, np.inf), np.full(size, -np.inf)

    @QUIET
    def _add_block(self, rows: FloatArray) -> None:
        """Sums of at most one block of finite rows (m, d)."""
        m, d = rows.shape
        if self._scratch.shape[1:] != (d + 1, m):
            self._scratch = np.empty((3 if self.exact else 1, d + 1, m))
        values, *more = self._scratch
        values[:d], values[d] = rows.T, 1.0
        if self._n_summed == 0:
            self._begin(np.append(round_shift(values[:d]), 0.0))
        low, high = values.min(axis=1), values.max(axis=1)
        _add_cubes(values, self._shift, self._cubes)
        if self.exact:
            largest = np.maximum(np.abs(low - self._shift), np.abs(high - self._shift))
            add_exact_products(self._sums, values, self._shift, largest, *more)
        else:
            values -= self._shift[:, None]
            self._sums.high[:] += values @ values.T
        self._n_summed += m
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    def _moved(self, shift: FloatArray) -> tuple[DoubleDouble, FloatArray]:
        """Sums and cubes about another shift: of y + e, e the difference of the shifts, 0 for the constant."""
        if np.array_equal(shift, self._shift):
            return self._sums, self._cubes
        n, totals = float(self._n_summed), self._sums[-1]  # of y, and n
        e = two_sum(self._shift, -shift)
        # sum (y + e)(y + e)' = sum y y' + (sum y) e' + e (sum y)' + n e e'
        change = _outer(totals, e) + (_outer(e, totals) + _outer(e * DoubleDouble(n, 0.0), e))
        cubes = self._cubes + 3.0 * e.high * np.diagonal(self._sums.high) + 3.0 * e.high**2 * totals.high
        return self._sums + change, cubes + n * e.high**3

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
        return self._n_summed + len(self._waiting)

    @property
    def mean(self) -> FloatArray:
        """Means (d,)."""
        return self.summary().mean

    @property
    def covariance(self) -> FloatArray:
        """Covariances (d, d), divided by n."""
        return self.summary().covariance

    @QUIET
    def summary(self) -> Summary:
        """All but the second moments about zero."""
        done, n = self._finished(), float(self.n_rows)
        about = (done._sums[-1] / n)[:-1]  # means about the shift
        mean = about + DoubleDouble(done._shift[:-1], 0.0)
        covariance = done._read_out(DoubleDouble(-about.high, -about.low), about)
        square = np.diagonal(done._sums.high)[:-1] / n
        third = done._cubes[:-1] / n - 3.0 * about.high * square + 2.0 * about.high**3
        scale = np.diag(covariance) ** 1.5
        skewness = np.divide(third, scale, out=np.zeros(scale.size), where=scale > 0)
        return Summary(self.n_rows, mean.round_to(52), covariance, skewness, done._low[:-1], done._high[:-1])

    def second(self) -> FloatArray:
        """Second moments about zero (d, d), divided by n."""
        done, n = self._finished(), float(self.n_rows)
        if not done._shift.any():
            return done._read_out()
        # with y = x - c:  mean(x x') = mean(y y') + mean(y) c' + c mean(x)'
        mean, shift = (done._sums[-1] / n)[:-1], DoubleDouble(done._shift[:-1], np.zeros(done._shift.size - 1))
        return done._read_out(mean, shift, shift, mean + shift)

    @QUIET
    def _read_out(self, *vectors: DoubleDouble) -> FloatArray:
        """Sums of squares by n, plus products of the vectors, taken two and two; the constant is left out."""
        d = self._shift.size - 1
        matrix = np.empty((d, d))
        for first in range(0, d, PANEL):  # a few rows at a time: what comes in between takes many times their room
            rows = slice(first, min(first + PANEL, d))
            total = self._sums[rows, :d] / float(self.n_rows)
            for first_vector, second_vector in zip(vectors[::2], vectors[1::2], strict=True):
                total = total + first_vector[rows, None] * second_vector[None, :]
            matrix[rows] = total.round_to(KEPT)
        return np.triu(matrix) + np.triu(matrix, 1).T

    def _finished(self) -> "Moments":
        """The same with no rows waiting."""
        if self.n_rows == 0:
            raise ValueError("no rows were taken in yet, so there are no moments: call update first.")
        if not len(self._waiting):
            return self
        done = copy(self)
        done._sums = DoubleDouble(self._sums.high.copy(), self._sums.low.copy())
        done._cubes, done._waiting, done._scratch = self._cubes.copy(), np.zeros((0, 0)), np.zeros((0, 0, 0))
        done._add_block(self._waiting)
        return done


def _outer(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Outer product of two vectors."""
    return a[:, None] * b[None, :]
