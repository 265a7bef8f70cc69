"""The verb ``compare``: what do several methods make of one table?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from daguerreotype.cli.errors import INTERRUPTED, NOTHING_LEARNED
from daguerreotype.cli.options import (
    DelimiterOption,
    DropMissingOption,
    DropNonNumericOption,
    DropOption,
    Edges,
    HeaderOption,
    JsonOption,
    QuietOption,
    TruthOption,
)

BASELINES = (
    *("notears", "notears-mlp", "golem-ev", "golem-nv", "cam", "npvar", "sortnregress", "r2-sortnregress"),
    *("bcd-nets", "vi-dp-dag-softsort", "vi-dp-dag-sinkhorn", "dagma", "boss", "grasp", "ges", "pc"),
    *("direct-lingam", "empty", "random"),
)
METHODS = (*(edges.value for edges in Edges), *BASELINES)
USUAL = "gam,bic,lars,boss,pc,direct-lingam,r2-sortnregress,random,empty"
HELD_OUT = 0.2


def _complete(incomplete: str) -> Iterator[str]:
    """Ways to go on with a list of methods."""
    before, comma, last = incomplete.rpartition(",")
    chosen = before.split(",")
    yield from (f"{before}{comma}{name}" for name in METHODS if name.startswith(last) and name not in chosen)


def _chosen(text: str) -> list[str]:
    """The methods of a list, each once."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise typer.BadParameter(
            f"{', '.join(map(repr, unknown)) or 'nothing'} is no method; choose among {', '.join(METHODS)}.",
            param_hint="--methods",
        )
    return names


def compare(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Table with one numeric column per variable: CSV, Parquet, or - for CSV on standard input. "
            "Without it: the Sachs protein network.",
        ),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            autocompletion=_complete,
            help=f"Edges of our learner ({', '.join(Edges)}) and baselines: {', '.join(BASELINES)}.",
        ),
    ] = USUAL,
    truth: TruthOption = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Run each method with N seeds and show the means.")
    ] = 1,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The first seed.")] = 0,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="What one run may take; 0 for no limit.")
    ] = 60.0,
    held_out: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.0,
            max=0.9,
            show_default=f"{HELD_OUT}, or 0 with a known graph",
            help="Share of rows kept from all methods, to see how likely what was learned makes them.",
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    drop: DropOption = [],  # noqa: B006
    drop_non_numeric: DropNonNumericOption = False,
    drop_missing: DropMissingOption = False,
    delimiter: DelimiterOption = None,
    header: HeaderOption = None,
) -> None:
    """Learn the graph of one table by several methods.

    One line per method: edges, seconds, log-likelihood of held-out rows where the method has one, and against a
    known graph SHD, SID and F1. Without a known graph: how far the methods agree. A method that fails or takes
    too long is a line with the reason.
    """
    names = _chosen(methods)
    from daguerreotype.cli.progress import waiting

    with waiting(quiet, steps=len(names) * seeds) as tell:
        from daguerreotype.cli.inputs import read_input
        from daguerreotype.data.graph_files import read_graph
        from daguerreotype.data.readers import Reading

        task = read_input(data, Reading(drop, drop_non_numeric, drop_missing, delimiter, header))
        known = task.known if truth is None else read_graph(truth, tuple(task.table.columns))
        for note in task.notes:
            tell.note(f"note: {note}")
        from daguerreotype.experiments.compare import Contest

        if held_out is None:
            held_out = HELD_OUT if known is None else 0.0
        contest = Contest(task, known, range(seed, seed + seeds), time_limit or None, held_out)
        contest.check()
        contest.run(names, tell)
    from daguerreotype.cli.show_contest import show_contest, to_json

    if as_json:
        typer.echo(to_json(contest))
    else:
        show_contest(contest)
    if contest.interrupted:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED)
    if not any(row.finished for row in contest.rows):
        raise typer.Exit(NOTHING_LEARNED)
