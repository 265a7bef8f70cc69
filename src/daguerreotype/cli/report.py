"""The verb ``report``: what does a graph look like on one page?"""

import json
from pathlib import Path
from typing import Annotated

import typer

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
    TruthOption,
)


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
    truth: TruthOption = None,
    edges: EdgesOption = Edges.GAM,
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
    """Write one HTML page about a learned graph, which works offline.

    Of a saved model as it is; of a table after learning its graph (edges, knowledge and seed are for that).
    """
    from daguerreotype.cli.progress import waiting

    with waiting(quiet) as tell:
        from daguerreotype.cli.fit import learn
        from daguerreotype.cli.inputs import read_input
        from daguerreotype.data.graph_files import read_graph
        from daguerreotype.data.readers import Reading

        saved = source.suffix == ".npz"
        if data is not None and not saved:
            raise typer.BadParameter("is for a saved model; a table comes with its data.", param_hint="--data")
        reading = Reading(drop, drop_non_numeric, drop_missing, delimiter, header)
        table = data if saved else source
        task = None if table is None else read_input(table, reading)
        for note in () if task is None else task.notes:
            tell.note(f"note: {note}")
        from daguerreotype import Daguerreotype
        from daguerreotype.knowledge import Knowledge

        if saved:
            model = Daguerreotype.load(source)
        else:
            assert task is not None
            given = None if knowledge is None else Knowledge.from_file(knowledge)
            model = Daguerreotype(edges=edges.value, knowledge=given, random_state=seed)
            learn(model, task.table, tell)
        known = None if truth is None else read_graph(truth, tuple(map(str, model.feature_names_in_)))
        tell(f"writing {out}")
        model.report(out, X=None if task is None else task.table, truth=known)
    typer.echo(json.dumps({"files": [str(out)]}) if as_json else str(out))
