"""Results of an experiment: the runs of its last plan as a table, their means, and the published numbers."""

from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.file_names import check_file_name
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.experiments.store import LEFT_OUT, OK, Store

FIXED = ["problem", "method", "group", "repeat", "key", "status", "reason", "time_limit"]
NO_MEASURES = {"key", "version", "data", "configuration", "time_limit", "status", "reason", "edges"}


def plan_of(store: Store, experiment: str) -> dict[str, Any]:
    """The last plan of an experiment."""
    if experiment not in store.plans:
        known = ", ".join(sorted(store.plans)) or "none"
        raise ValueError(f"{store.path} has no runs of {experiment!r}; it has those of: {known}.")
    return store.plans[experiment]


def collect(store: Store, experiment: str) -> pd.DataFrame:
    """One row for every run that is settled: what was varied, what became of it, and all measures.

    A method that the plan leaves out of a problem has one row there, with the status "left out".
    """
    rows = []
    for entry in plan_of(store, experiment)["entries"]:
        run = entry if entry.get("status") == LEFT_OUT else store.runs.get(entry["key"])
        if run is not None:
            fixed = {name: entry[name] for name in ("problem", "method", "group", "repeat", "key")}
            outcome = {name: run.get(name) for name in ("status", "reason", "time_limit")}
            measures = {name: value for name, value in run.items() if name not in {*NO_MEASURES, *entry}}
            rows.append(fixed | entry["varied"] | outcome | measures)
    return pd.DataFrame(rows, columns=None if rows else [*FIXED, *varied_names(store, experiment)])


def varied_names(store: Store, experiment: str) -> list[str]:
    """What differs among the problems and methods of an experiment."""
    entries = plan_of(store, experiment)["entries"]
    return list(dict.fromkeys(name for entry in entries for name in entry["varied"]))


def summarize(store: Store, experiment: str) -> pd.DataFrame:
    """Mean and standard deviation over repeats, in the order of the plan, beside what was published.

    For a measure ``m``: columns ``m``, ``m_sd`` and, where there is a published table, ``m_published``. ``runs``
    counts those that ended well, ``failed`` those that did not, and ``reason`` is that of the first. Where a
    method is left out both are 0, and ``reason`` says why.
    """
    plan, frame = plan_of(store, experiment), collect(store, experiment)
    by = ["problem", "method", "group", *varied_names(store, experiment)]
    known = load_published(plan["published"])
    rows = []
    for values, runs in frame.groupby(by, sort=False, dropna=False):
        good, bad = runs[runs["status"] == OK], runs[runs["status"] != OK]
        failed = int((bad["status"] != LEFT_OUT).sum())
        row = dict(zip(by, values, strict=True)) | {"runs": len(good), "failed": failed}
        row["reason"] = bad["reason"].iloc[0] if len(bad) else ""
        for measure in plan["measures"]:
            numbers = good[measure].dropna().astype(float) if measure in good else pd.Series(dtype=float)
            row[measure], row[f"{measure}_sd"] = numbers.mean(), numbers.std(ddof=0)  # NaN of none
            if measure in known:
                row[f"{measure}_published"] = known[measure].get(str(row["method"]), np.nan)
        rows.append(row)
    return pd.DataFrame(rows)


def load_published(name: str) -> pd.DataFrame:
    """The published table ``name`` by method, without rows if there is none."""
    if not name:
        return pd.DataFrame()
    check_file_name(name, "the published table")
    source = resources.files("daguerreotype.experiments").joinpath("published", f"{name}.csv")
    if not source.is_file():
        raise ValueError(f"there is no published table {name!r}: give 'sachs' or 'syntren', or leave it out.")
    with source.open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#", index_col="method")


def pareto_front(points: FloatArray) -> BoolArray:
    """Which points (m, 2) no other beats: as small in both coordinates, and smaller in one."""
    others = points[None, :, :]
    beaten = np.all(others <= points[:, None, :], axis=2) & np.any(others < points[:, None, :], axis=2)
    front: BoolArray = np.logical_not(np.any(beaten, axis=1))
    return front
