"""Threads that share out calls, and limits on threads of numerical libraries."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController, threadpool_limits

from daguerreotype._lib.labels import shown

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_jobs(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` stands for; one in a worker of joblib, whose siblings have the other cores."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be a whole number other than 0, or None, got {shown(n_jobs)}: 2 takes two threads, -1 "
            "one for every core, None one."
        )
    if get_active_backend()[0].nesting_level:
        return 1
    return int(effective_n_jobs(n_jobs))


class Threads:
    """Up to ``n_jobs`` threads, the caller's among them, that share out calls.

    Whoever is free takes the next call, so that a few short ones are done before another thread has woken up.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool: ThreadPoolExecutor | None = None  # its threads end with it
        self._controller: Any = None

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """``function`` of every item, in their order; after an error or Ctrl-C nobody begins another."""
        n_others = min(self.n_jobs, len(items)) - 1
        if n_others < 1:
            return [function(item) for item in items]
        if self._pool is None:
            self._controller = controller = ThreadpoolController()
            # The limit on OpenMP is each thread's own. Others are the process's.
            self._pool = ThreadPoolExecutor(
                self.n_jobs - 1, "daguerreotype", initializer=lambda: controller.limit(limits=1)
            )
        places = iter(range(len(items)))  # of all threads: whoever is free takes the next
        results: dict[int, Result] = {}

        def work() -> None:
            try:
                for place in places:
                    results[place] = function(items[place])
            finally:
                deque(places, maxlen=0)  # after an error, nobody begins another

        futures: list[Future[None]] = []
        with self._controller.limit(limits=1):
            try:
                for _ in range(n_others):
                    futures.append(self._pool.submit(work))  # one by one: Ctrl-C may come in between
                work()
            finally:
                deque(places, maxlen=0)
                wait(futures)
        for future in futures:
            future.result()  # its error, if it had one
        return [results[place] for place in range(len(items))]

    def rest(self) -> None:
        """Let the other threads end; the next calls start new ones."""
        self._pool = None


class _OneThread:
    """Limits numerical libraries to one thread while any thread of this process is inside.

    The limit is one of the process: with limits of their own, the first fit to end would lift it for all.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


one_thread = _OneThread()
