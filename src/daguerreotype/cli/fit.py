"""The verb ``fit``: which graph does a table tell of?

What takes long to import is imported inside the functions: ``--help`` must come at once.
"""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Edges(StrEnum):
    """Short names of the edge estimators."""

    GAM = "gam"
    BIC = "bic"
    LARS = "lars"
    LASSO = "lasso"
    LINEAR = "linear"
    MLP = "mlp"


class Operator(StrEnum):
    """Short names of the operators that need nothing but a table."""

    SPARSEMAX = "sparsemax"
    SPARSEMAP = "sparsemap"
    RANDOM = "random"


class Transform(StrEnum):
    """Short names of the changes of scale."""

    AUTO = "auto"
    NONE = "none"
    LOG = "log"
    YEO_JOHNSON = "yeo-johnson"


def fit(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA.csv",
            show_default=False,
            help="Table with one numeric column per variable. Without it: the Sachs protein network.",
        ),
    ] = None,
    edges: Annotated[
        Edges,
        typer.Option(
            metavar="NAME",
            help="How parents are chosen. gam: smooth effects of any shape; bic: linear, the fastest for many "
            "columns; lars: as in the paper; lasso; linear and mlp: trained by gradient (needs torch).",
        ),
    ] = Edges.GAM,
    operator: Annotated[
        Operator,
        typer.Option(
            metavar="NAME",
            help="How scores become orders. sparsemax or sparsemap; random draws one order and learns none.",
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
            show_default="extended BIC",
            help="Price of a parameter, 1 is BIC. Higher: fewer edges, fewer wrong ones.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same graph.")] = 0,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="GRAPH.csv",
            show_default=False,
            help="Known graph to compare with: a list with columns cause and effect, or a 0/1 matrix with a row "
            "per cause and a column per effect.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")] = False,
) -> None:
    """Learn the graph behind the columns of a CSV file.

    Without a file: the protein network of Sachs et al. (2005), which ships with the package.
    """
    from daguerreotype.cli.show import Outcome, show_outcome, to_json
    from daguerreotype.cli.waiting import waiting

    with waiting(quiet) as tell:
        # Imports take a second or two, while the spinner turns; a bad file is refused before the longest.
        from daguerreotype.cli.read import read_graph, read_input

        task = read_input(data)
        known = task.known if truth is None else read_graph(truth, tuple(task.table.columns))
        n_rows, n_columns = task.table.shape
        for note in task.notes:
            tell(f"note: {note}", keep=True)
        tell(f"learning the graph of {n_columns} columns from {n_rows} rows")
        from daguerreotype import Daguerreotype

        model = Daguerreotype(
            operator.value, edges.value, transform=transform.value, penalty=penalty, random_state=seed
        )
        start = time.perf_counter()
        model.fit(task.table)
        outcome = Outcome(model, task, known, time.perf_counter() - start)
    if as_json:
        typer.echo(to_json(outcome))
    else:
        show_outcome(outcome)
