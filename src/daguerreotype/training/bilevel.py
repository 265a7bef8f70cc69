"""Bilevel training: gradient steps on theta alone, with edges from a black box (eq. 10)."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.distribution import Operator
from daguerreotype.training.checkpoint import NOT_SAVED, Stage
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.run import Phase, Step
from daguerreotype.training.schedule import Adam, ApproximateConvergence, Schedule, restore_steps, save_steps
from daguerreotype.training.scores import OrderScores

ROUNDING = 1e-12  # of losses per row that are sums of the same terms


@dataclass
class Descent:
    """Where theta is, the best order met on the way, and all steps so far."""

    theta: FloatArray
    best_theta: FloatArray
    best_order: IntArray
    best_loss: float = np.inf
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def begin(cls, theta: FloatArray, constraints: Constraints) -> "Descent":
        """Before the first step, at scores whose order obeys."""
        theta = constraints.project(theta)
        return cls(theta.copy(), theta.copy(), constraints.sort(theta))


def train_bilevel(
    descent: Descent,
    operator: Operator,
    scores: OrderScores,
    schedule: Schedule,
    phase: Phase = "train",
    *,
    n_before: int = 0,
    stage: Stage = NOT_SAVED,
) -> None:
    r"""Minimise the expected loss of orderings over theta by Adam.

    .. math:: \min_\theta \sum_s p_s(\theta) \, L(\sigma_s) + l_2 \|\theta\|^2

    where L is the loss of the edges fitted to an ordering. Those fits do not depend on theta but through the
    orderings, so the gradient needs the losses alone: the vector-Jacobian product of the operator with them.
    Theta is projected on the scores whose order obeys the constraints of the scores after each step. The best
    mode met on the way is kept, so that the result is never worse than the start. Local fits do not
    depend on when they are made, so a run that goes on from a saved ``stage`` ends like one that never stopped.
    ``n_before`` of the most steps were made in a phase before this one. Ctrl-C leaves ``descent`` whole.
    """
    adam = Adam(descent.theta.size, schedule.rate)
    stopping = ApproximateConvergence(schedule.tolerance, schedule.patience)
    max_iter, l2 = max(schedule.max_iter - n_before, 1), schedule.l2
    saved = stage.load()
    converged = saved is not None and _restore(descent, adam, stopping, *saved)
    while not converged and len(descent.steps) < max_iter:
        distribution = operator(descent.theta, schedule.tau)
        losses = scores.losses(distribution)
        mode = distribution.mode_index
        if losses[mode] <= descent.best_loss + ROUNDING:  # of equal modes the latest: theta has settled
            descent.best_loss = min(descent.best_loss, float(losses[mode]))
            descent.best_theta = descent.theta.copy()
            descent.best_order = distribution.mode
        objective = float(distribution.probs @ losses + l2 * descent.theta @ descent.theta)
        seen = len(distribution), scores.hits, scores.misses, descent.theta.copy()
        step = Step(objective, float(losses[mode]), *seen)
        descent.steps.append(step)
        scores.run.tell(phase, step)
        converged = stopping.update(objective)
        if not converged:
            moved = adam.step(descent.theta, distribution.vjp(losses) + 2 * l2 * descent.theta)
            descent.theta = scores.constraints.project(moved)
        last = converged or len(descent.steps) == max_iter
        stage.keep(partial(_state, descent, adam, stopping, converged), always=last)


def _state(
    descent: Descent, adam: Adam, stopping: ApproximateConvergence, converged: bool
) -> tuple[Arrays, Header]:
    """All that the rest of a run depends on."""
    arrays, header = save_steps(descent.steps, adam, stopping)
    arrays |= {"theta": descent.theta, "best_theta": descent.best_theta, "best_order": descent.best_order}
    return arrays, header | {"best_loss": descent.best_loss, "converged": converged}


def _restore(
    descent: Descent, adam: Adam, stopping: ApproximateConvergence, arrays: Arrays, header: Header
) -> bool:
    """Go back to a saved state; whether it had converged."""
    descent.steps = restore_steps(arrays, header, adam, stopping)
    descent.theta, descent.best_theta = arrays["theta"], arrays["best_theta"]
    descent.best_order, descent.best_loss = arrays["best_order"], header["best_loss"]
    return bool(header["converged"])
