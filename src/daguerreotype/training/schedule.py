"""Adam on theta, the stopping rule, and all numbers of a training run."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import FloatArray
from daguerreotype.training.run import Step


@dataclass(frozen=True)
class Schedule:
    """All numbers of a training run."""

    tau: float
    rate: float
    l2: float
    max_iter: int
    tolerance: float
    patience: int
    refine: bool
    n_restarts: int
    seed: int


class Adam:
    """Adam (Kingma and Ba 2015) on one vector, with its usual constants."""

    def __init__(self, size: int, rate: float) -> None:
        self.rate = rate
        self.mean: FloatArray = np.zeros(size)
        self.square: FloatArray = np.zeros(size)
        self.count = 0

    def step(self, theta: FloatArray, gradient: FloatArray) -> FloatArray:
        """Theta after one step along the gradient."""
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        mean = self.mean / (1 - 0.9**self.count)
        square = self.square / (1 - 0.999**self.count)
        moved: FloatArray = theta - self.rate * mean / (np.sqrt(square) + 1e-8)
        return moved


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


def save_steps(steps: Sequence[Step], adam: Adam, stopping: ApproximateConvergence) -> tuple[Arrays, Header]:
    """The steps so far, and where the optimizer of theta and the stopping rule stand."""
    arrays = {
        "steps": np.array([astuple(step)[:-1] for step in steps]),
        "thetas": np.array([step.theta for step in steps]),
        "adam_mean": adam.mean,
        "adam_square": adam.square,
    }
    return arrays, {"adam_count": adam.count, "stopping": vars(stopping)}


def restore_steps(arrays: Arrays, header: Header, adam: Adam, stopping: ApproximateConvergence) -> list[Step]:
    """The steps that were saved; optimizer and stopping rule go back to where they stood."""
    adam.mean, adam.square, adam.count = arrays["adam_mean"], arrays["adam_square"], header["adam_count"]
    vars(stopping).update(header["stopping"])
    return [
        Step(objective, mode_loss, int(support), int(hits), int(misses), theta)
        for (objective, mode_loss, support, hits, misses), theta in zip(
            arrays["steps"].tolist(), arrays["thetas"], strict=True
        )
    ]
