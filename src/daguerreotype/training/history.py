"""The record of training steps."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Step:
    """What one training step saw; handed to the progress callback and kept in the history."""

    objective: float
    mode_loss: float
    support: int
    tau: float
    hits: int
    misses: int
    theta: FloatArray = field(compare=False)  # arrays have no plain equality; equal objectives tell


@dataclass(frozen=True)
class FitHistory:
    """What training saw, step by step.

    Attributes
    ----------
    objective : array of shape (t,)
        Expected loss over the distribution plus the regularization of theta.
    mode_loss : array of shape (t,)
        Loss of the most probable order.
    support : array of shape (t,)
        How many rankings carried mass.
    tau : array of shape (t,)
        Temperature.
    theta : array of shape (t, d)
        Scores of the columns.
    hits, misses : array of shape (t,)
        Local fits found in the cache and made, so far.
    refined_at : int or None
        The step before which best-position moves replaced the order; None without them.
    refine_losses : array
        Loss after each sweep of best-position moves.
    """

    objective: FloatArray
    mode_loss: FloatArray
    support: IntArray
    tau: FloatArray
    theta: FloatArray
    hits: IntArray
    misses: IntArray
    refined_at: int | None
    refine_losses: FloatArray

    def __len__(self) -> int:
        return int(self.objective.size)


def history_of(
    steps: list[Step], d: int, refined_at: int | None = None, refine_losses: Sequence[float] = ()
) -> FitHistory:
    """All steps, column by column."""
    return FitHistory(
        objective=np.array([step.objective for step in steps]),
        mode_loss=np.array([step.mode_loss for step in steps]),
        support=np.array([step.support for step in steps], dtype=np.int64),
        tau=np.array([step.tau for step in steps]),
        theta=np.array([step.theta for step in steps]).reshape(-1, d),
        hits=np.array([step.hits for step in steps], dtype=np.int64),
        misses=np.array([step.misses for step in steps], dtype=np.int64),
        refined_at=refined_at,
        refine_losses=np.array(refine_losses),
    )
