"""Bases of single columns as causes: lines and splines of numbers, levels by dummies, counts by two curves.

A kind of column has its basis in :data:`BASES`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.interpolate import BSpline
from scipy.special import ndtr

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.data.table import Table
from daguerreotype.noise.base import pool_rare

RARE = 10  # rows of a level below which it is pooled with the other rare ones
MOST_LEVELS = 12  # that have an effect of their own; the rarer ones beyond are pooled
DEGREE = 3  # of splines
SMOOTH = 4  # columns of a number, its line and the first ones of its spline, that make a smooth curve
ROUGH = 0.6  # share of the penalty of rough columns from which on they are searched with
OUTER = 2.0  # standard deviations of a normal column at which the outer knots are
BEYOND = 2  # pieces of a spline's length, beyond the outer knots, where products end: 3 deviations if normal
EXACT_SIZE = 1200  # functions of all columns, up to which ties do not hang on the sequence of rows
# Share of the largest variance that a direction must keep beside others, so that the data can tell it from them.
SPANNED = 1e-9  # beside the levels or counts before it
STRAIGHT = 1e-8  # of a spline, beside the line


class Basis(ABC):
    """Functions of one column, centred and uncorrelated over the training rows; a frozen record.

    Attributes
    ----------
    line : int
        How many of them, the first ones, the column has at least as a parent.
    """

    line: int

    @property
    def unit(self) -> tuple[float, float]:
        """What is taken off the column where it is an effect, and what it is divided by then."""
        return 0.0, 1.0

    @property
    @abstractmethod
    def width(self) -> int:
        """How many there are."""

    @property
    def stops(self) -> tuple[int, ...]:
        """How many of them a parent may have, ascending, from its line to all."""
        return (self.line, self.width) if self.line < self.width else (self.width,)

    def within(self, values: FloatArray) -> FloatArray:
        """Values (m,) of the column, those far out moved to where products of it with other columns end."""
        return values

    @property
    @abstractmethod
    def slope(self) -> float:
        """Slope of the first of them, per unit of the column or its logarithm; 0 for levels without an order."""

    @abstractmethod
    def columns(self, values: FloatArray) -> FloatArray:
        """The functions (m, width) at values (m,) of the column."""


@saved
@dataclass(frozen=True)
class NumberBasis(Basis):
    """A number as a line, or as a line and a nonlinear spline.

    Attributes
    ----------
    spline : BSpline or None
        The nonlinear functions, orthogonal to the line; None for a line alone.
    centre, spread : float
        What is taken off the column, and what it is divided by, for the line.
    """

    spline: BSpline | None
    centre: float = 0.0
    spread: float = 1.0
    line: int = 1

    @property
    def stops(self) -> tuple[int, ...]:
        """The line, and twice as many columns again and again: rougher and rougher curves."""
        return (*(stop for stop in (1, 2, 4) if stop < self.width), self.width)

    @property
    def unit(self) -> tuple[float, float]:
        """Those of the line."""
        return self.centre, self.spread

    def within(self, values: FloatArray) -> FloatArray:
        """Values between the outer knots, and ``BEYOND`` pieces beyond them."""
        if self.spline is None:
            return values
        low, high = self.spline.t[DEGREE : DEGREE + 2], self.spline.t[-DEGREE - 2 : -DEGREE]
        return np.clip(values, low[0] - BEYOND * np.ptp(low), high[1] + BEYOND * np.ptp(high))

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


@saved
@dataclass(frozen=True)
class CountBasis(Basis):
    """A count by its logarithm, log(1 + x), and where that is not enough by the count itself."""

    centre: Annotated[FloatArray, Shape(2)]
    turn: Annotated[FloatArray, Shape(2, "w")]
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


@saved
@dataclass(frozen=True)
class LevelBasis(Basis):
    """Levels by any functions of their codes."""

    by_level: Annotated[FloatArray, Shape("l", "w")]  # (levels, width)
    line: int
    first_slope: float

    @property
    def width(self) -> int:
        """One less than there are levels that have an effect of their own."""
        return int(self.by_level.shape[1])

    @property
    def slope(self) -> float:
        """By the code."""
        return self.first_slope

    def columns(self, values: FloatArray) -> FloatArray:
        """The functions (m, width) of codes (m,)."""
        columns: FloatArray = self.by_level[values.astype(np.int64)]
        return columns


# ------------------------------------------------------------------ by kind


def number_basis(values: FloatArray, kind: Kind, n_knots: int) -> Basis:
    """A line of variance one, and a spline unless there are no knots."""
    spline = fit_nonlinear_basis(values, n_knots) if n_knots else None
    return NumberBasis(spline, float(values.mean()), float(values.std()))


def count_basis(values: FloatArray, kind: Kind, n_knots: int) -> Basis:
    """The logarithm, and beside it the count unless there are no knots."""
    both = np.column_stack([np.log1p(values), values])
    centre, turn = _orthonormal(both, np.ones(len(values)))
    return CountBasis(centre, turn if n_knots else turn[:, :1])


def level_basis(values: FloatArray, kind: Kind, n_knots: int) -> Basis:
    """Dummies of levels that are not rare, all or none of them."""
    counts, dummies = _dummies(values, kind)
    centre, turn = _orthonormal(dummies, counts)
    return LevelBasis((dummies - centre) @ turn, turn.shape[1], 0.0)


def ordered_basis(values: FloatArray, kind: Kind, n_knots: int) -> Basis:
    """The codes as a line, and the dummies beside it unless there are no knots."""
    counts, dummies = _dummies(values, kind)
    codes = np.arange(counts.size, dtype=np.float64)[:, None]
    dummies = np.hstack([codes, dummies]) if n_knots else codes
    centre, turn = _orthonormal(dummies, counts)
    by_level = (dummies - centre) @ turn
    return LevelBasis(by_level, 1, float(by_level[1, 0] - by_level[0, 0]))


# From values (n,), their kind and a number of knots, 0 for lines alone, to a basis of variances one.
BASES: dict[str, Callable[[FloatArray, Kind, int], Basis]] = {
    "continuous": number_basis,
    "count": count_basis,
    "binary": ordered_basis,
    "ordinal": ordered_basis,
    "categorical": level_basis,
}


def _dummies(values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
    """Rows (levels,) of each level, and its dummies (levels, groups), the rare ones pooled."""
    counts = np.bincount(values.astype(np.int64), minlength=len(kind.levels)).astype(np.float64)
    groups = pool_rare(counts, RARE, MOST_LEVELS)
    return counts, np.eye(groups.max() + 1)[groups]


def _orthonormal(columns: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means (p,), and the turn (p, w) to uncorrelated columns of variance one, each beyond the former ones."""
    share = weights / weights.sum()
    centre = share @ columns
    centred = (columns - centre) * np.sqrt(share)[:, None]
    scale = float(np.sqrt((centred**2).sum(axis=0).max()))
    turn: list[FloatArray] = []
    done: list[FloatArray] = []
    for j in range(columns.shape[1]):
        rest, coordinates = centred[:, j].copy(), np.eye(columns.shape[1])[j]
        for _ in range(2):  # twice is enough
            for unit, its_coordinates in zip(done, turn, strict=True):
                shared = float(unit @ rest)
                rest, coordinates = rest - shared * unit, coordinates - shared * its_coordinates
        length = float(np.sqrt(rest @ rest))
        if length > SPANNED**0.5 * scale:
            done.append(rest / length)
            turn.append(coordinates / length)
    return centre, np.column_stack(turn)


