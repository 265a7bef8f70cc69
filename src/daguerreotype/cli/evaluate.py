"""The verb ``evaluate``: how far is one graph from another?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from daguerreotype.cli.options import JsonOption

GRAPH = "a list with columns cause and effect, or a 0/1 matrix with a row per cause"
WORDS = {
    "shd": "edges to add, remove or turn around",
    "shd_cpdag": "the same between equivalence classes",
    "sid": "causal effects that would be computed wrongly",
    "ancestor_aid": "the same, adjusting for ancestors",
    "oset_aid": "the same, adjusting for the optimal set",
    "parent_aid": "the same, adjusting for parents",
    "precision": "share of the found edges that are right",
    "recall": "share of the true edges that are found",
    "f1": "harmonic mean of the two; 1 is perfect",
    "skeleton_f1": "the same without directions",
    "n_edges": "edges found",
    "order_divergence": "true edges that the order cannot have",
    "topological_order_correlation": "of the order with the depths of the true graph",
}


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
    from rich.text import Text

    from daguerreotype.cli.terminal import make_screen, show_facts

    console = make_screen()
    console.print()
    show_facts(
        console,
        {
            name: (
                Text(f"{value}" if isinstance(value, int) else f"{value:.3f}", justify="right"),
                Text(WORDS.get(name, ""), style="dim"),
            )
            for name, value in scores.items()
        },
    )
    console.print()
