"""Bilevel training: gradient steps on theta alone, with edges from a black box (eq. 10)."""

import logging
from dataclasses import dataclass, field

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.distribution import Operator, OrderDistribution
from daguerreotype.training.checkpoint import Stage
from daguerreotype.training.history import Step
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.run import Phase
from daguerreotype.training.schedule import Adam, ApproximateConvergence, Schedule, restore_steps, save_steps
from daguerreotype.training.warm_start import OperatorSteps, restore_distribution, save_distribution

ROUNDING = 1e-12  # of losses per row that are sums of the same terms
logger = logging.getLogger("daguerreotype")


@dataclass
class Training:
    """The state of a training run: where theta is, the best order met, and all steps so far."""

    theta: FloatArray
    best_theta: FloatArray
    best_order: IntArray
    best_loss: float = np.inf
    steps: list[Step] = field(default_factory=list)
    interrupted: bool = False
    best_distribution: OrderDistribution | None = None  # that of the best order, if only the steps before tell it


def train_bilevel(
    operator: Operator,
    scores: OrderScores,
    theta: FloatArray,
    schedule: Schedule,
    *,
    phase: Phase = "train",
    n_before: int = 0,
    stage: Stage | None = None,
) -> Training:
    r"""Minimise the expected loss of orderings over theta by Adam.

    .. math:: \min_\theta \sum_s p_s(\theta) \, L(\sigma_s) + l_2 \|\theta\|^2

    where L is the loss of the edges fitted to an ordering. Those fits do not depend on theta but through the
    orderings, so the gradient needs the losses alone: the vector-Jacobian product of the operator with them.
    Theta is projected on the scores whose order obeys the constraints of the scores after each step. The best
    mode met on the way is kept, so that the result is never worse than the start. Local fits do not
    depend on when they are made, so a run that goes on from a saved ``stage`` ends like one that never stopped. An
    operator that can begin where it ended does.
    ``n_before`` steps of the schedule were made in a phase before this one.
    """
    constraints = scores.constraints
    theta = constraints.project(theta)
    orders = OperatorSteps(operator)
    state = Training(theta.copy(), theta.copy(), constraints.sort(theta))
    adam = Adam(theta.size, schedule.rate)
    stopping = ApproximateConvergence(schedule.tolerance, schedule.patience)
    max_iter, l2 = max(schedule.max_iter - n_before, 1), schedule.l2
    converged = False
    saved = None if stage is None else stage.load()
    if saved is not None:
        converged = _restore(state, orders, adam, stopping, *saved)
    try:
        for iteration in range(len(state.steps), max_iter):
            if converged:
                break
            temperature = schedule.tau(n_before + iteration)
            distribution = orders(state.theta, temperature)
            losses = scores.losses(distribution)
            mode = distribution.mode_index
            if losses[mode] <= state.best_loss + ROUNDING:  # of equal modes the latest: theta has settled
                state.best_loss = min(state.best_loss, float(losses[mode]))
                state.best_theta = state.theta.copy()
                state.best_order = distribution.mode
                state.best_distribution = orders.last
            objective = float(distribution.probs @ losses + l2 * state.theta @ state.theta)
            seen = len(distribution), temperature, scores.fits.hits, scores.fits.misses, state.theta.copy()
            step = Step(objective, float(losses[mode]), *seen)
            state.steps.append(step)
            scores.run.tell(phase, step)
            converged = stopping.update(objective)
            if not converged:
                moved = adam.step(state.theta, distribution.vjp(losses) + 2 * l2 * state.theta)
                state.theta = constraints.project(moved)
            if stage is not None and stage.due(iteration + 1):
                stage.save(*_state(state, orders, adam, stopping, converged))
            elif stage is not None and (converged or iteration + 1 == max_iter):
                stage.keep(*_state(state, orders, adam, stopping, converged))
    except KeyboardInterrupt:
        state.interrupted = True
        logger.warning("interrupted after %d steps: the best order so far is kept.", len(state.steps))
    return state


def _state(
    state: Training, orders: OperatorSteps, adam: Adam, stopping: ApproximateConvergence, converged: bool
) -> tuple[Arrays, Header]:
    """All that the rest of a run depends on."""
    arrays, header = save_steps(state.steps, adam, stopping)
    arrays |= {"theta": state.theta, "best_theta": state.best_theta, "best_order": state.best_order}
    arrays |= save_distribution("last", orders.last) | save_distribution("best", state.best_distribution)
    return arrays, header | {"best_loss": state.best_loss, "converged": converged}


def _restore(
    state: Training,
    orders: OperatorSteps,
    adam: Adam,
    stopping: ApproximateConvergence,
    arrays: Arrays,
    header: Header,
) -> bool:
    """Go back to a saved state; whether it had converged."""
    state.steps = restore_steps(arrays, header, adam, stopping)
    state.theta, state.best_theta, state.best_order = (
        arrays[name] for name in ("theta", "best_theta", "best_order")
    )
    state.best_loss = header["best_loss"]
    orders.last, state.best_distribution = (restore_distribution(name, arrays) for name in ("last", "best"))
    return bool(header["converged"])