# ------------------------------------------------------------------ splines of numbers


def spline_bases(table: Table, n_knots: int) -> tuple[list[NumberBasis], FloatArray, FloatArray]:
    """Bases of a table of numbers, moments (d * stride,) * 2 of their columns, and the ends (2, d) of these.

    Takes one pass over the rows for quantiles and one for moments, and needs no row in memory. Each basis is a
    linear function of the B-splines of its column, so that its moments are those of these, turned.
    """
    low, *breaks, high = table.quantiles(np.concatenate([[0.0], knot_shares(n_knots), [1.0]]))  # (n_knots + 2, d)
    splines = BSplines([np.unique(column) for column in np.array(breaks).T])
    second = table.moments_of(splines, exact=splines.size <= EXACT_SIZE)
    bases = [NumberBasis(splines.nonlinear(i, second[part, part])) for i, part in enumerate(splines.parts)]
    stride = max(basis.width for basis in bases)
    turns = []  # B-splines to the line and the rest, (b, width)
    for i, basis in enumerate(bases):
        line = splines.slopes(i)[:, None]
        turns.append(line if basis.spline is None else np.hstack([line, basis.spline.c]))
    moments = second
    for _ in range(2):  # one side after the other
        half = np.zeros((len(bases) * stride, moments.shape[1]))
        for i, (part, turn) in enumerate(zip(splines.parts, turns, strict=True)):
            half[i * stride : i * stride + turn.shape[1]] = turn.T @ moments[part]
        moments = np.ascontiguousarray(half.T)
    moments = 0.5 * (half + moments)  # rounding leaves the two sides a little apart
    moments[::stride, ::stride] = table.moments  # known to more digits
    return bases, moments, np.array([low, high])


