"""Joint training as the paper does it: then the edges of the most probable order are fitted on their own."""

import numpy as np

from daguerreotype._lib.typing import IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import LocalModels
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.training.history import history_of
from daguerreotype.training.joint.final_fit import FinalFit, fit_edges_of
from daguerreotype.training.joint.train import JointTraining, train_joint
from daguerreotype.training.objective import Smooth
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.train import TrainingResult, make_scores


def train_and_fine_tune(table: Table, plan: Plan, run: Run) -> TrainingResult:
    """Learn an ordering and its edges in one loop; then fit the edges of its mode on their own.

    What joint training closed stays closed, so that fine-tuning may only close more. Estimators with a final fit
    make it instead: from the start, and on all that precede a node.
    """
    operator, schedule, objective, edges = plan.operator, plan.schedule, plan.objective, plan.estimator
    assert operator is not None
    assert isinstance(objective, Smooth)
    assert isinstance(edges, GradientEdges)
    found = train_joint(
        table, edges, operator, plan.start, objective, schedule, constraints=plan.constraints, run=run
    )
    order, final = found.best_order, edges.for_final_fit()

    def scores_of(models: LocalModels) -> OrderScores:
        return make_scores(table, plan, run, plan.noise, models)

    if final is not None:
        fitted = fit_edges_of(order, table, final, plan, run, scores_of)
    else:
        with run.cancel.held():  # an order without its edges would be lost
            fitted = _fine_tune(found, scores_of(plan.constraints.prepare(edges, table)))
    ranks = np.argsort(order)
    # Against the mode, edges are as joint training left them.
    opened = np.where(ranks[:, None] < ranks, fitted.parents, found.gates > 0)
    distribution = found.best_distribution
    if distribution is None:
        distribution = operator(found.best_theta, schedule.tau(max(len(found.steps) - 1, 0)))
    return TrainingResult(
        theta=found.best_theta,
        distribution=distribution,
        order=order,
        fits=fitted.fits,
        models=fitted.models,
        edge_shares=np.minimum(opened * distribution.edge_order_probabilities(), 1.0),
        loss=fitted.loss,
        history=history_of(found.steps, table.n_columns),
        interrupted=found.interrupted or fitted.interrupted,
        n_rows=table.n_rows,
        rows_per_node=table.rows_per_node,
        holds_rows=table.holds_rows,
        table=table,
    )


def _fine_tune(found: JointTraining, scores: OrderScores) -> FinalFit:
    """The edges of the best order by themselves, each node on the predecessors whose gates are open."""
    ranks = np.argsort(found.best_order)
    used = (found.gates > 0) & (ranks[:, None] < ranks)
    requests: list[tuple[int, IntArray]] = [(node, np.flatnonzero(used[:, node])) for node in range(ranks.size)]
    fits = scores.limit_children(scores.fits.fit_all(requests), used)
    terms = scores.fits.terms_of(range(len(fits)), fits).sum(axis=0)
    return FinalFit(scores.models, fits, float(scores.objective.total(terms, scores.weight)), False)
