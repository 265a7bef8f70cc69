"""Runs of an experiment: a plan of them, a store that keeps every run, and child processes that make them."""

import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from daguerreotype._lib.child_process import ChildPool, CrashError, DeadlineError, describe_error
from daguerreotype._lib.store import Journal, digest_table, sole_use
from daguerreotype.datasets import Dataset
from daguerreotype.experiments.method import Method, list_edges
from daguerreotype.experiments.problems import DataSource
from daguerreotype.experiments.spec import Spec

OK, FAILED, TIMED_OUT = "ok", "failed", "timed out"
LEFT_OUT = "left out"  # of the plan: never run
SHOWN = 500  # characters of a reason
# What records of each kind cannot do without.
NEEDED: dict[str, dict[str, type]] = {
    "run": {"key": str, "status": str},
    "problem": {"data": str, "columns": list, "truth": list},
    "plan": {"experiment": str},
}
Outcome = dict[str, Any]


class Store:
    """Runs by their key, the tables that they were made with, and the plan of each experiment, in a journal.

    Whenever a process dies, the file holds all runs that had ended.

    Parameters
    ----------
    path : path
        The file, made with the first record.

    Attributes
    ----------
    runs : dict
        Key of a run to what became of it. Of several records the first that is ``ok`` counts, else the last.
    problems : dict
        Digest of the data to column names and true edges.
    plans : dict
        Name of an experiment to its last plan.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._journal = Journal(path, "runs of experiments")
        self.path = self._journal.path
        self.runs: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, dict[str, Any]] = {}
        self.plans: dict[str, dict[str, Any]] = {}
        for record in self._journal.read():
            self._take(record)

    def append(self, kind: str, record: dict[str, Any]) -> None:
        """Add a run, a problem or a plan; it is on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._journal.append({"record": kind} | record)
        self._take(json.loads(json.dumps({"record": kind} | record)))  # as it will be read

    def settled(self, key: str, time_limit: float | None, *, retry: bool = False) -> bool:
        """Whether a run need not be made: it is there, and more time or another try would not help."""
        run = self.runs.get(key)
        if run is None or run["status"] == OK:
            return run is not None
        if run["status"] == TIMED_OUT:
            return time_limit is not None and run["time_limit"] >= time_limit
        return not retry

    def _take(self, record: dict[str, Any]) -> None:
        """Sort a record in, if it has what a record of its kind has."""
        kind = record.pop("record", None)
        needed = NEEDED.get(kind, {}) if isinstance(kind, str) else {}
        if any(not isinstance(record.get(name), of) for name, of in needed.items()):
            return
        if kind == "run":
            own = self.runs.get(record["key"])
            if own is None or own["status"] != OK:
                self.runs[record["key"]] = record
        elif kind == "problem":
            self.problems[record["data"]] = record
        elif kind == "plan":
            self.plans[record["experiment"]] = record


# ---------------------------------------------------------------------------- the plan


@dataclass(frozen=True)
class Run:
    """One method on one table.

    Attributes
    ----------
    key : str
        SHA-256 of every setting of the method, its seed, the data and the version of the package. A limit of time
        is no part of it: what finished within a short one would have within a long one.
    problem, method, repeat
        What is run; the repeat is the seed.
    data : str
        Digest of the data.
    configuration : dict
        Every setting of the method, as JSON.
    time_limit : float or None
        Seconds that it may take.
    """

    key: str
    problem: DataSource
    method: Method
    repeat: int
    data: str
    configuration: dict[str, Any]
    time_limit: float | None

    @property
    def title(self) -> str:
        """What a person calls it."""
        varied = "".join(f", {name} {value}" for name, value in self.method.varied.items())
        return f"{self.method.label}{varied} on {self.problem.label}, repeat {self.repeat}"


