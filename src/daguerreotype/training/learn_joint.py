"""What is left to do after joint training? Fine-tune the edges of the most probable order, as in the paper."""

import os
from collections.abc import Callable

import numpy as np

from daguerreotype.arrays import FloatArray
from daguerreotype.edges.base import EdgeEstimator, Table
from daguerreotype.edges.gradient import GradientEdges
from daguerreotype.training.bilevel import Operator
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.joint import train_joint
from daguerreotype.training.learn import Learned, Progress, Schedule, history_of, told
from daguerreotype.training.losses import Loss
from daguerreotype.training.scores import LocalScores


def learn_joint(
    table: Table,
    estimator: EdgeEstimator,
    loss: Loss,
    loss_name: str,
    operator: Operator,
    theta: FloatArray,
    schedule: Schedule,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    constraints: Constraints = FREE,
) -> Learned:
    """Learn an ordering and its edges in one loop; then fit the edges of its mode on their own."""
    assert isinstance(estimator, GradientEdges)
    found = train_joint(
        table,
        estimator,
        operator,
        theta,
        tau=schedule.tau,
        rate=schedule.rate,
        l2=schedule.l2,
        max_iter=schedule.max_iter,
        tolerance=schedule.tolerance,
        patience=schedule.patience,
        loss=loss_name,  # type: ignore[arg-type]
        progress=None if progress is None else lambda step: progress(told("train", step)),
        checkpoint=checkpoint,
        constraints=constraints,
    )
    order = found.best_order
    models = constraints.prepare(estimator, table)
    scores = LocalScores(
        models,
        loss,
        n_rows=table.n_rows,
        d=table.n_columns,
        max_bytes=schedule.cache_bytes,
        constraints=constraints,
    )
    fits = scores.fits_of(order)
    distribution = operator(found.best_theta, schedule.tau(max(len(found.steps) - 1, 0)))
    # All orders share the gates; where the mode's own fit opened one more, so would the others'.
    opened = found.gates > 0  # forbidden edges are not
    for node, fit in enumerate(fits):
        opened[fit.parents, node] = True
    return Learned(
        theta=found.best_theta,
        distribution=distribution,
        order=order,
        fits=fits,
        models=models,
        edge_probabilities=np.minimum(opened * distribution.edge_order_probabilities(), 1.0),
        loss=scores.loss_of(order),
        history=history_of(found.steps),
        interrupted=found.interrupted,
        n_rows=table.n_rows,
    )
