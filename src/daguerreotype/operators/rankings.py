"""Rankings and orders, their complete DAGs, and how far scores move before the order changes."""

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.checks import refuse_complex
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import FloatArray, IntArray

LARGEST_SCORE = 1e300  # scores of rankings are sums of d products of scores and positions: they must not overflow


def check_scores(theta: npt.ArrayLike, name: str = "theta") -> FloatArray:
    """A contiguous float64 vector (d,) of finite scores."""
    refuse_complex(theta, name)
    try:
        scores = np.asarray(theta, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a vector of numbers, but: {error}.") from None
    if scores.ndim != 1:
        raise ValueError(
            f"{name} must be a vector with one score per node, but has shape {scores.shape}. "
            "For a batch of vectors use daguerreotype.operators.torch, or loop over the rows."
        )
    if scores.size == 0:
        raise ValueError(f"{name} is empty: at least one node is needed.")
    # The extremes tell (argmax finds a NaN if there is one), and are quicker than a look at all.
    if not (abs(scores[scores.argmax()]) <= LARGEST_SCORE and abs(scores[scores.argmin()]) <= LARGEST_SCORE):
        bad = np.flatnonzero(~(np.abs(scores) <= LARGEST_SCORE))
        raise ValueError(
            f"{name} must be finite and at most {LARGEST_SCORE} in size, but {name}[{bad[0]}] is {scores[bad[0]]}"
            + (f" (and {bad.size - 1} more)." if bad.size > 1 else ".")
        )
    return scores


def sort_nodes(theta: FloatArray) -> IntArray:
    """The nodes by increasing score; ties by node index."""
    return theta.argsort(kind="stable")


def order_to_ranks(order: npt.ArrayLike) -> IntArray:
    """Positions of the nodes: ``ranks[order[p]] = p``. Takes one order (d,) or several (m, d)."""
    return _invert(order, "order")


def ranks_to_order(ranks: npt.ArrayLike) -> IntArray:
    """Nodes by position: ``order[ranks[i]] = i``. Takes one ranking (d,) or several (m, d)."""
    return _invert(ranks, "ranks")


def _invert(permutation: npt.ArrayLike, name: str) -> IntArray:
    """The inverse of each row."""
    rows = np.asarray(permutation)
    d = rows.shape[-1] if rows.ndim else 0
    if rows.ndim not in (1, 2) or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"{name} must be whole numbers of shape (d,) or (m, d), got {shown(permutation)}.")
    positions = np.arange(d)
    if rows.size and (rows.min() < 0 or rows.max() >= d or (np.sort(rows, axis=-1) != positions).any()):
        raise ValueError(f"{name} must hold each of 0 to {d - 1} once, got {rows.tolist()}.")
    inverse = np.empty(rows.shape, dtype=np.int64)
    np.put_along_axis(inverse, rows, np.broadcast_to(positions, rows.shape), axis=-1)
    return inverse


def complete_dag(ranks: npt.ArrayLike) -> IntArray:
    """The DAG (d, d) with all edges that a ranking (d,) allows: 1 where i stands before j."""
    row = order_to_ranks(ranks_to_order(ranks))  # checked
    return (row[:, None] < row[None, :]).astype(np.int64)


def score_intervals(theta: npt.ArrayLike) -> FloatArray:
    r"""How far each score can move alone without changing the order, shape (d, 2).

    Row i holds the open interval :math:`(\theta_{prev} - \theta_i, \theta_{next} - \theta_i)` of changes of
    :math:`\theta_i`, with the neighbours of i in the sorted order; infinite at either end (the proposition on
    entry-wise intervals, appendix C). A tie makes the interval end at zero.
    """
    scores = check_scores(theta)
    nodes = sort_nodes(scores)
    gaps = np.diff(scores[nodes])
    intervals = np.empty((scores.size, 2))
    intervals[nodes, 0] = np.concatenate([[-np.inf], -gaps])
    intervals[nodes, 1] = np.concatenate([gaps, [np.inf]])
    return intervals
