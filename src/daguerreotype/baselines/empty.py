"""What does one score who learns nothing? The graph without edges."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned


class Empty(Baseline):
    """The empty graph: its SHD is the number of true edges, which a method should beat to have learned anything.

    Parameters
    ----------
    standardize, random_state, time_limit
        As in `Baseline`; without effect.
    """

    def __init__(
        self, *, standardize: bool = True, random_state: int | None = 0, time_limit: float | None = None
    ) -> None:
        self.standardize = standardize
        self.random_state = random_state
        self.time_limit = time_limit

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """No edges."""
        d = X.shape[1]
        return Learned(np.zeros((d, d), dtype=np.int64), np.zeros((d, d)))
