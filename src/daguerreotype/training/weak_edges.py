"""Weak edges, which are left out of the graph in the end: they explain next to nothing of their effect.

Many rows show ever weaker edges. They say something about the order, so that a search has them; but few people
want to see them.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from daguerreotype._lib.typing import BoolArray, IntArray
from daguerreotype.edges.base import SearchableModels, searchable
from daguerreotype.training.state import State


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
