"""The verb ``evaluate``: the distance of one graph from another, by every metric."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from daguerreotype.cli.options import JsonOption
from daguerreotype.cli.terminal import make_screen, show_facts

GRAPH = "a list with columns cause and effect, or a 0/1 matrix with a row per cause"


def evaluate(
    true: Annotated[Path, typer.Argument(metavar="TRUE", help=f"The true graph, as CSV: {GRAPH}.")],
    estimated: Annotated[
        Path, typer.Argument(metavar="ESTIMATED", help="The graph to judge, likewise, or a model.npz.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Compare an estimated graph with the true one by every metric."""
    from daguerreotype.data.graph_files import read_graph, read_pair
    from daguerreotype.metrics import evaluate as all_metrics

    if estimated.suffix == ".npz":
        from daguerreotype import Daguerreotype

        model = Daguerreotype.load(estimated)
        found = model.adjacency_matrix_
        known = read_graph(true, tuple(found.columns))
        scores = all_metrics(known, found, model.causal_order_)
    else:
        scores = all_metrics(*read_pair(true, estimated))
    if as_json:
        typer.echo(json.dumps(scores, indent=2))
        return
    from daguerreotype.metrics.titles import MEANINGS

    console = make_screen()
    console.print()
    show_facts(
        console,
        {
            name: (
                Text(f"{value}" if isinstance(value, int) else f"{value:.3f}", justify="right"),
                Text(MEANINGS[name], style="dim"),
            )
            for name, value in scores.items()
        },
    )
    console.print()
