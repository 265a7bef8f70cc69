"""Levels whose order does not help to predict them from their causes lose it."""

from dataclasses import replace

import numpy as np

from daguerreotype.noise import NoiseModel, make_noise
from daguerreotype.training.search import prepare, search
from daguerreotype.training.state import State, with_families


def choose_families(state: State) -> State:
    """The same order, and what is found from there, with levels that have no order where that is likelier."""
    if not state.plan.families_open:
        return state
    with state.run.cancel.at_once():
        likelier = drop_orders_of_levels(state)
    if likelier == state.noise:
        return state
    scaled = replace(state.scaled, table=with_families(state.scaled.table, likelier))
    state = replace(state, scaled=scaled, noise=likelier)
    return search(state, state.trained.order, models=prepare(scaled.table, state.plan, state.run))


def drop_orders_of_levels(state: State) -> tuple[NoiseModel, ...]:
    """The noise models, but those of levels whose order does not help to predict them from their causes."""
    training, noise, table, plan = state.trained, state.noise, state.scaled.table, state.plan
    ordered = [node for node, model in enumerate(noise) if model == make_noise("ordinal")]
    if not ordered:
        return noise
    free = tuple(make_noise("categorical") if node in ordered else model for node, model in enumerate(noise))
    models = plan.constraints.prepare(plan.estimator, with_families(table, free))
    ranks = np.argsort(training.order)
    chosen, n_rows = list(noise), plan.penalty.evidence(table.n_rows)
    for node in ordered:
        before = np.flatnonzero(ranks < ranks[node])
        if plan.constraints.rules is not None:
            before = before[plan.constraints.rules.allowed[before, node]]
        costs = [
            fit.nll + 0.5 * np.log(n_rows) / n_rows * fit.dof
            for fit in (training.fits[node], models.fit(node, before))
        ]
        if costs[1] < costs[0]:
            chosen[node] = free[node]
    return tuple(chosen)
