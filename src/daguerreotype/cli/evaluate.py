"""The verb ``evaluate``: the distance of one graph from another, by every metric."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from daguerreotype.cli.options import JsonOption
from daguerreotype.cli.terminal import make_screen, show_facts

if TYPE_CHECKING:
    import pandas as pd

GRAPH = "a list with columns cause and effect, or a 0/1 matrix with a row per cause"


def evaluate(
    true: Annotated[
        Path, typer.Argument(metavar="TRUE", help=f"The true graph, as CSV: {GRAPH}; or a saved model.npz.")
    ],
    estimated: Annotated[Path, typer.Argument(metavar="ESTIMATED", help="The graph to judge, likewise.")],
    as_json: JsonOption = False,
) -> None:
    """Compare an estimated graph with the true one by every metric."""
    from daguerreotype.graphs.files import read_graph, read_pair
    from daguerreotype.metrics import evaluate as all_metrics

    models = {path: _model_of(path) for path in (true, estimated) if path.suffix == ".npz"}
    if not models:
        scores = all_metrics(*read_pair(true, estimated))
    else:
        names = next(iter(models.values()))[0].columns
        true_graph, guess = (
            models[path][0] if path in models else read_graph(path, tuple(names)) for path in (true, estimated)
        )
        scores = all_metrics(true_graph, guess, models[estimated][1] if estimated in models else None)
    if as_json:
        typer.echo(json.dumps(scores, indent=2))
        return
    from daguerreotype.metrics.summary import MEANINGS

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


def _model_of(path: Path) -> "tuple[pd.DataFrame, list[str]]":
    """The graph of a saved model, under the names of its columns, and its order."""
    import numpy as np

    from daguerreotype import Daguerreotype
    from daguerreotype._lib.labels import label

    model = Daguerreotype.load(path)
    names = [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]
    order = [str(node) for node in model.causal_order_]
    return label(np.asarray(model.adjacency_matrix_), names), order
