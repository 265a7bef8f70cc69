"""The verb ``compare``: several methods on one table."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from daguerreotype import __version__
from daguerreotype._lib.progress import show_status
from daguerreotype.baselines import available
from daguerreotype.cli import options
from daguerreotype.cli.errors import NOTHING_LEARNED
from daguerreotype.cli.terminal import make_screen, make_table, say

if TYPE_CHECKING:
    from daguerreotype.experiments.compare import Comparison

METHODS = (*(edges.value for edges in options.Edges), *available())
USUAL = "gam,bic,lars,boss,pc,direct-lingam,r2-sortnregress,random,empty"
HELD_OUT = 0.2


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


@options.with_reading
def compare(
    data: options.DataArgument = None,
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help=f"Edges of our learner ({', '.join(options.Edges)}) and baselines: {', '.join(available())}.",
        ),
    ] = USUAL,
    truth: options.TruthOption = None,
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
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    **reading: Any,
) -> None:
    """Learn the graph of one table by several methods.

    One line per method: edges, seconds, log-likelihood of held-out rows where the method has one, and against a
    known graph SHD, SID and F1. Without a known graph: how far the methods agree. A method that fails or takes
    too long is a line with the reason.
    """
    names = _chosen(methods)
    with show_status(quiet, steps=len(names) * seeds) as status:
        # Baselines take nothing else.
        task = options.read_table(status, data, numbers_alone=True, complete=True, **reading)
        graph = options.read_truth(truth, task)
        from daguerreotype.experiments.compare import Comparison, method_called

        if held_out is None:
            held_out = HELD_OUT if graph is None else 0.0
        comparison = Comparison(task, graph, range(seed, seed + seeds), time_limit or None, held_out)
        comparison.check()
        comparison.run([method_called(name) for name in names], status)
    if as_json:
        typer.echo(to_json(comparison))
    else:
        show_comparison(comparison)
    if comparison.interrupted:
        raise KeyboardInterrupt
    if not any(row.finished for row in comparison.rows):
        raise typer.Exit(NOTHING_LEARNED)


def to_json(comparison: "Comparison") -> str:
    """One JSON object: every run as it ended, its edges as places among the columns, and how far graphs agree."""
    agreement = comparison.agreement()
    content = {
        "version": __version__,
        "data": {
            "name": comparison.task.name,
            "rows": len(comparison.task.table),
            "held_out": comparison.n_held_out,
            "columns": list(comparison.task.table.columns),
        },
        "time_limit": comparison.time_limit,
        "methods": {
            row.method.label: [{"seed": seed} | run for seed, run in row.runs.items()] for row in comparison.rows
        },
        "agreement": agreement.astype(object).where(agreement.notna(), None).to_dict("index"),
        "interrupted": comparison.interrupted,
    }
    return json.dumps(content, indent=2, allow_nan=False)


def show_comparison(comparison: "Comparison") -> None:
    """One line per method, and without a known graph how far the methods agree, on stdout."""
    from daguerreotype.metrics.summary import title_of

    console = make_screen()
    n_rows, n_columns = comparison.task.table.shape
    console.print()
    say(console, Text.assemble((comparison.task.name, "bold"), f": {n_rows} rows, {n_columns} columns"))
    scored = any(row.mean("held_out_likelihood") is not None for row in comparison.rows)
    failed = any(row.error for row in comparison.rows)
    whole = len(comparison.seeds) == 1
    few = 0 if whole else 1
    measures = [("edges", "n_edges", few), ("seconds", "wall_seconds", 2)]  # title, name and digits
    measures += [("held-out", "held_out_likelihood", 3)] * scored
    if comparison.truth is not None:
        measures += [(title_of(name), name, digits) for name, digits in (("shd", few), ("sid", few), ("f1", 2))]
    titles = [title for title, _, _ in measures]
    table = make_table("method", *titles, *[""] * failed, right=titles)
    for row in comparison.rows:
        cells = [_shown(row.mean(name), digits) for _, name, digits in measures]
        table.add_row(row.method.label, *cells, *[Text(row.error or "", style="yellow")] * failed)
    console.print(table)
    if not whole:
        say(console, f"means over {len(comparison.seeds)} seeds", style="dim")
    if scored:
        unseen = f"{comparison.n_held_out} rows that no method saw"
        say(console, f"held-out: log-likelihood per row of {unseen}; higher is better", style="dim")
    if comparison.truth is not None:
        say(console, "SHD, SID: 0 is perfect; F1: 1 is perfect", style="dim")
    elif sum(bool(row.finished) for row in comparison.rows) > 1:
        _show_agreement(comparison, console)
    console.print()


def _show_agreement(comparison: "Comparison", console: Console) -> None:
    """The matrix of agreement, shades for eyes."""
    agreement = comparison.agreement()
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
