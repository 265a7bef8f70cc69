"""Results of an experiment: its runs, their means, published numbers, and tables in Markdown and CSV."""

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_file_name
from daguerreotype._lib.files import replace_text, write_csv
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.experiments.runs import LEFT_OUT, OK, Store
from daguerreotype.metrics.summary import title_of

FIXED = ["problem", "method", "repeat", "key", "status", "reason", "time_limit"]
NO_MEASURES = {"key", "version", "data", "configuration", "time_limit", "status", "reason", "edges"}
DIGITS = {"f1": 3, "precision": 3, "recall": 3, "skeleton_f1": 3, "seconds": 2, "wall_seconds": 2}


def plan_of(store: Store, experiment: str) -> dict[str, Any]:
    """The last plan of an experiment."""
    if experiment not in store.plans:
        names = ", ".join(sorted(store.plans)) or "none"
        raise ValueError(f"{store.path} has no runs of {experiment!r}; it has those of: {names}.")
    return store.plans[experiment]


def collect(store: Store, experiment: str) -> pd.DataFrame:
    """One row for every run that is settled: what was varied, what became of it, and all measures.

    A method that the plan leaves out of a problem has one row there, with the status "left out".
    """
    rows = []
    for entry in plan_of(store, experiment)["entries"]:
        run = entry if entry.get("status") == LEFT_OUT else store.runs.get(entry["key"])
        if run is not None:
            fixed = {name: entry[name] for name in ("problem", "method", "repeat", "key")}
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
    by = ["problem", "method", *varied_names(store, experiment)]
    published = load_published(plan["published"])
    rows = []
    for values, runs in frame.groupby(by, sort=False, dropna=False):
        good, bad = runs[runs["status"] == OK], runs[runs["status"] != OK]
        failed = int((bad["status"] != LEFT_OUT).sum())
        row = dict(zip(by, values, strict=True)) | {"runs": len(good), "failed": failed}
        row["reason"] = bad["reason"].iloc[0] if len(bad) else ""
        for measure in plan["measures"]:
            numbers = good[measure].dropna().astype(float) if measure in good else pd.Series(dtype=float)
            row[measure], row[f"{measure}_sd"] = numbers.mean(), numbers.std(ddof=0)  # NaN of none
            if measure in published:
                row[f"{measure}_published"] = published[measure].get(str(row["method"]), np.nan)
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
    own, rival = points[:, None, :], points[None, :, :]
    beaten = np.all(rival <= own, axis=2) & np.any(rival < own, axis=2)
    front: BoolArray = np.logical_not(np.any(beaten, axis=1))
    return front


# ---------------------------------------------------------------------------- tables


def write_tables(store: Store, experiment: str, folder: Path) -> list[Path]:
    """Write table.md, table.csv (means) and runs.csv (every run); returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarize(store, experiment)
    cells = table_cells(store, experiment, summary)
    title = str(plan_of(store, experiment)["title"])
    frames = {"table.csv": summary, "runs.csv": collect(store, experiment).drop(columns=["key"])}
    replace_text(folder / "table.md", f"{title}\n\n{to_markdown(cells)}\n")
    for name, frame in frames.items():
        write_csv(folder / name, frame.round(4), index=False)
    return [folder / name for name in ("table.md", *frames)]


def table_cells(store: Store, experiment: str, summary: pd.DataFrame) -> pd.DataFrame:
    """Text of every cell: mean ± standard deviation, the published value in brackets."""
    plan = plan_of(store, experiment)
    cells = pd.DataFrame(index=summary.index)
    if summary.empty:
        return cells
    if summary["problem"].nunique() > 1:
        cells["problem"] = summary["problem"]
    cells["method"] = summary["method"]
    for name in varied_names(store, experiment):
        cells[name] = [_plain(value) for value in summary[name]]
    for measure in plan["measures"]:
        published = summary.get(f"{measure}_published", pd.Series(np.nan, index=summary.index))
        columns = zip(summary[measure], summary[f"{measure}_sd"], published, summary["runs"], strict=True)
        cells[title_of(measure)] = [_cell(*values, digits=DIGITS.get(measure, 1)) for values in columns]
    counts = zip(summary["runs"], summary["failed"], summary["reason"], strict=True)
    cells["runs"] = [_count(*values) for values in counts]
    return cells


def to_markdown(cells: pd.DataFrame) -> str:
    """A table of Markdown."""
    header = [str(name) for name in cells.columns]
    lines = [header, ["---"] * len(header), *([str(cell) for cell in row] for row in cells.to_numpy())]
    return "\n".join(f"| {' | '.join(_in_markdown(cell) for cell in line)} |" for line in lines)


def _in_markdown(cell: str) -> str:
    """A cell that ends neither itself nor the table, and holds no markup."""
    return " ".join(cell.split()).replace("|", "/").replace("<", "&lt;")


def _cell(mean: float, deviation: float, published: float, runs: int, *, digits: int) -> str:
    """One cell."""
    ours = "–" if np.isnan(mean) else f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if runs > 1 else "")
    return ours if np.isnan(published) else f"{ours} [{published:.{digits}f}]"


def _count(good: int, bad: int, reason: str) -> str:
    """How many runs there were, and what was wrong with others."""
    if bad:
        return f"{good}; {bad} failed: {reason}"
    return str(good) if good else f"left out: {reason}"


def _plain(value: object) -> str:
    """A varied value, blank where a method does not have it."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:g}"
    return str(value)
