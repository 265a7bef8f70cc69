"""How are lines named at their ends, without names on top of each other?"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import isotonic_regression

from daguerreotype._lib.typing import FloatArray
from daguerreotype.plotting.needs_matplotlib import Axes

SIZE = 8.0  # points of a label


def spread_labels(ax: Axes, ends: FloatArray, labels: Sequence[str], colours: FloatArray) -> None:
    """Write labels beside the heights ``ends`` (d,) of lines, moved apart as little as possible.

    Minimises  sum_i (y_i - ends_i)^2  with neighbours at least a line apart: an isotonic regression.
    """
    low, high = float(ends.min()), float(ends.max())
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    line = 1.15 * SIZE * max(high - low, 1e-9) / points
    order = np.argsort(ends, kind="stable")
    floors = line * np.arange(ends.size)
    heights = isotonic_regression(ends[order] - floors).x + floors
    for node, height in zip(order, heights, strict=True):
        ax.annotate(
            labels[node],
            (1.0, ends[node]),
            xytext=(1.03, height),
            xycoords=ax.get_yaxis_transform(),
            textcoords=ax.get_yaxis_transform(),
            arrowprops={"arrowstyle": "-", "color": colours[node], "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0},
            color=colours[node],
            fontsize=SIZE,
            va="center",
            parse_math=False,
        )
