"""Tables: rows in memory, rows that are read chunk by chunk, or moments alone, behind one interface.

A table as it was read holds the user's columns. :meth:`Table.canonical` puts its rows and columns in an order of
their own, :meth:`Table.on_scale` centres and scales the columns: that is what edge estimators see.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.data.missing import fit_normal
from daguerreotype.data.moments import Moments, Summary
from daguerreotype.data.quantiles import OrderStatistics, QuantileSketch, Support
from daguerreotype.data.scales import (
    FAR,
    ColumnScales,
    centre_and_spread,
    counted_columns,
    family,
    look_gaussian,
    straighter_logs,
)
from daguerreotype.data.streams import Source
from daguerreotype.data.ties import untie

SEED = 31_415_926  # of what spreads draws over the cells of grids
# Of EM, where a close look at missing values comes later: of columns, and of functions of them.
SUMMARY_STEPS, FEATURE_STEPS, SUMMARY_TOLERANCE = 50, 8, 1e-4
SCALE_ROWS = 50  # that tell scales apart: of fewer, a fitted scale is chance
MOST_CELLS = 2**25  # of columns on other scales: longer tables stay as they came
# Nats per row that another scale must gain beyond its parameters. Some tables are exactly as likely on several:
# y = x + e with both exponential is x = y U on the scale of logarithms, with uniform U. It is not much, because a
# column without causes pays nothing for a scale: its shape is free.
AS_MEASURED = 0.01


@saved
@dataclass(frozen=True)
class OnScale:
    """A table whose columns were put on scales, centred and perhaps scaled to variance one.

    Attributes
    ----------
    scales : ColumnScales
        The scales of its columns, before they were centred.
    centre, spread : arrays of shape (d,)
        What was subtracted from its values, and what they were then divided by.
    table : Table
        The columns after all that.
    known_slopes : float, optional
        Mean over rows of the sum of the log slopes, where the rows are not held.
    effects : OnScale, optional
        How columns get onto the scales that they have as effects, where these are others than they have as causes.
    """

    scales: ColumnScales
    centre: Annotated[FloatArray, Shape("d")]
    spread: Annotated[FloatArray, Shape("d")]
    table: "Table"
    known_slopes: float | None = None
    effects: "OnScale | None" = None

    @property
    def of_effects(self) -> "OnScale":
        """How columns get onto the scales that they have as effects."""
        return self if self.effects is None else self.effects

    def with_effects(self, places: Sequence[int]) -> "OnScale":
        """The same, columns on other scales of the table as effects, each by its place; -1 is its own scale."""
        nodes, rescaled = [node for node, place in enumerate(places) if place >= 0], self.table.rescaled
        if not nodes or rescaled is None:
            return replace(self, effects=None)
        chosen = [places[node] for node in nodes]
        centre, spread = self.centre.copy(), self.spread.copy()
        centre[nodes], spread[nodes] = rescaled.centre[chosen], rescaled.spread[chosen]
        scales = self.scales.replaced(nodes, rescaled.scales.take(chosen))
        return replace(self, effects=OnScale(scales, centre, spread, self.table))

    def apply(self, values: FloatArray) -> FloatArray:
        """Rows (m, d) as they come, on the scale of the table."""
        scaled: FloatArray = (self.scales.apply(values) - self.centre) / self.spread
        return scaled

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Logarithm of the derivative of :meth:`apply` at every value (m, d)."""
        slopes: FloatArray = self.scales.log_slopes(values) - np.log(self.spread)
        return slopes

    def column(self, number: int, values: FloatArray) -> FloatArray:
        """Values (m,) of one column as they come, on the scale of the table."""
        on_scale = self.scales.take([number]).apply(values[:, None])[:, 0]
        scaled: FloatArray = (on_scale - self.centre[number]) / self.spread[number]
        return scaled

    def log_slope(self, number: int, values: FloatArray) -> FloatArray:
        """Logarithm of the derivative of :meth:`column` at values (m,)."""
        slopes = self.scales.take([number]).log_slopes(values[:, None])[:, 0]
        scaled: FloatArray = slopes - np.log(self.spread[number])
        return scaled


