"""Best-position moves: one variable at a time goes to its best place in the order, until nothing improves."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import IntArray
from daguerreotype.edges.grow_shrink.sweep import IMPROVEMENT
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.parallel_restarts import Sweep, restart_in_parallel

logger = logging.getLogger("daguerreotype")

SHAKEN = 0.3  # share of the variables that a restart moves
MOST_SHAKEN = 100  # more would make restarts most of the time of many variables


@dataclass
class _Search:
    """Where a search stands.

    Attributes
    ----------
    best, best_loss : array of shape (d,), float
        The best order so far.
    heard : list of float
        Its loss after every sweep.
    restart : int
        Which restart has its turn; -1 is the descent from the first order.
    descent : _Descent or None
        How far that has come; None before it begins.
    """

    best: IntArray
    best_loss: float = np.inf
    heard: list[float] = field(default_factory=list)
    restart: int = -1
    descent: "_Descent | None" = None

    def improves(self, sweep: Sweep) -> bool:
        """Take the order of a sweep if it is better."""
        found, loss = sweep
        better = loss < self.best_loss - IMPROVEMENT * max(1.0, abs(self.best_loss))
        if better:
            self.best, self.best_loss = found, loss
        self.heard.append(self.best_loss)
        return better

    def state(self) -> tuple[Arrays, Header]:
        """All that the rest of the search depends on."""
        arrays = {"best": self.best, "heard": np.array(self.heard)}
        header: Header = {"best_loss": self.best_loss, "restart": self.restart}
        if self.descent is not None:
            arrays |= {"order": self.descent.order, "turns": self.descent.turns}
            header["loss"] = self.descent.loss
        return arrays, header

    def restore(self, arrays: Arrays, header: Header) -> None:
        """Go back to a saved state."""
        self.best, self.heard = arrays["best"], arrays["heard"].tolist()
        self.best_loss, self.restart = header["best_loss"], header["restart"]
        if "order" in arrays:
            self.descent = _Descent(arrays["order"], arrays["turns"], header["loss"])


@dataclass
class _Descent:
    """How far sweeps from one order have come.

    Attributes
    ----------
    order : array of shape (d,)
        The order now.
    turns : array
        The variables that have not had their turn in this sweep.
    loss : float
        That of the order; infinite if nothing has moved in this sweep.
    """

    order: IntArray
    turns: IntArray
    loss: float = np.inf

    @classmethod
    def begin(cls, order: IntArray) -> "_Descent":
        """Before the first sweep."""
        return cls(order, order.copy())

    def go_on(self, scores: OrderScores, after: Callable[[], None] = lambda: None) -> Iterator[Sweep]:
        """The order and its loss after every sweep that improved it; ``after`` is called after every turn."""
        while True:
            self._sweep(scores, after)
            if self.loss == np.inf:
                return
            swept = self.order, self.loss
            self.turns, self.loss = self.order.copy(), np.inf
            yield swept

    def _sweep(self, scores: OrderScores, after: Callable[[], None]) -> None:
        """Give every variable that has not had it its turn."""
        whole = self.turns.size == self.order.size
        swept = scores.sweep(self.order) if whole else None
        if swept is not None:
            order, self.turns = self.order, self.turns[:0]
            self.order, self.loss = swept[0], np.inf if np.array_equal(swept[0], order) else swept[1]
            return
        while self.turns.size:
            node = int(self.turns[0])
            at = int(np.flatnonzero(self.order == node)[0])
            others = np.delete(self.order, at)
            losses = scores.move_losses(node, others)
            best = int(np.argmin(losses))
            if losses[best] < losses[at] - IMPROVEMENT * max(1.0, abs(losses[at])):
                self.order, self.loss = np.insert(others, best, node), float(losses[best])
            self.turns = self.turns[1:]
            after()


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
    search = _Search(np.array(order, dtype=np.int64))
    told = {"order": search.best.tolist(), "n_restarts": n_restarts, "seed": random_state}
    stage = scores.run.stage("refine", told)
    interrupted = False

    def improves(sweep: Sweep) -> bool:
        better = search.improves(sweep)
        if progress is not None:
            progress(search.best_loss)
        return better

    def keep() -> None:
        if stage is not None:
            stage.keep(*search.state())

    def turn() -> None:
        """Single turns are kept where they take long."""
        if stage is not None and stage.due(0):
            keep()

    def start(restart: int) -> IntArray:
        """Where a restart begins: it has a stream of its own, whatever the others drew."""
        stream = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(restart,)))
        return _shaken(search.best, stream, scores.constraints)

    def done(restart: int) -> None:
        search.restart, search.descent = restart + 1, None
        keep()

    def descend() -> None:
        """Go on to the end of one descent."""
        if search.descent is None:
            search.descent = _Descent.begin(search.best if search.restart < 0 else start(search.restart))
        for sweep in search.descent.go_on(scores, turn):
            improves(sweep)
            keep()
        done(search.restart)

    saved = None if stage is None else stage.load()
    try:
        if saved is None:
            search.best_loss = scores.loss_of(search.best)
        else:
            search.restore(*saved)
            if progress is not None:
                for loss in search.heard:
                    progress(loss)
        if search.restart < 0 or search.descent is not None:
            descend()
        clones = scores.clones(min(scores.run.n_jobs, n_restarts - search.restart))
        if clones:
            restart_in_parallel(
                start,
                range(search.restart, n_restarts),
                clones,
                lambda order, clone: _Descent.begin(order).go_on(clone),
                improves,
                scores.run.cancel.check,
                done,
            )
        while search.restart < n_restarts:
            descend()
    except KeyboardInterrupt:
        logger.warning("interrupted while refining: the best order so far is kept.")
        interrupted = True
    return search.best, search.best_loss, interrupted


def _shaken(order: IntArray, rng: np.random.Generator, constraints: Constraints) -> IntArray:
    """The order with a share of its variables at random places, of those that they may take."""
    count = max(2, min(round(SHAKEN * order.size), MOST_SHAKEN))
    moved = rng.choice(order.size, size=min(count, order.size), replace=False)
    shaken = np.delete(order, moved)
    for node in order[moved]:
        first, last = constraints.window(int(node), shaken)
        shaken = np.insert(shaken, rng.integers(first, last + 1), node)
    return shaken
