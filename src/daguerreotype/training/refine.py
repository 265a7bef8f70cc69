"""Best-position moves: one variable at a time goes to its best place in the order, until nothing improves.

Restarts build on each other: one begins at the best order that those before it found. Most find nothing better, so
that with several threads the next ones may begin at the best order so far without waiting. Where one does find
better, those that ran ahead are dropped and begin again from there: in the end all is as if they had come one
after the other.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TypeAlias

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import IntArray
from daguerreotype.edges.grow_shrink.sweep import IMPROVEMENT
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.scores import OrderScores

Sweep: TypeAlias = tuple[IntArray, float]  # an order and its loss

SHAKEN = 0.3  # share of the variables that a restart moves
MOST_SHAKEN = 100  # more would make restarts most of the time of many variables
MOST_AHEAD = 2  # restarts per thread that may wait for their turn: some take longer than others
PATIENCE = 0.1  # seconds between two looks at whether somebody asked for an end


@dataclass
class Moves:
    """Where the search by best-position moves stands.

    Attributes
    ----------
    best, best_loss : array of shape (d,), float
        The best order so far.
    swept_losses : list of float
        Its loss after every sweep.
    restart : int
        Which restart has its turn; -1 is the descent from the first order.
    descent : _Sweeps or None
        How far that has come; None before it begins.
    """

    best: IntArray
    best_loss: float = np.inf
    swept_losses: list[float] = field(default_factory=list)
    restart: int = -1
    descent: "_Sweeps | None" = None

    def improves(self, sweep: Sweep) -> bool:
        """Take the order of a sweep if it is better."""
        order, loss = sweep
        better = loss < self.best_loss - IMPROVEMENT * max(1.0, abs(self.best_loss))
        if better:
            self.best, self.best_loss = order, loss
        self.swept_losses.append(self.best_loss)
        return better

    def state(self) -> tuple[Arrays, Header]:
        """All that the rest of the search depends on."""
        arrays = {"best": self.best, "swept_losses": np.array(self.swept_losses)}
        header: Header = {"best_loss": self.best_loss, "restart": self.restart}
        if self.descent is not None:
            arrays |= {"order": self.descent.order, "turns": self.descent.turns}
            header["loss"] = self.descent.loss
        return arrays, header

    def restore(self, arrays: Arrays, header: Header) -> None:
        """Go back to a saved state."""
        self.best, self.swept_losses = arrays["best"], arrays["swept_losses"].tolist()
        self.best_loss, self.restart = header["best_loss"], header["restart"]
        if "order" in arrays:
            self.descent = _Sweeps(arrays["order"], arrays["turns"], header["loss"])


@dataclass
class _Sweeps:
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
    def begin(cls, order: IntArray) -> "_Sweeps":
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
            rest = np.delete(self.order, at)
            losses = scores.move_losses(node, rest)
            best = int(np.argmin(losses))
            if losses[best] < losses[at] - IMPROVEMENT * max(1.0, abs(losses[at])):
                self.order, self.loss = np.insert(rest, best, node), float(losses[best])
            self.turns = self.turns[1:]
            after()


def refine_order(
    moves: Moves,
    scores: OrderScores,
    n_restarts: int = 0,
    random_state: int = 0,
) -> None:
    """Move one variable at a time to its best position until no move improves, and again from shaken orders.

    Gradient steps swap neighbours; a variable far from its place would have to pass worse orders on the way.
    Here each variable is tried everywhere at once. Variables take turns in the order itself, so that the
    result does not depend on how columns are numbered. A restart puts some variables of the best order at
    random places and searches again from there. From an order that obeys the constraints of the scores, all obey.
    With several threads restarts run ahead of their turn where models can be forked; the result is the same.

    ``moves`` holds the best order so far and its loss at any time, also after Ctrl-C.
    """
    settings = {"order": moves.best.tolist(), "n_restarts": n_restarts, "seed": random_state}
    stage = scores.run.stage("refine", settings)

    def start(restart: int) -> IntArray:
        """Where a restart begins: it has a stream of its own, whatever the others drew."""
        stream = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(restart,)))
        return _shaken(moves.best, stream, scores.constraints)

    def done(restart: int) -> None:
        moves.restart, moves.descent = restart + 1, None
        stage.keep(moves.state, always=True)

    def descend() -> None:
        """Go on to the end of one descent."""
        if moves.descent is None:
            moves.descent = _Sweeps.begin(moves.best if moves.restart < 0 else start(moves.restart))
        for sweep in moves.descent.go_on(scores, lambda: stage.keep(moves.state)):
            moves.improves(sweep)
            stage.keep(moves.state, always=True)
        done(moves.restart)

    saved = stage.load()
    if saved is None:
        moves.best_loss = scores.loss_of(moves.best)
    else:
        moves.restore(*saved)
    if moves.restart < 0 or moves.descent is not None:
        descend()
    clones = scores.clones(min(scores.run.n_jobs, n_restarts - moves.restart))
    if clones:
        restarts = range(moves.restart, n_restarts)
        restart_in_parallel(start, restarts, clones, moves.improves, scores.run.cancel.check, done)
    while moves.restart < n_restarts:
        descend()


def _shaken(order: IntArray, rng: np.random.Generator, constraints: Constraints) -> IntArray:
    """The order with a share of its variables at random places, of those that they may take."""
    count = max(2, min(round(SHAKEN * order.size), MOST_SHAKEN))
    moved = rng.choice(order.size, size=min(count, order.size), replace=False)
    shaken = np.delete(order, moved)
    for node in order[moved]:
        first, last = constraints.window(int(node), shaken)
        shaken = np.insert(shaken, rng.integers(first, last + 1), node)
    return shaken


def restart_in_parallel(
    start: Callable[[int], IntArray],
    restarts: range,
    clones: list[OrderScores],
    improves: Callable[[Sweep], bool],
    check: Callable[[], None],
    done: Callable[[int], None],
) -> None:
    """Descend from ``start(restart)`` for every restart in turn, in a thread for each of ``clones``.

    Parameters
    ----------
    start : callable
        Where a restart begins, after all that ``improves`` has been told.
    restarts : range
        Their numbers.
    clones : list of OrderScores
        The same scores, for one thread each.
    improves : callable
        Told all sweeps, restart after restart; whether one is better than all before.
    check : callable
        Raises KeyboardInterrupt if somebody asked for an end.
    done : callable
        Told the number of every restart that has ended.
    """
    free: SimpleQueue[OrderScores] = SimpleQueue()
    for clone in clones:
        free.put(clone)
    ahead: deque[_Ahead] = deque()  # those after the one whose turn it is, in turn
    pool = ThreadPoolExecutor(len(clones), "daguerreotype")
    running = None
    try:
        for restart in restarts:
            while len(ahead) < min(MOST_AHEAD * len(clones), restarts.stop - restart):
                ahead.append(_Ahead(start(restart + len(ahead)), free))
                pool.submit(ahead[-1].run)
            running = ahead.popleft()
            for sweep in running.sweeps(check):
                if improves(sweep):
                    while ahead:
                        ahead.pop().dropped = True
            done(restart)
    finally:
        for descent in (running, *ahead):
            if descent is not None:
                descent.dropped = True
        pool.shutdown(cancel_futures=True)


class _Ahead:
    """A descent in another thread, whose sweeps are heard in this one."""

    def __init__(self, start: IntArray, free: "SimpleQueue[OrderScores]") -> None:
        self._start, self._free = start, free
        self._heard: SimpleQueue[Sweep | BaseException | None] = SimpleQueue()
        self.dropped = False

    def run(self) -> None:
        """Descend until nothing improves, or nobody wants to know."""
        scores = self._free.get()
        try:
            sweeps = _Sweeps.begin(self._start).go_on(scores)
            while not self.dropped and (sweep := next(sweeps, None)) is not None:
                self._heard.put(sweep)
            self._heard.put(None)
        except BaseException as error:
            self._heard.put(error)
        finally:
            self._free.put(scores)

    def sweeps(self, check: Callable[[], None]) -> Iterator[Sweep]:
        """All sweeps as they come."""
        while True:
            check()
            try:
                sweep = self._heard.get(timeout=PATIENCE)
            except Empty:
                continue
            if sweep is None:
                return
            if isinstance(sweep, BaseException):
                raise sweep
            yield sweep