@dataclass(frozen=True)
class RescaledColumns:
    """Continuous columns of a table on other scales than the table's, which they may be on as effects.

    Attributes
    ----------
    columns : array of shape (e,)
        Which they are, ascending; a column is there on several scales.
    scales : ColumnScales
        These e scales, of columns as they came.
    centre, spread : arrays of shape (e,)
        What is then subtracted, and what the columns are divided by.
    values : array of shape (n, e)
        Their values after that, of mean zero and variance one in the rows that count.
    offsets : array of shape (e,)
        What makes negative log-likelihoods per row comparable with those on the table's scale.
    searched : array of shape (e,)
        On which of them parents are searched for: rows far out would hide these on the table's scale.
    dither : array of shape (n, e), optional
        What spreads their ties; None without any.
    price : float
        Nats per row that columns pay for the scales of the table, which ``offsets`` are measured from.
    """

    columns: IntArray
    scales: ColumnScales
    centre: FloatArray
    spread: FloatArray
    values: FloatArray
    offsets: FloatArray
    searched: BoolArray
    dither: FloatArray | None = None
    price: float = 0.0

    def untied(self, rows: IntArray | slice) -> FloatArray:
        """Values in some rows, their ties spread."""
        return self.values[rows] if self.dither is None else self.values[rows] + self.dither[rows]

    def take_rows(self, rows: BoolArray) -> "RescaledColumns":
        """The same in some rows (n,)."""
        dither = None if self.dither is None else self.dither[rows]
        return replace(self, values=self.values[rows], dither=dither)


