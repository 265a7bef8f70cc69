"""Pictures of a fit: training, the distribution of orders, fitted curves."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.labels import ColumnPlaces, listed, shown
from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.inputs import rows_of
from daguerreotype.graphs import GraphLike
from daguerreotype.operators import OrderDistribution
from daguerreotype.plotting.backend import Axes, MaxNLocator
from daguerreotype.plotting.backend import pyplot as plt
from daguerreotype.plotting.effects import Effect, view_effect
from daguerreotype.plotting.graph import draw_view
from daguerreotype.plotting.view import shorten, view_fit
from daguerreotype.posterior import Posterior
from daguerreotype.result import FitHistory

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8A8A8A"
COLOURS = (BLUE, ORANGE, "#009E73", "#D55E00", "#AA3377", "#56B4E9", "#B8A400", GREY)  # of levels of an effect
BARS = 0.8  # width of the bars of one level together
MARKS = 200  # on the axis, where the rows are
CROWDED = 24  # letters under a panel, beyond which they stand upright
LABEL = 0.17  # inches of a line of small labels
MOST_PANELS = 24  # of curves
TICK = 3  # ticks of one panel of curves, about


def plot_fit(
    model: Any,
    kind: str = "graph",
    *,
    truth: GraphLike | None = None,
    X: npt.ArrayLike | pd.DataFrame | None = None,
    effect: Hashable | None = None,
    ax: Any = None,
) -> Any:
    """What ``Daguerreotype.plot`` draws."""
    for name, value, owner in (("truth", truth, "graph"), ("X", X, "curves"), ("effect", effect, "curves")):
        if value is not None and kind != owner:
            raise ValueError(f"{name} goes with kind={owner!r}, got kind={shown(kind)}. Leave it out.")
    if ax is not None and kind == "curves":
        raise ValueError("curves take a figure of their own, with a panel each. Leave ax out.")
    names = [str(name) for name in model._result.labels]
    if kind == "graph":
        return draw_view(view_fit(model, truth), ax)
    if kind == "training":
        return plot_training(model.history_, ax=ax)
    if kind == "order":
        distribution = model.order_distribution_ if model.posterior_ is None else model.posterior_
        return plot_order(distribution, names, order=model._result.order, ax=ax)
    if kind == "curves":
        return plot_curves(model, X, effect=effect)
    raise ValueError(f"kind must be 'graph', 'training', 'order' or 'curves', got {shown(kind)}.")


def plot_training(history: FitHistory, *, ax: Axes | None = None) -> Axes:
    """Objective and loss of the most probable order at every step, and where refining stepped in.

    Parameters
    ----------
    history : FitHistory
        ``history_`` of a fitted learner.
    ax : matplotlib Axes, optional
        Where to draw.
    """
    if len(history) == 0:
        raise ValueError("there are no training steps to show: the order was given, not learned.")
    ax = ax or _own_axes((5.6, 3.4))
    steps = np.arange(1, len(history) + 1)
    ax.plot(steps, history.objective, color=BLUE, linewidth=1.6, label="expected loss + regularization")
    ax.plot(
        steps, history.mode_loss, color=ORANGE, linewidth=1.6, drawstyle="steps-mid", label="most probable order"
    )
    if history.refined_at is not None:
        ax.axvline(history.refined_at + 0.5, color=GREY, linewidth=1.2, linestyle=(0, (4, 2)), label="refined")
    ax.set_xlabel("step")
    ax.set_ylabel("loss per row")
    ax.locator_params(axis="x", integer=True)
    ax.legend(edgecolor="none", framealpha=0.85)
    _lighten(ax)
    return ax


def plot_order(
    distribution: OrderDistribution | Posterior,
    names: Sequence[str],
    *,
    order: npt.ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of how probably the column of each row precedes that of each column.

    Parameters
    ----------
    distribution : Posterior or OrderDistribution
        ``posterior_`` of a fitted learner, which has one half where neither column causes the other, or its
        ``order_distribution_``, which gives the share of orders.
    names : sequence of d str
        What columns are called.
    order : sequence of d int, optional
        Columns as they are to be sorted. Without it the mode of the distribution; of a posterior, columns that
        precede most others first.
    ax : matplotlib Axes, optional
        Where to draw.
    """
    if isinstance(distribution, Posterior):
        whole = np.array(distribution.order_probabilities, dtype=np.float64)
        best, words = np.argsort(-whole.sum(axis=1), kind="stable"), "posterior probability that the row"
    else:
        whole = distribution.edge_order_probabilities()
        best, words = distribution.mode, "share of orders in which the row"
    d = len(whole)
    if len(names) != d:
        raise ValueError(f"got {len(names)} names for orders of {d} columns; expected as many.")
    places = best if order is None else np.asarray(order, dtype=np.int64)
    side = min(max(2.6, 1.15 * LABEL * d), 15.0)
    ax = ax or _own_axes((side + 2.2, side + 1.2))
    precedes = whole[np.ix_(places, places)]
    precedes[np.diag_indices(d)] = np.nan
    image = ax.imshow(precedes, vmin=0.0, vmax=1.0, cmap="Blues", interpolation="nearest")
    ax.set_facecolor("#D9D9D9")  # shows on the diagonal
    labels = [shorten(names[node]) for node in places]
    size = min(9.0, 72 * side / (1.25 * d))
    ax.set_xticks(range(d), labels, rotation=90, fontsize=size, parse_math=False)
    ax.set_yticks(range(d), labels, fontsize=size, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.03)
    bar.set_label(f"{words}\nprecedes the column")
    bar.outline.set_visible(False)
    return ax


