"""Bilevel training: gradient steps on theta alone, with edges from a black box (eq. 10)."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import partial

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.store import digest
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.distribution import Operator
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.methods import Bilevel, Joint
from daguerreotype.training.run import Phase, Step
from daguerreotype.training.scores import OrderScores

ROUNDING = 1e-12  # of losses per row that are sums of the same terms


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
    training: Bilevel | Joint,
    phase: Phase = "train",
    *,
    tau: float,
    n_before: int = 0,
) -> None:
    r"""Minimise the expected loss of orderings over theta by Adam.

    .. math:: \min_\theta \sum_s p_s(\theta) \, L(\sigma_s) + l_2 \|\theta\|^2

    where L is the loss of the edges fitted to an ordering. Those fits do not depend on theta but through the
    orderings, so the gradient needs the losses alone: the vector-Jacobian product of the operator with them.
    Theta is projected on the scores whose order obeys the constraints of the scores after each step. The best
    mode met on the way is kept, so that the result is never worse than the start. Local fits do not
    depend on when they are made, so a run that goes on from a checkpoint ends like one that never stopped.
    ``n_before`` of the most steps were made in a phase before this one. Ctrl-C leaves ``descent`` whole.
    """
    adam = Adam(descent.theta.size, training.learning_rate)
    stopping = ApproximateConvergence(training.tol, training.patience)
    max_iter, l2 = max(training.max_iter - n_before, 1), training.l2
    settings = {"theta": digest(descent.theta), "n_before": n_before, "noise": repr(scores.noise)}
    stage = scores.run.stage(phase, settings)
    saved = stage.load()
    converged = saved is not None and _restore(descent, adam, stopping, *saved)
    while not converged and len(descent.steps) < max_iter:
        distribution = operator(descent.theta, tau)
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
