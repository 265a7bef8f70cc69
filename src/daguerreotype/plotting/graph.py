"""Picture of a graph: causes on the left; width shows size, opacity probability, colour sign or what is known."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.typing import FloatArray
from daguerreotype.graphs import GraphLike
from daguerreotype.plotting import backend as mpl
from daguerreotype.plotting.layout import ARROW, HEIGHT, Layout, lay_out
from daguerreotype.plotting.view import GraphView, shorten, view_graph

# Colours of Okabe and Ito, which the colour-blind tell apart; line styles say the same to those who print in grey.
LOOKS: dict[str, tuple[str, Any]] = {
    "correct": ("#0072B2", "-"),
    "missing": ("#8A8A8A", (0, (1.5, 1.5))),
    "wrong": ("#D55E00", "-"),
    "reversed": ("#AA3377", (0, (5, 1.5))),
    "positive": ("#3B5B7A", "-"),
    "negative": ("#D55E00", (0, (5, 1.5))),
    "nonlinear": ("#009E73", (0, (5, 1.5, 1.5, 1.5))),
    "without sign": ("#7A7A7A", (0, (2, 1))),
}
FONT = 10.0  # points of a label, where there is room
LARGEST = (30.0, 20.0)  # inches of a figure of our own
SMALLEST = (3.2, 1.6)
SMALLEST_WITH_LEGEND = (5.6, 1.6)
OPEN = "direction open"  # what the legend calls edges without a head
LEGEND = 0.35  # inches that the legend takes
THINNEST, THICKEST = 0.8, 2.6  # points of an edge, by its norm
PAD = 0.6  # ems around the picture


def plot_graph(
    adjacency: GraphLike,
    *,
    truth: GraphLike | None = None,
    weights: npt.ArrayLike | pd.DataFrame | None = None,
    probabilities: npt.ArrayLike | pd.DataFrame | None = None,
    ax: mpl.Axes | None = None,
) -> mpl.Axes:
    """Draw a graph, causes on the left and every edge towards the right.

    An edge is as wide as its absolute weight is large, that of a fit as its norm, and as opaque as it is probable.
    One whose direction is open, since its reverse has at least a quarter of the probability of both, has no head.
    Against a known graph, edges are correct, wrong or reversed, and those of the known graph alone are missing; a
    legend counts them. Without one, edges of negative weight have a colour of their own, and so do nonlinear ones
    of a fit, whose weight is less than half of their norm: effects that go up and down.

    Parameters
    ----------
    adjacency : array-like of shape (d, d), DataFrame or networkx.DiGraph
        The graph; entry [i, j] = 1 means i -> j.
    truth : array-like of shape (d, d), DataFrame or networkx.DiGraph, optional
        A known graph on the same nodes, matched by name where both have names.
    weights : array-like or DataFrame of shape (d, d), optional
        Of the edges; entries of pairs without an edge are ignored.
    probabilities : array-like or DataFrame of shape (d, d), optional
        Of the edges and of their reverses, which tell whose direction is open; other entries are ignored.
    ax : matplotlib Axes, optional
        Where to draw. Without it a new figure is made, as large as the labels need, up to 30 by 20 inches.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = plot_graph([[0, 1, 1], [0, 0, 1], [0, 0, 0]], truth=[[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['1 correct', '1 wrong', '1 reversed']
    >>> ax = plot_graph([[0, 1], [0, 0]], probabilities=[[0, 0.6], [0.4, 0]])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['1 positive', '1 direction open']
    """
    return draw_view(view_graph(adjacency, truth=truth, weights=weights, probabilities=probabilities), ax)


def draw_view(view: GraphView, ax: mpl.Axes | None = None) -> mpl.Axes:
    """Draw a checked graph."""
    labels = [shorten(name) for name in view.names]
    layout = lay_out(view.adjacency | view.missing, view.ranks, [_label_width(label) for label in labels])
    looks, open_edges = _looks(view), view.open_edges
    with_legend = bool(open_edges.any()) or any(look != "positive" for look in looks.values())
    ax = ax or _own_axes(layout, with_legend)
    ax.set_axis_off()
    ax.set_xlim(-PAD, layout.size[0] + PAD)
    ax.set_ylim(-PAD, layout.size[1] + PAD)
    ax.set_aspect("equal")
    ax.apply_aspect()
    scale = min(_points_per_em(ax) / FONT, 1.0)  # thinner lines in a small picture
    sizes = view.norms[view.adjacency]
    strongest = float(sizes.max(initial=0.0)) or 1.0
    if sizes.size and np.ptp(sizes) == 0.0:
        strongest *= 3.0  # norms that are all the same, or not known, need no thick lines
    for (cause, effect), curve in layout.curves.items():
        look = looks[cause, effect]
        strength = view.norms[cause, effect] / strongest if look != "missing" else 0.0
        chance = view.probability(cause, effect) if look != "missing" else None
        width = THINNEST + (THICKEST - THINNEST) * float(strength)
        (color, dashes), alpha = LOOKS[look], 1.0 if chance is None else 0.2 + 0.8 * chance
        if not open_edges[cause, effect]:
            curve, head = _split_head(curve, width, color, alpha)
            head.set_gid(f"head-{cause}-{effect}")  # to be found by, in the Axes and in an SVG file
            ax.add_patch(head)
        shaft = _shaft(curve, scale * width, dashes, color, alpha)
        shaft.set_gid(f"edge-{cause}-{effect}")
        ax.add_patch(shaft)
    linked = {node for edge in layout.curves for node in edge}
    for node, label in enumerate(labels):
        _draw_node(ax, layout, node, label, strong=node in linked)
    if with_legend:
        _draw_legend(ax, list(looks.values()), int(open_edges.sum()))
    return ax


def _looks(view: GraphView) -> dict[tuple[int, int], str]:
    """The entry of LOOKS for every drawn edge."""
    looks: dict[tuple[int, int], str] = {}
    for cause, effect in np.argwhere(view.adjacency | view.missing):
        looks[int(cause), int(effect)] = view.verdict(cause, effect) or view.direction(cause, effect)
    return looks


def _own_axes(layout: Layout, with_legend: bool) -> mpl.Axes:
    """Axes that fill a new figure in which labels have their natural size, if it does not get too large."""
    inches = (layout.size + 2 * PAD) * FONT / 72
    inches *= min(1.0, *(np.array(LARGEST) / inches))
    width, height = np.maximum(inches, SMALLEST_WITH_LEGEND if with_legend else SMALLEST)
    legend = LEGEND if with_legend else 0.0
    figure = mpl.pyplot.figure(figsize=(width, height + legend))
    return figure.add_axes((0.0, legend / (height + legend), 1.0, height / (height + legend)))


def _label_width(label: str) -> float:
    """Width of a label in ems, as the font has it."""
    width, _, _ = mpl.text_to_path.get_text_width_height_descent(label, mpl.FontProperties(size=100), ismath=False)
    return 1.03 * float(width) / 100  # small letters are rounded up to whole pixels


class _Label(mpl.Text):
    """Text that is one em of the data high, whatever becomes of the figure."""

    def draw(self, renderer: Any) -> None:
        assert isinstance(self.axes, mpl.Axes)
        self.set_fontsize(_points_per_em(self.axes))
        super().draw(renderer)


def _points_per_em(ax: mpl.Axes) -> float:
    """How large one unit of the data comes out."""
    start, end = ax.transData.transform([[0.0, 0.0], [1.0, 0.0]])[:, 0]
    return float(end - start) * 72 / ax.figure.dpi


def _draw_node(ax: mpl.Axes, layout: Layout, node: int, label: str, *, strong: bool) -> None:
    """A rounded box with a label; nodes without edges are paler."""
    (x, y), width = layout.centres[node], layout.widths[node]
    ink = mpl.pyplot.rcParams["text.color"]
    box = mpl.FancyBboxPatch(
        (x - 0.5 * width, y - 0.5 * HEIGHT),
        width,
        HEIGHT,
        boxstyle=f"round,pad=0,rounding_size={0.3 * HEIGHT}",
        facecolor=ax.get_facecolor(),
        edgecolor=ink,
        linewidth=0.8,
        alpha=None if strong else 0.6,
        linestyle="-" if strong else (0, (2, 2)),
        zorder=3,
    )
    ax.add_patch(box)
    text = _Label(x, y, label, ha="center", va="center_baseline", color=ink, parse_math=False, zorder=4)
    text.set_alpha(None if strong else 0.7)
    ax.add_artist(text)


def _split_head(curve: FloatArray, width: float, color: str, alpha: float) -> tuple[FloatArray, mpl.Polygon]:
    """The head of an edge, and a curve that ends where it begins, so that opacities do not add up."""
    tip, before = curve[-1], curve[-4]
    direction = (tip - before) / np.linalg.norm(tip - before)
    length = ARROW * (0.6 + 0.15 * width)
    across = 0.42 * length * np.array([-direction[1], direction[0]])
    base = tip - length * direction
    line = curve.copy()
    line[-4:] = np.linspace(before, base, 4)
    corners = np.array([tip, base + across, base - across])
    return line, mpl.Polygon(corners, facecolor=color, linewidth=0, alpha=alpha, zorder=2)


def _shaft(curve: FloatArray, width: float, dashes: Any, color: str, alpha: float) -> mpl.PathPatch:
    """The line of an edge."""
    codes = [mpl.Path.MOVETO] + [mpl.Path.CURVE4] * (len(curve) - 1)
    shaft = mpl.PathPatch(
        mpl.Path(curve, codes),
        fill=False,
        edgecolor=color,
        linewidth=width,
        linestyle=dashes,
        alpha=alpha,
        zorder=1,
    )
    shaft.set_capstyle("butt")
    return shaft


def _draw_legend(ax: mpl.Axes, looks: list[str], n_open: int) -> None:
    """What colours and lines without a head mean, and how many edges have each, under the picture."""
    shown = [look for look in LOOKS if look in looks]
    entries = {f"{looks.count(look)} {look}": (*LOOKS[look], ">" if n_open else "") for look in shown}
    if n_open:
        entries[f"{n_open} {OPEN}"] = (mpl.pyplot.rcParams["text.color"], "-", "")
    handles = [
        mpl.Line2D([], [], color=color, linestyle=style, linewidth=2, marker=marker, markersize=7)
        for color, style, marker in entries.values()
    ]
    words = list(entries)
    ax.legend(handles, words, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False, borderpad=0.2)
