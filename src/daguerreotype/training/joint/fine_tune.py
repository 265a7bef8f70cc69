"""Joint training as the paper does it: then the edges of the most probable order are fitted on their own."""

import numpy as np

from daguerreotype.data.table import Table
from daguerreotype.training.history import history_of
from daguerreotype.training.joint.train import train_joint
from daguerreotype.training.objective import Smooth
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.train import TrainingResult


def train_and_fine_tune(table: Table, plan: Plan, run: Run) -> TrainingResult:
    """Learn an ordering and its edges in one loop; then fit the edges that its mode left open on their own."""
    operator, schedule, objective = plan.operator, plan.schedule, plan.objective
    assert operator is not None
    assert isinstance(objective, Smooth)
    found = train_joint(
        table, plan.estimator, operator, plan.start, objective, schedule, constraints=plan.constraints, run=run
    )
    order = found.best_order
    models = plan.constraints.prepare(plan.estimator, table)
    scores = OrderScores(
        models,
        plan.objective,
        n_rows=table.n_rows,
        d=table.n_columns,
        rows_per_node=table.rows_per_node,
        constraints=plan.constraints,
        run=run,
    )
    # What joint training closed stays closed: fine-tuning may only close more.
    opened = found.gates > 0
    ranks = np.argsort(order)
    used = opened & (ranks[:, None] < ranks)
    fits = scores.fits.fit_all([(node, np.flatnonzero(used[:, node])) for node in range(table.n_columns)])
    fits = scores.limit_children(fits, used)
    for node, fit in enumerate(fits):
        opened[np.setdiff1d(np.flatnonzero(used[:, node]), fit.parents), node] = False
    terms = scores.fits.terms_of(range(len(fits)), fits).sum(axis=0)
    distribution = operator(found.best_theta, schedule.tau(max(len(found.steps) - 1, 0)))
    return TrainingResult(
        theta=found.best_theta,
        distribution=distribution,
        order=order,
        fits=fits,
        models=models,
        edge_shares=np.minimum(opened * distribution.edge_order_probabilities(), 1.0),
        loss=float(plan.objective.total(terms, scores.weight)),
        history=history_of(found.steps, table.n_columns),
        interrupted=found.interrupted,
        n_rows=table.n_rows,
        rows_per_node=table.rows_per_node,
        holds_rows=table.holds_rows,
        table=table,
    )
