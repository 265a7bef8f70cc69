"""The verb ``report``: a saved model on one HTML page."""

from pathlib import Path
from typing import Annotated, Any

import typer

from daguerreotype._lib.files import check_place
from daguerreotype._lib.progress import show_status
from daguerreotype.cli import options


@options.with_reading
def report(
    source: Annotated[Path, typer.Argument(metavar="MODEL", help="A model.npz, as fit --out leaves it.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", show_default=False, help="The table behind the model, to describe."),
    ] = None,
    truth: options.TruthOption = None,
    quiet: options.QuietOption = False,
    **reading: Any,
) -> None:
    """Write one HTML page about a saved model, which works offline. Of a table, fit --out writes one."""
    if source.suffix != ".npz":
        raise typer.BadParameter(
            f"{source} is no model.npz. Of a table: daguerreotype fit {source} --out DIR.", param_hint="MODEL"
        )
    with show_status(quiet) as status:
        from daguerreotype.graphs.files import read_graph

        check_place(out)
        table = None if data is None else options.read_table(status, data, None, {}, **reading).table
        from daguerreotype import Daguerreotype

        model = Daguerreotype.load(source)
        true_graph = None if truth is None else read_graph(truth, tuple(map(str, model.feature_names_in_)))
        status(f"writing {out}")
        model.report(out, X=table, truth=true_graph)
    typer.echo(str(out))
