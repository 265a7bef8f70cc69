"""Open directions: edges whose reverse is about as probable."""

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray

OPEN = 0.25  # share of the probability of an edge, either way, from which on its reverse leaves the direction open


def is_open(forward: FloatArray, backward: FloatArray) -> BoolArray:
    """Whether the less likely of two directions has at least a quarter of the probability of both.

    >>> is_open(np.array([0.5, 0.9, 0.0]), np.array([0.4, 0.1, 0.0]))
    array([ True, False, False])
    """
    open_: BoolArray = np.minimum(forward, backward) >= np.maximum(OPEN * (forward + backward), 1e-9)
    return open_
