"""The penalised regression problem that grow-shrink searches solve, in second moments."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import EdgeRules

TOLERANCE = 1e-10  # share of a column's variance below which what is left of it is rounding noise
ROWS_PER_DOF = 10  # rows for each parameter of a search with nonlinear parents; with fewer they fit noise
# How a target's likelihood is made: from moments, or from its outcomes row by row.
GAUSSIAN, SOFTMAX, ORDERED, COUNT, POISSON, NEGATIVE_BINOMIAL = range(6)


class Problem(NamedTuple):
    """Data of  n log(variance) + penalty_per_dof * columns + penalty_per_parent * parents,  to be minimised.

    Each variable, the *owner*, has ``stride`` consecutive columns of the moment matrix, of which the first
    ``widths[owner]`` are in use: the variable itself, then (for splines) its nonlinear basis columns; or the
    dummies of its levels. Discrete targets have  2 n nll  in the place of  n log(variance).

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
    lines : array of shape (d,)
        With how many of them it can be a parent at least: one, a line, or all the dummies of its levels.
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
    families : array of shape (d,)
        GAUSSIAN, or how the likelihood of a discrete target is made.
    levels : array of shape (d,)
        Levels of a discrete target; 2 for others and for counts.
    features : array of shape (m, d * stride), or empty
        All columns in the rows that discrete targets are fitted on.
    outcomes : array of shape (d, m), or empty
        Codes and counts of the discrete targets in these rows.
    codes : array of shape (d, m), or empty
        Codes of owners that have few different values: rows of the same codes have the same features.
    n_codes : array of shape (d,)
        How many codes an owner has; 0 for those that are not coded.
    offsets : array of shape (d,)
        Nats per row that a target loses whatever its parents.
    rounding : array of shape (d,)
        Variance that each target has beside what parents leave of it: that of spreading its ties.
    """

    moments: FloatArray
    blocks: FloatArray
    limits: FloatArray
    widths: IntArray
    lines: IntArray
    n_rows: float
    penalty_per_dof: float
    penalty_per_parent: float
    max_dof: int
    max_nonlinear_dof: int
    allowed: IntArray
    required: BoolArray
    families: IntArray
    levels: IntArray
    features: FloatArray
    outcomes: IntArray
    codes: IntArray
    n_codes: IntArray
    offsets: FloatArray
    rounding: FloatArray


@dataclass(frozen=True)
class DiscreteTargets:
    """What is known of discrete targets, and of owners that are no numbers; see the fields of :class:`Problem`."""

    lines: IntArray
    families: IntArray
    levels: IntArray
    features: FloatArray
    outcomes: IntArray
    codes: IntArray
    n_codes: IntArray
    offsets: FloatArray


def new_problem(
    moments: FloatArray,
    widths: IntArray,
    n_rows: int,
    penalty: float,
    gamma: float,
    rules: EdgeRules | None,
    rounding: FloatArray | None = None,
    discrete: DiscreteTargets | None = None,
) -> Problem:
    """The problem of one moment matrix (d * stride, d * stride). Every problem has the same array types."""
    d = widths.size
    if discrete is None:
        ones = np.ones(d, dtype=np.int64)
        empty = np.zeros((0, 0))
        none = empty.astype(np.int64)
        discrete = DiscreteTargets(ones, 0 * ones, 2 * ones, empty, none, none, 0 * ones, np.zeros(d))
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
        lines=np.ascontiguousarray(discrete.lines, dtype=np.int64),
        families=np.ascontiguousarray(discrete.families, dtype=np.int64),
        levels=np.ascontiguousarray(discrete.levels, dtype=np.int64),
        features=np.ascontiguousarray(discrete.features, dtype=np.float64),
        outcomes=np.ascontiguousarray(discrete.outcomes, dtype=np.int64),
        codes=np.ascontiguousarray(discrete.codes, dtype=np.int64),
        n_codes=np.ascontiguousarray(discrete.n_codes, dtype=np.int64),
        offsets=np.ascontiguousarray(discrete.offsets, dtype=np.float64),
        rounding=np.zeros(d) if rounding is None else np.ascontiguousarray(rounding, dtype=np.float64),
    )


def _as_bits(allowed: BoolArray) -> IntArray:
    """The rows of each column of a matrix (d, d), as a set of bits (d, words)."""
    d = len(allowed)
    padded = np.zeros((d, (d // 64 + 1) * 64), dtype=np.bool_)
    padded[:, :d] = allowed.T
    return np.packbits(padded, axis=1, bitorder="little").view("<i8").astype(np.int64)