def plot_curves(
    model: Any,
    X: npt.ArrayLike | pd.DataFrame | None = None,
    *,
    effect: Hashable | None = None,
) -> npt.NDArray[np.object_]:
    """The fitted effect of every cause, one panel per edge, the strongest 24 first, over the values in ``X``.

    Lines over numbers, points over counts, a bar for every level of others. On a column of levels contributions
    are log-odds, on counts logarithms of the mean; on levels without an order there is a line or a bar for each
    level beyond the first.

    Parameters
    ----------
    model : Daguerreotype
        Fitted with ``edges="gam"``, or with "bic" to a table with levels or counts.
    X : DataFrame or array of shape (n, d), optional
        Rows whose values the curves run over; marks on the axis show them. Without it, quantiles of the training
        rows.
    effect : str or int, optional
        Show the causes of this column only.

    Returns
    -------
    array of Axes
        One per panel, in a new figure.
    """
    columns = model._result.labels
    target = None if effect is None else ColumnPlaces(columns).find(effect)
    if effect is not None and target is None:
        expected = listed(columns, quote=False)
        raise ValueError(f"effect is {shown(effect)}, which is no column; expected one of {expected}.")
    values = model._result.seen if X is None else rows_of(model, X, model._result.kinds_by_label)[0]
    if not len(values):
        raise ValueError(
            "the learner was fitted without rows, so it does not know what values the curves run over: give some, "
            "plot('curves', X=X)."
        )
    adjacency, norms = np.asarray(model.adjacency_matrix_), np.asarray(model._result.norms)
    edges = [(int(i), int(j)) for i, j in np.argwhere(adjacency) if effect is None or j == target]
    if not edges:
        raise ValueError(
            f"there are no edges{'' if effect is None else f' into {effect!r}'}, so no curves to show."
        )
    edges.sort(key=lambda edge: -norms[edge])
    effects = [_view(model, columns, edge, values) for edge in edges[:MOST_PANELS]]
    units = {view.unit for view in effects}
    panels = _panels(len(effects), share=len(units) == 1)
    for ax, view in zip(panels, effects, strict=True):
        _draw_effect(ax, view, str(columns[view.cause]), str(columns[view.effect]), values[:, view.cause])
        if len(units) > 1:
            ax.set_ylabel(view.unit, fontsize=8, parse_math=False)
    unit = f",\n{units.pop()}" if len(units) == 1 else ""
    unit += " of the effect" if unit == ",\nstandard deviations" else ""
    left_out = "" if len(effects) == len(edges) else f"; the {len(effects)} strongest of {len(edges)} edges"
    # In two lines, or it would be longer than a single row of panels is high.
    panels[0].figure.supylabel(f"contribution{unit}{left_out}", fontsize=9, parse_math=False)
    return panels