def without_rough_columns(
    bases: Sequence[Basis], moments: FloatArray, n_rows: int, per_dof: float, per_parent: float
) -> tuple[list[Basis], IntArray]:
    """The bases, splines of which no column asks for more than a smooth curve cut to that, and the columns that
    stay.

    What the rough columns explain of the line of each other column, given the smooth ones, is compared with a
    share of their penalty: other causes may hide the rest.
    """
    stride, kept, cut = max(basis.width for basis in bases), [], list(bases)
    variances = np.maximum(np.diag(moments), 1e-300)
    lines = variances[::stride]
    for i, basis in enumerate(bases):
        if isinstance(basis, NumberBasis) and basis.spline is not None and basis.width > SMOOTH:
            own = slice(i * stride, i * stride + basis.width)  # whose columns are uncorrelated
            explained = moments[own, ::stride] ** 2 / variances[own, None]
            rest = np.maximum(lines - explained[:SMOOTH].sum(axis=0), 1e-3 * lines)
            gains = -n_rows * np.log1p(-np.minimum(explained[SMOOTH:].sum(axis=0) / rest, 0.999))
            gains[i] = 0.0
            if gains.max() < ROUGH * (basis.width - SMOOTH) * per_dof + per_parent:
                spline = basis.spline
                cut[i] = replace(basis, spline=BSpline(spline.t, spline.c[:, : SMOOTH - 1], DEGREE))
        kept.append(i * stride + np.arange(cut[i].width))
    narrow = max(basis.width for basis in cut)
    places = np.concatenate([np.pad(own, (0, narrow - own.size), constant_values=-1) for own in kept])
    return cut, places


class BSplines:
    """Cubic B-splines of every column, side by side; they go on as straight lines beyond their ends.

    Parameters
    ----------
    breaks : sequence of arrays
        Where the pieces of each column's splines meet, with the two ends, ascending; fewer than two give none.
    """

    def __init__(self, breaks: Sequence[FloatArray]) -> None:
        ends = np.repeat(1, DEGREE)
        self.knots = [
            np.concatenate([points[0] * ends, points, points[-1] * ends]) if points.size > 1 else np.zeros(0)
            for points in breaks
        ]
        widths = [max(knots.size - DEGREE - 1, 0) for knots in self.knots]
        stops = np.cumsum(widths)
        self.parts = [slice(int(stop) - width, int(stop)) for stop, width in zip(stops, widths, strict=True)]
        self.size = int(stops[-1])

    def __call__(self, values: FloatArray) -> FloatArray:
        """B-splines (m, size) at values (m, d)."""
        basis = np.zeros((self.size, len(values)))
        for column, knots, part in zip(values.T, self.knots, self.parts, strict=True):
            if knots.size:
                evaluate(np.ascontiguousarray(column), knots, basis[part])
        return basis.T

    def slopes(self, column: int) -> FloatArray:
        """The coefficients (b,) that give back the column itself: averages of three successive knots."""
        knots = self.knots[column]
        return np.convolve(knots, np.full(DEGREE, 1.0 / DEGREE), "valid")[1:-1] if knots.size else knots

    def nonlinear(self, column: int, metric: FloatArray) -> BSpline | None:
        """Natural splines of one column, orthonormal on it and orthogonal to constants and the column.

        The span of the B-splines B holds 1 = B e and x = B g. With P the projection that removes [e, g] in the
        metric M = B'B / n,  and N the coefficients of splines that are straight beyond the ends, the basis is
        B P N T,  T being orthonormal in  N'P'MPN  and making  T'N'P'D'DPNT  diagonal and ascending: smooth columns
        come first (Demmler and Reinsch 1975). D takes second differences of coefficients, a measure of roughness
        on the scale on which the knots are equally far apart. The linear model is nested.

        Parameters
        ----------
        column : int
            Which.
        metric : array of shape (b, b)
            Second moments of its B-splines.

        Returns
        -------
        BSpline or None
            Maps x to the nonlinear basis; None when the column has too few values for one.
        """
        slopes = self.slopes(column)
        if not slopes.size:
            return None
        lines = np.column_stack([np.ones_like(slopes), slopes])  # (b, 2)
        metric_of_lines = lines.T @ metric  # (2, b)
        onto_lines = np.linalg.lstsq(metric_of_lines @ lines, metric_of_lines, rcond=None)[0]
        natural = straight_ends(self.knots[column])
        turn = natural - lines @ (onto_lines @ natural)
        sizes, directions = np.linalg.eigh(turn.T @ metric @ turn)
        kept = sizes > STRAIGHT * np.trace(metric)
        if not kept.any():
            return None
        turn = turn @ (directions[:, kept] / np.sqrt(sizes[kept]))
        roughness = np.diff(turn, 2, axis=0)
        _, by_roughness = np.linalg.eigh(roughness.T @ roughness)
        turn = turn @ by_roughness
        turn *= np.sign(turn[np.argmax(np.abs(turn), axis=0), np.arange(turn.shape[1])])
        return BSpline(self.knots[column], turn, DEGREE)


