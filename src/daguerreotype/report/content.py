"""Content of the report: all that the page shows of a fit, as plain numbers and words."""

import math
import unicodedata
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.inputs import rows_of
from daguerreotype.data.kinds import in_words
from daguerreotype.data.scales import in_words as scales_in_words
from daguerreotype.graphs import Dag, GraphLike
from daguerreotype.graphs.dag import is_open
from daguerreotype.metrics import evaluate
from daguerreotype.metrics.summary import title_of
from daguerreotype.noise.registry import in_words as noise_in_words
from daguerreotype.plotting.effects import Effect, view_effect
from daguerreotype.plotting.layout import HEIGHT, lay_out
from daguerreotype.plotting.view import GraphView, match_matrix, shorten, view_fit
from daguerreotype.report.data_summary import summarise

NEGLIGIBLE = 1e-9  # probability that is none but for rounding
LEAST = 0.01  # probability of a pair outside the learned graph, either way, from which on it is offered
PAPER = """@inproceedings{zantedeschi2023dag,
  title     = {{DAG} Learning on the Permutahedron},
  author    = {Zantedeschi, Valentina and Franceschi, Luca and Kaddour, Jean and
               Kusner, Matt J. and Niculae, Vlad},
  booktitle = {International Conference on Learning Representations},
  year      = {2023},
  url       = {https://arxiv.org/abs/2301.11898}
}"""
SOFTWARE = """@software{{daguerreotype,
  title   = {{daguerreotype}},
  author  = {{{{The daguerreotype developers}}}},
  version = {{{version}}}
}}"""

MOST_EFFECTS = 24  # panels
EFFECT_POINTS = 80  # of a curve
DIGITS = 6  # of a number that the page shows
UNKNOWN = (
    "If values are missing because of what they are themselves, nobody can tell from the table: the graph may "
    "then be wrong about these columns, whatever was done."
)


def collect(
    model: Any,
    X: npt.ArrayLike | pd.DataFrame | None = None,
    *,
    truth: GraphLike | None = None,
    bootstrap: Any = None,
    title: str = "Learned graph",
) -> dict[str, Any]:
    """All that the page shows, ready for JSON: no nan, no infinity, names as they are."""
    view = view_fit(model, truth)
    rows = None if X is None else rows_of(model, X, model._result.kinds_by_label)[0]
    release = version("daguerreotype")
    return {
        "title": title,
        "version": release,
        "names": list(view.names),
        "facts": _facts(model, view),
        "caution": "" if model.posterior_ is None else model.posterior_.caution,
        "graph": _graph(view, _frequencies(bootstrap, model, view)),
        "order": _order(model),
        "training": _training(model.history_),
        "settings": [[name, _word(value)] for name, value in model.get_params(deep=False).items()],
        "resamples": None if bootstrap is None else getattr(bootstrap, "n_resamples", None),
        "metrics": None if view.truth is None else _metrics(view.truth, view),
        "effects": _effects(model, view, model._result.seen if rows is None else rows),
        "data": None if X is None or rows is None else summarise(model, X, rows, view),
        "gaps": _gaps(model),
        "cite": [PAPER, SOFTWARE.format(version=release)],
    }