def _view(model: Any, columns: Sequence[Any], edge: tuple[int, int], values: FloatArray) -> Effect:
    """One effect over the values of its cause, which must have some."""
    effect = view_effect(model, *edge, values)
    if effect is None:
        raise ValueError(f"X has no values of {columns[edge[0]]!r}, so its curves have no range. Give other rows.")
    return effect


def _draw_effect(ax: Axes, effect: Effect, cause: str, target: str, values: FloatArray) -> None:
    """One fitted component over its cause, with marks at the values (n,) of the rows."""
    ax.axhline(0.0, color=GREY, linewidth=0.7)
    n_lines = effect.heights.shape[1]
    for place, heights in enumerate(effect.heights.T):
        colour = COLOURS[place % len(COLOURS)]
        name = effect.lines[place] if effect.lines else None
        if effect.shape == "bars":
            offset = (place - 0.5 * (n_lines - 1)) * BARS / n_lines
            ax.bar(effect.values + offset, heights, BARS / n_lines, color=colour, label=name)
        else:
            points = effect.shape == "points"
            style = {"marker": "o", "markersize": 3.5, "linewidth": 0.6} if points else {"linewidth": 1.8}
            ax.plot(effect.values, heights, color=colour, label=name, **style)
    if effect.shape == "bars":
        labels = [shorten(level, 12) for level in effect.levels]
        crowded = sum(map(len, labels)) + len(labels) > CROWDED
        ax.set_xticks(effect.values, labels, rotation=90 if crowded else 0, parse_math=False)
    else:
        there = values[np.isfinite(values)]
        marks = np.quantile(there, np.linspace(0.0, 1.0, min(there.size, MARKS)))
        ax.plot(marks, np.full(marks.size, 0.02), "|", color=GREY, alpha=0.5, transform=ax.get_xaxis_transform())
        if effect.logarithmic:
            _logarithmic(ax, float(effect.values[0]), float(effect.values[-1]))
        else:
            ax.locator_params(axis="x", nbins=TICK, integer=effect.shape == "points")
    if effect.lines:
        for text in ax.legend(fontsize=7, frameon=False, handlelength=1.2).get_texts():
            text.set_parse_math(False)
    ax.set_title(f"{shorten(cause, 14)} → {shorten(target, 14)}", fontsize=9, parse_math=False)
    ax.set_xlabel(shorten(cause), fontsize=9, parse_math=False)
    ax.tick_params(labelsize=8)
    _lighten(ax)


def _logarithmic(ax: Axes, low: float, high: float) -> None:
    """A logarithmic axis with few ticks, whose numbers have room: powers of ten, or round numbers within two."""
    ax.set_xscale("log")
    ends = np.log10([low, high])
    powers = np.arange(np.ceil(ends[0] - 0.05), np.floor(ends[1] + 0.05) + 1.0)
    round_numbers: FloatArray = np.array(MaxNLocator(TICK).tick_values(low, high), dtype=np.float64)
    ticks = 10.0 ** powers[:: -(-powers.size // TICK)] if powers.size > 1 else round_numbers
    ticks = ticks[(ticks >= 0.9 * low) & (ticks <= 1.1 * high)]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)


def _panels(n_panels: int, *, share: bool) -> npt.NDArray[np.object_]:
    """As many Axes of a new figure, perhaps with heights that compare."""
    n_columns = min(4, n_panels)
    n_rows = -(-n_panels // n_columns)
    height = 2.0 if share else 2.3  # labels of their own need room
    size = (2.3 * n_columns + 0.5, height * n_rows + 0.2)
    _, grid = plt.subplots(n_rows, n_columns, figsize=size, sharey=share, squeeze=False, layout="constrained")
    for unused in grid.ravel()[n_panels:]:
        unused.set_visible(False)
    return grid.ravel()[:n_panels]


def _own_axes(size: tuple[float, float]) -> Axes:
    """Axes of a new figure."""
    return plt.subplots(figsize=size, layout="constrained")[1]


def _lighten(ax: Axes) -> None:
    """No frame where there is nothing to read off."""
    ax.spines[["top", "right"]].set_visible(False)
