"""Summary of the data for the report: columns, likelihood, and whether their scale gives the order away."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.kinds import Kind
from daguerreotype.metrics.orders import r2_sortability, sortability_warning, var_sortability
from daguerreotype.plotting.view import GraphView


def summarise(model: Any, X: npt.ArrayLike | pd.DataFrame, values: FloatArray, view: GraphView) -> dict[str, Any]:
    """Size, columns, log-likelihood and sortability of the rows ``X``, whose numbers are ``values`` (n, d)."""
    complete = values[np.isfinite(values).all(axis=1)]
    score, refused = _score(model, X)
    return {
        "n_rows": len(values),
        "n_complete": len(complete),
        "columns": [
            {"kind": kind.name, "noise": noise, "reason": kind.reason, **_describe(column, kind)}
            for column, kind, noise in zip(values.T, model._result.kinds, model._result.noise, strict=True)
        ],
        "score": score,
        "refused": refused,
        **_sortability(model, complete, view),
    }


def _describe(column: FloatArray, kind: Kind) -> dict[str, float | int | None]:
    """Moments and extremes of the values that are there; None where they do not exist, or say nothing."""
    there = column[np.isfinite(column)]
    missing = int(column.size - there.size)
    if there.size == 0 or kind.unordered:
        return {"mean": None, "sd": None, "min": None, "max": None, "skew": None, "missing": missing}
    sd = float(there.std())
    skew = float(np.mean(((there - there.mean()) / sd) ** 3)) if sd > 0 else None
    numbers = {"mean": there.mean(), "sd": sd, "min": there.min(), "max": there.max(), "skew": skew}
    shown = {name: None if value is None else float(f"{value:.6g}") for name, value in numbers.items()}
    return {**shown, "missing": missing}


def _score(model: Any, X: npt.ArrayLike | pd.DataFrame) -> tuple[float | None, str | None]:
    """Mean log-likelihood per row, or why there is none."""
    try:
        score = float(model.score(X))
    except (TypeError, ValueError) as error:
        return None, str(error)
    return (score, None) if np.isfinite(score) else (None, "the rows are impossible under the fitted model.")


def _sortability(model: Any, complete: FloatArray, view: GraphView) -> dict[str, Any]:
    """Var- and R²-sortability of the known graph, or else of the learned one, and what they mean."""
    graph = view.adjacency if view.truth is None else view.truth
    whose = "learned" if view.truth is None else "known"
    nothing: dict[str, Any] = {"var_sortability": None, "r2_sortability": None, "graph": whose, "warnings": []}
    if any(kind.unordered for kind in model._result.kinds):  # codes without an order have no variance
        return nothing
    if len(complete) < 2 or not graph.any() or not np.all(np.ptp(complete, axis=0) > 0):
        return nothing
    by_variance, by_r2 = var_sortability(complete, graph), r2_sortability(complete, graph)
    frame = pd.DataFrame(complete, columns=list(view.names))
    warning = sortability_warning(frame, None if view.truth is None else graph)
    return {
        **nothing,
        "var_sortability": by_variance,
        "r2_sortability": by_r2,
        "warnings": [] if warning is None else [warning],
    }
