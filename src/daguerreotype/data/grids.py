"""Grids of columns with ties: the step of rounded and whole numbers."""

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray

NOISE = 1e-10  # of arithmetic with doubles, relative to the largest value
RESOLVED = 100.0  # a step is this many times what noise can move a value by
REPEATED = 3  # rows per different value that tell a grid from duplicated rows
TIES_OF_NORMAL = 0.19  # pairs of n normal values in one cell of width w: this times n^2 w / interquartile range


def distinct(ordered: FloatArray, noise: float = NOISE) -> tuple[FloatArray, IntArray]:
    """Different values (m,) of a sorted column (n,), and how often each is there; what noise tells apart is one.

    >>> values, counts = distinct(np.array([0.3, 0.1 + 0.2, 0.5]))
    >>> values, counts
    (array([0.3, 0.5]), array([2, 1]))
    """
    tolerance = noise * max(abs(ordered[0]), abs(ordered[-1]))
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > tolerance]))
    return ordered[first], np.diff(np.append(first, ordered.size))


def grid_step(values: FloatArray, counts: IntArray, noise: float = NOISE) -> float:
    """Distance of neighbours on the grid that a column with ties is on, in its units; 0 if there is none.

    The greatest common divisor of the differences of ``values``, by Euclid's algorithm on all of them at once.
    Duplicated rows of a smooth column and an atom in it have no such divisor, or one so small that rounding to it
    would make no ties.

    Parameters
    ----------
    values, counts : arrays of shape (m,)
        Different values, ascending, and how often each is there.
    noise : float
        What arithmetic may have moved values by, relative to the largest.

    >>> grid_step(np.array([0.0, 0.25, 1.0, 1.75]), np.array([9, 5, 16, 8]))
    0.25
    """
    if values.size < 2 or values.size == counts.sum():
        return 0.0
    gaps = np.diff(values)
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    least = _least_step(values, counts)
    if largest < 2**53 and np.array_equal(values, np.rint(values)):
        step = float(np.gcd.reduce(gaps.astype(np.int64)))
        return step if step >= least else 0.0
    tolerance = noise * largest
    least = max(least, RESOLVED * tolerance)
    step = float(gaps.min())
    while least <= step < np.inf:
        multiples = np.rint(gaps / step)
        # One gap is known to the noise of two values, all together to the same divided by the sum of multiples.
        closer = (values[-1] - values[0]) / multiples.sum()
        if np.abs(gaps - multiples * closer).max() <= tolerance:
            return float(f"{closer:.12g}")
        rest = np.abs(gaps - multiples * step)
        step = float(rest[rest > tolerance].min(initial=np.inf))
    return 0.0


def _least_step(values: FloatArray, counts: IntArray) -> float:
    """The step at which one tie is to be expected, leaving out the most frequent value, which may be an atom."""
    others = counts.copy()
    others[np.argmax(counts)] = 0
    n = max(int(others.sum()), 1)
    if n >= REPEATED * (values.size - 1):  # no resample of smooth values repeats them so often
        return 0.0
    reached = np.cumsum(others) / n
    low, high = (min(int(np.searchsorted(reached, share)), values.size - 1) for share in (0.25, 0.75))
    return float(values[high] - values[low]) / (TIES_OF_NORMAL * n**2)
