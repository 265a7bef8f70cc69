"""Which order is better nearby? Best-position moves, one variable at a time."""

import logging
from collections.abc import Callable

import numpy as np

from daguerreotype.arrays import IntArray
from daguerreotype.training.scores import LocalScores

logger = logging.getLogger("daguerreotype")

IMPROVEMENT = 1e-10  # of the loss per row; less is rounding


def refine_order(
    order: IntArray,
    scores: LocalScores,
    *,
    max_sweeps: int = 100,
    progress: Callable[[float], None] | None = None,
) -> tuple[IntArray, float, bool]:
    """Move one variable at a time to its best position until no move improves.

    Gradient steps swap neighbours; a variable far from its place would have to pass worse orders on the way.
    Here each variable is tried everywhere at once. Variables take turns in the order itself, so that the
    result does not depend on how columns are numbered.

    Returns the order, its loss, and whether Ctrl-C ended the search before its time.
    """
    order = np.array(order, dtype=np.int64)
    loss = scores.loss_of(order)
    try:
        for _ in range(max_sweeps):
            swept, moved_loss = _sweep(order, scores)
            improved = moved_loss < loss
            order, loss = (swept, moved_loss) if improved else (order, loss)
            if progress is not None:
                progress(loss)
            if not improved:
                break
    except KeyboardInterrupt:
        logger.warning("interrupted while refining: the order of the last full sweep is kept.")
        return order, loss, True
    return order, loss, False


def _sweep(order: IntArray, scores: LocalScores) -> tuple[IntArray, float]:
    """Give every variable one turn; the order and its loss, infinite if nothing moved."""
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
