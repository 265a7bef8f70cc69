"""Checks of single numbers: counts, positive numbers, shares, temperatures."""

from math import isfinite
from numbers import Integral, Real

import numpy as np


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


def check_share(value: object, name: str) -> float:
    """``value`` as a float from 0 on and below 1."""
    share = check_positive(value, name, zero=True)
    if share >= 1.0:
        raise ValueError(f"{name} must be a share, from 0 on and below 1, got {value!r}.")
    return share


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
