"""Runs of an experiment, each with a key that is the same on any machine and any day."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from daguerreotype._lib.fingerprint import digest_table
from daguerreotype.datasets import Dataset
from daguerreotype.experiments.method import Method, list_edges
from daguerreotype.experiments.problems import DataSource
from daguerreotype.experiments.spec import Spec
from daguerreotype.experiments.store import LEFT_OUT, Store


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

    def entry(self) -> dict[str, Any]:
        """How a plan lists it."""
        return {
            "key": self.key,
            "problem": self.problem.label,
            "method": self.method.label,
            "group": self.method.group,
            "repeat": self.repeat,
            "varied": {**self.problem.varied, **self.method.varied},
        }


@dataclass(frozen=True)
class LeftOut:
    """A method that the spec does not run on a problem, for which tables have a row that says why."""

    problem: DataSource
    method: Method
    repeat: int = 0

    def entry(self) -> dict[str, Any]:
        """How a plan lists it."""
        return {
            "key": "",
            "problem": self.problem.label,
            "method": self.method.label,
            "group": self.method.group,
            "repeat": self.repeat,
            "varied": {**self.problem.varied, **self.method.varied},
            "status": LEFT_OUT,
            "reason": self.method.left_out,
        }


def make_plan(spec: Spec, *, data_home: str | None = None, store: Store | None = None) -> list[Run]:
    """All runs of an experiment, in an order that has something of everything early on.

    With a store, the problems and the plan itself are written to it, so that tables and figures need nothing else.
    """
    planned = sorted(_runs(spec, data_home, store), key=lambda each: each.repeat)
    if store is not None:
        record = {
            "experiment": spec.name,
            "title": spec.title,
            "measures": list(spec.measures),
            "published": spec.published,
            "figures": [dict(figure) for figure in spec.figures],
            "entries": [each.entry() for each in planned],
        }
        if json.loads(json.dumps(record)) != store.plans.get(spec.name):
            store.append("plan", record)
    return [each for each in planned if isinstance(each, Run)]


def _runs(spec: Spec, data_home: str | None, store: Store | None) -> Iterator[Run | LeftOut]:
    """Runs problem by problem, each table loaded once."""
    for problem in spec.problems:
        digest = ""
        for repeat in range(spec.repeats):
            if not (digest and problem.one_table):
                data = problem.load(repeat, data_home)
                digest = digest_data(data, problem.recipe(repeat))
                if store is not None and digest not in store.problems:
                    columns = [str(name) for name in data.X.columns]
                    store.append(
                        "problem", {"data": digest, "columns": columns, "truth": list_edges(data.adjacency)}
                    )
            for method in spec.methods:
                if not method.runs_on(problem.varied):
                    if repeat == 0:
                        yield LeftOut(problem, method)
                elif repeat == 0 or method.draws or not problem.one_table:
                    yield _run(problem, method, repeat, data, digest, method.time_limit or spec.time_limit)


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
