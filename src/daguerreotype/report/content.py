"""Content of the report: all that the page shows of a fit, as plain numbers and words."""

import math
import unicodedata
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.column_scales import in_words as scales_in_words
from daguerreotype.data.kinds import in_words
from daguerreotype.graphs import Dag, GraphLike
from daguerreotype.metrics import evaluate
from daguerreotype.metrics.titles import title_of
from daguerreotype.noise.registry import in_words as noise_in_words
from daguerreotype.plotting.layout import HEIGHT, lay_out
from daguerreotype.plotting.view import GraphView, match_matrix, read_rows, shorten, view_fit
from daguerreotype.report.data_summary import summarise
from daguerreotype.report.effects import collect_effects
from daguerreotype.report.gaps import collect_gaps
from daguerreotype.report.numbers import DIGITS, number

NEGLIGIBLE = 1e-9  # probability that is none but for rounding
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

MOST_SCORES = 40_000  # that a page shows the way of: more would weigh megabytes


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
    rows = None if X is None else read_rows(model, X)
    release = version("daguerreotype")
    return {
        "title": title,
        "version": release,
        "names": list(view.names),
        "facts": _facts(model, view),
        "graph": _graph(view, _frequencies(bootstrap, model, view)),
        "order": _order(model),
        "training": _training(model.history_),
        "settings": [[name, _word(value)] for name, value in model.get_params(deep=False).items()],
        "resamples": None if bootstrap is None else getattr(bootstrap, "n_resamples", None),
        "metrics": None if view.truth is None else _metrics(view.truth, view),
        "effects": collect_effects(model, view, rows),
        "data": None if X is None or rows is None else summarise(model, X, rows, view),
        "gaps": collect_gaps(model),
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
        ["training steps", str(model.n_iter_)],
        ["scale", scales_in_words(model.scales_, model.kinds_)],
        ["loss", _word(model.criterion_)],
        ["loss per row", f"{model.loss_:.{DIGITS}g}"],
    ]
    if any(kind.discrete for kind in model.kinds_.values()):
        facts.append(["kinds", in_words(model.kinds_)])
    if len(set(model.noise_.values())) > 1:
        facts.append(["noise", noise_in_words(model.noise_)])
    intervened = getattr(model, "interventions_", None)
    if intervened:
        counts = ", ".join(f"{name} in {count} rows" for name, count in intervened.items())
        facts.append(["intervened on", counts])
    return facts


def _graph(view: GraphView, frequencies: FloatArray | None) -> dict[str, Any]:
    """Boxes and edges. Only edges of the learned and the known graph have a curve laid out for them."""
    labels = [shorten(name) for name in view.names]
    layout = lay_out(view.adjacency | view.missing, view.ranks, [estimate_width(label) for label in labels])
    flip = np.array([0.0, layout.size[1]])  # on a screen y grows downwards
    probable = (view.probabilities > NEGLIGIBLE) & ~np.eye(len(labels), dtype=np.bool_)
    edges: list[dict[str, Any]] = []
    for cause, effect in np.argwhere(view.adjacency | view.missing | probable):
        learned = bool(view.adjacency[cause, effect])
        curve = layout.curves.get((int(cause), int(effect)))
        edge: dict[str, Any] = {
            "cause": int(cause),
            "effect": int(effect),
            "learned": learned,
            "signed": view.signless is None or not bool(view.signless[cause, effect]),
            "weight": number(view.weights[cause, effect]) if learned else None,
            "norm": number(view.norms[cause, effect]) if learned else None,
            "probability": round(float(view.probabilities[cause, effect]), DIGITS),
            "frequency": None if frequencies is None else number(frequencies[cause, effect]),
            "verdict": view.verdict(int(cause), int(effect)),
            "curve": None if curve is None else np.abs(flip - curve).round(3).ravel().tolist(),
        }
        edges.append(edge)
    edges.sort(key=lambda edge: (not edge["learned"], -edge["probability"], -(edge["norm"] or 0.0)))
    least = view.probabilities[view.adjacency].min(initial=1.0)
    return {
        "labels": labels,
        "centres": np.abs(flip - layout.centres).round(3).tolist(),
        "widths": layout.widths.round(3).tolist(),
        "height": HEIGHT,
        "size": layout.size.round(3).tolist(),
        "edges": edges,
        "threshold": math.floor(100 * min(float(least) + NEGLIGIBLE, 1.0)) / 100,
    }


def _order(model: Any) -> dict[str, Any]:
    """The mode, and the pairs that are not always in its order: (first, second, probability), by position."""
    distribution = model.order_distribution_
    mode = distribution.mode
    precedes = distribution.edge_order_probabilities()[np.ix_(mode, mode)]
    unsure = np.argwhere(np.triu(precedes < 1.0 - NEGLIGIBLE, 1))
    return {
        "nodes": mode.tolist(),
        "unsure": [[int(i), int(j), round(float(precedes[i, j]), DIGITS)] for i, j in unsure],
    }


def _training(history: Any) -> dict[str, Any] | None:
    """Curves of training; None where the order was given."""
    if len(history) == 0:
        return None
    theta = history.theta
    return {
        "objective": [number(value) for value in history.objective],
        "mode_loss": [number(value) for value in history.mode_loss],
        "refined_at": history.refined_at,
        "theta": [[number(value) for value in step] for step in theta] if theta.size <= MOST_SCORES else None,
    }


def _metrics(truth: BoolArray, view: GraphView) -> list[list[Any]]:
    """Distances to the known graph."""
    scores = evaluate(truth, view.adjacency, view.order)
    return [[title_of(name), number(value)] for name, value in scores.items()]


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
