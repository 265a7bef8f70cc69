"""Masked arrays at the border: masked values are gaps where there may be gaps, and refused elsewhere."""

from typing import Any

import numpy as np


def fill_masked(X: Any) -> Any:
    """Rows with nan where they are masked, or None in arrays of objects; anything else as it is."""
    masked: Any = np.ma
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = masked.stack(X)
    if not isinstance(X, np.ma.MaskedArray):
        return X
    gaps = masked.getmaskarray(X)
    if X.dtype.kind in "biuf" and not gaps.any():
        return X.data
    filled: Any = X.data.astype(np.float64 if X.dtype.kind in "biuf" else object)
    filled[gaps] = np.nan if X.dtype.kind in "biuf" else None
    return filled


def refuse_masked(values: Any, what: str) -> None:
    """Refuse values of which some are masked, where none may be missing."""
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        raise ValueError(f"{what} has masked entries, but none may be missing there. Fill them in: X.filled(...).")
