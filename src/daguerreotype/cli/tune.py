"""The verb ``tune``: which settings suit a learner, or a table?"""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daguerreotype.cli.errors import INTERRUPTED
from daguerreotype.cli.options import (
    DelimiterOption,
    DropMissingOption,
    DropNonNumericOption,
    DropOption,
    Edges,
    EdgesOption,
    HeaderOption,
    JsonOption,
    KnowledgeOption,
    QuietOption,
    SeedOption,
)

if TYPE_CHECKING:
    from daguerreotype.cli.progress import Tell


class Criterion(StrEnum):
    """What a table without a known graph can tell about a setting."""

    HELD_OUT = "held-out"
    BIC = "bic"
    STABILITY = "stability"


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
    edges: EdgesOption = Edges.GAM,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Tune a method of compare instead; needs --space."),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option("--paper", help="Start from the settings of the paper, for edges lars, linear and mlp."),
    ] = False,
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
    criterion: Annotated[
        Criterion,
        typer.Option(
            metavar="NAME",
            help="How settings are judged on DATA. stability: agreement of the graphs of halves of the rows; "
            "held-out: likelihood of rows not learned from; bic. Without DATA it is SHD and SID.",
        ),
    ] = Criterion.STABILITY,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Trials of the study in all, by whomever.")] = 50,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default=False,
            help="Database that keeps the study, such as sqlite:///study.db: the same command goes on with it, "
            "and several machines can share it.",
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="Name of the study in the database.")
    ] = None,
    datasets: Annotated[
        int, typer.Option(metavar="N", min=1, help="Synthetic data sets of each of 24 kinds; fewer are faster.")
    ] = 3,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="What one trial may take; 0 for no limit.")
    ] = 0.0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", show_default=False, help="Processes for the fits of a trial.")
    ] = None,
    knowledge: KnowledgeOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    drop: DropOption = [],  # noqa: B006
    drop_non_numeric: DropNonNumericOption = False,
    drop_missing: DropMissingOption = False,
    delimiter: DelimiterOption = None,
    header: HeaderOption = None,
) -> None:
    """Search for the settings of a learner.

    For a table of yours by what it tells itself; without one on synthetic problems, by SHD and SID, as the paper's
    defaults were found.
    """
    ranges = read_ranges(space)
    if knowledge is not None and data is None:
        raise typer.BadParameter("is about the columns of DATA; give it.", param_hint="--knowledge")
    from daguerreotype.cli.progress import waiting

    with waiting(quiet, steps=trials) as tell:
        from daguerreotype.cli.inputs import read_input
        from daguerreotype.data.readers import Reading

        task = None
        if data is not None:
            task = read_input(data, Reading(drop, drop_non_numeric, drop_missing, delimiter, header))
            for note in task.notes:
                tell.note(f"note: {note}")
        learner = _make_learner(edges, baseline, paper, knowledge, seed)
        from daguerreotype.tune import paper_problems, tune, tune_table

        settings: dict[str, Any] = {
            "space": ranges,
            "n_trials": trials,
            "storage": storage,
            "study_name": study,
            "random_state": seed,
            "n_jobs": jobs,
            "time_limit": time_limit or None,
            "callback": lambda trial: _tell_trial(trial, tell),
        }
        tell("the learner as it is")
        if task is None:
            problems = paper_problems(n_datasets=datasets, random_state=seed)
            found = tune(learner, problems=problems, **settings)
        else:
            found = tune_table(learner, task.table, criterion=criterion.value, **settings)
    from daguerreotype.cli.show_tuning import show_tuning, to_json

    name = f"{24 * datasets} synthetic problems" if task is None else task.name
    if as_json:
        typer.echo(to_json(found, name, storage))
    else:
        show_tuning(found, name, storage)
    if found.interrupted:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED)


def _make_learner(edges: Edges, baseline: str | None, paper: bool, knowledge: Path | None, seed: int) -> Any:
    """The learner that the options describe."""
    if baseline is not None:
        from daguerreotype import baselines

        return baselines.get(baseline, random_state=seed)
    from daguerreotype import Daguerreotype
    from daguerreotype.knowledge import Knowledge

    known = None if knowledge is None else Knowledge.from_file(knowledge)
    if paper:
        return Daguerreotype.paper(edges=edges.value, knowledge=known, random_state=seed)  # type: ignore[arg-type]
    return Daguerreotype(edges=edges.value, knowledge=known, random_state=seed)


def _tell_trial(trial: dict[str, Any], tell: "Tell") -> None:
    """A trial in a line."""
    values = trial["values"]
    found = trial["reason"] if values is None else ", ".join(f"{value:.4g}" for value in values)
    settings = ", ".join(f"{name} {_short(value)}" for name, value in trial["settings"].items())
    tell.step(f"trial {trial['number']}: {settings}: {found}")
    tell(f"last trial: {settings}: {found}" if tell.on_screen else "the next trial")


def _short(value: Any) -> str:
    """A setting for eyes."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
