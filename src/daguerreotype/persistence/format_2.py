"""Files of learners in format 2, which knew no kinds of columns and one number per parent, in today's terms."""

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import IntArray
from daguerreotype.data.kinds import Kind


def upgrade(arrays: Arrays, header: Header) -> tuple[Arrays, Header]:
    """The contents of a file as they would be written now: all columns were continuous."""
    result = dict(header["result"]["fields"])
    kind = Kind("continuous", "saved before there were other kinds")
    saved = {"kind": {"name": kind.name, "reason": kind.reason, "levels": [], "step": kind.step}}
    result["kinds"] = {"list": [saved] * len(result["names"]["list"])}
    return add_norms(arrays, header), {**header, "result": {**header["result"], "fields": result}}


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
