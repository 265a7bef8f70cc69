"""Ties of continuous columns: the grid that values were rounded to, and values spread over their cells.

A density may grow without bound where values are equal, so that whatever keeps them equal would look likely. A
column whose equal values are spread over the cells that they stand for has none of that: on a grid of step s its
density times s is the probability mass of the values as they came.
"""

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.columns import distinct, grid_step

LOOKED_AT = 2**14  # first rows of long tables, by which ties and grids are known
MOST = 0.5  # of the rows that differ as a whole: with fewer, those that repeat are not mere copies
FEW = 3  # times that any value occurs at most off a grid: nothing that looks at neighbours notices
ATOM = 0.05  # of the rows: a value that occurs as often may be one of a kind, such as no rain
SEED = 2_718_281  # of no stream that a simulated column is likely to come from: 0 and 1 are
HEAVY = 5.0  # cells that a single value on a grid should fill, from where on it is an atom of its own


def untie(
    values: FloatArray,
    columns: IntArray,
    steps: FloatArray | None = None,
    left_out: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray] | None:
    """Rows (n, d) with the equal values of some columns spread over their cells, and the steps of grids (d,).

    On a grid every value is spread over one step. Off a grid a value that occurs c > 1 times is spread over the
    distance between the midpoints to its neighbours; an atom, in many rows, at least over (c / n) * 2 standard
    deviations: none is denser than a uniform column of that width. Rows that occur several times as a whole make
    no ties, nor do values that occur twice or three times. None where nothing is to be spread.

    Parameters
    ----------
    values : array of shape (n, d)
        Rows, in an order of their own: which of several equal values goes where is drawn row by row.
    columns : array of int
        Those to look at.
    steps : array of shape (d,), optional
        Steps of grids, 0 without one, where they are known.
    left_out : array of shape (n, d), optional
        Values that are neither looked at nor spread.
    """
    first_of_like: BoolArray | None = None
    untied: FloatArray | None = None
    grid_steps = np.zeros(values.shape[1])
    for j in columns.tolist():
        counted = np.ones(len(values), dtype=np.bool_) if left_out is None else ~left_out[:, j]
        column = values[counted, j]
        ordered = np.sort(column[:LOOKED_AT])
        if not np.any(ordered[1:] == ordered[:-1]):
            continue
        if first_of_like is None:
            first_of_like = _distinct_rows(values)
            if first_of_like.mean() < MOST:
                first_of_like[:] = True
        seen = column[first_of_like[counted]][:LOOKED_AT]
        step = grid_step(*distinct(np.sort(seen))) if steps is None else float(steps[j])
        if step == 0.0 and np.unique(seen, return_counts=True)[1].max(initial=1) <= FEW:
            continue
        grid_steps[j] = step
        untied = values.copy() if untied is None else untied
        untied[counted, j] = column + _offsets(column, step, np.random.default_rng([SEED, 1 + j]))
    return None if untied is None else (untied, grid_steps)


def _offsets(column: FloatArray, step: float, rng: np.random.Generator) -> FloatArray:
    """What spreads every value (n,) over its cell."""
    values, group, counts = np.unique(column, return_inverse=True, return_counts=True)
    share = counts / column.size
    quarter, three = np.quantile(column, [0.25, 0.75])
    # A long tail must not widen atoms: of a normal column both are its standard deviation.
    scale = min(float(column.std()), float(three - quarter) / 1.349) if three > quarter else float(column.std())
    atoms = np.where(share >= ATOM, 2.0 * share * scale, 0.0)
    if step > 0.0:
        widths = np.where(atoms > HEAVY * step, atoms, step)
    else:
        gaps = np.diff(values)
        below, above = np.append(gaps[:1], gaps), np.append(gaps, gaps[-1:])
        widths = np.where(counts > 1, np.maximum(0.5 * (below + above), atoms), 0.0)
    start = -0.5 * widths
    # An atom at an end stays within the range of the column: beyond may be no logarithm.
    if step == 0.0 or widths[0] > step:
        start[0] = 0.0
    if step == 0.0 or widths[-1] > step:
        start[-1] = -widths[-1]
    offsets: FloatArray = (start + 0.0)[group] + widths[group] * rng.random(column.size)
    return offsets


def _distinct_rows(values: FloatArray) -> BoolArray:
    """Whether each row (n,) is the first of its like."""
    bits: npt.NDArray[np.uint64] = np.ascontiguousarray(values + 0.0).view(np.uint64)  # one zero, not two
    odd = np.random.default_rng(0).integers(2**62, size=values.shape[1], dtype=np.uint64) * np.uint64(2)
    hashes = (bits * (odd + np.uint64(1))).sum(axis=1)
    first = np.zeros(len(values), dtype=np.bool_)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first
