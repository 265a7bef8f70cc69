"""How is the ordering learned when edges come from a black box? Gradient steps on theta alone (eq. 10)."""

import logging
from collections.abc import Callable
from dataclasses import astuple, dataclass, field

import numpy as np

from daguerreotype.archive import Arrays, Header
from daguerreotype.arrays import FloatArray, IntArray
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.checkpoint import Checkpoint
from daguerreotype.training.scores import LocalScores
from daguerreotype.training.stopping import ApproximateConvergence

ROUNDING = 1e-12  # of losses per row that are sums of the same terms
logger = logging.getLogger("daguerreotype")

Operator = Callable[[FloatArray, float], OrderDistribution]


@dataclass(frozen=True)
class Step:
    """What one training step saw; handed to the progress callback and kept in the history."""

    objective: float
    mode_loss: float
    support: int
    tau: float
    hits: int
    misses: int


@dataclass
class Training:
    """The state of a training run: where theta is, the best order met, and all steps so far."""

    theta: FloatArray
    best_theta: FloatArray
    best_order: IntArray
    best_loss: float = np.inf
    steps: list[Step] = field(default_factory=list)
    interrupted: bool = False


def train_bilevel(
    operator: Operator,
    scores: LocalScores,
    theta: FloatArray,
    *,
    tau: Callable[[int], float],
    rate: float,
    l2: float,
    max_iter: int,
    tolerance: float,
    patience: int,
    progress: Callable[[Step], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Training:
    r"""Minimise the expected loss of orderings over theta by Adam.

    .. math:: \min_\theta \sum_s p_s(\theta) \, L(\sigma_s) + l_2 \|\theta\|^2

    where L is the loss of the edges fitted to an ordering. Those fits do not depend on theta but through the
    orderings, so the gradient needs the losses alone: the vector-Jacobian product of the operator with them.
    Theta is projected on the scores whose order obeys the constraints of the scores after each step. The best
    mode met on the way is kept, so that the result is never worse than the start. Local fits do not
    depend on when they are made, so a run that goes on from a ``checkpoint`` ends like one that never stopped.
    """
    constraints = scores.constraints
    theta = constraints.project(theta)
    state = Training(theta.copy(), theta.copy(), constraints.sort(theta))
    adam = Adam(theta.size, rate)
    stopping = ApproximateConvergence(tolerance, patience)
    converged = False
    saved = None if checkpoint is None else checkpoint.load()
    if saved is not None:
        converged = _restore(state, adam, stopping, *saved)
    try:
        for iteration in range(len(state.steps), max_iter):
            if converged:
                break
            temperature = tau(iteration)
            distribution = operator(state.theta, temperature)
            losses = scores.losses(distribution)
            mode = distribution.mode_index
            if losses[mode] <= state.best_loss + ROUNDING:  # of equal modes the latest: theta has settled
                state.best_loss = min(state.best_loss, float(losses[mode]))
                state.best_theta = state.theta.copy()
                state.best_order = distribution.mode
            objective = float(distribution.probs @ losses + l2 * state.theta @ state.theta)
            step = Step(objective, float(losses[mode]), len(distribution), temperature, scores.hits, scores.misses)
            state.steps.append(step)
            if progress is not None:
                progress(step)
            converged = stopping.update(objective)
            if not converged:
                moved = adam.step(state.theta, distribution.vjp(losses) + 2 * l2 * state.theta)
                state.theta = constraints.project(moved)
            if checkpoint is not None and (
                converged or iteration + 1 == max_iter or checkpoint.due(iteration + 1)
            ):
                checkpoint.save(*_state(state, adam, stopping, converged))
    except KeyboardInterrupt:
        state.interrupted = True
        logger.warning("interrupted after %d steps: the best order so far is kept.", len(state.steps))
    return state


def _state(
    state: Training, adam: "Adam", stopping: ApproximateConvergence, converged: bool
) -> tuple[Arrays, Header]:
    """All that the rest of a run depends on."""
    arrays: Arrays = {
        "theta": state.theta,
        "best_theta": state.best_theta,
        "best_order": state.best_order,
        **{f"adam{name}": each for name, each in vars(adam).items() if isinstance(each, np.ndarray)},
        "steps": np.array([astuple(step) for step in state.steps]),
    }
    header = {
        "best_loss": state.best_loss,
        "adam": {name: each for name, each in vars(adam).items() if not isinstance(each, np.ndarray)},
        "stopping": vars(stopping),
        "converged": converged,
    }
    return arrays, header


def _restore(
    state: Training, adam: "Adam", stopping: ApproximateConvergence, arrays: Arrays, header: Header
) -> bool:
    """Go back to a saved state; whether it had converged."""
    state.theta, state.best_theta, state.best_order = (
        arrays[name] for name in ("theta", "best_theta", "best_order")
    )
    state.best_loss = header["best_loss"]
    moments = {name.removeprefix("adam"): each for name, each in arrays.items() if name.startswith("adam_")}
    vars(adam).update(header["adam"] | moments)
    vars(stopping).update(header["stopping"])
    for objective, mode_loss, support, tau, hits, misses in arrays["steps"].tolist():
        state.steps.append(Step(objective, mode_loss, int(support), tau, int(hits), int(misses)))
    return bool(header["converged"])


class Adam:
    """Adam (Kingma and Ba 2015) on one vector, with its usual constants."""

    def __init__(self, size: int, rate: float) -> None:
        self.rate = rate
        self._mean, self._square, self._count = np.zeros(size), np.zeros(size), 0

    def step(self, theta: FloatArray, gradient: FloatArray) -> FloatArray:
        """Theta after one step along the gradient."""
        self._count += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        mean = self._mean / (1 - 0.9**self._count)
        square = self._square / (1 - 0.999**self._count)
        moved: FloatArray = theta - self.rate * mean / (np.sqrt(square) + 1e-8)
        return moved
