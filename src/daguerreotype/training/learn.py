"""How do the parts of a fit play together? Train the ordering, refine it, train on around the new mode."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from daguerreotype._lib.parallel import Interruption
from daguerreotype._lib.progress import Progress as Progress
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.base import EdgeEstimator, HasResiduals, KeepsRequired, LocalModels, Table
from daguerreotype.edges.predictors import ENOUGH
from daguerreotype.operators import OrderDistribution
from daguerreotype.result import FitHistory, LocalFit
from daguerreotype.training.bilevel import Operator, Training, train_bilevel
from daguerreotype.training.checkpoint import Checkpoint, describe_run
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.objective import Loss, residual_entropy
from daguerreotype.training.order_scores import LocalScores
from daguerreotype.training.refine import refine_order
from daguerreotype.training.schedule import Step

GAP = 0.1  # score gap, in units of tau, between neighbours of an order that theta is made from


@dataclass(frozen=True)
class Schedule:
    """All numbers of a training run."""

    tau: Callable[[int], float]
    rate: float
    l2: float
    max_iter: int
    tolerance: float
    patience: int
    refine: bool
    n_restarts: int
    seed: int
    cache_bytes: float
    n_jobs: int = 1


@dataclass(frozen=True)
class Learned:
    """An ordering, the distribution around it, and the edges of its mode."""

    theta: FloatArray
    distribution: OrderDistribution
    order: IntArray
    fits: list[LocalFit]
    models: LocalModels
    edge_probabilities: FloatArray
    loss: float
    history: FitHistory
    interrupted: bool
    n_rows: int
    counted: IntArray | None = None  # rows that count for each node, where not all do

    def negentropy(self) -> float:
        """How far the residuals of the median node are from Gaussian, in nats per row; 0 if they cannot be had.

        The entropy that its residuals lack of a Gaussian of the same variance.
        """
        if not isinstance(self.models, HasResiduals):
            return 0.0
        residuals = (self.models.residuals(node, fit)[:ENOUGH] for node, fit in enumerate(self.fits))
        return float(np.median([np.log(each.std()) - residual_entropy(each, "maxent") for each in residuals]))

    @property
    def looked_at(self) -> int:
        """How many rows of each node, at most, its likelihood is taken from: the first ones that count for it."""
        return min(self.n_rows, ENOUGH) if isinstance(self.models, HasResiduals) else self.n_rows

    def log_likelihood(self) -> float:
        """Log-likelihood per row of the fitted model on the training table, less the BIC price.

        Noise may have any shape: minus its entropy, by spacings, is its log-likelihood. Where residuals cannot
        be had it is taken as Gaussian. Where not all rows count for a node, its mechanism does in those that do.
        """
        if isinstance(self.models, HasResiduals):
            residuals = (self.models.residuals(node, fit)[:ENOUGH] for node, fit in enumerate(self.fits))
            excess = np.array([residual_entropy(each, "spacings") for each in residuals])
        else:
            excess = np.array([0.5 * np.log(fit.variance) for fit in self.fits])
        counted = np.full(excess.size, self.n_rows) if self.counted is None else self.counted
        entropy = excess + 0.5 * (np.log(2 * np.pi) + 1)
        some = np.minimum(counted, self.looked_at)
        price = 0.5 * np.log(some) / some * np.array([fit.dof for fit in self.fits])
        return -float(np.sum(counted / self.n_rows * (entropy + price)))


def order_to_theta(order: IntArray, tau: float) -> FloatArray:
    """Scores that sort into ``order``, close enough for the distribution to reach its neighbours."""
    theta = np.empty(order.size)
    theta[order] = GAP * tau * (np.arange(order.size) - 0.5 * (order.size - 1))
    return theta


def learn(
    table: Table,
    estimator: EdgeEstimator,
    loss: Loss,
    operator: Operator | None,
    theta: FloatArray,
    schedule: Schedule,
    progress: Callable[[Progress], None] | None = None,
    models: LocalModels | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    constraints: Constraints = FREE,
    interruption: Interruption | None = None,
) -> Learned:
    """Learn an ordering of the columns of ``table``; without an operator, keep the order of ``theta``.

    ``models``, if given, are what the estimator prepared of this table before. With ``checkpoint``, a file,
    training is saved to it now and then, and goes on from it if it is there. Orders and edges obey the
    ``constraints``, given that the operator's do. An ``interruption`` ends it as Ctrl-C would.
    """
    models = constraints.prepare(estimator, table) if models is None else models
    scores = LocalScores(
        models,
        loss,
        n_rows=table.n_rows,
        d=table.n_columns,
        max_bytes=schedule.cache_bytes,
        constraints=constraints,
        moves_obey=isinstance(estimator, KeepsRequired),
        counted=table.counted,
        n_jobs=schedule.n_jobs,
        interruption=interruption,
    )
    theta = constraints.project(theta)

    def train(start: FloatArray, phase: Literal["train", "resume"], used: int) -> Training:
        assert operator is not None
        file = None
        if checkpoint is not None and phase == "train":
            # What follows this phase is made from its end alone, and made again after a resume.
            settings = {"rate": schedule.rate, "l2": schedule.l2, "loss": repr(loss), **constraints.settings()}
            known = describe_run(
                table, estimator, operator(start, schedule.tau(0)), start, schedule.tau, **settings
            )
            file = Checkpoint(checkpoint, known)
        return train_bilevel(
            operator,
            scores,
            start,
            tau=lambda iteration: schedule.tau(used + iteration),
            rate=schedule.rate,
            l2=schedule.l2,
            max_iter=max(schedule.max_iter - used, 1),
            tolerance=schedule.tolerance,
            patience=schedule.patience,
            progress=None if progress is None else lambda step: progress(told(phase, step)),
            checkpoint=file,
        )

    refine_losses: list[float] = []
    refined_at = None
    if operator is None:
        order = constraints.sort(theta)
        distribution = _single_order(order)
        steps: list[Step] = []
        interrupted = False
    else:
        state = train(theta, "train", 0)
        steps, interrupted = state.steps, state.interrupted
        if schedule.refine and not interrupted:
            order, refined, interrupted = refine_order(
                state.best_order,
                scores,
                n_restarts=schedule.n_restarts,
                random_state=schedule.seed,
                n_jobs=schedule.n_jobs,
                progress=refine_losses.append,
            )
            refined_at = len(steps)
            if interrupted:
                state.best_theta, state.best_order = order_to_theta(order, schedule.tau(refined_at)), order
            elif refined < state.best_loss:
                tau = schedule.tau(len(steps))
                state = train(order_to_theta(order, tau), "resume", refined_at)
                steps, interrupted = steps + state.steps, state.interrupted
        theta, order = state.best_theta, state.best_order
        distribution = operator(theta, schedule.tau(max(len(steps) - 1, 0)))
    return Learned(
        theta=theta,
        distribution=distribution,
        order=order,
        fits=scores.fits_of(order),
        models=models,
        edge_probabilities=scores.edge_probabilities(distribution),
        loss=scores.loss_of(order),
        history=history_of(steps, table.n_columns, refined_at, refine_losses),
        interrupted=interrupted,
        n_rows=table.n_rows,
        counted=table.counted,
    )


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


def told(phase: Literal["train", "refine", "resume"], step: Step) -> Progress:
    """The part of a step that a display shows."""
    return Progress(phase, step.objective, step.support, step.hits / max(step.hits + step.misses, 1))


def _single_order(order: IntArray) -> OrderDistribution:
    """All mass on one order; it has no derivative to speak of."""
    ranks = np.empty((1, order.size), dtype=np.int64)
    ranks[0, order] = np.arange(order.size)
    return OrderDistribution(np.ones(1), ranks, _no_gradient(order.size))


@dataclass(frozen=True)
class _no_gradient:  # noqa: N801
    d: int

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        return np.zeros(self.d)
