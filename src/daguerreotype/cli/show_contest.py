"""What does a person, or a program, see of a comparison of methods?"""

import json
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.text import Text

from daguerreotype import __version__
from daguerreotype.cli.terminal import make_screen, make_table, say
from daguerreotype.experiments.compare import Contest, Row

METRICS = {"shd": "SHD", "sid": "SID", "f1": "F1"}


def to_json(contest: Contest) -> str:
    """One JSON object: means and single runs of every method, and their agreement."""
    agreement = contest.agreement()
    content = {
        "version": __version__,
        "data": {
            "name": contest.task.name,
            "rows": len(contest.task.table),
            "held_out": contest.n_held_out,
            "columns": list(contest.task.table.columns),
        },
        "seeds": list(contest.seeds),
        "time_limit": contest.time_limit,
        "methods": [_row(row) for row in contest.rows],
        "agreement": {
            str(first): dict(zip(map(str, agreement), map(_number, row), strict=True))
            for first, row in zip(agreement.index, agreement.to_numpy(), strict=True)
        },
        "interrupted": contest.interrupted,
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _row(row: Row) -> dict[str, Any]:
    """One method for a program."""
    names = row.finished[0].metrics or {} if row.finished else {}
    return {
        "method": row.method,
        "n_edges": row.mean("edges"),
        "seconds": row.mean("seconds"),
        "held_out_likelihood": row.mean("likelihood"),
        "metrics": {name: row.mean(name) for name in names} or None,
        "error": row.error,
        "runs": [
            {
                "seed": run.seed,
                "seconds": run.seconds,
                "held_out_likelihood": _number(run.likelihood),
                "metrics": run.metrics,
                "error": run.error,
                "edges": _edges(run.adjacency),
            }
            for run in row.runs
        ],
    }


def _edges(adjacency: pd.DataFrame | None) -> list[dict[str, str]] | None:
    """A graph for a program."""
    if adjacency is None:
        return None
    names = list(map(str, adjacency.columns))
    return [{"cause": names[i], "effect": names[j]} for i, j in np.argwhere(adjacency.to_numpy())]


def _number(value: Any) -> float | None:
    """A number that JSON has."""
    return None if value is None or not abs(value) < float("inf") else float(value)


def show_contest(contest: Contest, console: Console | None = None) -> None:
    """One line per method, and without a known graph how far the methods agree, on stdout."""
    console = make_screen(console)
    n_rows, n_columns = contest.task.table.shape
    console.print()
    say(console, Text.assemble((contest.task.name, "bold"), f": {n_rows} rows, {n_columns} columns"))
    scored = any(row.mean("likelihood") is not None for row in contest.rows)
    failed = any(row.error for row in contest.rows)
    numbers = ["edges", "seconds"] + ["held-out"] * scored
    numbers += list(METRICS.values()) if contest.known is not None else []
    table = make_table("method", *numbers, *[""] * failed, right=numbers)
    whole = len(contest.seeds) == 1
    for row in contest.rows:
        cells = [row.method, _shown(row.mean("edges"), 0 if whole else 1), _shown(row.mean("seconds"), 2)]
        cells += [_shown(row.mean("likelihood"), 3)] * scored
        if contest.known is not None:
            cells += [_shown(row.mean("shd"), 0 if whole else 1), _shown(row.mean("sid"), 0 if whole else 1)]
            cells += [_shown(row.mean("f1"), 2)]
        table.add_row(*cells, *[Text(row.error or "", style="yellow")] * failed)
    console.print(table)
    if not whole:
        say(console, f"means over {len(contest.seeds)} seeds", style="dim")
    if scored:
        say(
            console,
            f"held-out: log-likelihood per row of {contest.n_held_out} rows that no method saw; higher is better",
            style="dim",
        )
    if contest.known is not None:
        say(console, "SHD, SID: 0 is perfect; F1: 1 is perfect", style="dim")
    elif sum(bool(row.finished) for row in contest.rows) > 1:
        _show_agreement(contest, console)
    console.print()


def _show_agreement(contest: Contest, console: Console) -> None:
    """The matrix of agreement, shades for eyes."""
    agreement = contest.agreement()
    console.print()
    say(console, "Agreement: F1 of the edges, with direction, between every two graphs", style="bold")
    table = make_table("", *agreement.columns, right=list(agreement.columns))
    for first, row in zip(agreement.index, agreement.to_numpy(), strict=True):
        cells = (
            Text("" if value != value else f"{value:.2f}", style="" if value >= 0.5 else "dim") for value in row
        )
        table.add_row(first, *cells)
    console.print(table)


def _shown(value: float | None, digits: int) -> str:
    """A number, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"
