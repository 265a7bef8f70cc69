"""Bases of single columns as parents: lines and splines of numbers, levels by dummies, counts by two curves."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.edges.base import Basis
from daguerreotype.edges.splines import fit_nonlinear_basis, nonlinear_columns

RARE = 10  # rows of a level below which it is pooled with the other rare ones
MOST_LEVELS = 12  # that have an effect of their own; the rarer ones beyond are pooled
NEGLIGIBLE = 1e-9  # variance of a direction that the others span


@dataclass(frozen=True)
class SplineCurve:
    """A number as a line, or as a line and a nonlinear spline."""

    centre: float
    spread: float
    spline: BSpline | None
    line: int = 1

    @property
    def slope(self) -> float:
        """One over the spread."""
        return 1.0 / self.spread

    @property
    def width(self) -> int:
        """The line, and the columns of the spline."""
        return 1 if self.spline is None else 1 + int(self.spline.c.shape[1])

    def columns(self, values: FloatArray) -> FloatArray:
        """The line and the nonlinear columns (m, width)."""
        line = ((values - self.centre) / self.spread)[:, None]
        return line if self.spline is None else np.hstack([line, nonlinear_columns(self.spline, values)])


@dataclass(frozen=True)
class CountCurve:
    """A count by its logarithm, log(1 + x), and where that bends by the count itself."""

    centre: FloatArray
    turn: FloatArray
    line: int = 1

    @property
    def slope(self) -> float:
        """By the logarithm."""
        return float(self.turn[0, 0])

    @property
    def width(self) -> int:
        """One, or two."""
        return int(self.turn.shape[1])

    def columns(self, values: FloatArray) -> FloatArray:
        """The logarithm, and what it leaves of the count (m, width)."""
        columns: FloatArray = (np.column_stack([np.log1p(values), values]) - self.centre) @ self.turn
        return columns


@dataclass(frozen=True)
class LevelEffects:
    """Levels by any functions of their codes."""

    by_level: FloatArray  # (levels, width)
    line: int
    slope: float

    @property
    def width(self) -> int:
        """One less than there are levels that have an effect of their own."""
        return int(self.by_level.shape[1])

    def columns(self, values: FloatArray) -> FloatArray:
        """The functions (m, width) of codes (m,)."""
        columns: FloatArray = self.by_level[values.astype(np.int64)]
        return columns


def fit_basis(values: FloatArray, kind: Kind, n_knots: int) -> Basis:
    """The basis of one column (n,) by its kind; without knots, lines alone."""
    if kind.name == "continuous":
        spline = fit_nonlinear_basis(values, n_knots) if n_knots else None
        return SplineCurve(float(values.mean()), float(values.std()), spline)
    if kind.name == "count":
        both = np.column_stack([np.log1p(values), values])
        centre, turn = _orthonormal(both, np.ones(len(values)))
        return CountCurve(centre, turn if n_knots else turn[:, :1])
    return _level_effects(values, kind, bool(n_knots))


def _level_effects(values: FloatArray, kind: Kind, bends: bool) -> LevelEffects:
    """Dummies of levels that are not rare; those with an order as a line first, and the rest where it may bend."""
    counts = np.bincount(values.astype(np.int64), minlength=len(kind.levels)).astype(np.float64)
    groups = pool_rare(counts, RARE, MOST_LEVELS)
    dummies = np.eye(groups.max() + 1)[groups]  # (levels, groups)
    ordered = kind.name != "categorical"
    if ordered:
        codes = np.arange(counts.size, dtype=np.float64)[:, None]
        dummies = np.hstack([codes, dummies]) if bends else codes
    centre, turn = _orthonormal(dummies, counts)
    by_level = (dummies - centre) @ turn
    slope = float(by_level[1, 0] - by_level[0, 0]) if ordered else 0.0
    return LevelEffects(by_level, 1 if ordered else by_level.shape[1], slope)


def pool_rare(counts: FloatArray, rare: int, most: int) -> IntArray:
    """Group (levels,) of each level: one for each that is frequent, and the last for all others together."""
    ranked = np.argsort(-counts, kind="stable")
    own = np.zeros(counts.size, dtype=np.bool_)
    own[ranked[:most]] = True
    own &= counts >= rare
    if (~own).sum() == 1:  # nobody to be pooled with
        own[:] = True
    if own.sum() < 2:
        own[ranked[:2]] = True
    groups: IntArray = np.where(own, np.cumsum(own) - 1, own.sum())
    return groups


def _orthonormal(columns: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means (p,), and the turn (p, w) to uncorrelated columns of variance one, each beyond the former ones."""
    share = weights / weights.sum()
    centre = share @ columns
    left = (columns - centre) * np.sqrt(share)[:, None]
    scale = float(np.sqrt((left**2).sum(axis=0).max()))
    turn: list[FloatArray] = []
    done: list[FloatArray] = []
    for j in range(columns.shape[1]):
        rest, coordinates = left[:, j].copy(), np.eye(columns.shape[1])[j]
        for _ in range(2):  # twice is enough
            for unit, of in zip(done, turn, strict=True):
                shared = float(unit @ rest)
                rest, coordinates = rest - shared * unit, coordinates - shared * of
        length = float(np.sqrt(rest @ rest))
        if length > NEGLIGIBLE**0.5 * scale:
            done.append(rest / length)
            turn.append(coordinates / length)
    return centre, np.column_stack(turn)
