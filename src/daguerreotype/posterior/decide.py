"""The one graph that a posterior stands for, without weak edges: what is printed, drawn, saved and exported.

Of all graphs without cycles it agrees most with those of the posterior, pair by pair: two columns are connected if
they are in at least half of the probability, by the likelier arrow.

Many rows show ever weaker edges, which explain next to nothing of their effect. They say something about the
order, so that a search has them; but few people want to see them.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import SearchableModels, searchable
from daguerreotype.graphs.consensus import best_order, most_frequent
from daguerreotype.posterior.record import Posterior
from daguerreotype.training.state import State

CONNECTED = 0.5  # probability of any edge between two columns from which on one is shown
ALIKE = 1e-6  # difference of two directions' probabilities that says nothing
PARTS = 10**9  # of a probability, which orders are compared in
BETTER = 1e-6  # nats per row that an order must gain for the search to go on from it


def decide(state: State, posterior: Posterior | None) -> State:
    """The same with the graph that the posterior stands for, and mechanisms fitted anew where parents changed.

    The mode of the search stays where there is no posterior, and with estimators that cannot fit given parents.
    """
    training, rules = state.trained, state.plan.constraints.rules
    models = searchable(training.models)
    if posterior is None or models is None or training.scores is None or not training.scores.moves_obey:
        return state
    ranks = np.argsort(training.order)
    before, most = state.plan.constraints.before, None if rules is None else rules.max_parents
    graph = agreed_graph(posterior.probabilities, ranks, before, most)
    fits = list(training.fits)
    for node, fit in enumerate(training.fits):
        parents = np.flatnonzero(graph[:, node])
        if not np.array_equal(parents, fit.parents):
            fits[node] = models.fit_parents(node, parents)
    order = along(graph | before, training.order)
    scaled = state.scaled.with_effects([fit.scale for fit in fits])
    return replace(state, scaled=scaled, training=replace(training, fits=fits, order=order))


def agreed_graph(
    probabilities: FloatArray,
    ranks: IntArray,
    before: BoolArray | bool = False,
    most_parents: IntArray | None = None,
) -> BoolArray:
    r"""The DAG (d, d) of highest expected agreement with graphs that have edges with these probabilities (d, d).

    Connected are pairs with  p_ij + p_ji >= 1/2,  by the likelier arrow; where both are alike, by that along
    ``ranks`` (d,). Arrows that would close a cycle are left out: those against the order of the columns that
    maximises the sum of  p_ij - p_ji  over its arrows, and keeps i before j where ``before`` (d, d) says so. Of
    more parents than a node may have the likeliest stay.
    """
    p, alike = probabilities, np.abs(probabilities - probabilities.T) <= ALIKE
    connected = p + p.T >= CONNECTED
    np.fill_diagonal(connected, False)
    arrows: BoolArray = connected & np.where(alike, ranks[:, None] < ranks, p > p.T)
    by_rank = np.argsort(ranks)
    clear = np.where(arrows & ~alike, np.rint(PARTS * np.abs(p - p.T)), 0) + PARTS * p.size * np.asarray(before)
    clear = clear.astype(np.int64)
    order = by_rank[best_order(clear[np.ix_(by_rank, by_rank)])]
    places = np.argsort(order)
    along_order = places[:, None] < places
    arrows = connected & along_order & (arrows | alike)
    return arrows if most_parents is None else most_frequent(arrows, p, places, most_parents)


def along(graph: BoolArray, order: IntArray) -> IntArray:
    """The order of the columns of a DAG (d, d) that goes through them as ``order`` does wherever it can."""
    waiting, done, result = order.tolist(), np.zeros(len(graph), dtype=np.bool_), []
    while waiting:
        result.append(next(node for node in waiting if done[graph[:, node]].all()))
        waiting.remove(result[-1])
        done[result[-1]] = True
    return np.array(result, dtype=np.int64)


def likelier_order(state: State, posterior: Posterior) -> IntArray | None:
    """An order of the best graph that was met, if it is better than the one that the search found."""
    training = state.trained
    if not state.plan.training.refine or training.scores is None or training.order_given:
        return None
    before, ranks = state.plan.constraints.before, np.argsort(training.order)
    best = agreed_graph(
        posterior.graphs[0].astype(np.float64), ranks, before
    )  # the graph, but for arrows against that
    order = along(best | before, training.order)
    return order if training.scores.loss_of(order) < training.loss - BETTER else None


def leave_out_weak(state: State) -> State:
    r"""The same order, without edges that explain less than the share s of what is left of their effect.

    That is, if the effect, fitted on its other causes, loses less than :math:`-\frac12 \log(1 - s)` nats per row.
    Required edges stay; so do those of estimators that cannot judge parents one by one.
    """
    training, plan = state.trained, state.plan
    models = searchable(training.models)
    if models is None or plan.min_gain == 0.0:
        return state
    rules, d = plan.constraints.rules, len(training.fits)
    required = np.zeros((d, d), dtype=np.bool_) if rules is None else rules.required
    fits, weak, shares = list(training.fits), [], []
    for node, fit in enumerate(training.fits):
        parents = np.isin(np.arange(d), fit.parents)
        for parent, share in _weakest(models, node, parents, required[:, node], plan.min_gain):
            parents[parent] = False
            weak.append((parent, node))
            shares.append(share)
        if parents.sum() < fit.parents.size:
            fits[node] = models.fit_parents(node, np.flatnonzero(parents))
    if not weak:
        return state
    training = replace(training, fits=fits, weak=np.array(weak), weak_shares=np.array(shares))
    scaled = state.scaled.with_effects([fit.scale for fit in fits])
    return replace(state, scaled=scaled, training=training)


def _weakest(
    models: SearchableModels, node: int, parents: BoolArray, required: BoolArray, least: float
) -> Iterator[tuple[int, float]]:
    """The weakest parent again and again, and the share that it explains, while that is below the least.

    One at a time: of two causes that stand for each other both are weak, until one is gone.
    """
    while True:
        candidates: IntArray = np.flatnonzero(parents & ~required)
        if not candidates.size:
            return
        without = parents & ~np.eye(parents.size, dtype=np.bool_)[candidates]
        excess = models.score_parents(node, np.concatenate([parents[None], without]))[:, 0]
        lost = np.maximum(excess[1:] - excess[0], 0.0)  # nats per row
        place = int(np.argmin(lost))
        share = -float(np.expm1(-2.0 * lost[place]))
        if share >= least:
            return
        parents = without[place]
        yield int(candidates[place]), share
