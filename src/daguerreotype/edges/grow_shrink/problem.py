"""The penalised regression problem that grow-shrink searches solve, in second moments."""

from typing import NamedTuple

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import EdgeRules

TOLERANCE = 1e-10  # share of a column's variance below which what is left of it is rounding noise
ROWS_PER_DOF = 10  # rows for each parameter of a search with nonlinear parents; with fewer they fit noise


class Problem(NamedTuple):
    """Data of  n log(variance) + penalty_per_dof * columns + penalty_per_parent * parents,  to be minimised.

    Each variable, the *owner*, has ``stride`` consecutive columns of the moment matrix, of which the first
    ``widths[owner]`` are in use: the variable itself, then (for splines) its nonlinear basis columns.

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
    penalty_per_dof : float
        Cost of one degree of freedom, penalty * log(n).
    penalty_per_parent : float
        Cost of a parent beside its columns, 2 gamma log(d): the extended BIC.
    max_dof : int
        Degrees of freedom one target may spend, so that its variance stays positive.
    max_nonlinear_dof : int
        Degrees of freedom up to which a step may add nonlinear columns: BIC does not hold where rows are few
        for each.
    allowed : array of shape (d, words), or empty
        Set of bits: parents that each target may have.
    required : array of shape (d, d), or empty
        Whether i is always a parent of j.
    rounding : array of shape (d,)
        Variance that each target has beside what parents leave of it: that of spreading its ties.
    """

    moments: FloatArray
    blocks: FloatArray
    limits: FloatArray
    widths: IntArray
    n_rows: float
    penalty_per_dof: float
    penalty_per_parent: float
    max_dof: int
    max_nonlinear_dof: int
    allowed: IntArray
    required: BoolArray
    rounding: FloatArray


def new_problem(
    moments: FloatArray,
    widths: IntArray,
    n_rows: int,
    penalty: float,
    gamma: float,
    rules: EdgeRules | None,
    rounding: FloatArray | None = None,
) -> Problem:
    """The problem of one moment matrix (d * stride, d * stride). Every problem has the same array types."""
    d = widths.size
    stride = moments.shape[0] // d
    each = np.arange(d)
    diagonal = moments.reshape(d, stride, d, stride)[each, :, each, :]  # (d, stride, stride)
    required = rules.required if rules is not None and rules.anything_required else np.zeros((0, 0))
    return Problem(
        moments=np.ascontiguousarray(moments, dtype=np.float64),
        blocks=diagonal.reshape(d * stride, stride),
        limits=TOLERANCE * np.diag(moments),
        widths=np.ascontiguousarray(widths, dtype=np.int64),
        n_rows=float(n_rows),
        penalty_per_dof=penalty * float(np.log(n_rows)),
        penalty_per_parent=2.0 * gamma * float(np.log(d)),
        max_dof=max(n_rows - 3, 0),
        max_nonlinear_dof=n_rows // ROWS_PER_DOF,
        allowed=np.zeros((0, 0), dtype=np.int64) if rules is None else _as_bits(rules.allowed),
        required=np.ascontiguousarray(required, dtype=np.bool_),
        rounding=np.zeros(d) if rounding is None else np.ascontiguousarray(rounding, dtype=np.float64),
    )


def _as_bits(allowed: BoolArray) -> IntArray:
    """The rows of each column of a matrix (d, d), as a set of bits (d, words)."""
    d = len(allowed)
    padded = np.zeros((d, (d // 64 + 1) * 64), dtype=np.bool_)
    padded[:, :d] = allowed.T
    return np.packbits(padded, axis=1, bitorder="little").view("<i8").astype(np.int64)
