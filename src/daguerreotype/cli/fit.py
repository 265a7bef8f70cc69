"""The verb ``fit``: which graph does a table tell of?

What takes long to import is imported inside the functions: ``--help`` must come at once.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    Operator,
    QuietOption,
    SeedOption,
    Transform,
    TruthOption,
)

if TYPE_CHECKING:
    import pandas as pd

    from daguerreotype import Daguerreotype
    from daguerreotype.cli.progress import Tell


def _above_zero(value: float | None) -> float | None:
    """A price that is not zero."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value:g} is not above 0.")
    return value


def fit(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Table with one numeric column per variable: CSV, Parquet, or - for CSV on standard input. "
            "Without it: the Sachs protein network.",
        ),
    ] = None,
    edges: EdgesOption = Edges.GAM,
    operator: Annotated[
        Operator,
        typer.Option(
            metavar="NAME",
            help="How scores become orders. sparsemax or sparsemap (or sparsemap-peel, for edges that are slow to "
            "fit); random draws one order and learns none.",
        ),
    ] = Operator.SPARSEMAX,
    transform: Annotated[
        Transform,
        typer.Option(
            metavar="NAME",
            help="Change of scale of every column. none, log or yeo-johnson; auto keeps the likeliest.",
        ),
    ] = Transform.AUTO,
    penalty: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            callback=_above_zero,
            show_default="extended BIC",
            help="Price of a parameter, 1 is BIC. Higher: fewer edges, fewer wrong ones.",
        ),
    ] = None,
    knowledge: KnowledgeOption = None,
    interventions: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column that names, row by row, the columns that an experiment set from outside: empty for none, "
            "a semicolon between several. For the Sachs network: target.",
        ),
    ] = None,
    seed: SeedOption = 0,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            show_default=False,
            help="Learn N times more from resampled rows: how often is each edge found again?",
        ),
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", show_default=False, help="Processes for the bootstrap.")
    ] = None,
    truth: TruthOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            show_default=False,
            help="Write graph.csv, adjacency.csv, graph.dot, graph.png, model.npz and report.html there.",
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
    """Learn the graph behind the columns of a table.

    Without a file: the protein network of Sachs et al. (2005), which ships with the package.
    """
    from daguerreotype.cli.progress import waiting
    from daguerreotype.cli.show import Outcome, show_outcome, to_json

    with waiting(quiet) as tell:
        # Imports take a second or two, while the spinner turns; a bad file is refused before the longest.
        from daguerreotype.cli.inputs import read_input
        from daguerreotype.data.graph_files import read_graph
        from daguerreotype.data.readers import Reading

        task = read_input(data, Reading(drop, drop_non_numeric, drop_missing, delimiter, header, interventions))
        known = task.known if truth is None else read_graph(truth, tuple(task.table.columns))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        for note in task.notes:
            tell.note(f"note: {note}")
        from daguerreotype import Daguerreotype
        from daguerreotype.knowledge import Knowledge

        model = Daguerreotype(
            operator.value,
            edges.value,
            transform=transform.value,
            penalty=penalty,
            knowledge=None if knowledge is None else Knowledge.from_file(knowledge),
            random_state=seed,
        )
        start = time.perf_counter()
        learn(model, task.table, tell, task.interventions)
        if model.interventions_:
            listed = ", ".join(f"{name!r} ({count})" for name, count in model.interventions_.items())
            tell.note(f"note: left rows out of what explains the columns that were set in them: {listed}.")
        seconds = time.perf_counter() - start
        resampled = None
        interrupted = model.interrupted_
        if bootstrap and not interrupted:
            with own_bars(model, f"learning again from {bootstrap} tables of resampled rows", tell):
                given = {"interventions": task.interventions}
                resampled = model.bootstrap(
                    task.table, bootstrap, random_state=seed, n_jobs=jobs, fit_params=given
                )
        outcome = Outcome(model, task, known, seconds, resampled, interrupted)
        files: list[str] = []
        if out is not None:
            from daguerreotype.cli.save import save_outcome

            tell(f"writing to {out}")
            files = save_outcome(outcome, out, tell)
    if as_json:
        typer.echo(to_json(outcome, files))
    else:
        show_outcome(outcome, files=files)
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)


def learn(
    model: "Daguerreotype", table: "pd.DataFrame", tell: "Tell", interventions: list[Any] | None = None
) -> None:
    """Fit, and show that it goes on."""
    with own_bars(model, f"learning the graph of {table.shape[1]} columns from {table.shape[0]} rows", tell):
        model.fit(table, interventions=interventions)


@contextmanager
def own_bars(model: "Daguerreotype", doing: str, tell: "Tell") -> Iterator[None]:
    """Let the learner draw its own bars on a terminal; elsewhere say in plain lines what goes on."""
    from daguerreotype.cli.progress import FIRST_RUN

    if not tell.on_screen:
        tell(doing, why=FIRST_RUN)
        yield
        return
    with tell.aside(f"{doing} ({FIRST_RUN})" if _is_first_run() else doing):
        model.set_params(verbose=1)
        try:
            yield
        finally:
            model.set_params(verbose=0)


def _is_first_run() -> bool:
    """Whether no kernel was ever compiled, as far as can be seen from the folder of the package."""
    import daguerreotype

    return not any(Path(daguerreotype.__file__).parent.joinpath("edges").rglob("*.nbi"))
