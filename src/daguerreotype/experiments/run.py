"""Runs of an experiment, each made once: in child processes over cores, or over machines with dask."""

import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from daguerreotype._lib.child_process import ChildPool, CrashError, DeadlineError, describe_error
from daguerreotype._lib.optional import require
from daguerreotype.datasets import Dataset
from daguerreotype.experiments.method import Method
from daguerreotype.experiments.plan import Run
from daguerreotype.experiments.store import FAILED, OK, TIMED_OUT, Store

PAUSE = 0.5  # seconds between looks at what other processes do
SHOWN = 500  # characters of a reason
Outcome = dict[str, Any]
Task = tuple[Run, Dataset]  # all that a machine without our files needs


def run_method(
    pool: ChildPool,
    method: Method,
    X: pd.DataFrame,
    seed: int,
    *,
    truth: pd.DataFrame | None = None,
    held_out: pd.DataFrame | None = None,
    limit: float | None = None,
    plain: tuple[type[Exception], ...] = (),
) -> Outcome:
    """One fit in a child process: its "status", and what `Method.fit` gives or the "reason" why it gives nothing.

    A reason begins with the type of the error, but for errors of the ``plain`` types, whose text says it all.
    """
    as_they_are: tuple[type[Exception], ...] = (CrashError, *plain)
    try:
        measures: Outcome = pool.call(method.fit, X, seed, truth, held_out, load=method.warm_up, limit=limit)
        return {"status": OK} | measures
    except DeadlineError as late:
        return {"status": TIMED_OUT, "reason": str(late)}
    except as_they_are as error:
        return {"status": FAILED, "reason": " ".join(str(error).split())[:SHOWN]}
    except Exception as error:  # whatever a method raises is its result
        return {"status": FAILED, "reason": describe_error(error)[:SHOWN]}


def perform(run: Run, data: Dataset, pool: ChildPool) -> tuple[str, Outcome]:
    """Make a run in a child process; returns its key and what became of it."""
    return run.key, run_method(pool, run.method, data.X, run.repeat, truth=data.adjacency, limit=run.time_limit)


def perform_there(run: Run, data: Dataset) -> tuple[str, Outcome]:
    """The same on a machine of a cluster, whose child processes end with the worker."""
    return perform(run, data, _pool_there())


_pool_there = cache(ChildPool)


def run_all(
    runs: Iterable[Run],
    store: Store,
    *,
    n_jobs: int = 1,
    scheduler: str | None = None,
    data_home: str | None = None,
    retry: bool = False,
    tell: Callable[[Run, Outcome], None] = lambda run, outcome: None,
) -> None:
    """Make every run that the store does not have, and write each to it as it ends.

    Parameters
    ----------
    runs : iterable of Run
        What `make_plan` gives.
    store : Store
        Where results go. Runs that another process is making on the same store are left to it; this one waits
        for them at the end, and makes those that the other gives up.
    n_jobs : int
        Runs at a time on this machine.
    scheduler : str or None
        Address of a dask scheduler, whose workers make the runs instead. They need this package, but neither
        our files nor the store.
    data_home : str or None
        Folder of SynTReN's files.
    retry : bool
        Make runs again that failed. Those that timed out are made again whenever there is more time.
    tell : callable
        Called with every run that is settled, and what became of it: finished now, before, or by another.
    """
    open_runs = {run.key: run for run in runs}

    def settle(key: str) -> None:
        tell(open_runs.pop(key), store.runs[key])

    def tasks() -> Iterator[Task]:
        known, data = "", None  # a plan has runs of one table together
        for run in list(open_runs.values()):
            if _free(run, store, retry):
                if run.data != known or data is None:
                    known, data = run.data, run.problem.load(run.repeat, data_home)
                yield run, data

    try:
        while open_runs:
            for key in [key for key, run in open_runs.items() if store.settled(key, run.time_limit, retry=retry)]:
                settle(key)
            made = 0
            spread = _over_cores(tasks(), n_jobs) if scheduler is None else _over_machines(tasks(), scheduler)
            with closing(spread) as outcomes:
                for key, outcome in outcomes:
                    store.append("run", _record(open_runs[key], outcome))
                    store.release(key)
                    settle(key)
                    made += 1
            retry = False  # once is enough
            if open_runs and not made:
                time.sleep(PAUSE)
                store.refresh()
    finally:
        store.close()