def estimate_width(label: str) -> float:
    """Width of a label in ems in a common sans-serif font; the page squeezes what comes out wider."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in label)
    narrow = sum(char in " .,:;|!'()[]ijlrtfI" for char in label)
    return 1.0 * wide + 0.36 * narrow + 0.63 * (len(label) - wide - narrow)


def _facts(model: Any, view: GraphView) -> list[list[str]]:
    """The first things to know."""
    n_orders = len(model.order_distribution_)
    facts = [
        ["columns", str(len(view.names))],
        ["edges", str(int(view.adjacency.sum()))],
        ["orders that carry mass", str(n_orders)],
        ["training steps", str(len(model.history_))],
        ["scale", scales_in_words(model.columns_["scale"].to_dict(), model._result.kinds_by_label)],
        ["loss", _word(model._result.criterion)],
        ["loss per row", f"{model.loss_:.{DIGITS}g}"],
    ]
    if any(kind.discrete for kind in model._result.kinds):
        facts.append(["kinds", in_words(model._result.kinds_by_label)])
    if model.columns_["noise"].nunique() > 1:
        facts.append(["noise", noise_in_words(model.columns_["noise"].to_dict())])
    intervened = model._result.interventions
    if intervened:
        counts = ", ".join(f"{name} in {count} rows" for name, count in intervened.items())
        facts.append(["intervened on", counts])
    sampled = "none, graphs were not sampled" if model.posterior_ is None else str(model.posterior_)
    return [*facts, ["probabilities", sampled]]


def _graph(view: GraphView, frequencies: FloatArray | None) -> dict[str, Any]:
    """Boxes and edges. Only edges of the learned and the known graph have a curve laid out for them."""
    labels = [shorten(name) for name in view.names]
    layout = lay_out(view.adjacency | view.missing, view.ranks, [estimate_width(label) for label in labels])
    flip = np.array([0.0, layout.size[1]])  # on a screen y grows downwards
    outside = _outside(view)
    edges: list[dict[str, Any]] = []
    for i, j in np.argwhere(view.adjacency | view.missing | outside):
        cause, effect = int(i), int(j)
        learned = bool(view.adjacency[cause, effect])
        curve = layout.curves.get((cause, effect))
        forward, backward = view.probability(cause, effect), view.probability(effect, cause)
        judged = forward is not None and not view.missing[cause, effect]
        edge: dict[str, Any] = {
            "cause": cause,
            "effect": effect,
            "learned": learned,
            "signed": view.signless is None or not bool(view.signless[cause, effect]),
            "weight": _number(view.weights[cause, effect]) if learned else None,
            "norm": _number(view.norms[cause, effect]) if learned else None,
            "probability": _rounded(forward),
            "reverse": _rounded(backward),
            "open": judged and bool(is_open(np.array(forward), np.array(backward))),
            "frequency": None if frequencies is None else _number(frequencies[cause, effect]),
            "verdict": view.verdict(cause, effect),
            "curve": None if curve is None else np.abs(flip - curve).round(3).ravel().tolist(),
        }
        edges.append(edge)
    edges.sort(key=lambda edge: (not edge["learned"], -(edge["probability"] or 0.0), -(edge["norm"] or 0.0)))
    return {
        "labels": labels,
        "centres": np.abs(flip - layout.centres).round(3).tolist(),
        "widths": layout.widths.round(3).tolist(),
        "height": HEIGHT,
        "size": layout.size.round(3).tolist(),
        "edges": edges,
        "threshold": _threshold(view),
    }


def _outside(view: GraphView) -> BoolArray:
    """Pairs (d, d) that are probably connected, though by no edge of either graph: each in its likelier direction.

    The reverse of an edge of the graph is not among them: it is the same edge.
    """
    if view.probabilities is None:
        return np.zeros_like(view.adjacency)
    p, drawn = view.probabilities, view.adjacency | view.missing
    first = np.triu(np.ones_like(drawn), 1)
    likelier = (p > p.T) | (first & (p == p.T))
    outside: BoolArray = likelier & (p + p.T >= LEAST) & ~(drawn | drawn.T)
    return outside


def _threshold(view: GraphView) -> float | None:
    """The least probability that shows the whole learned graph; None where nothing is known."""
    if view.probabilities is None:
        return None
    least = float(view.probabilities[view.adjacency].min(initial=1.0))
    return math.floor(100 * min(least + NEGLIGIBLE, 1.0)) / 100


def _order(model: Any) -> dict[str, Any]:
    """Columns in the learned order, and how probably, or in which share of orders, one precedes another.

    Pairs (first, second, probability), by position, are those that differ from what is usual.
    """
    nodes, posterior = model._result.order, model.posterior_
    if posterior is None:
        usual, whole = 1.0, model.order_distribution_.edge_order_probabilities()
    else:
        usual, whole = 0.5, np.asarray(posterior.order_probabilities)
    precedes = whole[np.ix_(nodes, nodes)]
    unusual = np.argwhere(np.triu(np.abs(precedes - usual) > NEGLIGIBLE, 1))
    return {
        "nodes": nodes.tolist(),
        "posterior": posterior is not None,
        "usual": usual,
        "unusual": [[int(i), int(j), round(float(precedes[i, j]), DIGITS)] for i, j in unusual],
    }


def _training(history: Any) -> dict[str, Any] | None:
    """Curves of training; None where the order was given."""
    if len(history) == 0:
        return None
    return {
        "objective": [_number(value) for value in history.objective],
        "mode_loss": [_number(value) for value in history.mode_loss],
        "refined_at": history.refined_at,
    }


def _metrics(truth: BoolArray, view: GraphView) -> list[list[Any]]:
    """Distances to the known graph."""
    scores = evaluate(truth, view.adjacency, view.order)
    return [[title_of(name), _number(value)] for name, value in scores.items()]


def _frequencies(bootstrap: Any, model: Any, view: GraphView) -> FloatArray | None:
    """How often resamples had each edge (d, d), in the order of the columns."""
    if bootstrap is None:
        return None
    if not hasattr(bootstrap, "edge_frequencies"):
        raise TypeError(
            f"bootstrap is a {type(bootstrap).__name__} without edge_frequencies; "
            "expected what the learner's bootstrap returned."
        )
    named = isinstance(model.adjacency_matrix_, pd.DataFrame)
    dag = Dag(view.adjacency, tuple(model.adjacency_matrix_.columns) if named else None)
    return match_matrix(bootstrap.edge_frequencies, dag, "edge frequencies")


def _word(value: Any) -> str:
    """A setting as the user gave it, without addresses in memory."""
    if isinstance(value, str):
        return value
    text = getattr(value, "__name__", None) or repr(value)
    return type(value).__name__ if " at 0x" in text else text


def _effects(model: Any, view: GraphView, rows: FloatArray) -> dict[str, Any] | None:
    """Panels over the values in rows (n, d), how many more there are, and how many have no range.

    None where edges are no curves.
    """
    if not model._result.has_curves:
        return None
    edges = [(int(cause), int(effect)) for cause, effect in np.argwhere(view.adjacency)]
    edges.sort(key=lambda edge: (-round(view.probability(*edge) or 0.0, DIGITS), -float(view.norms[edge])))
    effects = [view_effect(model, *edge, rows, EFFECT_POINTS) for edge in edges]
    drawable = [effect for effect in effects if effect is not None]
    return {
        "panels": [_panel(effect, view) for effect in drawable[:MOST_EFFECTS]],
        "more": max(len(drawable) - MOST_EFFECTS, 0),
        "without_range": len(edges) - len(drawable),
    }


def _panel(effect: Effect, view: GraphView) -> dict[str, Any]:
    """One effect, as the page draws it."""
    edge = effect.cause, effect.effect
    return {
        "cause": effect.cause,
        "effect": effect.effect,
        "shape": effect.shape,
        "values": [float(f"{value:.12g}") for value in effect.values],  # a range may be narrow and far from 0
        "levels": list(effect.levels),
        "lines": list(effect.lines),
        "heights": [[_number(height) for height in line] for line in effect.heights.T],
        "unit": effect.unit,
        "logarithmic": effect.logarithmic,
        "norm": _number(view.norms[edge]),
        "probability": _rounded(view.probability(*edge)),
        "reverse": _rounded(view.probability(*edge[::-1])),
        "open": bool(view.open_edges[edge]),
    }


def _gaps(model: Any) -> dict[str, Any] | None:
    """All that the page shows of gaps; None if there were none."""
    missing = getattr(model, "missing_", None)
    if missing is None:
        return None
    total = sum(missing.counts.values())
    most = sorted(missing.counts.items(), key=lambda item: -item[1])
    facts = [
        ["missing values", f"{total} ({total / (missing.n_rows * model.n_features_in_):.1%} of the table)"],
        ["rows without any", f"{missing.n_complete} of {missing.n_rows}"],
        ["most in", listed([f"{label} ({count})" for label, count in most], quote=False)],
        ["what was done", str(missing).split(": ", 1)[1]],
    ]
    done = "Rows with gaps were left out, which may mislead." if missing.n_dropped else "That is taken care of."
    notes = [
        f"Whether {label} is missing depends on {listed(list(map(str, causes)), quote=False)}. {done}"
        for label, causes in missing.depends_on.items()
    ]
    return {"facts": facts, "notes": [*notes, UNKNOWN]}


def _number(value: float) -> float | None:
    """A number for JSON, to the digits that are shown; None where there is none."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _rounded(probability: float | None) -> float | None:
    """A probability for JSON, to the places that are shown; None where there is none."""
    return None if probability is None else round(probability, DIGITS)
