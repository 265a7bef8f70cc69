"""Is what the caller handed over a score vector, a count, a temperature? If not, what should it be?"""

from collections.abc import Iterable
from math import isfinite
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
RandomState: TypeAlias = int | np.random.Generator | None


def check_scores(theta: npt.ArrayLike, name: str = "theta") -> FloatArray:
    """A contiguous float64 vector (d,) of finite scores."""
    try:
        scores = np.asarray(theta, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a vector of numbers, but: {error}.") from None
    if scores.ndim != 1:
        raise ValueError(
            f"{name} must be a vector with one score per node, but has shape {scores.shape}. "
            "For a batch of vectors use daguerreotype.operators.torch, or loop over the rows."
        )
    if scores.size == 0:
        raise ValueError(f"{name} is empty: at least one node is needed.")
    # The extremes tell (argmax finds a NaN if there is one), and are quicker than isfinite().all().
    if not (isfinite(scores[scores.argmax()]) and isfinite(scores[scores.argmin()])):
        bad = np.flatnonzero(~np.isfinite(scores))
        raise ValueError(
            f"{name} must be finite, but {name}[{bad[0]}] is {scores[bad[0]]}"
            + (f" (and {bad.size - 1} more)." if bad.size > 1 else ".")
        )
    return scores


def check_count(value: object, name: str, least: int = 0) -> int:
    """``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def check_positive_int(value: object, name: str) -> int:
    """``value`` as an int of at least 1."""
    return check_count(value, name, 1)


def check_positive(value: object, name: str, *, zero: bool = False) -> float:
    """``value`` as a finite float above 0, or from 0 on."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    if value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be {'at least' if zero else 'above'} 0, got {value}.")
    return float(value)


def check_temperature(tau: float) -> float:
    """``tau`` as a positive finite float."""
    try:
        value = float(tau)
    except (TypeError, ValueError):
        raise ValueError(f"tau must be a positive number, got {tau!r}.") from None
    if not 0.0 < value < np.inf:
        raise ValueError(
            f"tau must be positive and finite, got {value}. Towards 0 all mass moves to the sorted order; "
            "for the sorted order itself use k_best_rankings(theta, 1)."
        )
    return value


def check_precedence(precedence: Iterable[tuple[int, int]], d: int) -> IntArray:
    """Pairs (i before j) as an array (q, 2) of node indices below ``d``."""
    listed = [tuple(pair) for pair in precedence]
    if any(len(pair) != 2 for pair in listed):
        raise ValueError(f"precedence must hold pairs (i, j), i before j, got {listed}.")
    pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= d):
        raise ValueError(f"precedence pairs must hold node indices from 0 to {d - 1}, got {pairs.tolist()}.")
    return pairs


def sort_nodes(theta: FloatArray, random_state: RandomState = None) -> IntArray:
    """The nodes by increasing score; ties by node index, or at random if asked."""
    if random_state is None:
        return theta.argsort(kind="stable")
    shuffled = np.random.default_rng(random_state).permutation(theta.size)
    return shuffled[np.argsort(theta[shuffled], kind="stable")]
