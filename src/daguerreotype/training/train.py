"""Training on one table: learn the ordering, refine it, train on around the new mode; or keep a given order."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from daguerreotype._lib.fingerprint import digest
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import HasResiduals, LocalFit, LocalModels, offered
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.noise import NoiseModel
from daguerreotype.noise.free_shape import MAX_ROWS, excess_entropy, negentropy
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.bilevel import Training, train_bilevel
from daguerreotype.training.checkpoint import Stage
from daguerreotype.training.history import FitHistory, Step, history_of
from daguerreotype.training.line_price import settle_price
from daguerreotype.training.local_fits import spread_residuals
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.plan import Plan
from daguerreotype.training.refine import refine_order
from daguerreotype.training.run import Run
from daguerreotype.training.start import order_to_theta

logger = logging.getLogger("daguerreotype")

DOUBLINGS = 10  # of the distance between scores, for an order to be the most probable one


@dataclass(frozen=True)
class TrainingResult:
    """An ordering, the distribution around it, and the edges of its mode."""

    theta: FloatArray
    distribution: OrderDistribution
    order: IntArray
    fits: list[LocalFit]
    models: LocalModels
    edge_shares: FloatArray
    loss: float
    history: FitHistory
    interrupted: bool
    n_rows: int
    rows_per_node: IntArray | None = None  # rows that count for each node, where not all do
    holds_rows: bool = True  # whether residuals of the training rows can be had
    table: Table | None = None  # what was learned from
    order_given: bool = False  # or drawn, and not learned
    scores: OrderScores | None = field(default=None, repr=False, compare=False)  # what orders lose; not in files

    def residuals(self) -> list[FloatArray | None] | None:
        """Residuals of every node, its ties spread, on the first rows that count for it; None if not to be had.

        Discrete nodes have none. Of several completed tables they are those of the first.
        """
        models = offered(self.models, HasResiduals)
        if models is None or not self.holds_rows:
            return None
        dither = None if self.table is None else self.table.dither_by_node
        discrete = np.zeros(len(self.fits)) if self.table is None else self.table.discrete
        rows = np.full(len(self.fits), self.n_rows) if self.rows_per_node is None else self.rows_per_node
        rows = np.minimum(rows, MAX_ROWS)
        return [
            None if discrete[node] else spread_residuals(models.residuals(node, fit)[: rows[node]], node, dither)
            for node, fit in enumerate(self.fits)
        ]

    @cached_property
    def negentropy(self) -> float:
        """How far the residuals of the median node are from Gaussian, in nats per row; 0 if they cannot be had."""
        known = [each for each in self.residuals() or [] if each is not None]
        return float(np.median([negentropy(each) for each in known])) if known else 0.0

    @property
    def n_rows_used(self) -> int:
        """How many rows of each node, at most, its likelihood is taken from: the first ones that count for it."""
        by_rows = self.holds_rows and offered(self.models, HasResiduals) is not None
        return min(self.n_rows, MAX_ROWS) if by_rows else self.n_rows

    def log_likelihood(self) -> float:
        """Log-likelihood per row of the fitted model on the training table, less the BIC penalty.

        Noise may have any shape, whatever orders were compared by: so models that were learned under different
        noise compare. Where residuals cannot be had it is taken as Gaussian. Where not all rows count for a node,
        its mechanism does in those that do.
        """
        residuals = self.residuals()
        if residuals is None:
            nll = np.array([fit.nll for fit in self.fits])
        else:
            excess = [
                fit.excess if each is None else excess_entropy(each, "three-spacings")
                for fit, each in zip(self.fits, residuals, strict=True)
            ]
            nll = np.array(excess) + STANDARD_ENTROPY
        rows = np.full(nll.size, self.n_rows) if self.rows_per_node is None else self.rows_per_node
        penalty = 0.5 * np.log(rows) / rows * np.array([fit.dof for fit in self.fits])
        return -float(np.sum(rows / self.n_rows * (nll + penalty)))


def train(table: Table, plan: Plan, run: Run) -> TrainingResult:
    """Learn an ordering of the columns of ``table`` as planned, with its edges on their own or jointly."""
    if plan.joint and plan.operator is not None:
        from daguerreotype.training.joint.fine_tune import train_and_fine_tune  # needs torch

        return train_and_fine_tune(table, plan, run)
    return _train_order(make_scores(table, plan, run, plan.noise), table, plan, run, plan.start)


def train_on(
    found: TrainingResult,
    noise: Sequence[NoiseModel],
    table: Table,
    plan: Plan,
    run: Run,
    models: LocalModels | None = None,
) -> TrainingResult:
    """Go on under other noise models from an order that was found: it is near, so without restarts."""
    if models is None:  # those of training, which a final fit may have replaced
        models = found.models if found.scores is None else found.scores.models
    scores = make_scores(table, plan, run, noise, models)
    start = order_to_theta(found.order, plan.schedule.tau(0))
    return _train_order(scores, table, plan, run, start, first=False)


def train_again(
    order: IntArray, noise: Sequence[NoiseModel], table: Table, plan: Plan, run: Run, n_restarts: int = 0
) -> TrainingResult:
    """An order as good as any near one that was found, without a distribution around it: a short round of many."""
    if plan.joint and plan.operator is not None:
        return train(table, plan, run)
    scores = make_scores(table, plan, run, noise)
    interrupted = False
    if plan.operator is not None:
        order, _, interrupted = refine_order(order, scores, n_restarts=n_restarts)
    distribution, theta = OrderDistribution.of_order(order), order_to_theta(order, 1.0)
    return _around(distribution, theta, order, scores, table, plan, interrupted)


def train_around(found: TrainingResult, order: IntArray, scores: OrderScores, plan: Plan) -> TrainingResult:
    """The same around another order, by scores that know a graph in which no node has too many children.

    The distribution is the operator's around that order, without further training: that would go on without the
    limit, as orders are compared.
    """
    assert found.table is not None
    assert plan.operator is not None
    tau = plan.schedule.tau(max(len(found.history) - 1, 0))
    theta = order_to_theta(order, tau)
    distribution = plan.operator(theta, tau)
    for _ in range(DOUBLINGS):  # scores move apart until that order is the most probable one
        if np.array_equal(distribution.mode, order):
            break
        theta = 2.0 * theta
        distribution = plan.operator(theta, tau)
    else:
        distribution = OrderDistribution.of_order(order)
    return _around(distribution, theta, order, scores, found.table, plan, found.interrupted, found.history)


def prepare(table: Table, plan: Plan, run: Run) -> LocalModels:
    """The estimator with what it needs of a table, which may take long and leaves nothing behind."""
    with run.cancel.at_once():
        return plan.constraints.prepare(plan.estimator, table)


def make_scores(
    table: Table, plan: Plan, run: Run, noise: Sequence[NoiseModel], models: LocalModels | None = None
) -> OrderScores:
    """Losses of orderings of the table; models that were prepared before serve again."""
    return OrderScores(
        prepare(table, plan, run) if models is None else models,
        plan.objective,
        n_rows=table.n_rows,
        d=table.n_columns,
        noise=noise,
        rows_per_node=table.rows_per_node,
        constraints=plan.constraints,
        dither=table.dither_by_node,
        copies=table.copies,
        has_floor=plan.price.min_gain > 0.0,
        moves_obey=plan.constraints.moves_obey(plan.estimator),
        run=run,
    )


def _train_order(
    scores: OrderScores, table: Table, plan: Plan, run: Run, theta: FloatArray, first: bool = True
) -> TrainingResult:
    """Train, refine, train on. Only the ``first`` training of a table has restarts."""
    operator, schedule, before = plan.operator, plan.schedule, scores.models
    theta = plan.constraints.project(theta)
    steps: list[Step] = []
    refine_losses: list[float] = []
    refined_at = None
    if operator is None:
        order = plan.constraints.sort(theta)
        scores, _ = settle_price(scores, order, lambda models: make_scores(table, plan, run, scores.noise, models))
        distribution, interrupted = OrderDistribution.of_order(order), False
    else:
        stage = _stage("train", theta, 0, scores)
        state = train_bilevel(operator, scores, theta, schedule, stage=stage)
        steps = state.steps
        if first and not state.interrupted:
            try:
                scores, settled = settle_price(
                    scores,
                    state.best_order,
                    lambda models: make_scores(table, plan, run, scores.noise, models),
                    schedule.refine,
                )
            except KeyboardInterrupt:
                logger.warning("interrupted while lines were priced: the best order so far is kept.")
                state = replace(state, interrupted=True)
            if scores.models is not before:
                state = replace(state, best_order=settled, best_loss=np.inf)
        if schedule.refine and not state.interrupted:
            refined_at = len(steps)
            tau = schedule.tau(refined_at)
            order, refined, interrupted = refine_order(
                state.best_order,
                scores,
                n_restarts=schedule.n_restarts if first else 0,
                random_state=schedule.seed,
                progress=refine_losses.append,
            )
            if interrupted:
                state = Training(theta, order_to_theta(order, tau), order, refined, steps, interrupted)
            elif refined < state.best_loss:
                start = order_to_theta(order, tau)
                stage = _stage("resume", start, refined_at, scores)
                state = train_bilevel(
                    operator, scores, start, schedule, phase="resume", n_before=refined_at, stage=stage
                )
                steps = steps + state.steps
        theta, order, interrupted = state.best_theta, state.best_order, state.interrupted
        found = state.best_distribution
        distribution = operator(theta, schedule.tau(max(len(steps) - 1, 0))) if found is None else found
    history = history_of(steps, table.n_columns, refined_at, refine_losses)
    return _around(distribution, theta, order, scores, table, plan, interrupted, history)


def _around(
    distribution: OrderDistribution,
    theta: FloatArray,
    order: IntArray,
    scores: OrderScores,
    table: Table,
    plan: Plan,
    interrupted: bool,
    history: FitHistory | None = None,
) -> TrainingResult:
    """What was found, with the edges of its mode."""
    with scores.run.cancel.held():  # an order without its graph would be lost
        fits, loss = scores.graph_of(order)
        edge_shares = scores.edge_shares(distribution)
    found = TrainingResult(
        theta=theta,
        distribution=distribution,
        order=order,
        fits=fits,
        models=scores.models,
        edge_shares=edge_shares,
        loss=loss,
        history=history_of([], table.n_columns) if history is None else history,
        interrupted=interrupted,
        n_rows=table.n_rows,
        rows_per_node=table.rows_per_node,
        holds_rows=table.holds_rows,
        table=table,
        order_given=plan.operator is None,
        scores=scores,
    )
    scores.fits.rest()
    final = plan.estimator.for_final_fit() if isinstance(plan.estimator, GradientEdges) else None
    return found if final is None else _with_final_fit(found, final, scores, table, plan)


def _with_final_fit(
    found: TrainingResult, edges: GradientEdges, scores: OrderScores, table: Table, plan: Plan
) -> TrainingResult:
    """The same with the edges of its mode fitted once more, as these settings say."""
    from daguerreotype.training.joint.final_fit import fit_edges_of, parents_of  # needs torch

    final = fit_edges_of(
        found.order,
        table,
        edges,
        plan,
        scores.run,
        lambda models: make_scores(table, plan, scores.run, scores.noise, models),
    )
    # Other orders keep the edges that training gave them.
    ranks, distribution = np.argsort(found.order), found.distribution
    mass = distribution.probs[(distribution.ranks == ranks).all(axis=1)].sum()
    changed = final.parents.astype(np.float64) - parents_of(found.fits)
    return replace(
        found,
        fits=final.fits,
        models=final.models,
        edge_shares=np.clip(found.edge_shares + mass * changed, 0.0, 1.0),
        loss=final.loss,
        interrupted=found.interrupted or final.interrupted,
    )


def _stage(name: str, theta: FloatArray, n_before: int, scores: OrderScores) -> Stage | None:
    """What is saved of training that begins at ``theta``, after some steps of the schedule."""
    if scores.run.checkpoint is None:
        return None
    settings = {"theta": digest(theta), "n_before": n_before, "noise": repr(scores.noise)}
    return scores.run.stage(name, settings)
