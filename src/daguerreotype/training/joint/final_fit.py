"""The final fit of gradient-trained edges: all nodes together, along the order that was learned (needs torch)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from daguerreotype._lib.typing import BoolArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeEstimator, FitsFromParameters, LocalFit, LocalModels, offered
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.joint.train import train_joint
from daguerreotype.training.objective import PenalizedLikelihood, Smooth
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.start import order_to_theta


@dataclass(frozen=True)
class FinalFit:
    """Edges of one order.

    Attributes
    ----------
    models : LocalModels
        What predicts with the fits.
    fits : list of d LocalFit
        The fit of every node.
    loss : float
        What the order loses with them.
    interrupted : bool
        Whether Ctrl-C ended it before its time.
    """

    models: LocalModels
    fits: list[LocalFit]
    loss: float
    interrupted: bool

    @property
    def parents(self) -> BoolArray:
        """Whether i is a parent of j (d, d)."""
        return parents_of(self.fits)


def parents_of(fits: list[LocalFit]) -> BoolArray:
    """Whether i is a parent of j (d, d)."""
    parents = np.zeros((len(fits), len(fits)), dtype=np.bool_)
    for node, fit in enumerate(fits):
        parents[fit.parents, node] = True
    return parents


def fit_edges_of(
    order: IntArray,
    table: Table,
    edges: GradientEdges,
    plan: Plan,
    run: Run,
    scores_of: Callable[[LocalModels], OrderScores],
) -> FinalFit:
    """The edges of one order, each node on all that precede it, trained together from the start.

    It is joint training with an order that has all the mass: one loss of the whole graph, one sample of the gates
    per step, and the stopping rule of ``edges``. An objective without derivatives is replaced by the likelihood.
    """
    assert isinstance(edges, EdgeEstimator)
    schedule = replace(
        plan.schedule,
        tau=lambda _: 1.0,
        l2=0.0,
        max_iter=edges.max_iter,
        tolerance=edges.tol,
        patience=edges.patience,
    )
    alone = OrderDistribution.of_order(order)
    found = train_joint(
        table,
        edges,
        lambda theta, tau: alone,
        order_to_theta(order, 1.0),
        plan.objective if isinstance(plan.objective, Smooth) else PenalizedLikelihood(),
        schedule,
        constraints=plan.constraints,
        run=run,
        phase="final fit",
    )
    with run.cancel.held():  # an order without its edges would be lost
        scores = scores_of(plan.constraints.prepare(edges, table))
        models = offered(scores.models, FitsFromParameters)
        assert models is not None
        opened = (found.gates > 0) & (alone.ranks[0][:, None] < alone.ranks[0])
        columns = range(table.n_columns)
        fits = [models.fit_from(node, np.flatnonzero(opened[:, node]), found.parameters) for node in columns]
        fits = _obey_limits(fits, opened, scores)
        terms = scores.fits.terms_of(columns, fits).sum(axis=0)
    loss = float(scores.objective.total(terms, scores.weight))
    return FinalFit(scores.models, fits, loss, found.interrupted)


def _obey_limits(fits: list[LocalFit], opened: BoolArray, scores: OrderScores) -> list[LocalFit]:
    """The same without more parents and children than nodes may have; what changes is fitted on its own."""
    rules = scores.constraints.rules
    if rules is not None and rules.max_parents is not None:
        over = [node for node, fit in enumerate(fits) if fit.parents.size > rules.most_parents(node)]
        for node, fit in zip(
            over, scores.fits.fit_all([(node, fits[node].parents) for node in over]), strict=True
        ):
            fits[node] = fit
    return scores.limit_children(fits, opened)
