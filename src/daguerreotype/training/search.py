"""The search for an order: gradient steps, best-position moves, and steps around what these found."""

from collections.abc import Sequence
from dataclasses import replace

from daguerreotype._lib.typing import IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import LocalModels
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.noise import FreeShape, Gaussian, NoiseModel
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.bilevel import Descent, train_bilevel
from daguerreotype.training.methods import order_to_theta
from daguerreotype.training.plan import Plan
from daguerreotype.training.refine import Moves, refine_order
from daguerreotype.training.run import Run, history_of
from daguerreotype.training.scores import OrderScores
from daguerreotype.training.state import State, TrainingResult, ended


def search(
    state: State,
    order: IntArray | None = None,
    *,
    models: LocalModels | None = None,
    n_restarts: int | None = None,
    briefly: bool = False,
) -> State:
    """Learn an order of the columns, with the edges of its graph: train, refine, train on around what that found.

    Parameters
    ----------
    state : State
        The table, on its scales, and the noise to compare orders under.
    order : array of shape (d,), optional
        Where to start: then without restarts. By default at the start of the plan, with its restarts.
    models : LocalModels, optional
        The estimator, if it was prepared with this table before.
    n_restarts : int, optional
        Restarts of refining.
    briefly : bool
        Only refine, without a distribution around the order: a short round of many.
    """
    plan, run, table = state.plan, state.run, state.scaled.table
    operator, training, constraints = plan.operator, plan.training, plan.constraints
    if plan.joint and operator is not None and (order is None or briefly):
        from daguerreotype.training.joint.search import search_jointly  # needs torch

        return search_jointly(state)
    models = prepare(table, plan, run) if models is None else models
    state = replace(state, noise=as_can_be(state.noise, models))
    scores = make_scores(table, plan, run, state.noise, models)
    start = plan.start if order is None else order_to_theta(order, plan.tau)
    descent = best = Descent.begin(start, constraints)
    if n_restarts is None:
        n_restarts = training.n_restarts if order is None else 0
    refined_at, moves, interrupted = None, Moves(descent.best_order), False
    try:
        if operator is not None and not briefly:
            train_bilevel(descent, operator, scores, training, tau=plan.tau)
        if operator is not None and (briefly or training.refine):
            refined_at = len(descent.steps)
            moves = Moves(descent.best_order)
            try:
                refine_order(moves, scores, n_restarts, plan.seed)
            finally:
                if moves.best_loss < descent.best_loss:
                    best = Descent.begin(order_to_theta(moves.best, plan.tau), constraints)
            if best is not descent and not briefly:
                train_bilevel(best, operator, scores, training, "resume", tau=plan.tau, n_before=refined_at)
    except KeyboardInterrupt:
        interrupted = True
    steps = descent.steps if best is descent else [*descent.steps, *best.steps]
    if operator is None or briefly:
        distribution = OrderDistribution.of_order(best.best_order)
    else:
        distribution = operator(best.best_theta, plan.tau)
    with run.cancel.held():  # an order without its graph would be lost
        fits, loss = scores.fits_of(best.best_order), scores.loss_of(best.best_order)
    scores.workers.threads.rest()
    result = TrainingResult(
        theta=best.best_theta,
        distribution=distribution,
        order=best.best_order,
        fits=fits,
        models=scores.models,
        loss=loss,
        history=history_of(steps, table.n_columns, refined_at, moves.swept_losses),
        interrupted=interrupted,
        n_rows=table.n_rows,
        rows_per_node=table.rows_per_node,
        holds_rows=table.holds_rows,
        table=table,
        order_given=operator is None,
        scores=scores,
    )
    final = plan.estimator.for_final_fit() if isinstance(plan.estimator, GradientEdges) else None
    if final is not None:
        from daguerreotype.training.joint.search import with_final_fit  # needs torch

        result = with_final_fit(result, final, plan, run, state.noise)
    scaled = state.scaled.with_effects([fit.scale for fit in result.fits])
    return ended(replace(state, scaled=scaled, training=result))


def as_can_be(noise: tuple[NoiseModel, ...], models: LocalModels) -> tuple[NoiseModel, ...]:
    """The noise models, Gaussian in the place of those that were left open where models have no residuals."""
    if models.can.residuals:
        return noise
    return tuple(Gaussian() if model == FreeShape(CHANCE) else model for model in noise)


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
        penalty=plan.penalty,
        moves_obey=plan.constraints.moves_obey(plan.estimator),
        run=run,
    )
