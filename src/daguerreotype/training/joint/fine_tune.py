"""What is left to do after joint training? Fine-tune the edges of the most probable order, as in the paper."""

import os
from collections.abc import Callable

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.edges.base import EdgeEstimator, Table
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.training.bilevel import Operator
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.joint.train import train_joint
from daguerreotype.training.learn import Learned, Progress, Schedule, history_of, told
from daguerreotype.training.objective import Loss
from daguerreotype.training.order_scores import LocalScores


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
    """Learn an ordering and its edges in one loop; then fit the edges that its mode left open on their own."""
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
        counted=table.counted,
        n_jobs=schedule.n_jobs,
    )
    # What joint training closed stays closed: fine-tuning may only close more.
    opened = found.gates > 0
    ranks = np.argsort(order)
    used = opened & (ranks[:, None] < ranks)
    fits = scores.fits.fit_all([(node, np.flatnonzero(used[:, node])) for node in range(table.n_columns)])
    for node, fit in enumerate(fits):
        opened[np.setdiff1d(np.flatnonzero(used[:, node]), fit.parents), node] = False
    terms = scores.fits.terms_of(range(len(fits)), fits).sum(axis=0)
    distribution = operator(found.best_theta, schedule.tau(max(len(found.steps) - 1, 0)))
    return Learned(
        theta=found.best_theta,
        distribution=distribution,
        order=order,
        fits=fits,
        models=models,
        edge_probabilities=np.minimum(opened * distribution.edge_order_probabilities(), 1.0),
        loss=float(loss.total(terms, scores.weight)),
        history=history_of(found.steps, table.n_columns),
        interrupted=found.interrupted,
        n_rows=table.n_rows,
        counted=table.counted,
    )
