"""Which step lowers BIC most? The growing half of grow-shrink, from second moments alone.

Each variable owns ``stride`` consecutive columns of the moment matrix, of which the first ``widths[owner]``
are in use: the variable itself, then (for splines) its bends. A step adds the first column (LINEAR), all of
them (BLOCK), or all but the first to a parent that is linear so far (BEND).
"""

from typing import NamedTuple

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

LINEAR, BLOCK, BEND = 0, 1, 2
TOLERANCE = 1e-10  # share of a column's variance below which what is left of it is rounding noise


class Problem(NamedTuple):
    """What the local scores depend on: n log(variance) + price * columns + entry * parents, to be minimised.

    Attributes
    ----------
    moments : array of shape (d * stride, d * stride)
        Second moments of all columns, owner by owner; columns not in use are zero.
    blocks : array of shape (d * stride, stride)
        The diagonal blocks of ``moments``: each column with the columns of its owner.
    limits : array of shape (d * stride,)
        Conditional variance at which a column counts as spanned by others.
    widths : array of shape (d,)
        How many columns each owner has.
    n_rows : float
        Number of observations n.
    price : float
        Cost of one degree of freedom, penalty * log(n).
    entry : float
        Cost of a parent beside its columns, 2 gamma log(d).
    max_dof : int
        Degrees of freedom one target may spend, so that its variance stays positive.
    max_bent : int
        Degrees of freedom up to which parents may bend: BIC does not hold where rows are few for each.
    allowed, required : arrays of shape (d, words) and (d, d), or empty
        Sets of bits: parents that each target may have. Whether i is always a parent of j.
    """

    moments: FloatArray
    blocks: FloatArray
    limits: FloatArray
    widths: IntArray
    n_rows: float
    price: float
    entry: float
    max_dof: int
    max_bent: int
    allowed: IntArray
    required: BoolArray


class Path(NamedTuple):
    """Second moments given the parents added so far: the state of one walk down a tree.

    Attributes
    ----------
    rows : array of shape (capacity, d * stride)
        Covariances of all columns with the added ones, the latter made orthonormal one by one.
    within : array of shape (d * stride, stride)
        What is left of the covariance of each column with the columns of its owner.
    with_target : array of shape (d * stride,)
        What is left of the covariance of each column with the target.
    used : array of shape (d,)
        How many columns of each owner were added.
    nodes : array of shape (2 d + 2,)
        The tree nodes whose rows these are, from the root to the first -1; a later walk through them needs no
        new rows. Those of the root are its required parents'.
    """

    rows: FloatArray
    within: FloatArray
    with_target: FloatArray
    used: IntArray
    nodes: IntArray


class Steps(NamedTuple):
    """Improving steps from one set of parents, each of shape (d,): what each gains, whom it adds, and how."""

    gains: FloatArray
    owners: IntArray
    kinds: IntArray


@kernel
def variance_floor(problem: Problem, target: int) -> float:
    """Smallest variance a target can reach; positive even for a constant column."""
    return float(max(problem.limits[target * problem.blocks.shape[1]], 1e-300))


@kernel
def begin(problem: Problem, path: Path, target: int) -> None:
    """Reset ``path`` to no parents."""
    stride = problem.blocks.shape[1]
    for column in range(problem.limits.size):
        path.with_target[column] = problem.moments[target * stride, column]
        for b in range(stride):
            path.within[column, b] = problem.blocks[column, b]
    for owner in range(path.used.size):
        path.used[owner] = 0


@kernel
def subtract(row: FloatArray, rows: FloatArray, shares: FloatArray, count: int, start: int, stop: int) -> None:
    """Take  shares[0] * rows[0] + ... + shares[count - 1] * rows[count - 1]  from ``row``, start to stop.

    Four rows at a time: most of a fit goes by here, and loading and storing the sum would be most of that.
    """
    k = 0
    while k + 4 <= count:
        first, second, third, fourth = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        a, b, e, f = shares[k], shares[k + 1], shares[k + 2], shares[k + 3]
        for c in range(start, stop):
            row[c] -= (a * first[c] + b * second[c]) + (e * third[c] + f * fourth[c])
        k += 4
    while k < count:
        share, last = shares[k], rows[k]
        for c in range(start, stop):
            row[c] -= share * last[c]
        k += 1


