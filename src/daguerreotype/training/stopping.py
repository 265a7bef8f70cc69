"""When has training converged well enough? When the objective has stopped falling."""

from dataclasses import dataclass

import numpy as np


@dataclass
class ApproximateConvergence:
    """Stops when ``patience`` steps have not lowered the best objective by ``tolerance`` (relative).

    Attributes
    ----------
    tolerance : float
        Smallest relative improvement that counts.
    patience : int
        How many steps may pass without one.
    """

    tolerance: float = 1e-5
    patience: int = 50

    def __post_init__(self) -> None:
        self._best = np.inf
        self._waited = 0

    def update(self, objective: float) -> bool:
        """Take in the next objective; True when training should stop."""
        if objective < self._best - self.tolerance * max(abs(self._best), 1.0) or not np.isfinite(self._best):
            self._best = objective
            self._waited = 0
        else:
            self._waited += 1
        return self._waited >= self.patience
