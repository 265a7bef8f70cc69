"""Best-position moves: one variable at a time goes to its best place in the order, until nothing improves."""

import logging
from collections.abc import Callable, Iterator

import numpy as np

from daguerreotype._lib.typing import IntArray
from daguerreotype.edges.grow_shrink.sweep import IMPROVEMENT
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.parallel_restarts import Sweep, restart_in_parallel

logger = logging.getLogger("daguerreotype")

SHAKEN = 0.3  # share of the variables that a restart moves
MOST_SHAKEN = 100  # more would make restarts most of the time of many variables


def refine_order(
    order: IntArray,
    scores: OrderScores,
    *,
    n_restarts: int = 0,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> tuple[IntArray, float, bool]:
    """Move one variable at a time to its best position until no move improves, and again from shaken orders.

    Gradient steps swap neighbours; a variable far from its place would have to pass worse orders on the way.
    Here each variable is tried everywhere at once. Variables take turns in the order itself, so that the
    result does not depend on how columns are numbered. A restart puts some variables of the best order at
    random places and searches again from there. From an order that obeys the constraints of the scores, all obey.
    With several threads restarts run ahead of their turn where models can be forked; the result is the same.

    Returns the order, its loss, and whether Ctrl-C ended the search before its time.
    """
    best = np.array(order, dtype=np.int64)
    best_loss = scores.loss_of(best)

    def improves(sweep: Sweep) -> bool:
        """Take the order of a sweep if it is better."""
        nonlocal best, best_loss
        found, loss = sweep
        better = loss < best_loss - IMPROVEMENT * max(1.0, abs(best_loss))
        if better:
            best, best_loss = found, loss
        if progress is not None:
            progress(best_loss)
        return better

    def start(restart: int) -> IntArray:
        """Where a restart begins: it has a stream of its own, whatever the others drew."""
        stream = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(restart,)))
        return _shaken(best, stream, scores.constraints)

    try:
        for sweep in _descend(best, scores):
            improves(sweep)
        clones = scores.clones(min(scores.run.n_jobs, n_restarts))
        if clones:
            restart_in_parallel(start, n_restarts, clones, _descend, improves, scores.run.cancel.check)
        else:
            for restart in range(n_restarts):
                for sweep in _descend(start(restart), scores):
                    improves(sweep)
    except KeyboardInterrupt:
        logger.warning("interrupted while refining: the best order so far is kept.")
        return best, best_loss, True
    return best, best_loss, False


def _shaken(order: IntArray, rng: np.random.Generator, constraints: Constraints) -> IntArray:
    """The order with a share of its variables at random places, of those that they may take."""
    count = max(2, min(round(SHAKEN * order.size), MOST_SHAKEN))
    moved = rng.choice(order.size, size=min(count, order.size), replace=False)
    shaken = np.delete(order, moved)
    for node in order[moved]:
        first, last = constraints.window(int(node), shaken)
        shaken = np.insert(shaken, rng.integers(first, last + 1), node)
    return shaken


def _descend(order: IntArray, scores: OrderScores) -> Iterator[Sweep]:
    """The order and its loss after every sweep that improved it."""
    while True:
        order, loss = _sweep(order, scores)
        if loss == np.inf:
            return
        yield order, loss


def _sweep(order: IntArray, scores: OrderScores) -> Sweep:
    """Give every variable one turn; the order and its loss, infinite if nothing moved."""
    swept = scores.sweep(order)
    if swept is not None:
        return swept[0], np.inf if np.array_equal(swept[0], order) else swept[1]
    loss = np.inf
    for node in order.copy():
        at = int(np.flatnonzero(order == node)[0])
        others = np.delete(order, at)
        losses = scores.move_losses(int(node), others)
        best = int(np.argmin(losses))
        if losses[best] < losses[at] - IMPROVEMENT * max(1.0, abs(losses[at])):
            order = np.insert(others, best, node)
            loss = float(losses[best])
    return order, loss
