"""Files of learners in formats 1 and 2, whose fits had one number per parent, in the terms of today's format."""

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import IntArray


def add_norms(arrays: Arrays, header: Header) -> Arrays:
    """The arrays with norms of effects beside their weights, as they would be written now.

    Weights of curves were their norms. Slopes are among the coefficients: those of the linear basis columns.
    """
    training = header["result"]["fields"]["best"]["fields"]["training"]["fields"]
    fits = training["fits"]["fits"]
    if f"{fits}.norms" in arrays:
        return arrays
    weights = arrays[f"{fits}.weights"]
    known = {f"{fits}.norms": np.abs(weights), f"{fits}.norms.shapes": arrays[f"{fits}.weights.shapes"]}
    if training["fits"]["kind"] == "GamFit" and training["models"]["predictor"] in ("curves", "groups"):
        sizes = arrays[f"{fits}.columns.shapes"][:, 0]  # basis columns of every fit, end to end
        strides = np.repeat(_strides(arrays, training["models"], sizes.size), sizes)
        linear = arrays[f"{fits}.columns"] % strides == 0
        known[f"{fits}.weights"] = arrays[f"{fits}.coefficients"][linear]
    return {**arrays, **known}


def _strides(arrays: Arrays, models: Header, d: int) -> IntArray:
    """Basis columns (d,) per column of the table in the fit of every node."""
    if models["predictor"] == "curves":
        return np.full(d, models["stride"])
    strides: IntArray = np.array([each["stride"] for each in models["models"]])
    return strides[arrays[models["group"]["array"]]]
