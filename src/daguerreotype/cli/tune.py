"""The verb ``tune``: a search for the settings of a learner."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daguerreotype import __version__
from daguerreotype._lib.labels import plural
from daguerreotype._lib.progress import Status, show_status
from daguerreotype.cli import options
from daguerreotype.cli.terminal import make_screen, make_table, say, show_facts

if TYPE_CHECKING:
    from daguerreotype.tune import Tuning

NOTES = {
    "shd": "SHD, SID: means over the problems; lower is better",
    "stability": "stability: agreement beyond chance of the graphs of halves of the rows; 1 is perfect",
}


def read_ranges(texts: list[str]) -> dict[str, tuple[Any, ...] | list[Any]] | None:
    """The space that NAME=LOW:HIGH, NAME=LOW:HIGH:log and NAME=A,B,... stand for; None for none."""
    space: dict[str, tuple[Any, ...] | list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise typer.BadParameter(
                f"{text!r} is not NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,...", param_hint="--space"
            )
        ends = values.split(":")
        space[name] = [*map(_read_value, values.split(","))] if len(ends) == 1 else (*map(_read_value, ends),)
    return space or None


def _read_value(text: str) -> Any:
    """A number, true, false or null, or else a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@options.with_reading
def tune(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Table to find settings for: CSV, Parquet, or - for CSV on standard input. Without it: synthetic "
            "problems whose graphs are known.",
        ),
    ] = None,
    edges: options.EdgesOption = options.Edges("gam"),
    space: Annotated[
        list[str],
        typer.Option(
            "--space",
            metavar="RANGE",
            show_default=False,
            help="What to search over, as NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,...; repeatable. "
            "edges.pruning is the pruning of the edges.",
        ),
    ] = [],  # noqa: B006
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Settings to try.")] = 50,
    seed: options.SeedOption = 0,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    **reading: Any,
) -> None:
    """Search for the settings of a learner.

    For a table of yours by the agreement of the graphs of halves of its rows; without one by SHD and SID on
    synthetic problems, as the paper's defaults were found.
    """
    ranges = read_ranges(space)
    with show_status(quiet, steps=trials) as status:
        task = None if data is None else options.read_table(status, data, **reading)
        from daguerreotype import Daguerreotype
        from daguerreotype.tune import tune, tune_table

        learner = Daguerreotype(edges=edges.value, random_state=seed)
        settings: dict[str, Any] = {
            "space": ranges,
            "n_trials": trials,
            "random_state": seed,
            "callback": lambda trial: _show_trial(trial, status),
        }
        status("the learner as it is")
        tuning = tune(learner, **settings) if task is None else tune_table(learner, task.table, **settings)
    name = "synthetic problems" if task is None else task.name
    if as_json:
        typer.echo(to_json(tuning, name))
    else:
        show_tuning(tuning, name)
    if tuning.interrupted:
        raise KeyboardInterrupt


def _show_trial(trial: dict[str, Any], status: Status) -> None:
    """A trial in a line."""
    values = trial["values"]
    outcome = trial["reason"] if values is None else ", ".join(f"{value:.4g}" for value in values)
    settings = ", ".join(
        f"{name} {f'{value:.4g}' if isinstance(value, float) else value}"
        for name, value in trial["settings"].items()
    )
    status.step(f"trial {trial['number']}: {settings}: {outcome}")
    status("the next trial")


def to_json(tuning: "Tuning", name: str) -> str:
    """One JSON object: what was chosen, what it is worth, and every trial."""
    trials = tuning.trials.reset_index().to_dict("records")
    content = {
        "version": __version__,
        "data": name,
        "objectives": tuning.directions,
        "chosen": {setting: _plain(value) for setting, value in tuning.chosen.items()},
        "scores": {row: {k: _plain(v) for k, v in tuning.scores.loc[row].items()} for row in tuning.scores.index},
        "front": [int(number) for number in tuning.front.index],
        "trials": [{str(key): _plain(value) for key, value in trial.items()} for trial in trials],
        "interrupted": tuning.interrupted,
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """A value that JSON has."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, str | bool | int) else str(value)


def show_tuning(tuning: "Tuning", name: str) -> None:
    """What was chosen, what it is worth and how to use it, on stdout."""
    from daguerreotype.metrics.summary import title_of

    console = make_screen()
    failed = tuning.trials[tuning.trials.reason != ""]
    complete = len(tuning.trials) - len(failed)
    console.print()
    front = f", {len(tuning.front)} on the Pareto front" if len(tuning.directions) > 1 else ""
    say(console, Text.assemble((name, "bold"), f": {complete} trial{plural(complete)}{front}"))
    if len(failed):
        say(console, f"{len(failed)} failed; the last: {failed.reason.iloc[-1]}", style="yellow")
    titles = [title_of(objective) for objective in tuning.directions]
    table = make_table("", *titles, right=titles)
    for row, values in zip(tuning.scores.index, tuning.scores.to_numpy(), strict=True):
        table.add_row(row, *("-" if value != value else f"{value:.3f}" for value in values))
    console.print(table)
    say(console, NOTES[next(iter(tuning.directions))], style="dim")
    console.print()
    say(console, "Chosen", style="bold")
    console.print()
    show_facts(console, {setting: [Text(f"{value!r}")] for setting, value in tuning.chosen.items()})
    console.print()
    say(console, "To use it in Python", style="bold")
    console.print()
    typer.echo("  " + " ".join(repr(tuning.best).split()))  # as it is, in one line: it is to be copied
    console.print()
