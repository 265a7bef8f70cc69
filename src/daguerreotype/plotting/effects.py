"""Effects as they are drawn: values of the cause, heights over them, and in words what these are."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.noise.categorical import CategoricalMass
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.ordinal import OrdinalMass
from daguerreotype.plotting.view import shorten
from daguerreotype.result import FitResult

POINTS = 200  # of a curve
MOST_POINTS = 60  # of a cause that counts; between more of them some are left out
MOST_BARS = 24  # with more levels, those that share an effect are one bar


@dataclass(frozen=True)
class Effect:
    """What one cause contributes to one effect.

    Attributes
    ----------
    cause, effect : int
        Columns, by number.
    shape : {"line", "points", "bars"}
        Of a cause that is a number, a count, or has levels.
    values : array of shape (m,)
        Values of the cause; positions of the bars.
    levels : tuple of str
        What the bars are called; empty without bars.
    heights : array of shape (m, q)
        Contributions, with mean zero over the training rows.
    lines : tuple of str
        What the q columns of heights are called: levels of the effect; empty for a single one.
    unit : str
        What is measured upwards.
    logarithmic : bool
        Whether values lie on a logarithmic axis.
    """

    cause: int
    effect: int
    shape: Literal["line", "points", "bars"]
    values: FloatArray
    levels: tuple[str, ...]
    heights: FloatArray
    lines: tuple[str, ...]
    unit: str
    logarithmic: bool = False


def view_effect(model: Any, cause: int, effect: int, rows: FloatArray, points: int = POINTS) -> Effect | None:
    """The effect of one column on another over the values in rows (n, d); None where no range is known.

    Causes with levels need no rows.
    """
    result: FitResult = model._result
    kind = result.kinds[cause]
    unit, lines = unit_of(model, effect)
    if kind.levels:
        codes = np.arange(len(kind.levels), dtype=np.float64)
        heights = _two_dimensional(result.component(cause, effect, codes))
        levels, heights = _pool_bars(tuple(map(str, kind.levels)), heights)
        return Effect(cause, effect, "bars", codes[: len(levels)], levels, heights, lines, unit)
    values = rows[np.isfinite(rows[:, cause]), cause]
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    logarithmic = result.cause_scales[cause] == "log" and low > 0.0 and not kind.counts  # as it was fitted
    if kind.counts:
        grid = np.unique(np.round(np.linspace(low, high, int(min(high - low, MOST_POINTS)) + 1)))
    else:
        grid = np.geomspace(low, high, points) if logarithmic else np.linspace(low, high, points)
    heights = _two_dimensional(result.component(cause, effect, grid))
    shape: Literal["points", "line"] = "points" if kind.counts else "line"
    return Effect(cause, effect, shape, grid, (), heights, lines, unit, logarithmic)


def unit_of(model: Any, effect: int) -> tuple[str, tuple[str, ...]]:
    """What contributions to a column are measured in, and what each is called where there are several."""
    result: FitResult = model._result
    noise = result.density(effect)
    if isinstance(noise, CountMass):
        return "log of the mean", ()
    if isinstance(noise, OrdinalMass):
        return "log-odds of a higher level", ()
    if isinstance(noise, CategoricalMass):
        levels = result.kinds[effect].levels
        groups: list[list[str]] = [[] for _ in range(int(noise.groups.max()) + 1)]
        for level, group in zip(levels, noise.groups, strict=True):
            groups[group].append(str(level))
        first, *further = (shorten(", ".join(group)) for group in groups)
        if len(further) == 1:
            return f"log-odds of {further[0]}", ()
        return f"log-odds against {first}", tuple(further)
    standardized = model.standardize and not result.kinds[effect].discrete
    return "standard deviations" if standardized else "scale of the effect", ()


def _pool_bars(levels: tuple[str, ...], heights: FloatArray) -> tuple[tuple[str, ...], FloatArray]:
    """Levels and their heights; of very many, the largest set of levels with one effect as a single bar."""
    if len(levels) <= MOST_BARS:
        return levels, heights
    _, group, counts = np.unique(heights, axis=0, return_inverse=True, return_counts=True)
    pooled = group.ravel() == counts.argmax()
    if pooled.sum() == 1:
        return levels, heights
    kept = np.flatnonzero(~pooled)
    names = (*(levels[i] for i in kept), f"{pooled.sum()} others")
    return names, np.vstack([heights[kept], heights[pooled][:1]])


def _two_dimensional(heights: FloatArray) -> FloatArray:
    """Heights (m, q), also of a single predictor."""
    return heights[:, None] if heights.ndim == 1 else heights
