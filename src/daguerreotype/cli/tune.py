"""The verb ``tune``: a search for the settings of a learner."""

import json
import shlex
from collections.abc import Mapping
from enum import StrEnum
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
    from daguerreotype.knowledge import Knowledge
    from daguerreotype.tune import Tuning


Criterion = StrEnum("Criterion", options.choices(("held-out", "bic", "stability")))  # type: ignore[misc]
TITLES = {"bic": "BIC per row"}  # of criteria that are no metrics
NOTES = {
    "shd": "SHD, SID: means over the problems; lower is better",
    "held-out": "held-out: log-likelihood per row that was not learned from; higher is better",
    "bic": "BIC per row: log-likelihood less half the log of the rows for every parameter; higher is better",
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
    context: typer.Context,
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
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Tune a method of compare instead; needs --space."),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Start from the settings of the paper, for edges lars, linear and mlp.")
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
    ] = Criterion("stability"),
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
        int | None,
        typer.Option(
            metavar="N",
            callback=options.check_jobs,
            show_default=False,
            help="Processes for the fits of a trial; -1: one per core.",
        ),
    ] = None,
    knowledge: options.KnowledgeOption = None,
    max_parents: options.MaxParentsOption = [],  # noqa: B006
    max_children: options.MaxChildrenOption = [],  # noqa: B006
    kind: options.KindOption = [],  # noqa: B006
    seed: options.SeedOption = 0,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    **reading: Any,
) -> None:
    """Search for the settings of a learner.

    For a table of yours by what it tells itself; without one on synthetic problems, by SHD and SID, as the paper's
    defaults were found.
    """
    ranges = read_ranges(space)
    if knowledge is not None and data is None:
        raise typer.BadParameter("is about the columns of DATA; give it.", param_hint="--knowledge")
    for hint, texts in (("--max-parents", max_parents), ("--max-children", max_children)):
        if data is None and any("=" in text for text in texts):
            raise typer.BadParameter("is about a column of DATA; give it, or one number.", param_hint=hint)
    known = options.read_knowledge(knowledge, max_parents, max_children)
    with show_status(quiet, steps=trials) as status:
        kinds = options.read_kinds(kind)
        alone = baseline is not None
        task = None if data is None else options.read_table(status, data, None, kinds, alone, **reading)
        learner = _make_learner(edges, baseline, paper, known, kinds, seed)
        from daguerreotype.tune import paper_problems, tune, tune_table

        settings: dict[str, Any] = {
            "space": ranges,
            "n_trials": trials,
            "storage": storage,
            "study_name": study,
            "random_state": seed,
            "n_jobs": jobs,
            "time_limit": time_limit or None,
            "callback": lambda trial: _tell_trial(trial, status),
        }
        status("the learner as it is")
        if task is None:
            problems = paper_problems(n_datasets=datasets, random_state=seed)
            found = tune(learner, problems=problems, **settings)
        else:
            found = tune_table(learner, task.table, criterion=criterion.value, **settings)  # type: ignore[arg-type]
    name = f"{24 * datasets} synthetic problems" if task is None else task.name
    if as_json:
        typer.echo(to_json(found, name, storage))
    else:
        show_tuning(found, name, storage)
        fits = data is not None and baseline is None and not paper  # or the verb fit has no such learner
        show_use(found, fit_command(found.chosen, context) if fits else None)
    if found.interrupted:
        raise KeyboardInterrupt


def _make_learner(
    edges: options.Edges,
    baseline: str | None,
    paper: bool,
    known: "Knowledge | None",
    kinds: dict[str, str],
    seed: int,
) -> Any:
    """The learner that the options describe."""
    if baseline is not None:
        from daguerreotype import baselines

        return baselines.get(baseline, random_state=seed)
    from daguerreotype import Daguerreotype

    make: Any = Daguerreotype.paper if paper else Daguerreotype
    return make(edges=edges.value, kinds=kinds or "auto", knowledge=known, random_state=seed)


def _tell_trial(trial: dict[str, Any], status: Status) -> None:
    """A trial in a line."""
    values = trial["values"]
    found = trial["reason"] if values is None else ", ".join(f"{value:.4g}" for value in values)
    settings = ", ".join(f"{name} {_short(value)}" for name, value in trial["settings"].items())
    status.step(f"trial {trial['number']}: {settings}: {found}")
    status(f"last trial: {settings}: {found}" if status.on_screen else "the next trial")


def _short(value: Any) -> str:
    """A setting for eyes."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def fit_command(chosen: Mapping[str, Any], context: typer.Context) -> str | None:
    """The line that fits the same table with the chosen settings; None if one of them has no option.

    Options that were given, and that fit has too, are given again.
    """
    assert context.parent is not None
    verbs: Any = context.parent.command
    known = {each.name: each for each in verbs.get_command(context, "fit").params}
    if not set(chosen) <= set(known):
        return None
    words = ["daguerreotype", "fit", str(context.params["data"])]
    for each in context.command.params:
        source = context.get_parameter_source(str(each.name))
        given = source is not None and source.name == "COMMANDLINE"
        if given and each.name in known and each.name not in {"data", "as_json", "quiet", "jobs", *chosen}:
            value = context.params[str(each.name)]
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [each.opts[0]] if one is True else [each.opts[0], str(getattr(one, "value", one))]
    for name, value in chosen.items():
        words += [known[name].opts[0], f"{value:.6g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


def show_use(found: "Tuning", command: str | None) -> None:
    """How to use what was chosen: a line of the shell, or of Python where an option is missing."""
    console = make_screen()
    say(console, "To use them", style="bold")
    console.print()
    # As it is, in one line: it is to be copied.
    typer.echo("  " + (command or " ".join(repr(found.best).split())))
    console.print()


def to_json(found: "Tuning", name: str, storage: str | None) -> str:
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


def show_tuning(found: "Tuning", name: str, storage: str | None) -> None:
    """What was chosen and what it is worth, on stdout."""
    from daguerreotype.metrics.titles import title_of

    console = make_screen()
    complete = int((found.trials.state == "COMPLETE").sum())
    failed = found.trials[found.trials.state == "FAIL"]
    console.print()
    front = f", {len(found.front)} on the Pareto front" if len(found.directions) > 1 else ""
    say(console, Text.assemble((name, "bold"), f": {complete} trial{plural(complete)}{front}"))
    if len(failed):
        say(console, f"{len(failed)} failed; the last: {failed.reason.iloc[-1]}", style="yellow")
    titles = [TITLES.get(objective) or title_of(objective) for objective in found.directions]
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
        kept = f"study {found.study_name} in {storage}"
        say(console, f"{kept}: the same command with more --trials goes on", style="dim")
        console.print()
