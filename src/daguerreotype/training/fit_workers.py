"""Workers that make missing local fits: threads, or processes for fits that keep Python to themselves."""

import time
from collections.abc import Callable, Sequence
from pickle import PicklingError
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from daguerreotype._lib.parallel import Threads
from daguerreotype.edges.base import CanFork, LocalModels, NeedsProcesses, offered
from daguerreotype.training.run import Run

Result = TypeVar("Result")

START = 2.0  # seconds spent on fits after which more are likely to come than starting processes takes
WORTH = 0.1  # seconds of a batch below which sending it takes more than it gains
SHARES = 4  # of a batch for each process: some fits take longer than others


class FitWorkers:
    """Calls of a method of local models, several at once, with the same results as one after the other.

    Parameters
    ----------
    models : LocalModels
        Whose methods they are.
    run : Run
        How many threads or processes, and what may end a batch.
    """

    def __init__(self, models: LocalModels, run: Run) -> None:
        # Models that are forked for threads would wait for each other here.
        self._has_trees = offered(models, CanFork) is not None  # which a search adds to: it must come to its end
        self._threads = Threads(1 if self._has_trees else run.n_jobs)
        self._sent = run.n_jobs > 1 and offered(models, NeedsProcesses) is not None
        self._cancel = run.cancel
        self._seconds, self._calls = 0.0, 0

    def each(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """What ``method`` returns for each tuple of arguments."""
        expected = len(arguments) * self._seconds / max(self._calls, 1)
        if self._sent and self._seconds > START and expected > WORTH:
            try:
                with self._cancel.at_once():  # results of other processes are all that is waited for
                    return self._send(method, arguments)
            except PicklingError:
                self._sent = False  # a regressor that cannot leave its process

        def call(argument: tuple[Any, ...]) -> Result:
            if self._has_trees:
                self._cancel.check()
                return method(*argument)
            with self._cancel.at_once():
                return method(*argument)

        start = time.perf_counter()
        results = self._threads.each(call, arguments)
        self._seconds += time.perf_counter() - start
        self._calls += len(arguments)
        return results

    def rest(self) -> None:
        """Let threads end until there is more to do."""
        self._threads.rest()

    def _send(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """The same in processes, which stay for the next batch."""
        n_shares = min(SHARES * self._threads.n_jobs, len(arguments))
        with parallel_config("loky", inner_max_num_threads=1):
            shares = Parallel(self._threads.n_jobs, batch_size=1)(
                delayed(_call_all)(method, arguments[share::n_shares]) for share in range(n_shares)
            )
        results: list[Result] = [None] * len(arguments)  # type: ignore[list-item]
        for share, found in enumerate(shares):
            results[share::n_shares] = found
        return results


def _call_all(method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
    """The work of one process."""
    return [method(*argument) for argument in arguments]
