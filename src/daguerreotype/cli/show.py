"""What does a person, or a program, see of a fit?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from daguerreotype import __version__

if TYPE_CHECKING:
    import pandas as pd

    from daguerreotype import Daguerreotype
    from daguerreotype.cli.read import Input

LINE = 100  # characters of a line of text
SCALES = {"none": "as measured", "log": "logarithms", "yeo-johnson": "Yeo-Johnson"}
VERDICTS = {"right": "green", "reversed": "yellow", "absent": "red"}


@dataclass(frozen=True)
class Outcome:
    """A fitted learner, what it was fitted to, and the graph to compare with."""

    model: "Daguerreotype"
    task: "Input"
    known: "pd.DataFrame | None"
    seconds: float

    @cached_property
    def edges(self) -> list[dict[str, Any]]:
        """Cause, effect, weight and probability of every edge, the surest and then the strongest first."""
        edges = [
            # Sums of probabilities miss 1 by rounding, which must not decide what comes first.
            {"cause": cause, "effect": effect, "weight": of["weight"], "probability": round(of["probability"], 9)}
            for cause, effect, of in self.model.causal_graph_.edges(data=True)
        ]
        return sorted(edges, key=lambda edge: (-edge["probability"], -abs(edge["weight"])))

    @cached_property
    def metrics(self) -> dict[str, int | float] | None:
        """All metrics against the known graph, if there is one."""
        from daguerreotype.metrics import evaluate

        if self.known is None:
            return None
        return evaluate(self.known, self.model.adjacency_matrix_, self.model.causal_order_)

    def verdict(self, edge: dict[str, Any]) -> str:
        """What the known graph says of an edge."""
        assert self.known is not None
        if self.known.loc[edge["cause"], edge["effect"]]:
            return "right"
        return "reversed" if self.known.loc[edge["effect"], edge["cause"]] else "absent"


def to_json(outcome: Outcome) -> str:
    """One JSON object: edges, order, metrics, settings and seconds."""
    model = outcome.model
    content = {
        "version": __version__,
        "data": {
            "name": outcome.task.name,
            "rows": len(outcome.task.table),
            "columns": list(outcome.task.table.columns),
        },
        "settings": {
            "edges": model.edges,
            "operator": model.operator,
            "transform": model.transform,
            "penalty": model.penalty,
            "seed": model.random_state,
        },
        "edges": outcome.edges,
        "order": list(model.causal_order_),
        "transform": model.transform_,
        "metrics": outcome.metrics,
        "seconds": round(outcome.seconds, 3),
    }
    return json.dumps(content, indent=2, allow_nan=False)


def show_outcome(outcome: Outcome, console: Console | None = None) -> None:
    """Edges, order, scale and time, and the comparison with the known graph, on stdout."""
    console = console or Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000  # a file has no right border: nothing is cut
    arrow = "->" if console.options.ascii_only else "→"
    n_rows, n_columns = outcome.task.table.shape
    console.print()
    _print(console, Text.assemble((outcome.task.name, "bold"), f": {n_rows} rows, {n_columns} columns"))
    if outcome.edges:
        console.print(_edge_table(outcome, arrow))
        _print(
            console, Text("probability: share of the learned distribution over orders with this edge", style="dim")
        )
    else:
        console.print()
        _print(console, Text("No edges: no column helps to explain another at this penalty."))
    console.print()
    order = Text()
    for place, name in enumerate(outcome.model.causal_order_):
        order.append(f" {arrow} " if place else "", style="dim").append(str(name))
    scale = Text(SCALES.get(outcome.model.transform_, outcome.model.transform_))
    if outcome.model.transform == "auto":
        scale.append(", the likeliest of all", style="dim")
    facts = {"order": order, "scale": scale, "time": Text(f"{outcome.seconds:.1f} s")}
    console.print(_facts({name: (text,) for name, text in facts.items()}), width=min(console.width, LINE))
    if outcome.metrics is not None:
        _show_metrics(outcome, console)
    if outcome.task.known is not None:
        console.print()
        _print(console, Text.assemble("Now your own table: ", ("daguerreotype fit data.csv", "bold")))
    console.print()


def _show_metrics(outcome: Outcome, console: Console) -> None:
    """The four figures that matter most, with a word on each."""
    scores, known = outcome.metrics, outcome.known
    assert scores is not None
    assert known is not None
    n_known, d = int(known.to_numpy().sum()), len(known)
    verdicts = [outcome.verdict(edge) for edge in outcome.edges]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
    rows = {
        "SHD": (f"{scores['shd']}", "edges to add, remove or turn around; 0 is perfect"),
        "SID": (f"{scores['sid']}", f"of {d * (d - 1)} causal effects would be computed wrongly; 0 is perfect"),
        "F1": (f"{scores['f1']:.2f}", "of edges with their direction; 1 is perfect"),
        "edges": (f"{scores['n_edges']}", f"found: {counts}; {n_known} are known"),
    }
    console.print()
    whose = "the consensus graph" if known is outcome.task.known else "the known graph"
    _print(console, Text(f"Compared with {whose}", style="bold"))
    console.print()
    shown = {name: (Text(value), Text(word, style="dim")) for name, (value, word) in rows.items()}
    console.print(_facts(shown), width=min(console.width, LINE))


def _edge_table(outcome: Outcome, arrow: str) -> Table:
    """One line per edge; names are shown as they are, brackets and all."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    table.add_column("cause", overflow="fold")
    table.add_column("")
    table.add_column("effect", overflow="fold")
    table.add_column("weight", justify="right")
    table.add_column("probability", justify="right")
    if outcome.known is not None:
        table.add_column("known graph")
    for edge in outcome.edges:
        cells = [Text(str(edge["cause"])), Text(arrow, style="dim"), Text(str(edge["effect"]))]
        cells += [Text(f"{edge['weight']:.2f}"), Text(f"{edge['probability']:.2f}")]
        if outcome.known is not None:
            verdict = outcome.verdict(edge)
            cells.append(Text(verdict, style=VERDICTS[verdict]))
        table.add_row(*cells)
    return table


def _facts(rows: Mapping[str, tuple[Text, ...]]) -> Padding:
    """Names on the left, what there is to say on the right."""
    grid = Table.grid(padding=(0, 2))
    for name, cells in rows.items():
        grid.add_row(Text(name, style="cyan"), *cells)
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _print(console: Console, text: Text) -> None:
    """A line of text, indented as the tables are."""
    console.print(Padding(text, (0, 0, 0, 2), expand=False))