@saved
@dataclass(frozen=True)
class Table:
    """Numeric columns. Edge estimators are given centred ones, of variance one unless the user asked otherwise.

    Attributes
    ----------
    values : array of shape (n, d)
        The rows, nan where a value is missing.
    names : tuple
        The user's names of the columns, of any type that can be hashed; x0, x1, ... where there are none.
    known_moments : array of shape (d, d), optional
        X'X / n where it is known to more digits than the values would give it.
    intervened : array of shape (n, d), optional
        Where a column was intervened on: such a row does not count for the column's own fit. Estimators never see
        it: they are given tables of rows that count.
    named : bool
        Whether the names are the user's.
    kinds : tuple of Kind
        The kind of every column; empty if all are continuous and on no grid. Discrete columns are codes and counts
        on any scale.
    families : tuple of str
        Name of the noise model of each column; empty for the usual ones of discrete kinds, and Gaussian noise.
    steps : array of shape (d,), optional
        Steps of the grids that continuous columns are on, 0 for others; None without any. Their likelihoods are
        masses: densities times the step.
    untied : array of shape (n, d), optional
        The values with the ties of continuous columns spread over their cells; None without ties.
    dither : array of shape (n, d), optional
        What that adds to ``values`` on the scale that they are on: 0 where nothing is spread.
    known_rounding : array of shape (d,), optional
        The variance of that, where it is known without looking at rows.
    rescaled : RescaledColumns, optional
        Columns on other scales, which estimators may judge effects on.
    copies : int
        How often every row is there, each time with other draws of what it lacks: ``values`` and all that goes
        with them hold one completed table after the other. They say no more than one of them would.
    known_summary : Summary, optional
        Moments that are expected of the columns as they are, where they are known better than by draws.
    known_support : Support, optional
        What values columns have where they are seen, of a completed table.
    """

    holds_rows: ClassVar[bool] = True  # in memory, so that residuals can be had

    values: FloatArray
    names: Annotated[tuple[Any, ...], Shape("d", labels=True)]  # hashable
    known_moments: FloatArray | None = None
    intervened: BoolArray | None = None
    named: bool = field(default=True, kw_only=True)
    kinds: Annotated[tuple[Kind, ...], Shape("d", empty=True)] = field(default=(), kw_only=True)
    families: tuple[str, ...] = field(default=(), kw_only=True)
    steps: Annotated[FloatArray | None, Shape("d")] = field(default=None, kw_only=True)
    untied: FloatArray | None = field(default=None, kw_only=True)
    dither: FloatArray | None = field(default=None, kw_only=True)
    known_rounding: FloatArray | None = field(default=None, kw_only=True)
    rescaled: RescaledColumns | None = field(default=None, kw_only=True)
    copies: int = field(default=1, kw_only=True)
    known_summary: Summary | None = field(default=None, kw_only=True)
    known_support: Support | None = field(default=None, kw_only=True)

    @property
    def n_rows(self) -> int:
        """Number of observations n, however often each is there."""
        return int(self.values.shape[0]) // self.copies

    @property
    def n_columns(self) -> int:
        """Number of variables d."""
        return len(self.names)

    @cached_property
    def missing(self) -> BoolArray | None:
        """Where values (n, d) are nan; None if none is. Estimators never see any: a table is completed before."""
        missing = np.isnan(self.values)
        return missing if missing.any() else None

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """What results call the columns: the user's names, or positions."""
        return self.names if self.named else tuple(range(self.n_columns))

    @cached_property
    def discrete(self) -> BoolArray:
        """Which columns (d,) are discrete."""
        if not self.kinds:
            return np.zeros(self.n_columns, dtype=np.bool_)
        return np.array([kind.discrete for kind in self.kinds])

    @cached_property
    def rows_per_node(self) -> IntArray | None:
        """How many rows count for each column's own fit (d,); None where all do."""
        return None if self.intervened is None else self.n_rows - self.intervened.sum(axis=0) // self.copies

    @property
    def mean_log_steps(self) -> float:
        """Mean over rows of the sum of the log steps of grids, in the rows that count for their columns."""
        if self.steps is None:
            return 0.0
        shares = 1.0 if self.rows_per_node is None else self.rows_per_node / self.n_rows
        return float(np.sum(shares * np.log(np.where(self.steps > 0.0, self.steps, 1.0))))

    @cached_property
    def dither_by_node(self) -> list[FloatArray] | None:
        """What spreads the ties of each column, in the rows that count for it; None without ties."""
        if self.dither is None:
            return None
        columns = list(np.ascontiguousarray(self.dither.T))
        if self.intervened is None:
            return columns
        return [column[~out] for column, out in zip(columns, self.intervened.T, strict=True)]

    @cached_property
    def rounding(self) -> FloatArray:
        """Variance (d,) that spreading ties adds to each column, in the rows that count for it."""
        if self.known_rounding is not None:
            return self.known_rounding
        if self.dither_by_node is None:
            return np.zeros(self.n_columns)
        return np.array([np.mean(column**2) for column in self.dither_by_node])

    @cached_property
    def summary(self) -> Summary:
        """Moments of the columns as they are; where some are missing, the likeliest."""
        if self.known_summary is not None:
            return self.known_summary
        if self.missing is None:
            return Moments().update(self.values).summary()
        fit = fit_normal(self.values, SUMMARY_STEPS, SUMMARY_TOLERANCE)
        scaled = (self.values - np.nanmean(self.values, axis=0)) / np.nanstd(self.values, axis=0)
        low, high = np.nanmin(self.values, axis=0), np.nanmax(self.values, axis=0)
        return Summary(self.n_rows, fit.mean, fit.covariance, np.nanmean(scaled**3, axis=0), low, high)

    @cached_property
    def moments(self) -> FloatArray:
        """Second-moment matrix X'X / n of shape (d, d); all that a linear estimator needs of X."""
        if self.known_moments is not None:
            return self.known_moments
        moments: FloatArray = self.values.T @ self.values / len(self.values)
        return moments

    def quantiles(self, probs: FloatArray) -> FloatArray:
        """Values (q, d) that shares ``probs`` (q,) of each column do not exceed, interpolated between rows."""
        quantile = np.quantile if self.missing is None else np.nanquantile
        return np.asarray(quantile(self.values, probs, axis=0), dtype=np.float64)

    def moments_of(self, features: Callable[[FloatArray], FloatArray], *, exact: bool = True) -> FloatArray:
        """Second moments F'F / n of shape (p, p) of functions of the rows: (m, d) to F (m, p).

        Exact ones do not depend on the sequence of the rows; others are faster.
        """
        if self.missing is not None:
            return _expected(features(self.values))
        if self.copies > 1:  # draws break all ties
            exact = False
        return Moments(exact=exact, features=features).update(self.values).second()

    @cached_property
    def support(self) -> Support:
        """What values columns have, where they are seen."""
        if self.known_support is not None:
            return self.known_support
        return Support.of_rows(self.values, self.kinds, self.intervened)

    def typical(self) -> FloatArray:
        """A row (d,) in the middle of all: medians."""
        medians: FloatArray = np.median(self.values, axis=0)
        return medians

    @cached_property
    def all_values(self) -> FloatArray:
        """Rows (n, d), or (n + 2, d) if ties were spread, that a scale must hold: with the ends as they came.

        Zeros that were spread upwards have no logarithm.
        """
        if self.untied is None:
            return self.values
        return np.vstack([self.untied, self.values.min(axis=0), self.values.max(axis=0)])

    def may_change_scale(self, name: str) -> bool:
        """Whether the scales of columns are to be found out: that takes rows, not too few, of a continuous one."""
        return name == "auto" and self.holds_rows and not self.discrete.all() and self.n_rows >= SCALE_ROWS

    def scales_of(self, name: str) -> ColumnScales:
        """The scale of a name, fitted to the continuous columns; columns as they came for "auto"."""
        values, intervened = self.all_values, self.intervened
        if self.untied is not None and intervened is not None:
            intervened = np.vstack([intervened, np.zeros((2, self.n_columns), dtype=np.bool_)])
        scales, columns = ColumnScales.as_measured(self.n_columns), np.flatnonzero(~self.discrete)
        if not columns.size or name == "auto":
            return scales
        out = None if intervened is None else intervened[:, columns]
        return scales.replaced(columns, ColumnScales.fit(name, values[:, columns], out))

    def canonical_columns(self) -> IntArray:
        """Its columns in an order that neither renumbering them nor shuffling the rows changes."""
        values = self.values if self.values.size else None
        names = tuple(map(str, self.names)) if self.named else ()
        return canonical_columns(
            self.summary.covariance, self.summary.skewness, values, self.intervened, self.kinds, names
        )

    def canonical(self, columns: IntArray) -> "Table":
        """The same table with these columns, and its rows in an order that shuffling them does not change."""
        values = np.ascontiguousarray(self.values[:, columns])
        intervened = None if self.intervened is None else self.intervened[:, columns]
        rows = canonical_rows(values, intervened)
        if intervened is not None:
            intervened = np.ascontiguousarray(intervened[rows])
        names = tuple(self.names[j] for j in columns)
        kinds = tuple(self.kinds[j] for j in columns) if self.kinds else ()
        table = Table(values[rows], names, None, intervened, named=self.named, kinds=kinds)
        out = intervened
        if table.missing is not None:
            out = table.missing if intervened is None else table.missing | intervened
            table = replace(table, known_summary=self.summary.take(columns))
        kind_steps = np.array([kind.step for kind in kinds]) if kinds else None
        spread = untie(table.values, np.flatnonzero(~table.discrete), kind_steps, out)
        if spread is None:
            return table
        untied, steps = spread
        return replace(table, untied=untied, steps=steps if steps.any() else None)

    def rows(self, chosen: "IntArray | slice | None" = None, *, limit: int | None = None) -> "Table":
        """Some of its rows, each draw of what is missing once: those ``chosen``, or as many as ``limit`` allows.

        Those up to a limit are the first, which :meth:`canonical` has mixed; where interventions keep rows of
        complete tables from counting for a column, they are all. Of a table with missing values what is known of
        values and moments stays that of all rows.
        """
        kept: dict[str, Any] = {}
        if chosen is None:
            no_limit = limit is None or (self.missing is None and self.intervened is not None)
            n_rows = self.n_rows if no_limit else min(limit or 0, self.n_rows)
            if n_rows == self.n_rows and self.copies == 1:
                return self
            chosen = slice(n_rows)
            if self.missing is not None:
                kept = {"known_support": self.support, "known_summary": self.known_summary}
        parts = {
            name: getattr(self, name)[chosen]
            for name in ("values", "intervened", "untied", "dither")
            if getattr(self, name) is not None
        }
        return replace(self, copies=1, **({"known_moments": None, "known_summary": None} | kept | parts))

    def completed(self, draws: FloatArray) -> "Table":
        """The table with every row as often as there are ``draws`` (m, n, d): values where it has none."""
        m = len(draws)
        values = np.tile(self.values, (m, 1))
        missing = np.isnan(values)
        values = np.where(missing, draws.reshape(values.shape), values)
        untied = None
        if self.untied is not None:
            # Draws are on no atom, but on the grid of their column.
            steps = np.zeros(self.n_columns) if self.steps is None else self.steps
            offsets = steps * (np.random.default_rng(SEED).random(values.shape) - 0.5)
            untied = np.where(missing, values + offsets, np.tile(self.untied, (m, 1)))
        intervened = None if self.intervened is None else np.tile(self.intervened, (m, 1))
        return replace(
            self,
            values=values,
            intervened=intervened,
            untied=untied,
            copies=m,
            known_summary=None,
            known_support=self.support,
        )

    def as_saved(self) -> "Table":
        """What a file holds: no row."""
        return Table(np.zeros((0, self.n_columns)), self.names, kinds=self.kinds, steps=self.steps)

    def on_scale(self, scales: ColumnScales, standardize: bool) -> OnScale:
        """The columns on scales, then centred and, if asked, scaled; values intervened on have no say."""
        values = scales.apply(self.values)
        moments = None
        if self.known_summary is not None and scales.measured:
            summary = self.known_summary
            centre, spread, moments = _standard(summary.mean, summary.covariance, standardize)
        elif self.missing is not None:
            normal = fit_normal(values, SUMMARY_STEPS, SUMMARY_TOLERANCE)
            centre, spread, moments = _standard(normal.mean, normal.covariance, standardize)
        elif self.intervened is None:
            seen = Moments(exact=self.copies == 1).update(values).summary()
            centre, spread, moments = _standard(seen.mean, seen.covariance, standardize)
        else:
            centre, spread = centre_and_spread(values, self.intervened)
            spread = spread if standardize else np.ones(self.n_columns)
        if self.discrete.any():  # codes and counts stay what they are
            centre, spread, moments = (
                np.where(self.discrete, 0.0, centre),
                np.where(self.discrete, 1.0, spread),
                None,
            )
        scaled = np.ascontiguousarray((values - centre) / spread)
        dither = None if self.untied is None else (scales.apply(self.untied) - values) / spread
        if dither is not None and self.missing is not None:
            dither = np.where(self.missing, 0.0, dither)
        table = replace(self, values=scaled, known_moments=moments, untied=None, dither=dither, known_summary=None)
        if dither is not None and self.steps is not None and scales.measured:
            one_cell = np.abs(dither).max(axis=0) * spread <= 0.5001 * self.steps  # no more: no atom
            rounding = np.where(one_cell, _rounding(self.steps, spread), table.rounding)
            table = replace(table, known_rounding=rounding)
        return OnScale(scales, centre, spread, table)

    @cached_property
    def open_scales(self) -> dict[int, ColumnScales]:
        """The scales that each continuous column may be on beside the measured one; of long tables none."""
        scales = {int(node): family(self.all_values[:, node]) for node in np.flatnonzero(~self.discrete)}
        cells = sum(len(own.names) for own in scales.values()) * len(self.values)
        return scales if cells <= MOST_CELLS else {}

    def scales_of_causes(self, evidence: float) -> ColumnScales:
        """Columns as measured, or on their logarithms where lines on the others explain these far better.

        As everywhere, the measured scale wins unless another is better by the price of a parameter, by so many
        rows of ``evidence``, and a little more.
        """
        numbers, scales = list(self.open_scales), ColumnScales.as_measured(self.n_columns)
        positive = self.all_values[:, numbers].min(axis=0, initial=np.inf) > 0.0
        if positive.any():
            price = 0.5 * np.log(evidence) / evidence
            straighter = straighter_logs(self.values[:, numbers], positive, self.n_rows, price, AS_MEASURED)
            for node in np.array(numbers)[straighter].tolist():
                scales = scales.replaced([node], self.open_scales[node].named("log"))
        return scales

    def with_other_scales(self, scaled: OnScale, evidence: float, n_fitted: int | None = None) -> OnScale:
        """The table on its scale, with the other scales that its continuous columns may be on as effects.

        Parameters of scales are paid for as by so many rows of ``evidence``. Likelihoods are compared in the first
        ``n_fitted`` rows: slopes must be those of the rows that variances are of. A column that looks Gaussian,
        and that others leave looking so, needs no other scale.
        """
        families = {node: own.beside(scaled.scales.names[node]) for node, own in self.open_scales.items()}
        numbers = np.array(list(families), dtype=np.int64)
        if self.intervened is None and 0 < numbers.size < self.n_rows // 2:
            values = scaled.table.values[:, numbers]
            rest = values @ np.linalg.pinv(np.cov(values.T, bias=True).reshape(numbers.size, -1))
            usual = look_gaussian(values, self.n_rows) & look_gaussian(rest, self.n_rows)
            families = {node: families[node] for node in numbers[~usual].tolist()}
        if not families:
            return scaled
        columns = np.repeat(list(families), [len(own.names) for own in families.values()])
        names = tuple(name for own in families.values() for name in own.names)
        scales = ColumnScales(names, np.concatenate([own.parameters for own in families.values()]))
        values = scales.apply(self.values[:, columns])
        intervened = None if self.intervened is None else self.intervened[:, columns]
        centre, spread = centre_and_spread(values, intervened)
        untied = self.values if self.untied is None else self.untied
        slopes = scales.log_slopes(untied[:, columns]) - np.log(spread) - scaled.log_slopes(untied)[:, columns]
        if intervened is None:
            means = slopes[:n_fitted].mean(axis=0)
        else:
            means = np.array([column.mean() for column in counted_columns(slopes, intervened)])
        dither = None if self.untied is None else (scales.apply(untied[:, columns]) - values) / spread
        own_price = AS_MEASURED * scaled.scales.changed
        price = 0.5 * np.log(evidence) / evidence * scales.n_parameters + AS_MEASURED * scales.changed
        price -= own_price[columns]
        shares = 1.0 if self.rows_per_node is None else self.rows_per_node / self.n_rows
        # As Gaussians without causes, on the table's scale and on these.
        gains = means + np.log(scaled.table.values.std(axis=0))[columns]
        searched = np.zeros(columns.size, dtype=np.bool_)
        for node in families:
            own = np.flatnonzero(columns == node)
            best = own[np.argmax(gains[own])]
            searched[best] = gains[best] > FAR
        rescaled = RescaledColumns(
            columns,
            scales,
            centre,
            spread,
            (values - centre) / spread,
            price - means,
            searched,
            dither,
            float(np.sum(shares * own_price)),
        )
        return replace(scaled, table=replace(scaled.table, rescaled=rescaled))

    def mean_log_slopes(self, scaled: OnScale, n_rows_used: int) -> float:
        """Mean over rows of the log slopes of a change of scale; the first that count for a column are enough."""
        values = self.values if self.untied is None else self.untied
        if self.intervened is None:
            return mean_sum(scaled.log_slopes(values[:n_rows_used]), None)
        counted = np.cumsum(~self.intervened, axis=0)  # (n, d)
        # What is looked at stands for all that counts.
        weights = np.maximum(counted[-1] / n_rows_used, 1.0)
        slopes = weights * scaled.log_slopes(values)
        return mean_sum(slopes, self.intervened | (counted > n_rows_used))


