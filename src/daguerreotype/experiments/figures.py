"""Figures of results: SHD against SID with its Pareto front, curves over what is varied, graphs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_file_name
from daguerreotype._lib.files import replaced
from daguerreotype._lib.labels import printable
from daguerreotype.experiments.method import matrix_of
from daguerreotype.experiments.results import collect, load_published, pareto_front, plan_of, summarize
from daguerreotype.experiments.runs import OK, Store
from daguerreotype.metrics.summary import title_of
from daguerreotype.plotting import plot_graph
from daguerreotype.plotting.backend import Axes, Line2D
from daguerreotype.plotting.backend import pyplot as plt

# Colours of Okabe and Ito, which the colour-blind tell apart; markers and line styles say the same in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
MARKERS = "osD^vP*X<>"
STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))
FRONT, BEHIND = "#D55E00", "#0072B2"
SPOTS = [(5, 3), (5, -9), (-10, 3), (-10, -9), (-2, 7), (-2, -13), (12, -3), (-17, -3)]  # of a number, in points
COLUMNS = 3  # of panels


def write_figures(store: Store, experiment: str, folder: Path) -> list[Path]:
    """Draw all figures of an experiment from the store, as SVG; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = {"pareto": draw_pareto, "curves": draw_curves, "graphs": draw_graphs}
    paths: list[Path] = []
    if not (collect(store, experiment)["status"] == OK).any():
        return paths
    # The same runs give the same bytes; text of an SVG stays text.
    with plt.rc_context({"svg.hashsalt": "daguerreotype", "svg.fonttype": "none", "font.size": 8}):
        for figure in plan_of(store, experiment)["figures"]:
            drawn = draw[figure["kind"]](store, experiment, figure)
            # The plan may be of a store that came from elsewhere.
            path = folder / f"{check_file_name(figure['file'], 'file of a figure')}.svg"
            with replaced(path) as file:
                drawn.savefig(file, format="svg", bbox_inches="tight", dpi=110, metadata={"Date": None})
            plt.close(drawn)
            paths.append(path)
    return paths


def draw_pareto(store: Store, experiment: str, figure: Mapping[str, Any]) -> Any:
    """A panel for every problem: numbered methods at their mean SHD and SID, the Pareto front in orange."""
    summary = _chosen(summarize(store, experiment), figure)
    summary = summary[summary["runs"] > 0]
    problems, methods = (list(dict.fromkeys(summary[name])) for name in ("problem", "method"))
    drawn, panels = _panels(len(problems), size=(6.0, 5.0) if len(problems) == 1 else (3.6, 3.2))
    published = load_published(plan_of(store, experiment)["published"] if figure.get("published") else "")
    for axes, problem in zip(panels, problems, strict=False):
        of_problem = summary[summary["problem"] == problem]
        _scatter(axes, of_problem, [methods.index(method) + 1 for method in of_problem["method"]], published)
        axes.set(xlabel=title_of("shd"), ylabel=title_of("sid"), title=_shown(problem))
    names = [f"{number}  {_shown(method)}" for number, method in enumerate(methods, start=1)]
    if len(published):
        names.append("×  published, joined to ours")
    drawn.legend(
        handles=[Line2D([], [], linestyle="", label=name) for name in names],
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        handlelength=0,
        frameon=False,
    )
    return drawn


