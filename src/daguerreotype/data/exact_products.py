r"""How are products of rows summed without rounding? In two parts, and the larger part exactly.

With  x = h + l,  h the first 21 bits on the scale of a block of rows,

.. math:: x'x = h'h + (h + x)' l / 2 + l' (h + x) / 2 .

The first product is exact in floats, the others are two million times smaller. Columns of whole numbers, or of
short floats far from zero, have no l at all.
"""

from collections.abc import Iterator

import numpy as np

from daguerreotype._lib.numba import algebra_kernel, kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.double_double import Pair

BITS = 21  # of h; products of h sum to at most 2 * 21 + 11 = 53 bits over a block
BLOCK = 2048  # rows
PANEL = 256  # columns
FAR = 8.0  # a column whose mean is this many standard deviations from zero is shifted


def round_shift(columns: FloatArray) -> FloatArray:
    """A shift (d,) for columns (d, m): zero, or near a mean that is far from it; few bits, to subtract exactly."""
    mean, spread = columns.mean(axis=1), columns.std(axis=1)
    far = np.abs(mean) > FAR * spread
    step = np.ldexp(1.0, np.frexp(spread)[1])
    return np.where(far, np.where(spread > 0, np.round(mean / step) * step, columns[:, 0]), 0.0)


def panels(d: int) -> Iterator[tuple[slice, slice]]:
    """Columns in groups, each with those that come after it: matrices are made a part at a time."""
    for first in range(0, d, PANEL):
        yield slice(first, min(first + PANEL, d)), slice(min(first + PANEL, d), d)


def add_plainly(sums: FloatArray, values: FloatArray) -> None:
    """Add [x, 1]' [x, 1] of values x (d, m) to sums (d + 1, d + 1), not below the panels of the diagonal."""
    d, m = values.shape
    for part, _ in panels(d):
        sums[part, part.start : d] += values[part] @ values[part.start :].T
    sums[:d, d] += values.sum(axis=1)
    sums[d, d] += m


def add_exactly(
    sums: Pair, values: FloatArray, shift: FloatArray, largest: FloatArray, upper: FloatArray, lower: FloatArray
) -> None:
    """The same of values less their shift, none of them above ``largest`` (d,), to more digits than floats have.

    Values and the last two arrays (d, m) are overwritten.
    """
    d, m = values.shape
    # Adding and taking away a number this much larger leaves the first bits.
    cut = np.ldexp(1.5, np.frexp(largest)[1] + 52 - BITS)
    kept = split(values, shift, cut, upper, lower)
    both = values  # h + x from now on
    for part, rest in panels(d):
        for other in (part, rest) if rest.start < d else (part,):
            found = sums[part, other]
            cross = _cross(part, other, both, lower, kept)
            add_pairs(found.high, found.low, upper[part] @ upper[other].T, cross)
    ones, rests = np.ones((m, 1)), np.zeros((d, 1))
    rests[kept] = lower[: kept.size] @ ones
    found = sums[:d, d:]
    add_pairs(found.high, found.low, upper @ ones, rests)
    sums.high[d, d] += m


def _cross(rows: slice, columns: slice, both: FloatArray, lower: FloatArray, kept: IntArray) -> FloatArray:
    """What lower parts add to the products of some columns with others."""
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
    """Upper and lower parts of values (d, m) less their shift, and h + x in place of the values.

    Lower parts are there for columns alone in which one is not zero; these are returned, ascending.
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
        if differing:
            kept[n_kept] = j
            n_kept += 1
    return kept[:n_kept]


@algebra_kernel
def add_cubes(values: FloatArray, shift: FloatArray, cubes: FloatArray) -> None:
    """Add the sums of the cubes of values (d, m) less their shift to those so far (d,)."""
    for j in range(cubes.size):
        total = 0.0
        for t in range(values.shape[1]):
            x = values[j, t] - shift[j]
            total += x * x * x
        cubes[j] += total


@kernel
def add_pairs(high: FloatArray, low: FloatArray, first: FloatArray, second: FloatArray) -> None:
    """Add first + second to numbers high + low in place, as `pairs.two_sum` and `pairs.add` would."""
    for i in range(high.shape[0]):
        for j in range(high.shape[1]):
            a, b = first[i, j], second[i, j]
            found = a + b
            other = found - a
            rest = (a - (found - other)) + (b - other)
            a = high[i, j]
            total = a + found
            other = total - a
            rest = ((a - (total - other)) + (found - other)) + (low[i, j] + rest)
            high[i, j] = total + rest
            low[i, j] = rest - (high[i, j] - total)
