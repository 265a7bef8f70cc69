"""What follows joint training: the edges of the order that was learned, fitted on their own (needs torch)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daguerreotype._lib.typing import IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import LocalFit, LocalModels
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.noise import NoiseModel
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.joint.train import JointTraining, train_joint
from daguerreotype.training.methods import Joint, order_to_theta
from daguerreotype.training.objective import PenalizedLikelihood, Smooth
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run, history_of
from daguerreotype.training.scores import OrderScores
from daguerreotype.training.search import make_scores
from daguerreotype.training.state import State, TrainingResult, ended


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
    interrupted: bool = False

    @classmethod
    def of(cls, scores: OrderScores, fits: list[LocalFit], interrupted: bool = False) -> "FinalFit":
        """Fits of all nodes, and what they lose."""
        terms = scores.terms_of(range(len(fits)), fits).sum(axis=0)
        loss = float(scores.objective.total(terms, scores.weight))
        return cls(scores.models, fits, loss, interrupted)


def fit_edges_of(
    order: IntArray, table: Table, edges: GradientEdges, plan: Plan, run: Run, noise: Sequence[NoiseModel]
) -> FinalFit:
    """The edges of one order, each node on all that precede it, trained together from the start.

    It is joint training with an order that has all the mass: one loss of the whole graph, one sample of the gates
    per step, and the stopping rule of ``edges``. An objective without derivatives is replaced by the likelihood.
    """
    alone = OrderDistribution.of_order(order)
    trained = train_joint(
        table,
        edges,
        lambda theta, tau: alone,
        order_to_theta(order, 1.0),
        plan.objective if isinstance(plan.objective, Smooth) else PenalizedLikelihood(),
        Joint(l2=0.0, max_iter=edges.max_iter, tol=edges.tol, patience=edges.patience),
        tau=1.0,
        constraints=plan.constraints,
        run=run,
        phase="final fit",
    )
    with run.cancel.held():  # an order without its edges would be lost
        models = plan.constraints.prepare(edges, table)
        scores, rules = make_scores(table, plan, run, noise, models), plan.constraints.rules
        fits = [
            models.fit_from(node, np.flatnonzero(parents), trained.parameters)
            for node, parents in enumerate(trained.opened.T)
        ]
        if rules is not None:  # what has too many parents is fitted on its own
            for node, fit in enumerate(fits):
                if fit.parents.size > rules.most_parents(node):
                    fits[node] = scores.fit_all([(node, fit.parents)])[0]
        return FinalFit.of(scores, fits, trained.interrupted)


def with_final_fit(
    training: TrainingResult, edges: GradientEdges, plan: Plan, run: Run, noise: Sequence[NoiseModel]
) -> TrainingResult:
    """The same with the edges of its mode fitted once more, as these settings say."""
    assert training.table is not None
    final = fit_edges_of(training.order, training.table, edges, plan, run, noise)
    return replace(
        training,
        fits=final.fits,
        models=final.models,
        loss=final.loss,
        interrupted=training.interrupted or final.interrupted,
    )


def search_jointly(state: State) -> State:
    """Learn an ordering and its edges in one loop; then fit the edges of its mode on their own.

    What joint training closed stays closed, so that fine-tuning may only close more. Estimators with a final fit
    make it instead: from the start, and on all that precede a node.
    """
    plan, run, table = state.plan, state.run, state.scaled.table
    operator, objective, edges = plan.operator, plan.objective, plan.estimator
    assert operator is not None
    assert isinstance(objective, Smooth)
    assert isinstance(edges, GradientEdges)
    trained = train_joint(
        table,
        edges,
        operator,
        plan.start,
        objective,
        plan.training,
        tau=plan.tau,
        constraints=plan.constraints,
        run=run,
    )
    final = edges.for_final_fit()
    if final is not None:
        fitted = fit_edges_of(trained.best_order, table, final, plan, run, plan.noise)
    else:
        with run.cancel.held():  # an order without its edges would be lost
            fitted = _fine_tune(trained, make_scores(table, plan, run, plan.noise))
    distribution = operator(trained.best_theta, plan.tau)
    training = TrainingResult(
        theta=trained.best_theta,
        distribution=distribution,
        order=trained.best_order,
        fits=fitted.fits,
        models=fitted.models,
        loss=fitted.loss,
        history=history_of(trained.steps, table.n_columns),
        interrupted=trained.interrupted or fitted.interrupted,
        n_rows=table.n_rows,
        rows_per_node=table.rows_per_node,
        holds_rows=table.holds_rows,
        table=table,
    )
    return ended(replace(state, training=training))


def _fine_tune(trained: JointTraining, scores: OrderScores) -> FinalFit:
    """The edges of the best order by themselves, each node on the predecessors whose gates are open."""
    requests = [(node, np.flatnonzero(parents)) for node, parents in enumerate(trained.opened.T)]
    return FinalFit.of(scores, scores.fit_all(requests))