def knot_shares(n_knots: int) -> FloatArray:
    """The shares of rows below each knot: on a normal column knots are equally far apart, and straight ends begin
    ``OUTER`` standard deviations from the middle.
    """
    shares: FloatArray = ndtr(np.linspace(-OUTER, OUTER, n_knots))
    return shares


def straight_ends(knots: FloatArray) -> FloatArray:
    """Coefficients (b, b - 2) of cubic B-splines that are straight at both ends.

    The second derivative at an end is  (c_2 - c_1) / g_2 - (c_1 - c_0) / g_1,  but for a factor, with the first
    knot beyond it g_1 away, and the second g_2: so the first coefficient is  c_0 = c_1 - (c_2 - c_1) g_1 / g_2.
    """
    size = knots.size - DEGREE - 1
    natural = np.eye(size)[:, 1:-1]
    shares = (knots[4] - knots[3]) / (knots[5] - knots[3]), (knots[-4] - knots[-5]) / (knots[-4] - knots[-6])
    natural[0, :2] = 1.0 + shares[0], -shares[0]
    natural[-1, [-1, -2]] = 1.0 + shares[1], -shares[1]
    return natural


def fit_nonlinear_basis(values: FloatArray, n_knots: int) -> BSpline | None:
    """Nonlinear basis of one column (n,) with ``n_knots`` knots."""
    basis = BSplines([np.unique(np.quantile(values, knot_shares(n_knots)))])
    columns = basis(values[:, None])  # (n, b)
    return basis.nonlinear(0, columns.T @ columns / values.size)


@kernel
def evaluate(values: FloatArray, knots: FloatArray, basis: FloatArray) -> None:
    """Write the cubic B-splines (b, m) at values (m,) into zeros, by the recursion of Cox and de Boor.

    Beyond the ends they go on with the value and the slope that they have there.

    Values may be missing, which scipy refuses: their first four splines are nan, the others zero.
    """
    last = knots.size - 5  # the knot before the last piece
    near = np.empty(4)
    for t in range(values.size):
        x = min(max(values[t], knots[3]), knots[last + 1]) if values[t] == values[t] else values[t]
        piece = 3
        while piece < last and x >= knots[piece + 1]:
            piece += 1
        near[0] = 1.0
        for degree in range(1, 4):
            carried = 0.0
            for r in range(degree):
                above, below = knots[piece + r + 1], knots[piece + r + 1 - degree]
                share = near[r] / (above - below)
                near[r] = carried + (above - x) * share
                carried = (x - below) * share
            near[degree] = carried
        for r in range(4):
            basis[piece - 3 + r, t] = near[r]
        beyond = values[t] - x
        if beyond < 0.0:
            slope = 3.0 * beyond / (knots[4] - knots[3])
            basis[0, t] -= slope
            basis[1, t] += slope
        elif beyond > 0.0:
            slope = 3.0 * beyond / (knots[last + 1] - knots[last])
            basis[last - 1, t] -= slope
            basis[last, t] += slope


def nonlinear_columns(spline: BSpline, values: FloatArray) -> FloatArray:
    """Nonlinear basis at any values, shape (m, b); straight lines beyond the data it was fitted on."""
    basis = np.zeros((spline.t.size - DEGREE - 1, len(values)))
    evaluate(np.ascontiguousarray(values, dtype=np.float64), spline.t, basis)
    columns: FloatArray = spline.c.T @ basis
    return columns.T
