"""The verb ``report``: a learned graph on one HTML page."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from daguerreotype._lib.progress import show_status
from daguerreotype._lib.replacement import check_place
from daguerreotype.cli import options
from daguerreotype.cli.fit import learn


@options.with_reading
def report(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A saved model.npz, or a table to learn from: CSV, Parquet or -."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", show_default=False, help="The table behind a saved model, to describe."),
    ] = None,
    truth: options.TruthOption = None,
    edges: options.EdgesOption = options.Edges("gam"),
    knowledge: options.KnowledgeOption = None,
    max_parents: options.MaxParentsOption = [],  # noqa: B006
    max_children: options.MaxChildrenOption = [],  # noqa: B006
    kind: options.KindOption = [],  # noqa: B006
    seed: options.SeedOption = 0,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    **reading: Any,
) -> None:
    """Write one HTML page about a learned graph, which works offline.

    Of a saved model as it is; of a table after learning its graph (edges, knowledge, kinds and seed are for that).
    """
    with show_status(quiet) as status:
        from daguerreotype.data.graph_files import read_graph

        saved = source.suffix == ".npz"
        if data is not None and not saved:
            raise typer.BadParameter("is for a saved model; a table comes with its data.", param_hint="--data")
        table = data if saved else source
        check_place(out)
        kinds = options.read_kinds(kind)
        task = None if table is None else options.read_table(status, table, None, kinds, **reading)
        from daguerreotype import Daguerreotype

        if saved:
            model = Daguerreotype.load(source)
        else:
            assert task is not None
            model = Daguerreotype(
                edges=edges.value,
                kinds=kinds or "auto",
                knowledge=options.read_knowledge(knowledge, max_parents, max_children),
                random_state=seed,
            )
            learn(model, task.table, status)
        known = None if truth is None else read_graph(truth, tuple(map(str, model.feature_names_in_)))
        status(f"writing {out}")
        model.report(out, X=None if task is None else task.table, truth=known)
    typer.echo(json.dumps({"files": [str(out)]}) if as_json else str(out))
