"""How are all runs of an experiment made, each once? Over cores with joblib, over machines with dask."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Any, cast

from joblib import Parallel, delayed

from daguerreotype.experiments.methods import Method
from daguerreotype.experiments.plan import Run
from daguerreotype.experiments.problems import Data
from daguerreotype.experiments.store import FAILED, Store
from daguerreotype.experiments.worker import Crew

PAUSE = 0.5  # seconds between looks at what other processes do
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A run with all that a machine without our files needs."""

    key: str
    method: Method
    data: Data
    seed: int
    time_limit: float | None


def perform(task: Task, crew: Crew) -> tuple[str, Outcome]:
    """Make a run; returns its key and what became of it."""
    return task.key, crew.run(task.method, task.data, task.seed, task.time_limit)


def perform_there(task: Task) -> tuple[str, Outcome]:
    """The same on a machine of a cluster, whose processes end with the worker."""
    return perform(task, _crew_there())


@cache
def _crew_there() -> Crew:
    return Crew()


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
        run = open_runs.pop(key)
        tell(run, store.runs[key])

    def tasks() -> Iterator[Task]:
        for key, run in list(open_runs.items()):
            if _free(run, store, retry):
                data = run.problem.load(run.repeat, data_home)
                yield Task(key, run.method, data, run.repeat, run.time_limit)

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
    crew = Crew()
    # One by one and none ahead: what is not begun is free for other processes.
    parallel = Parallel(
        n_jobs, backend="threading", batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered"
    )
    try:
        yield from parallel(delayed(perform)(task, crew) for task in tasks)
    finally:
        crew.close()


def _over_machines(tasks: Iterator[Task], address: str) -> Generator[tuple[str, Outcome]]:
    """Outcomes as they come from a dask cluster; a run whose worker dies goes to another."""
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise ImportError(
            "runs go to other machines with dask, which is not installed. "
            'Run: pip install "daguerreotype[distributed]"'
        ) from error
    with cast(Any, Client)(address) as client:
        keys: dict[Any, str] = {}

        def submit(most: int) -> Iterator[Any]:
            for task in islice(tasks, most):
                future = client.submit(perform_there, task, pure=False)
                keys[future.key] = task.key
                yield future

        completed = cast(Any, as_completed)(list(submit(2 * max(sum(client.nthreads().values()), 1))))
        for future in completed:
            key, death = keys.pop(future.key), future.exception()
            if death is None:
                yield future.result()
            else:  # as when several workers died of it
                yield key, {"status": FAILED, "reason": f"{type(death).__name__}: {death}"}
            completed.update(list(submit(1)))
