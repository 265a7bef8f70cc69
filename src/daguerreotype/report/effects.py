"""Effects for the report: one panel per edge, the surest and then the strongest first."""

from typing import Any

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.plotting.effects import Effect, view_effect
from daguerreotype.plotting.view import GraphView
from daguerreotype.report.numbers import DIGITS, number, rounded

MOST = 24  # panels
POINTS = 80  # of a curve


def collect_effects(model: Any, view: GraphView, rows: FloatArray | None) -> dict[str, Any] | None:
    """Panels over the values in rows (n, d), how many more there are, and how many have no range.

    None where edges are no curves. Without rows, causes with levels have panels alone.
    """
    if not model._result.has_curves:
        return None
    edges = [(int(cause), int(effect)) for cause, effect in np.argwhere(view.adjacency)]
    edges.sort(key=lambda edge: (-round(view.probability(*edge) or 0.0, DIGITS), -float(view.norms[edge])))
    causes = {cause for cause, _ in edges if _has_range(model, cause, rows)}
    drawable = [edge for edge in edges if edge[0] in causes]
    effects = [view_effect(model, *edge, rows, POINTS) for edge in drawable[:MOST]]
    return {
        "panels": [_panel(effect, view) for effect in effects if effect is not None],
        "more": max(len(drawable) - MOST, 0),
        "without_range": len(edges) - len(drawable),
    }


def _has_range(model: Any, cause: int, rows: FloatArray | None) -> bool:
    """Whether it is known which values a cause takes."""
    if model._result.kinds[cause].levels:
        return True
    return rows is not None and bool(np.isfinite(rows[:, cause]).any())


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
        "heights": [[number(height) for height in line] for line in effect.heights.T],
        "unit": effect.unit,
        "logarithmic": effect.logarithmic,
        "norm": number(view.norms[edge]),
        "probability": rounded(view.probability(*edge)),
        "reverse": rounded(view.probability(*edge[::-1])),
        "open": bool(view.open_edges[edge]),
    }
