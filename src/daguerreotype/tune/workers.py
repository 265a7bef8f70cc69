"""How are the parts of a criterion measured? One by one, or in processes that can be ended after their time."""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from itertools import islice
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from daguerreotype._lib.checks import check_positive
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
        self._pool: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def measure(self, learner: Any) -> tuple[float, ...]:
        """Means over all parts, one number per objective."""
        if self._limit is None and self._n_workers == 1:
            measured = [part.measure(learner) for part in self._parts]
        else:
            measured = self._in_pool(learner)
        means = np.mean(np.array(measured, dtype=np.float64), axis=0)
        if not np.isfinite(means).all():
            raise ValueError(f"the objectives are {means.tolist()}: expected finite numbers.")
        return tuple(means.tolist())

    def _in_pool(self, learner: Any) -> list[tuple[float, ...]]:
        """What every part measures, in processes."""
        if self._pool is None:
            self._pool = _open_pool(self._n_workers, learner)
        end = None if self._limit is None else time.monotonic() + self._limit
        measured: dict[int, tuple[float, ...]] = {}
        running: dict[Future[tuple[float, ...]], int] = {}
        coming = iter(enumerate(self._parts))
        try:
            while len(measured) < len(self._parts):
                # No more than can run: what is not handed over need not be called back.
                for number, part in islice(coming, self._n_workers - len(running)):
                    running[self._pool.submit(_measure, part, learner)] = number
                left = None if end is None else max(end - time.monotonic(), 0.0)
                done, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
                if not done:
                    raise TimeoutError(f"did not finish within time_limit={self._limit:g} seconds")
                for future in done:
                    measured[running.pop(future)] = future.result()
        except BaseException as error:
            # What still runs does so for nothing, and a pool that lost a process is of no more use.
            if running or isinstance(error, BrokenExecutor):
                self._close()
            raise
        return [measured[number] for number in range(len(self._parts))]

    def _close(self) -> None:
        """End all processes."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._pool = None


def _open_pool(n_workers: int, learner: Any) -> Any:
    """Processes that have imported what they need, so that its seconds do not count."""
    from joblib.externals.loky import ProcessPoolExecutor

    # Not that of the standard library: a fork would inherit locks of threads, a spawn run the user's script again.
    pool = ProcessPoolExecutor(max_workers=n_workers)
    wait([pool.submit(_load, learner) for _ in range(n_workers)])
    return pool


def _measure(part: Part, learner: Any) -> tuple[float, ...]:
    """What one part measures; a function, so that processes know it by name."""
    return part.measure(learner)


def _load(learner: Any) -> None:
    """Import what ``learner`` needs and load the kernels."""
    from daguerreotype.learner import Daguerreotype

    if isinstance(learner, Daguerreotype):
        small = np.random.default_rng(0).normal(size=(40, 3))
        learner.set_params(max_iter=1, n_restarts=0, knowledge=None).fit(small)