@dataclass(frozen=True, kw_only=True)
class StreamedTable(Table):
    """A table without values: its rows are read again for what moments do not say, if they can be.

    Attributes
    ----------
    source : Source or None
        The rows; None where there are only moments. Those of the columns as they came are ``known_summary``.
    sketch : QuantileSketch or None
        What was kept of the rows to find quantiles by.
    columns : array of shape (d,)
        The column of the source that each of the table is.
    scaled : OnScale, optional
        How these got onto the scale of the table.
    on_rows : callable
        Told how many rows more were read.
    """

    holds_rows: ClassVar[bool] = False

    values: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    source: Source | None = None
    sketch: QuantileSketch | None = None
    columns: IntArray
    scaled: OnScale | None = None
    on_rows: Callable[[int], None] | None = None

    @property
    def n_rows(self) -> int:
        """Number of observations n, none of which is held."""
        return self.summary.n_rows

    def quantiles(self, probs: FloatArray) -> FloatArray:
        """Values (q, d) as of any table; one more pass over the rows, unless they are few."""
        assert self.sketch is not None
        assert self.source is not None
        place = probs * (self.n_rows - 1)
        first = np.floor(place).astype(np.int64)
        second = np.minimum(first + 1, self.n_rows - 1)
        ranks = np.unique([first, second])
        lower, upper = self.sketch.enclose(ranks)  # of all columns of the source
        for rank, end in ((0, self.summary.low), (self.n_rows - 1, self.summary.high)):
            lower[np.ix_(ranks == rank, self.columns)] = upper[np.ix_(ranks == rank, self.columns)] = end
        if not np.array_equal(lower, upper):
            lower = self.source.gather(partial(OrderStatistics, ranks, lower, upper)).values
        # No scale changes the order of values, so those at these ranks stay there.
        low, high = self._on_scale(lower)[np.searchsorted(ranks, [first, second])]
        quantiles: FloatArray = low + (high - low) * (place - first)[:, None]
        return quantiles

    def moments_of(self, features: Callable[[FloatArray], FloatArray], *, exact: bool = True) -> FloatArray:
        """Second moments (p, p) as of any table, by one more pass over the rows."""
        assert self.source is not None
        empty = partial(Moments, exact=exact, features=partial(self._features, features))
        return self.source.gather(empty).second()

    def typical(self) -> FloatArray:
        """Means: medians are not known, and any value serves, since a curve looks at one column at a time."""
        return self.summary.mean

    def scales_of(self, name: str) -> ColumnScales:
        """The scale of a name, fitted to least and largest values; "auto" leaves columns as they are."""
        return ColumnScales.fit(
            "none" if name == "auto" else name, np.stack([self.summary.low, self.summary.high])
        )

    def canonical(self, columns: IntArray) -> "StreamedTable":
        """The same table with these columns."""
        names = tuple(self.names[j] for j in columns)
        steps = None if self.steps is None else self.steps[columns]
        summary = self.summary.take(columns)
        return replace(self, names=names, columns=self.columns[columns], known_summary=summary, steps=steps)

    def on_scale(self, scales: ColumnScales, standardize: bool) -> OnScale:
        """The columns on scales, which takes one more pass over the rows, then centred and scaled."""
        seen, slopes = self.summary, 0.0
        if not scales.measured:
            assert self.source is not None
            empty = partial(Moments, features=partial(_and_slopes, scales, self.columns))
            with_slopes = self.source.gather(empty, self.on_rows).summary()
            seen, slopes = with_slopes.take(np.arange(self.n_columns)), float(with_slopes.mean[-1])
        centre, spread, moments = _standard(seen.mean, seen.covariance, standardize)
        scaled = OnScale(scales, centre, spread, self)
        rounding = None  # known of columns as they came alone
        if self.steps is not None and scales.measured:
            rounding = _rounding(self.steps, spread)
        table = replace(self, known_moments=moments, scaled=scaled, known_rounding=rounding)
        return replace(scaled, table=table, known_slopes=slopes - float(np.log(spread).sum()))

    def mean_log_slopes(self, scaled: OnScale, n_rows_used: int) -> float:
        """Mean over all rows, known from the pass that found their moments."""
        assert scaled.known_slopes is not None
        return scaled.known_slopes

    def _on_scale(self, values: FloatArray) -> FloatArray:
        """Rows of the source (m, d) on the scale of the table."""
        own = values[:, self.columns]
        return own if self.scaled is None else self.scaled.apply(own)

    def _features(self, features: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
        """Functions of rows of the source: a method, so that it can be sent to a cluster."""
        return features(self._on_scale(values))


def canonical_rows(values: FloatArray, intervened: BoolArray | None = None) -> IntArray:
    """Rows in an order that shuffling them does not change: rounding must not break ties among orders.

    Sorted, then mixed by a fixed permutation: an estimator that splits rows as they come must not get sorted ones.
    """
    rows = np.argsort(values[:, 0], kind="stable")
    if np.any(np.diff(values[rows, 0]) == 0) or np.isnan(values[:, 0]).any():
        keys = values.T[::-1]
        rows = np.lexsort(keys if intervened is None else np.concatenate([intervened.T, keys]))
    mixed: IntArray = rows[np.random.default_rng(0).permutation(rows.size)]
    return mixed


def mean_sum(density: FloatArray, left_out: BoolArray | None) -> float:
    """Mean over rows of the sum over columns (m, d), but for values that are left out."""
    counted = density if left_out is None else np.where(left_out, 0.0, density)
    return float(np.mean(counted.sum(axis=1)))


def _standard(
    mean: FloatArray, covariance: FloatArray, standardize: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre (d,) and spread (d,) of columns, and their second moments (d, d) without them."""
    spread = np.sqrt(np.diag(covariance)) if standardize else np.ones(mean.size)
    return mean, spread, np.ascontiguousarray(covariance / (spread[:, None] * spread))


def _expected(features: FloatArray) -> FloatArray:
    """Second moments (p, p) that EM expects of features (n, p) with nan, as if they were normal."""
    fit = fit_normal(features, FEATURE_STEPS, SUMMARY_TOLERANCE)
    moments: FloatArray = fit.covariance + np.outer(fit.mean, fit.mean)
    return moments


def _rounding(steps: FloatArray, spread: FloatArray) -> FloatArray:
    """Variance (d,) of values spread over one step of a grid, in squares of ``spread``."""
    variances: FloatArray = (steps / spread) ** 2 / 12.0
    return variances


def _and_slopes(scales: ColumnScales, columns: IntArray, values: FloatArray) -> FloatArray:
    """Columns on scales (m, d), and the sum of the log slopes of each row as one more."""
    chosen = values[:, columns]
    return np.column_stack([scales.apply(chosen), scales.log_slopes(chosen).sum(axis=1)])


# ------------------------------------------------------------------ canonical order of columns
# What breaks ties in a fit must not depend on how the user numbered the columns, or rows. Columns are sorted by
# how strongly they correlate with all others, then by skewness. Columns of few values may tie in both. Then rows
# and columns are coloured in turns (colour refinement, Weisfeiler and Leman 1968): the colour of a row stands for
# the colours of its columns with their values in it, that of a column for the colours of its rows with its values
# in them. Sums of hashes do not depend on the sequence of their terms. Where colours settle and still tie, one
# column of the first tie is told apart, and colouring goes on. Columns that any statistic sees alike, because rows
# stay the same if they change places, are told apart by name, or by number where they have no names: either choice
# is the other with the two renamed.


Hashes = npt.NDArray[np.uint64]
HASHED_ROWS = 2**16  # rows whose cells are hashed at a time


def canonical_columns(
    covariance: FloatArray,
    skewness: FloatArray,
    values: FloatArray | None = None,
    intervened: BoolArray | None = None,
    kinds: Sequence[object] = (),
    names: Sequence[str] = (),
) -> IntArray:
    """Columns in an order that neither renumbering them nor shuffling the rows changes.

    Two columns alone always tie in their correlations, and their skewness tells them apart. Without ``values``
    (n, d) correlations stand for rows. Columns without names are told by their numbers in the end.
    """
    scale = np.sqrt(np.diag(covariance))
    correlations = covariance / (scale[:, None] * scale)
    strength = np.abs(correlations).sum(axis=0)
    # The same sum in another sequence differs in its last digits.
    keys = np.stack([strength.round(9), skewness.round(9)])  # (2, d)
    colours = np.unique(keys, axis=1, return_inverse=True)[1].ravel()  # ranks
    if np.unique(colours).size < colours.size:
        rows = correlations.round(9) if values is None else values
        if kinds:
            colours = _split(colours, _hash_texts([repr(kind) for kind in kinds]))
        colours = _refined(colours, rows, intervened, names)
    return np.argsort(colours, kind="stable")


def _refined(
    colours: IntArray, values: FloatArray, intervened: BoolArray | None, names: Sequence[str]
) -> IntArray:
    """Colours (d,), no two alike, in the sequence of those given."""
    by_name = np.argsort(np.argsort(names)) if names else np.arange(colours.size)
    while True:
        n_before = 0
        while n_before < np.unique(colours).size:  # at most d times: every round splits a colour
            n_before = np.unique(colours).size
            colours = _split(colours, _seen_by_rows(colours, values, intervened))
        counts = np.bincount(colours)
        if counts.max() == 1:
            return colours
        tied = np.flatnonzero(colours == np.flatnonzero(counts > 1)[0])
        colours = 2 * colours  # room to stand before its equals
        colours[tied[np.argmin(by_name[tied])]] -= 1
        colours = np.unique(colours, return_inverse=True)[1].ravel()


def _split(colours: IntArray, hashes: Hashes) -> IntArray:
    """Colours as ranks (d,): those of one colour told apart by their hashes."""
    keys = np.stack([colours.astype(np.uint64), hashes])
    ranks: IntArray = np.unique(keys, axis=1, return_inverse=True)[1].ravel()
    return ranks


def _seen_by_rows(colours: IntArray, values: FloatArray, intervened: BoolArray | None) -> Hashes:
    """A hash of every column (d,), by the colours of rows, which are those of the columns with their values."""
    own, seen = _mix(colours.astype(np.uint64)), np.zeros(colours.size, dtype=np.uint64)
    for first in range(0, len(values), HASHED_ROWS):
        block = values[first : first + HASHED_ROWS]
        same = np.where(np.isnan(block), np.nan, block + 0.0)  # one nan, and no negative zero
        cells = _mix(np.ascontiguousarray(same).view(np.uint64))  # (m, d)
        if intervened is not None:
            cells = _mix(cells + intervened[first : first + HASHED_ROWS].astype(np.uint64))
        rows = _mix(_mix(cells + own).sum(axis=1, dtype=np.uint64))
        seen += _mix(cells + rows[:, None]).sum(axis=0, dtype=np.uint64)
    return seen


def _mix(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit depends on all."""
    mixed: Hashes = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _hash_texts(texts: Sequence[str]) -> Hashes:
    """Hashes that are the same in every process."""
    digests = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