def _free(run: Run, store: Store, retry: bool) -> bool:
    """Claim a run, unless another process has it, or had it."""
    if not store.claim(run.key):
        return False
    store.refresh()  # now that nobody else can: what was settled before the claim shows
    if store.settled(run.key, run.time_limit, retry=retry):
        store.release(run.key)
        return False
    return True


def _record(run: Run, outcome: Outcome) -> dict[str, Any]:
    """What the store keeps of a run."""
    return {
        "key": run.key,
        "version": version("daguerreotype"),
        "data": run.data,
        "configuration": run.configuration,
        "time_limit": run.time_limit,
        **outcome,
    }


def _over_cores(tasks: Iterator[Task], n_jobs: int) -> Generator[tuple[str, Outcome]]:
    """Outcomes as they come. Threads, each with a child process of its own that does the work."""
    pool = ChildPool()
    # One by one and none ahead: what is not begun is free for other processes.
    parallel = Parallel(
        n_jobs, backend="threading", batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered"
    )
    try:
        yield from parallel(delayed(perform)(run, data, pool) for run, data in tasks)
    finally:
        pool.close()


def _over_machines(tasks: Iterator[Task], address: str) -> Generator[tuple[str, Outcome]]:
    """Outcomes as they come from a dask cluster; a run whose worker dies goes to another."""
    distributed = require(
        "distributed", "runs go to other machines with dask, which is not installed.", extra="distributed"
    )
    with distributed.Client(address) as client:
        keys: dict[Any, str] = {}

        def submit(most: int) -> Iterator[Any]:
            for run, data in islice(tasks, most):
                future = client.submit(perform_there, run, data, pure=False)
                keys[future.key] = run.key
                yield future

        completed = distributed.as_completed(list(submit(2 * max(sum(client.nthreads().values()), 1))))
        for future in completed:
            key, death = keys.pop(future.key), future.exception()
            if death is None:
                yield future.result()
            else:  # as when several workers died of it
                yield key, {"status": FAILED, "reason": f"{type(death).__name__}: {death}"}
            completed.update(list(submit(1)))


class Clock:
    """Counts what is settled, and estimates the seconds of what is not.

    A run is expected to take what its method took on its problem on average, else what the method took anywhere,
    else what all runs took.

    Parameters
    ----------
    runs : iterable of Run
        All of them.
    n_jobs : int
        Runs at a time.
    """

    def __init__(self, runs: Iterable[Run], n_jobs: int = 1) -> None:
        self._open = {run.key: run for run in runs}
        self._n_jobs = n_jobs
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self.total = len(self._open)
        self.failed = 0

    def count(self, run: Run, outcome: Outcome) -> None:
        """A run is settled."""
        self._open.pop(run.key, None)
        self.failed += outcome["status"] != OK
        seconds = outcome["time_limit"] if outcome["status"] == TIMED_OUT else outcome.get("wall_seconds", 0.0)
        for kind in _kinds(run):
            self._seconds[kind].append(float(seconds or 0.0))

    def left(self) -> float | None:
        """Seconds until all are settled; None as long as nothing is known."""
        if not self._seconds:
            return None
        return sum(self._expected(run) for run in self._open.values()) / self._n_jobs

    def _expected(self, run: Run) -> float:
        known = next(self._seconds[kind] for kind in _kinds(run) if kind in self._seconds)
        return sum(known) / len(known)


def _kinds(run: Run) -> list[tuple[str, ...]]:
    """What a run has in common with others, most first."""
    return [(run.method.label, run.problem.label), (run.method.label,), ()]
