"""Output of a fit: tables for a person, JSON for a program, and the files in a folder."""

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from daguerreotype import __version__
from daguerreotype._lib.files import replace_text, replaced, write_csv
from daguerreotype._lib.labels import plural
from daguerreotype._lib.progress import Status
from daguerreotype.cli.terminal import make_screen, make_table, say, show_facts, show_files

if TYPE_CHECKING:
    import pandas as pd

    from daguerreotype import Daguerreotype
    from daguerreotype.bootstrap import Bootstrap
    from daguerreotype.data.readers import Input
    from daguerreotype.posterior import Posterior
    from daguerreotype.result import MissingValues

NUMBERS = ("weight", "norm")  # of an edge
LIKELY = {"probability": "probability", "reverse": "reverse_probability"}  # of it by the posterior, as headed
OF_KINDS = (
    "on levels both are log-odds, on counts logarithms of the mean",
    "levels in no order have no sign: there the weight is the norm",
)
FILES = ("graph.csv", "adjacency.csv", "graph.dot", "model.npz", "report.html", "graph.png")
MOST_WEAK = 3  # edges that are shown
VERDICTS = {"right": "green", "reversed": "yellow", "absent": "red"}


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table, None where there is no value."""
    values = table.astype(object)
    return cast("list[dict[str, Any]]", values.where(table.notna(), None).to_dict("records"))


@dataclass(frozen=True)
class FitOutput:
    """A fitted learner, what it was fitted to, and what else was asked for.

    Attributes
    ----------
    model : Daguerreotype
        The fitted learner.
    task : Input
        What it was fitted to.
    truth : DataFrame of shape (d, d) or None
        The graph to compare with.
    seconds : float
        How long it took.
    bootstrap : Bootstrap or None
        What resampled rows led to.
    """

    model: "Daguerreotype"
    task: "Input"
    truth: "pd.DataFrame | None"
    seconds: float
    bootstrap: "Bootstrap | None" = None

    @cached_property
    def edges(self) -> list[dict[str, Any]]:
        """What is known of every edge, the surest and then the strongest first; None where nothing is."""
        edges = records(self.model.edges_)
        if self.bootstrap is not None:
            frequencies = cast("pd.DataFrame", self.bootstrap.edge_frequencies)
            for edge in edges:
                edge["frequency"] = round(float(frequencies.loc[edge["cause"], edge["effect"]]), 9)
        return edges

    @cached_property
    def metrics(self) -> dict[str, int | float] | None:
        """All metrics against the known graph, if there is one."""
        from daguerreotype.metrics import evaluate

        if self.truth is None:
            return None
        return evaluate(self.truth, self.model.adjacency_matrix_, self.model.causal_order_)

    def verdict(self, edge: dict[str, Any]) -> str:
        """What the known graph says of an edge."""
        assert self.truth is not None
        if self.truth.loc[edge["cause"], edge["effect"]]:
            return "right"
        return "reversed" if self.truth.loc[edge["effect"], edge["cause"]] else "absent"


def to_json(outcome: FitOutput, files: Sequence[str] = (), interrupted: bool = False) -> str:
    """One JSON object of all that was found, the ``files`` that were written, and whether Ctrl-C cut it short."""
    model = outcome.model
    settings = ("edges", "operator", "training", "scales", "penalty", "trust", "min_gain", "posterior")
    content = {
        "version": __version__,
        "data": {
            "name": outcome.task.name,
            "rows": len(outcome.task.table),
            "columns": list(outcome.task.table.columns),
        },
        "settings": {
            **{name: getattr(model, name) for name in settings},
            "knowledge": None if model.knowledge is None else model.knowledge.to_dict(),
            "seed": model.random_state,
        },
        "edges": outcome.edges,
        "weak_edges": records(model.weak_edges_),
        "posterior": _posterior_facts(model.posterior_),
        "order": list(model.causal_order_),
        "scales": model.columns_["scale"].to_dict(),
        "kinds": {
            name: {
                "kind": kind.name,
                "reason": kind.reason,
                "levels": list(map(_plain, kind.levels)),
                "step": kind.step,
            }
            for name, kind in model._result.kinds_by_label.items()
        },
        "noise": model.columns_["noise"].to_dict(),
        "missing": _missing_facts(model.missing_),
        "metrics": outcome.metrics,
        "bootstrap": _bootstrap_facts(outcome.bootstrap),
        "seconds": round(outcome.seconds, 3),
        "interrupted": interrupted,
        "files": list(files),
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _plain(level: Any) -> Any:
    """A level that JSON has."""
    return level if isinstance(level, bool | int | float | str) else str(level)


def _posterior_facts(posterior: "Posterior | None") -> dict[str, Any] | None:
    """How long graphs were sampled, and how far to trust their probabilities."""
    if posterior is None:
        return None
    return {
        "n_sweeps": posterior.n_sweeps,
        "n_chains": posterior.n_chains,
        "effective_sample_size": round(posterior.effective_sample_size, 1),
        "agreement": round(posterior.agreement, 9),
        "settled": posterior.settled,
    }


def _missing_facts(missing: "MissingValues | None") -> dict[str, Any] | None:
    """Where values were missing, and what was done about it."""
    return None if missing is None else asdict(missing) | {"settled": missing.settled}


def _bootstrap_facts(bootstrap: "Bootstrap | None") -> dict[str, Any] | None:
    """How many resamples there were, and the graph that they agree on."""
    if bootstrap is None:
        return None
    graph = bootstrap.consensus
    pairs = zip(*graph.to_numpy().nonzero(), strict=True)
    consensus = [{"cause": graph.index[i], "effect": graph.columns[j]} for i, j in pairs]
    return {"n_resamples": bootstrap.n_resamples, "consensus": consensus}


def show_fit(outcome: FitOutput, console: Console | None = None, *, files: Sequence[str] = ()) -> None:
    """Edges, order, scale and time, the comparison with the known graph, and written ``files``, on stdout."""
    from daguerreotype.data.kinds import in_words
    from daguerreotype.data.scales import in_words as scales_in_words
    from daguerreotype.noise.registry import in_words as noise_in_words

    console = make_screen(console)
    arrow = "->" if console.options.ascii_only else "→"
    n_rows, n_columns = outcome.task.table.shape
    console.print()
    say(console, Text.assemble((outcome.task.name, "bold"), f": {n_rows} rows, {n_columns} columns"))
    if outcome.edges:
        console.print(_edge_table(outcome, arrow, _line(console)))
        say(console, "weight: slope, in standard deviations; of a curve, that of the best line", style="dim")
        say(console, "norm: size of the effect; larger than the weight where it bends", style="dim")
        if any(kind.discrete for kind in outcome.model._result.kinds):
            for line in OF_KINDS:
                say(console, line, style="dim")
        _explain_posterior(outcome, console)
        if outcome.bootstrap is not None:
            n = outcome.bootstrap.n_resamples
            say(console, f"bootstrap: share of {n} tables of resampled rows that show it again", style="dim")
    else:
        console.print()
        say(console, "No edges: no column helps to explain another at this penalty.")
    _tell_weak_edges(outcome.model, console, arrow)
    console.print()
    order = Text()
    for place, name in enumerate(outcome.model.causal_order_):
        order.append(f" {arrow} " if place else "", style="dim").append(str(name))
    scale = Text(scales_in_words(outcome.model.columns_["scale"].to_dict(), outcome.model._result.kinds_by_label))
    if outcome.model.scales == "auto":
        scale.append(", by likelihood", style="dim")
    facts = {"order": [order], "scale": [scale], "time": [Text(f"{outcome.seconds:.1f} s")]}
    if outcome.model.columns_["noise"].nunique() > 1:
        facts = {"noise": [Text(noise_in_words(outcome.model.columns_["noise"].to_dict()))], **facts}
    if outcome.model.missing_ is not None:
        facts = {"missing": [Text(str(outcome.model.missing_))], **facts}
    if any(kind.discrete for kind in outcome.model._result.kinds):
        facts = {"kinds": [Text(in_words(outcome.model._result.kinds_by_label))], **facts}
    show_facts(console, facts)
    if outcome.metrics is not None:
        _show_metrics(outcome, console)
    if outcome.task.graph is not None:
        console.print()
        say(console, Text.assemble("Now your own table: ", ("daguerreotype fit data.csv", "bold")))
    console.print()
    if files:
        show_files(console, files)


def _tell_weak_edges(model: Any, console: Console, arrow: str) -> None:
    """Which edges were left out as too weak, those first that explain most."""
    weak = model.weak_edges_.itertuples()
    shown = [f"{edge.cause} {arrow} {edge.effect} (explains {edge.explains:.1%})" for edge in weak]
    if shown:
        more = ["..."] if len(shown) > MOST_WEAK else []
        many = f"{len(shown)} weak edge{plural(len(shown))} left out"
        say(console, f"{many}: {', '.join(shown[:MOST_WEAK] + more)}", style="dim")


def _explain_posterior(outcome: FitOutput, console: Console) -> None:
    """What probabilities are, how an open direction is drawn, and whether to trust them yet."""
    posterior = outcome.model.posterior_
    if posterior is None:
        return
    say(console, "probability: posterior probability of the edge, given the model", style="dim")
    say(console, "reverse: that of the same edge turned around", style="dim")
    if any(edge["direction_open"] for edge in outcome.edges):
        words = "direction open: the less likely way has at least a quarter of the two together"
        say(console, f"{_line(console)} {words}", style="dim")
    if posterior.caution:
        more = 10 * outcome.model.posterior
        say(console, f"{posterior.caution} Sample longer: --posterior {more}", style="yellow")


def _line(console: Console) -> str:
    """An edge without a direction."""
    return "--" if console.options.ascii_only else "─"


def _show_metrics(outcome: FitOutput, console: Console) -> None:
    """The four figures that matter most, with a word on each."""
    from daguerreotype.metrics.summary import MEANINGS, title_of

    scores, truth = outcome.metrics, outcome.truth
    assert scores is not None
    assert truth is not None
    n_known, d = int(truth.to_numpy().sum()), len(truth)
    verdicts = [outcome.verdict(edge) for edge in outcome.edges]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
    rows = {
        "shd": (f"{scores['shd']}", f"{MEANINGS['shd']}; 0 is perfect"),
        "sid": (f"{scores['sid']}", f"of {d * (d - 1)} causal effects would be computed wrongly; 0 is perfect"),
        "f1": (f"{scores['f1']:.2f}", "of edges with their direction; 1 is perfect"),
        "n_edges": (f"{scores['n_edges']}", f"found: {counts}; {n_known} are known"),
    }
    console.print()
    whose = "the consensus graph" if truth is outcome.task.graph else "the known graph"
    say(console, f"Compared with {whose}", style="bold")
    console.print()
    facts = {title_of(name): (Text(value), Text(word, style="dim")) for name, (value, word) in rows.items()}
    show_facts(console, facts)


def _edge_table(outcome: FitOutput, arrow: str, line: str) -> Table:
    """One line per edge, an arrow or, where its direction is open, a line; names are shown as they are."""
    shown = dict(zip(NUMBERS, NUMBERS, strict=True)) | (LIKELY if outcome.model.posterior_ is not None else {})
    numbers = [*shown] + ["bootstrap"] * (outcome.bootstrap is not None)
    judged = ["known graph"] * (outcome.truth is not None)
    table = make_table("cause", "", "effect", *numbers, *judged, right=numbers)
    for edge in outcome.edges:
        mark = line if edge["direction_open"] else arrow
        cells = [Text(str(edge["cause"])), Text(mark, style="dim"), Text(str(edge["effect"]))]
        cells += [Text(f"{edge[name]:z.2f}") for name in shown.values()]
        if outcome.bootstrap is not None:
            cells.append(Text(f"{edge['frequency']:.2f}"))
        if outcome.truth is not None:
            verdict = outcome.verdict(edge)
            cells.append(Text(verdict, style=VERDICTS[verdict]))
        table.add_row(*cells)
    return table


def save_fit(outcome: FitOutput, folder: Path, status: Status) -> Iterator[str]:
    """Write the graph in several formats, the learner, the report and, with matplotlib, a picture; give paths."""
    import pandas as pd

    from daguerreotype.graphs.convert import to_dot

    model = outcome.model
    columns = ["cause", "effect", *NUMBERS, *(LIKELY.values() if model.posterior_ is not None else ())]
    columns += ["frequency"] * (outcome.bootstrap is not None)
    write: dict[str, Callable[[Path], object]] = {
        "graph.csv": lambda path: write_csv(path, pd.DataFrame(outcome.edges, columns=columns), index=False),
        "adjacency.csv": lambda path: write_csv(path, model.adjacency_matrix_),
        "graph.dot": lambda path: replace_text(path, to_dot(model)),
        "model.npz": model.save,
        "report.html": lambda path: model.report(
            path, X=outcome.task.table, truth=outcome.truth, bootstrap=outcome.bootstrap
        ),
        "graph.png": lambda path: _save_picture(outcome, path),
    }
    for name in FILES:
        if name == "graph.png" and importlib.util.find_spec("matplotlib") is None:
            status.note('note: no graph.png without matplotlib. Run: pip install "daguerreotype[plot]"')
        else:
            write[name](folder / name)
            yield str(folder / name)


def _save_picture(outcome: FitOutput, path: Path) -> None:
    """Draw the graph, beside the known one if there is one."""
    figure = outcome.model.plot(truth=outcome.truth).figure
    with replaced(path) as file:
        figure.savefig(file, format="png", dpi=150, bbox_inches="tight")
