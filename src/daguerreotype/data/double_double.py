r"""Double-double accumulation of second moments.

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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray

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
