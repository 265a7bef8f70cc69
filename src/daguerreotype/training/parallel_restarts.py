"""Speculative parallel restarts: searches that build on each other run ahead of their turn.

A restart begins at the best order that those before it found. Most find nothing better, so that the next ones may
begin at the best order so far without waiting. Where one does find better, those that ran ahead are dropped and
begin again from there: in the end all is as if they had come one after the other.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeAlias

from daguerreotype._lib.typing import IntArray
from daguerreotype.training.order_scores import OrderScores

Sweep: TypeAlias = tuple[IntArray, float]  # an order and its loss
Descend: TypeAlias = Callable[[IntArray, OrderScores], Iterator[Sweep]]

AHEAD = 2  # restarts per thread that may wait for their turn: some take longer than others
PATIENCE = 0.1  # seconds between two looks at whether somebody asked for an end


def restart_in_parallel(
    start: Callable[[int], IntArray],
    restarts: range,
    clones: list[OrderScores],
    descend: Descend,
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
    descend : callable
        The sweeps of a descent.
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
    ahead: deque[_Descent] = deque()  # those after the one whose turn it is, in turn
    pool = ThreadPoolExecutor(len(clones), "daguerreotype")
    running = None
    try:
        for restart in restarts:
            while len(ahead) < min(AHEAD * len(clones), restarts.stop - restart):
                ahead.append(_Descent(start(restart + len(ahead)), free, descend))
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


class _Descent:
    """A descent in another thread, whose sweeps are heard in this one."""

    def __init__(self, start: IntArray, free: "SimpleQueue[OrderScores]", descend: Descend) -> None:
        self._start, self._free, self._descend = start, free, descend
        self._heard: SimpleQueue[Sweep | BaseException | None] = SimpleQueue()
        self.dropped = False

    def run(self) -> None:
        """Descend until nothing improves, or nobody wants to know."""
        scores = self._free.get()
        try:
            sweeps = self._descend(self._start, scores)
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
