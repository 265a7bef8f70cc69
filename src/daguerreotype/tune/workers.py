"""Child processes that measure the parts of a criterion side by side, within a time limit."""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from daguerreotype._lib.checks import check_positive
from daguerreotype._lib.child_process import ChildPool, CrashError
from daguerreotype.baselines.limit import warm_up
from daguerreotype.tune.criteria import Part


class Workers:
    """Measures learners on the parts of a criterion.

    Parameters
    ----------
    parts : sequence of Part
        Measured in any order; the mean over them is always taken in theirs.
    n_jobs : int or None
        Processes, as joblib counts them.
    time_limit : float or None
        Seconds that all parts together may take; the seconds in which processes start do not count.
    """

    def __init__(self, parts: Sequence[Part], n_jobs: int | None, time_limit: float | None) -> None:
        self._parts = parts
        self._limit = None if time_limit is None else check_positive(time_limit, "time_limit")
        self._n_workers = min(effective_n_jobs(n_jobs or 1), len(parts))
        self._threads = ThreadPoolExecutor(self._n_workers)  # which wait for the processes
        self._pool: ChildPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()
        self._threads.shutdown()

    def measure(self, learner: Any) -> tuple[float, ...]:
        """Means over all parts, one number per objective."""
        if self._limit is None and self._n_workers == 1:
            measured = [part.measure(learner) for part in self._parts]
        else:
            measured = self._in_children(learner)
        means = np.mean(np.array(measured, dtype=np.float64), axis=0)
        if not np.isfinite(means).all():
            raise ValueError(f"the objectives are {means.tolist()}: expected finite numbers.")
        return tuple(means.tolist())

    def _in_children(self, learner: Any) -> list[tuple[float, ...]]:
        """What every part measures, in child processes."""
        running: dict[Future[tuple[float, ...]], int] = {}
        try:
            pool = self._open(learner)
            end = None if self._limit is None else time.monotonic() + self._limit
            measured: dict[int, tuple[float, ...]] = {}
            coming = iter(enumerate(self._parts))
            while len(measured) < len(self._parts):
                # No more than can run: what is not handed over need not be called back.
                for number, part in islice(coming, self._n_workers - len(running)):
                    running[self._threads.submit(pool.call, part.measure, learner)] = number
                left = None if end is None else max(end - time.monotonic(), 0.0)
                done, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
                if not done:
                    raise TimeoutError(f"did not finish within time_limit={self._limit:g} seconds")
                for future in done:
                    measured[running.pop(future)] = future.result()
        except BaseException as error:
            # What still runs does so for nothing, and a process that died has to load its libraries again.
            if running or isinstance(error, CrashError | KeyboardInterrupt):
                self._close()
            raise
        return [measured[number] for number in range(len(self._parts))]

    def _open(self, learner: Any) -> ChildPool:
        """Processes that have imported what they need, so that its seconds do not count."""
        if self._pool is None:
            self._pool = ChildPool()
            wait([self._threads.submit(self._pool.call, warm_up, learner) for _ in range(self._n_workers)])
        return self._pool

    def _close(self) -> None:
        """Kill all processes."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
