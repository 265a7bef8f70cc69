"""Importances of a fitted regressor's columns, and rules that select parents by them."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import BoolArray, FloatArray

Selection: TypeAlias = Literal["auto", "permutation"] | float | Callable[[FloatArray], npt.ArrayLike]

STANDARD_ERRORS = 2.0  # by how many a gain on unseen rows must exceed zero
FAIR_FRACTION = 0.5  # of the uniform share: less would keep noise columns of a forest, more drop weak parents


class Importances(NamedTuple):
    """Importances of p columns, from whichever source the regressor offers.

    Attributes
    ----------
    shares : array of shape (p,)
        Non-negative, summing to one (or all zero).
    clear : array of shape (p,)
        Columns that the default rule of this source keeps.
    """

    shares: FloatArray
    clear: BoolArray


def importances_of_model(model: Any, spreads: FloatArray) -> Importances | None:
    """Read ``coef_`` times the columns' ``spreads``, or ``feature_importances_``; None without both."""
    coefficients = coefficients_of(model, spreads.size)
    if coefficients is not None:
        shares = _scale(np.abs(coefficients) * spreads)
        if (coefficients == 0).any():
            return Importances(shares, coefficients != 0)
    else:
        own = getattr(model, "feature_importances_", None)
        if own is None or np.size(own) != spreads.size:
            return None
        shares = _scale(np.asarray(own, dtype=np.float64).reshape(-1))
    return Importances(shares, (shares > 0) & (shares >= FAIR_FRACTION / shares.size))


def importances_of_growth(growth: FloatArray) -> Importances:
    """Judge columns by how much permuting each one raised the squared error of every unseen row (n, p)."""
    return Importances(_scale(growth.mean(axis=0)), exceeds_chance(growth))


def exceeds_chance(gains: FloatArray) -> BoolArray:
    """Whether the mean over rows lies above zero by more than two standard errors."""
    threshold = STANDARD_ERRORS * gains.std(axis=0) / np.sqrt(len(gains))
    return np.asarray(gains.mean(axis=0) > threshold)


def coefficients_of(model: Any, n_columns: int) -> FloatArray | None:
    """One linear coefficient per column, or None where the model is not of that kind."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None or np.size(coefficients) != n_columns:
        return None
    return np.asarray(coefficients, dtype=np.float64).reshape(-1)


def select(selection: Selection, importances: Importances, node: str) -> BoolArray:
    """Apply the user's rule, or the default one of the source, to the predecessors of ``node``."""
    shares = importances.shares
    if isinstance(selection, str):
        return importances.clear
    if not callable(selection):
        return np.asarray(shares > float(selection) / shares.size)
    mask = np.asarray(selection(shares.copy()))
    if mask.dtype != np.bool_ or mask.shape != shares.shape:
        raise ValueError(
            f"selection returned {mask.dtype} of shape {mask.shape} for the predecessors of {node!r}: "
            f"expected a boolean mask of shape {shares.shape}. Return for example importances > 0.1."
        )
    return mask


def check_selection(selection: object) -> None:
    """Refuse a rule that ``select`` does not know."""
    if callable(selection) or (isinstance(selection, str) and selection in ("auto", "permutation")):
        return
    if isinstance(selection, (int, float, np.number)) and not isinstance(selection, bool) and selection >= 0:
        return
    raise ValueError(
        f"selection is {shown(selection)}: expected 'auto', 'permutation', a fraction of the uniform share "
        "(0 or larger) or a function from importances to a boolean mask. Leave it out for 'auto'."
    )


def _scale(importances: FloatArray) -> FloatArray:
    """Clip at zero and divide by the sum."""
    clipped: FloatArray = np.maximum(importances, 0.0)
    total = clipped.sum()
    return clipped / total if total > 0 else clipped
