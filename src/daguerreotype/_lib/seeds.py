"""Seeds and generators from what users give as ``random_state``."""

from numbers import Integral

import numpy as np

from daguerreotype._lib.typing import RandomState


def as_generator(random_state: RandomState) -> np.random.Generator:
    """The generator itself, or one seeded with the integer (with fresh entropy for None)."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(as_seed(random_state))


def as_seed(random_state: object) -> int:
    """The integer itself, or a new one: drawn from the generator, or fresh entropy for None."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(
            f"random_state is of type {type(random_state).__name__}: "
            "give an integer, a numpy.random.Generator or None."
        )
    if random_state < 0:
        raise ValueError(f"random_state={random_state} is negative: give an integer from 0 up.")
    return int(random_state)