@kernel
def add(problem: Problem, path: Path, n_rows: int, target: int, owner: int, kind: int, known: bool) -> int:
    """Condition on the columns of one step; returns the new number of rows of ``path``.

    ``known`` says that these rows are still there from a walk that began with the same steps.
    """
    stride = problem.blocks.shape[1]
    stop = 1 if kind == LINEAR else problem.widths[owner]
    for column in range(owner * stride + (1 if kind == BEND else 0), owner * stride + stop):
        left = path.within[column, column % stride]
        if left <= problem.limits[column]:
            continue  # the parents span this column already
        row = path.rows[n_rows]
        if not known:
            for c in range(row.size):
                row[c] = problem.moments[column, c]
            subtract(row, path.rows, path.rows[:, column], n_rows, 0, row.size)
            scale = 1.0 / np.sqrt(left)
            for c in range(row.size):
                row[c] *= scale
        on_target = row[target * stride]
        for c in range(row.size):
            path.with_target[c] -= on_target * row[c]
        if stride == 1:
            for c in range(row.size):
                path.within[c, 0] -= row[c] * row[c]
        else:
            for first in range(0, row.size, stride):
                for a in range(first, first + stride):
                    for b in range(stride):
                        path.within[a, b] -= row[a] * row[first + b]
        n_rows += 1
    path.used[owner] = stop
    return n_rows


@kernel
def begin_required(problem: Problem, path: Path, target: int, known: bool) -> int:
    """Reset ``path`` to the required parents, each as a line; returns the number of rows."""
    begin(problem, path, target)
    n_rows = 0
    for owner in range(problem.required.shape[0]):
        if problem.required[owner, target]:
            n_rows = add(problem, path, n_rows, target, owner, LINEAR, known)
    return n_rows


@kernel
def find_steps(problem: Problem, path: Path, target: int, steps: Steps) -> int:
    """Fill in the better step of every owner that has one which gains; returns how many have."""
    stride = problem.blocks.shape[1]
    floor = variance_floor(problem, target)
    variance = max(path.within[target * stride, 0], floor)
    # What one more column of a parent, or a new parent of one column, must explain to pay.
    least = variance * -np.expm1(-problem.price / problem.n_rows)
    least_new = variance * -np.expm1(-(problem.price + problem.entry) / problem.n_rows)
    spent = 0
    for owner in range(path.used.size):
        spent += path.used[owner]
    if spent >= problem.max_dof:
        return 0
    if stride == 1:
        return _find_linear(problem, path, target, steps, least_new, variance - floor)
    return _find_blocks(problem, path, target, steps, least, floor, spent)


@kernel
def _find_linear(problem: Problem, path: Path, target: int, steps: Steps, least: float, most: float) -> int:
    """Steps of one column each: what they explain ranks them, so no logarithms are needed."""
    count = 0
    for owner in range(path.used.size):
        left = path.within[owner, 0]
        shared = path.with_target[owner] * path.with_target[owner]
        if shared > least * left and left > problem.limits[owner] and path.used[owner] == 0:
            explained = min(shared / left, most)
            if explained > least and owner != target:
                steps.gains[count] = explained
                steps.owners[count] = owner
                steps.kinds[count] = LINEAR
                count += 1
    return count


@kernel
def _find_blocks(
    problem: Problem, path: Path, target: int, steps: Steps, least: float, floor: float, spent: int
) -> int:
    """Steps of one column or of a whole block, by the Cholesky factor of what is left of the block."""
    stride = problem.blocks.shape[1]
    variance = max(path.within[target * stride, 0], floor)
    lower = np.empty((stride, stride))
    scores = np.empty(stride)
    count = 0
    for owner in range(path.used.size):
        used, width, first = path.used[owner], problem.widths[owner], owner * stride
        if owner == target or used == width:
            continue
        explained, best, kind = 0.0, 0.0, LINEAR
        for a in range(used, width):
            left = path.within[first + a, a]
            score = path.with_target[first + a]
            for j in range(used, a):
                entry = path.within[first + a, j]
                for k in range(used, j):
                    entry -= lower[a, k] * lower[j, k]
                lower[a, j] = entry / lower[j, j] if lower[j, j] > 0.0 else 0.0
                left -= lower[a, j] * lower[a, j]
                score -= lower[a, j] * scores[j]
            usable = left > problem.limits[first + a]
            lower[a, a] = np.sqrt(left) if usable else 0.0
            scores[a] = score / lower[a, a] if usable else 0.0
            explained += scores[a] * scores[a]
            size = a + 1 - used
            most = problem.max_dof if a == 0 else problem.max_bent
            if (a == 0 or a == width - 1) and explained > least and spent + size <= most:
                left = max(variance - explained, floor)
                gain = problem.n_rows * np.log(variance / left) - problem.price * size
                if used == 0:
                    gain -= problem.entry
                if gain > best:
                    best = gain
                    kind = LINEAR if a == 0 else (BLOCK if used == 0 else BEND)
        if best > 0.0:
            steps.gains[count] = best
            steps.owners[count] = owner
            steps.kinds[count] = kind
            count += 1
    return count