def make_plan(spec: Spec, *, data_home: str | None = None, store: Store | None = None) -> list[Run]:
    """All runs of an experiment, in an order that has something of everything early on.

    With a store, the problems and the plan itself are written to it, so that tables and figures need nothing else.
    """
    runs: list[Run] = []
    entries: list[dict[str, Any]] = []  # of the runs, and of the methods that are left out of a problem
    for problem in spec.problems:
        digest = ""
        for repeat in range(spec.repeats):
            if not (digest and problem.one_table):
                data = problem.load(repeat, data_home)
                digest = digest_data(data, problem.recipe(repeat))
                if store is not None and digest not in store.problems:
                    columns = [str(name) for name in data.X.columns]
                    record = {"data": digest, "columns": columns, "truth": list_edges(data.adjacency)}
                    store.append("problem", record)
            for method in spec.methods:
                if not method.runs_on(problem.varied):
                    if repeat == 0:
                        reason = {"status": LEFT_OUT, "reason": method.left_out}
                        entries.append(_entry("", problem, method, 0) | reason)
                elif repeat == 0 or method.draws or not problem.one_table:
                    run = _run(problem, method, repeat, data, digest, spec.time_limit)
                    runs.append(run)
                    entries.append(_entry(run.key, problem, method, repeat))
    if store is not None:
        plan = {
            "experiment": spec.name,
            "title": spec.title,
            "measures": list(spec.measures),
            "published": spec.published,
            "figures": [dict(figure) for figure in spec.figures],
            "entries": sorted(entries, key=lambda entry: int(entry["repeat"])),
        }
        if json.loads(json.dumps(plan)) != store.plans.get(spec.name):
            store.append("plan", plan)
    return sorted(runs, key=lambda run: run.repeat)


def _entry(key: str, problem: DataSource, method: Method, repeat: int) -> dict[str, Any]:
    """How a plan lists a run."""
    return {
        "key": key,
        "problem": problem.label,
        "method": method.label,
        "repeat": repeat,
        "varied": {**problem.varied, **method.varied},
    }


def _run(
    problem: DataSource, method: Method, repeat: int, data: Dataset, digest: str, time_limit: float | None
) -> Run:
    """A run with its key."""
    configuration = method.describe(repeat, data.adjacency)
    identity = {"version": version("daguerreotype"), "data": digest, "configuration": configuration}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    key = hashlib.sha256(text.encode()).hexdigest()
    return Run(key, problem, method, repeat, digest, configuration, time_limit)


def digest_data(data: Dataset, recipe: dict[str, Any] | None = None) -> str:
    """Digest of the column names, the graph, and the values or, where there is one, the recipe that made them.

    Values that are drawn differ in their last digits among processors, which add in other orders.
    """
    values = digest_table(data.X) if recipe is None else json.dumps(recipe, sort_keys=True)
    names = "\0".join(map(str, data.X.columns))
    return hashlib.sha256(f"{values} {digest_table(data.adjacency)} {names}".encode()).hexdigest()


# ---------------------------------------------------------------------------- the work


def run_all(
    runs: Iterable[Run],
    store: Store,
    *,
    n_jobs: int = 1,
    data_home: str | None = None,
    retry: bool = False,
    callback: Callable[[Run, Outcome], None] = lambda run, outcome: None,
) -> None:
    """Make every run that the store does not have, and write each to it as it ends.

    Parameters
    ----------
    runs : iterable of Run
        What `make_plan` gives.
    store : Store
        Where results go; one process at a time.
    n_jobs : int
        Runs at a time.
    data_home : str or None
        Folder of SynTReN's files.
    retry : bool
        Make runs again that failed. Those that timed out are made again whenever there is more time.
    callback : callable
        Called with every run that has ended, and what became of it.
    """
    missing = {run.key: run for run in runs if not store.settled(run.key, run.time_limit, retry=retry)}
    store.path.parent.mkdir(parents=True, exist_ok=True)
    with sole_use(store.path), closing(_outcomes(missing.values(), n_jobs, data_home)) as outcomes:
        for key, outcome in outcomes:
            run = missing[key]
            record = {
                "key": key,
                "version": version("daguerreotype"),
                "data": run.data,
                "configuration": run.configuration,
                "time_limit": run.time_limit,
                **outcome,
            }
            store.append("run", record)
            callback(run, record)


def _outcomes(runs: Iterable[Run], n_jobs: int, data_home: str | None) -> Generator[tuple[str, Outcome]]:
    """Keys and outcomes as they come. Threads, each with a child process of its own that does the work."""

    def tasks() -> Iterator[tuple[Run, Dataset]]:
        digest, data = "", None  # a plan has runs of one table together
        for run in runs:
            if run.data != digest or data is None:
                digest, data = run.data, run.problem.load(run.repeat, data_home)
            yield run, data

    def perform(run: Run, data: Dataset) -> tuple[str, Outcome]:
        limit = run.time_limit
        return run.key, run_method(pool, run.method, data.X, run.repeat, truth=data.adjacency, limit=limit)

    pool = ChildPool()
    parallel = Parallel(
        n_jobs, backend="threading", batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered"
    )
    try:
        yield from parallel(delayed(perform)(run, data) for run, data in tasks())
    finally:
        pool.close()


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
