"""What does a person, or a program, see of a search for settings?"""

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from daguerreotype import __version__
from daguerreotype.cli.terminal import make_screen, make_table, say, show_facts
from daguerreotype.tune import Tuning

TITLES = {"shd": "SHD", "sid": "SID", "bic": "BIC per row"}
NOTES = {
    "shd": "SHD, SID: means over the problems; lower is better",
    "held-out": "held-out: log-likelihood per row that was not learned from; higher is better",
    "bic": "BIC per row: log-likelihood less half the log of the rows for every parameter; higher is better",
    "stability": "stability: agreement beyond chance of the graphs of halves of the rows; 1 is perfect",
}


def to_json(found: Tuning, name: str, storage: str | None) -> str:
    """One JSON object: what was chosen, what it is worth, and every trial."""
    trials = found.trials.reset_index().to_dict("records")
    content = {
        "version": __version__,
        "data": name,
        "objectives": found.directions,
        "chosen": {name: _plain(value) for name, value in found.chosen.items()},
        "scores": {row: {k: _plain(v) for k, v in found.scores.loc[row].items()} for row in found.scores.index},
        "front": [int(number) for number in found.front.index],
        "trials": [{str(key): _plain(value) for key, value in trial.items()} for trial in trials],
        "study": found.study_name,
        "storage": storage,
        "interrupted": found.interrupted,
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """A value that JSON has."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, str | bool | int) else str(value)


def show_tuning(found: Tuning, name: str, storage: str | None, console: Console | None = None) -> None:
    """What was chosen and what it is worth, on stdout."""
    console = make_screen(console)
    complete = int((found.trials.state == "COMPLETE").sum())
    failed = found.trials[found.trials.state == "FAIL"]
    console.print()
    front = f", {len(found.front)} on the Pareto front" if len(found.directions) > 1 else ""
    say(console, Text.assemble((name, "bold"), f": {complete} trial{'s' if complete != 1 else ''}{front}"))
    if len(failed):
        say(console, f"{len(failed)} failed; the last: {failed.reason.iloc[-1]}", style="yellow")
    titles = [TITLES.get(objective, objective) for objective in found.directions]
    table = make_table("", *titles, right=titles)
    for row, values in zip(found.scores.index, found.scores.to_numpy(), strict=True):
        table.add_row(row, *("-" if value != value else f"{value:.3f}" for value in values))
    console.print(table)
    say(console, NOTES[next(iter(found.directions))], style="dim")
    console.print()
    say(console, "Chosen", style="bold")
    console.print()
    show_facts(console, {setting: [Text(f"{value!r}")] for setting, value in found.chosen.items()})
    console.print()
    if storage is not None:
        say(
            console,
            f"study {found.study_name} in {storage}: the same command with more --trials goes on",
            style="dim",
        )
        console.print()