def draw_curves(store: Store, experiment: str, figure: Mapping[str, Any]) -> Any:
    """A row for every measure, a column for every panel: means over repeats against what is varied.

    Bands are standard deviations. A method that does not have what is varied is a level line; one that does not
    have what tells panels apart is in all of them.
    """
    x, by = figure["x"], figure.get("panels")
    plan = plan_of(store, experiment)
    frame = _chosen(collect(store, experiment), figure)
    frame = frame[frame["status"] == OK]
    measures = figure.get("measures", plan["measures"])
    values = sorted(frame[by].dropna().unique()) if by else [None]
    places = sorted(frame[x].dropna().unique())
    methods = list(dict.fromkeys(entry["method"] for entry in plan["entries"]))
    drawn, grid = plt.subplots(
        len(measures),
        max(len(values), 1),
        figsize=(2.6 * max(len(values), 1) + 0.4, 1.7 * len(measures) + 0.4),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for column, value in enumerate(values):
        of_panel = frame if by is None else frame[frame[by].isna() | (frame[by] == value)]
        for row, measure in enumerate(measures):
            axes = grid[row, column]
            for method in [name for name in methods if name in set(of_panel["method"])]:
                runs = of_panel[of_panel["method"] == method]
                if measure in runs and runs[measure].notna().any():
                    _curve(axes, runs, x, measure, methods.index(method))
            axes.set_xscale("log" if figure.get("log_x") else "linear")
            axes.set_xticks(places, [f"{place:g}" for place in places])
            axes.set_xticks([], minor=True)
            logs = ("seconds", "wall_seconds", *figure.get("log_y", ()))
            axes.set_yscale("log" if measure in logs else "linear")
            axes.grid(alpha=0.2)
            if column == 0:
                axes.set_ylabel(title_of(measure))
        grid[0, column].set_title(
            "" if by is None else _shown(value) if isinstance(value, str) else _shown(f"{by} = {value:g}")
        )
        grid[-1, column].set_xlabel(_shown(x))
    handles = {handle.get_label(): handle for axes in grid.flat for handle in axes.get_legend_handles_labels()[0]}
    drawn.legend(handles=list(handles.values()), loc="outside lower center", ncols=4, frameon=False)
    return drawn


def draw_graphs(store: Store, experiment: str, figure: Mapping[str, Any]) -> Any:
    """The true graph, then the graph that each method found in its first repeat, edges judged against it."""
    entries = [entry for entry in plan_of(store, experiment)["entries"] if entry["key"] in store.runs]
    first = {entry["method"]: store.runs[entry["key"]] for entry in reversed(entries)}
    wanted = figure.get("methods", list(dict.fromkeys(entry["method"] for entry in entries)))
    runs = {name: first[name] for name in wanted if name in first and first[name]["status"] == OK}
    drawn, panels = _panels(len(runs) + 1, size=(5.2, 3.0), columns=2)
    truth = None
    for axes, (name, run) in zip(panels[1:], runs.items(), strict=False):
        problem = store.problems[run["data"]]
        truth = matrix_of(problem["truth"], problem["columns"])
        plot_graph(matrix_of(run["edges"], problem["columns"]), truth=truth, ax=axes)
        axes.set_title(f"{_shown(name)}: SHD {run['shd']}, SID {run['sid']}")
    if truth is not None:
        plot_graph(truth, ax=panels[0])
        panels[0].set_title("true graph")
    return drawn


def _scatter(axes: Axes, summary: pd.DataFrame, numbers: Sequence[int], published: pd.DataFrame) -> None:
    """Points of one panel with their numbers, each where it is farthest from the others."""
    points = summary[["shd", "sid"]].to_numpy(dtype=float)
    front = pareto_front(points)
    steps = points[front][np.argsort(points[front][:, 0])]
    axes.plot(steps[:, 0], steps[:, 1], color=FRONT, linewidth=0.8, alpha=0.5, zorder=1)
    for method, point in zip(summary["method"], points, strict=True):
        if method in published.index:
            theirs = published.loc[method, ["shd", "sid"]].to_numpy(dtype=float)
            axes.plot(*np.transpose([point, theirs]), color="#AAAAAA", linewidth=0.6, zorder=0)
            axes.plot(*theirs, marker="x", color="#888888", markersize=4, zorder=0)
    behind = points[~front]
    axes.scatter(behind[:, 0], behind[:, 1], color=BEHIND, s=18, zorder=2)
    axes.scatter(steps[:, 0], steps[:, 1], color=FRONT, s=18, zorder=3)
    axes.scatter(steps[:, 0], steps[:, 1], facecolors="none", edgecolors=FRONT, s=70, zorder=3)
    axes.margins(0.12)
    axes.autoscale_view()
    pixels = axes.transData.transform(points) * 72 / axes.figure.dpi  # points of print
    taken = [*pixels]
    for number, point, pixel in zip(numbers, points, pixels, strict=True):
        spot = max(SPOTS, key=lambda place: min(np.hypot(*(pixel + place + (3, 3) - other)) for other in taken))
        taken.append(pixel + spot + (3, 3))
        axes.annotate(
            str(number), (point[0], point[1]), xytext=spot, textcoords="offset points", fontsize=7, zorder=4
        )


def _curve(axes: Axes, runs: pd.DataFrame, x: str, measure: str, number: int) -> None:
    """One method in one panel."""
    look = {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
        "label": _shown(runs["method"].iloc[0]),
        "linewidth": 1.2,
    }
    if x not in runs or runs[x].isna().all():
        axes.axhline(runs[measure].mean(), **look)
        return
    over = runs.groupby(x)[measure]
    mean, deviation = over.mean(), over.std(ddof=0)
    axes.plot(mean.index, mean, marker=MARKERS[number % len(MARKERS)], markersize=3, **look)
    axes.fill_between(mean.index, mean - deviation, mean + deviation, color=look["color"], alpha=0.12, linewidth=0)


def _shown(label: str) -> str:
    """A label of a spec as text: no formula, and nothing that XML has no sign for."""
    return printable(label).replace("$", r"\$")


def _chosen(frame: pd.DataFrame, figure: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of the methods that a figure shows."""
    shown = frame["method"].isin(figure.get("methods", list(frame["method"])))
    return frame[shown & ~frame["method"].isin(figure.get("leave_out", []))]


def _panels(count: int, size: tuple[float, float] = (3.6, 3.2), columns: int = COLUMNS) -> tuple[Any, list[Axes]]:
    """A figure with at least ``count`` panels, those beyond it hidden."""
    across = min(max(count, 1), columns)
    down = -(-max(count, 1) // across)
    drawn, grid = plt.subplots(
        down, across, figsize=(size[0] * across, size[1] * down), squeeze=False, layout="constrained"
    )
    panels = list(grid.flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return drawn, panels
