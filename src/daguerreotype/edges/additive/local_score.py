"""Local fits of additive models: each cause by its basis, each effect by its family."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from daguerreotype._lib.labels import listed
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.additive.basis import (
    BASES,
    EXACT_SIZE,
    SMOOTH,
    Basis,
    LevelBasis,
    NumberBasis,
    spline_bases,
    without_rough_columns,
)
from daguerreotype.edges.additive.family import Families
from daguerreotype.edges.additive.products import (
    BENDS,
    MOST_COLUMNS,
    SCREENED_CELLS,
    SCREENED_ROWS,
    lay_out,
    products_of,
    screen_pairs,
    strongest,
)
from daguerreotype.edges.base import Capabilities, EdgeRules, LocalFit, LocalModels
from daguerreotype.edges.grow_shrink.problem import (
    GAUSSIAN,
    LIKELIHOOD,
    OtherScales,
    Products,
    Weighing,
    new_problem,
)
from daguerreotype.edges.grow_shrink.search import Chosen, GrowShrinkTrees
from daguerreotype.edges.grow_shrink.weigh import ALWAYS, NARROW, SHAPE, SPREAD, WIDE
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.base import Mass
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, variance_of_nll

# Rows that tables with discrete columns are fitted on: their likelihoods need each row in every step. Those of
# numbers must be of the same rows: means over others differ by more than the two directions of an edge. Fewer
# are enough where evidence is bounded.
LIKELIHOOD_ROWS = MAX_ROWS
CELLS, LEAST_ROWS = 2**24, 2**12  # of basis columns that are kept for weighing rows, and rows of them at least
LEAST_NOTED = 0.005  # nats per row of scale, spread and shape that are worth a note
CHUNK = 2**14  # rows whose basis columns are laid out at a time
SEEN = 64  # values of a column that a curve is looked at where fits are made by moments
# What may be weighed of a number, by the name of its noise.
WEIGHED = {"auto": SPREAD | SHAPE, "free-shape": SHAPE | ALWAYS}


@saved
@dataclass(frozen=True, slots=True)
class AdditiveFit(LocalFit):
    """An additive fit, which remembers its components.

    The weight of a parent is the slope of the least-squares line through its component over the training rows,
    cov(f(x), x) / var(x): an average of the slopes f'(x), and their plain mean where x is normal (Stein's lemma).
    Levels without an order, and parents of a node with several linear predictors, have no direction: their weight
    is the size of their effect. A parent by products alone has the slope of these.

    Attributes
    ----------
    used : array of shape (p,)
        How many columns of each parent's basis it has, the first ones; none of a parent by products alone.
    products : array of shape (k, 4)
        Pairs of parents, and which columns of their bases are multiplied.
    coefficients : array of shape (1 + m + k, q)
        Of the constant, these columns, parent by parent, and the products; one for each linear predictor of a
        discrete node, one for a number, and another for its log standard deviation where its spread depends on its
        parents.
    shape : array of shape (k,)
        Cutpoints of ordered levels, the dispersion of counts, or the variance of whole numbers; of a number whose
        spread depends on its parents the least and the largest log standard deviation over the training rows;
        empty for others.
    bounds : array of shape (2, p, q)
        The least and the most that each parent contributes: what it does in training rows, as far as these support
        that. They do where the effect, less all that others contribute, comes near it, give or take the standard
        deviation of the noise. Lines and levels have no bounds.
    family : int
        Which of the families that a discrete node may have it has.
    gain : float
        Nats per row by which scale, spread and shape of a number are likelier, all paid for, than Gaussian noise
        of one spread on the scale of the table.
    """

    used: Annotated[IntArray, Shape("p", least=0)]
    products: Annotated[IntArray, Shape("k", 4)]
    coefficients: Annotated[FloatArray, Shape("m", "q", filled=True)]
    shape: Annotated[FloatArray, Shape("s")]
    bounds: Annotated[FloatArray, Shape(2, "p", "q", empty=True)]
    family: int = field(default=0, kw_only=True)
    gain: float = field(default=0.0, kw_only=True)

    def notes(self, names: Sequence[str]) -> list[str]:
        """Products, what spread depends on, and what scale, spread and shape are worth."""
        notes = [
            f"product of {names[i]} and {names[k]}" for i, k in dict.fromkeys(map(tuple, self.products[:, :2]))
        ]
        if self.coefficients.shape[1] == 2 and self.shape.size == 2:
            owners = np.repeat(self.parents, self.used)
            spread = np.flatnonzero(self.coefficients[1 : 1 + owners.size, 1])
            notes.append(f"spread depends on {listed([names[i] for i in np.unique(owners[spread])], quote=False)}")
        if self.gain >= LEAST_NOTED:
            notes.append(f"{self.gain:.2f} nats a row likelier than Gaussian noise of one spread")
        return notes

    def check_saved(self) -> None:
        """Refuse coefficients of more or fewer columns than are used, and products of others than parents."""
        if len(self.coefficients) != 1 + self.used.sum() + len(self.products):
            raise ValueError("coefficients of other columns than are used")
        if not np.isin(self.products[:, :2], self.parents).all():
            raise ValueError("products of columns that are no parents")


@saved
class AdditivePredictor(LocalModels):
    """Predicts by the sum over parents of functions in their bases.

    Parameters
    ----------
    names : sequence
        Column names, for messages.
    bases : sequence of Basis
        Of each column as a cause.
    """

    can = Capabilities(predictions=True, curves=True)

    def __init__(
        self,
        names: Annotated[Sequence[Any], Shape("d", labels=True)],
        bases: Annotated[Sequence[Basis], Shape("d")],
    ) -> None:
        self.names, self.bases = tuple(names), list(bases)

    def predictor(self) -> "AdditivePredictor":
        """What predicts without the table."""
        return AdditivePredictor(self.names, self.bases)

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of a number for rows (m, d); linear predictors (m,) or (m, q) of a discrete node."""
        fit = additive(fit)
        predictors = np.repeat(fit.coefficients[:1], len(values), axis=0)
        for place, parent in enumerate(fit.parents):
            predictors += self._component(fit, place, values[:, parent])
        for pair, shares in zip(fit.products, fit.coefficients[1 + fit.used.sum() :], strict=True):
            first, second = (
                self.bases[parent].columns(self.bases[parent].within(values[:, parent]))[:, column]
                for parent, column in zip(pair[:2], pair[2:], strict=True)
            )
            predictors += np.outer(first * second, shares)
        return predictors[:, 0] if predictors.shape[1] == 1 else predictors

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component of ``parent`` at values ``grid`` (m,) of its column: (m,), or (m, q) for several predictors.

        It has mean zero over the training rows. A straight one goes on beyond them; any other stays between the
        least and the largest that it reaches in them. Products with other parents are not part of it. The
        predictor of a number is its value, of a level the log-odds, of a count the logarithm of its mean, or its
        value where that is likelier.
        """
        fit = additive(fit)
        if parent not in fit.parents:
            parents = ", ".join(repr(self.names[i]) for i in fit.parents) or "none"
            raise ValueError(
                f"{self.names[parent]!r} is not a parent of {self.names[node]!r} in this fit, so it has no "
                f"curve; ask for one of its parents: {parents}."
            )
        place = int(np.flatnonzero(fit.parents == parent)[0])
        component = self._component(fit, place, np.asarray(grid, dtype=np.float64))
        return component[:, 0] if component.shape[1] == 1 else component

    def _component(self, fit: AdditiveFit, place: int, values: FloatArray) -> FloatArray:
        """What the parent at one place contributes (m, q) at values (m,)."""
        first, used = 1 + int(fit.used[:place].sum()), int(fit.used[place])
        columns = self.bases[fit.parents[place]].columns(values)[:, :used]
        low, high = fit.bounds[:, place]
        component: FloatArray = np.clip(columns @ fit.coefficients[first : first + used], low, high)
        return component


def additive(fit: LocalFit) -> AdditiveFit:
    """Refuse a fit that does not hold its components."""
    if not isinstance(fit, AdditiveFit):
        raise TypeError(
            f"expected the AdditiveFit that fit returned, which holds its components, got {type(fit).__name__}."
        )
    return fit


class AdditiveModels(AdditivePredictor, GrowShrinkTrees):
    """Local fits of a table with columns of any kind; all fits of a node share the search trees of its targets.

    Parameters
    ----------
    table : Table
        Its discrete columns hold codes and counts. One of numbers alone is seen through moments, and need not
        hold rows.
    n_knots : int
        Knots of splines; 0 for lines alone.
    penalty : Penalty
        What parents cost.
    rules : EdgeRules, optional
        Parents to leave out, and to begin with and never remove.
    """

    can = replace(AdditivePredictor.can, search=True, batches=True, residuals=True, untied=True)

    def __init__(self, table: Table, n_knots: int, penalty: Penalty, rules: EdgeRules | None = None) -> None:
        self._table = table
        self._families: Families | None = None
        self._ends: FloatArray | None = None  # of the columns, where a pass over the rows has seen them
        self._scales: IntArray = np.arange(0 if table.rescaled is None else table.rescaled.columns.size)
        self._by_end: dict[int, AdditiveFit] = {}  # fits, by where their walks end
        self._first_columns: FloatArray = np.zeros((0, 0))
        if table.discrete.any():
            self._prepare_rows(table, n_knots, penalty, rules)
            return
        bases: list[Basis] = [NumberBasis(None) for _ in table.names]
        moments = table.moments
        if n_knots:
            splines, moments, self._ends = spline_bases(table, n_knots)
            bases, moments = self._without_rough(splines, moments, table.n_rows, penalty)
        AdditivePredictor.__init__(self, table.names, bases)
        scales = other_scales(table, self._columns_of)
        products = self._choose_products(table, len(table.values), penalty, rules)
        problem = new_problem(
            moments,
            self._widths,
            table.n_rows,
            penalty,
            rules,
            table.rounding,
            scales,
            stops=self._stops,
            products=products,
            weighing=self._weighing(table, scales, max(penalty.enough(table.n_rows), LEAST_ROWS)),
        )
        self._first_columns = np.zeros((0, 0))
        GrowShrinkTrees.__init__(self, problem)

    def _prepare_rows(self, table: Table, n_knots: int, penalty: Penalty, rules: EdgeRules | None) -> None:
        """Bases, families and trees of a table with discrete columns, from its first rows."""
        rows = min(len(table.values), LIKELIHOOD_ROWS)
        if table.copies == 1:
            rows = penalty.enough(rows)
        bases = [
            BASES[kind.name](column[:rows] if np.ptp(column[:rows]) > 0.0 else column, kind, n_knots)
            for column, kind in zip(table.values.T, table.kinds, strict=True)
        ]
        AdditivePredictor.__init__(self, table.names, bases)
        features = self.columns(table.values[:rows])
        spreads = np.array([basis.unit[1] for basis in bases])
        first = Table(table.values[:rows], table.names, copies=table.copies)
        moments = first.moments_of(self.columns, exact=features.shape[1] <= EXACT_SIZE)
        n_first = rows // table.copies
        self.bases, moments = self._without_rough(bases, moments, n_first, penalty)
        features = self.columns(table.values[:rows])
        families = self._families = Families.of(table, rows)
        scales, order = families.beside(other_scales(table, self._columns_of, rows), features)
        self._scales = np.append(self._scales, np.full(order.size - self._scales.size, -1))[order]
        products = self._choose_products(table, rows, penalty, rules)
        problem = new_problem(
            moments,
            self._widths,
            n_first,
            penalty,
            rules,
            table.rounding / spreads**2,
            scales,
            table.copies,
            float(penalty.evidence(table.n_rows) / penalty.evidence(n_first)),
            stops=self._stops,
            products=products,
            weighing=self._weighing(table, scales, n_first),
        )
        self._first_columns = np.zeros((0, 0))
        problem = families.describe(problem, table, self.bases, features)
        GrowShrinkTrees.__init__(self, problem, table.copies, families.kernels)

    @staticmethod
    def _without_rough(
        bases: Sequence[Basis], moments: FloatArray, n_rows: int, penalty: Penalty
    ) -> tuple[list[Basis], FloatArray]:
        """Bases and second moments without rough columns that nothing asks for."""
        per_parent = penalty.per_parent(len(bases))
        cut, places = without_rough_columns(bases, moments, n_rows, penalty.per_dof(n_rows), per_parent)
        there = np.ix_(places, places)
        return cut, np.where((places < 0)[:, None] | (places < 0), 0.0, moments[there])

    @property
    def _widths(self) -> IntArray:
        return np.array([basis.width for basis in self.bases])

    @property
    def _stops(self) -> IntArray:
        """How many columns each basis may be used with (d, s), ascending; the last one fills the rows."""
        stops = [basis.stops for basis in self.bases]
        most = max(map(len, stops))
        return np.array([[*own, *own[-1:] * (most - len(own))] for own in stops])

    @property
    def _curves(self) -> IntArray:
        """How many columns smooth curves have (d,)."""
        return np.array(
            [max(stop for stop in basis.stops if stop <= max(SMOOTH, basis.line)) for basis in self.bases]
        )

    def _choose_products(
        self, table: Table, n_rows: int, penalty: Penalty, rules: EdgeRules | None
    ) -> Products | None:
        """Products of two columns that may have effects on numbers; not beside straight lines, or limits."""
        self._pairs: IntArray = np.zeros((0, 4), dtype=np.int64)
        self._pair_means: FloatArray = np.zeros(0)
        d, limited = table.n_columns, rules is not None and rules.max_parents is not None
        if self._widths.max() == 1 or not table.holds_rows or limited or not 2 < d <= MOST_COLUMNS:
            return None
        n = min(n_rows // table.copies, SCREENED_ROWS, SCREENED_CELLS // (d * d * BENDS**2 // 2))
        least = penalty.per_dof(n) + 2.0 * penalty.per_parent(d)
        linear = np.array([basis.line == 1 for basis in self.bases])
        allowed = np.ones((d, d), dtype=np.bool_) if rules is None else rules.allowed
        columns, within = self._columns_of(0, n), self._within(table.values[:n])
        promising = screen_pairs(columns, within, self._curves, linear, ~table.discrete, allowed, least)
        promising = strongest(promising, d)
        if not promising.targets.size:
            return None
        products, self._pair_means = lay_out(promising, table, n_rows, d, self.columns, self._within)
        self._pairs = promising.pairs
        with_scales = np.zeros((self._scales.size, len(self._pairs)))  # families of discrete columns have none
        of_numbers = self._scales >= 0
        with_scales[of_numbers] = products.with_scales[self._scales[of_numbers]]
        return products._replace(with_scales=with_scales)

    def columns(self, values: FloatArray) -> FloatArray:
        """Basis columns (m, d * stride) of rows (m, d), owner by owner."""
        columns = np.zeros((len(self.bases), int(self._widths.max()), len(values)))  # as searches lay them out
        for own, basis, column in zip(columns, self.bases, values.T, strict=True):
            own[: basis.width] = basis.columns(column).T
        return columns.reshape(-1, len(values)).T

    def _columns_of(self, first: int, last: int) -> FloatArray:
        """Those of rows of the table; the first ones are asked for again and again while all is prepared."""
        if first > 0:
            return self.columns(self._table.values[first:last])
        if len(self._first_columns) < last:
            self._first_columns = self.columns(self._table.values[:last])
        return self._first_columns[:last]

    def _within(self, values: FloatArray) -> FloatArray:
        """The columns that products are made of."""
        inner = [basis.within(column) for basis, column in zip(self.bases, values.T, strict=True)]
        return self.columns(np.column_stack(inner))

    def _weighing(self, table: Table, scales: OtherScales | None, n_rows: int) -> Weighing | None:
        """The rows that numbers are weighed by: the first ones of every copy of a long table, of ``n_rows``."""
        names = table.families or ("",) * table.n_columns
        what = np.array([WEIGHED.get(name, 0) for name in names]) * ~table.discrete
        if not table.holds_rows or not (what.any() or scales is not None):
            return None
        width = len(self.bases) * int(self._widths.max())
        n_first = min(n_rows, table.n_rows, max(min(MAX_ROWS, CELLS // width) // table.copies, LEAST_ROWS))
        rows: IntArray | slice = slice(None)
        if n_first < table.n_rows:
            rows = np.concatenate([copy * table.n_rows + np.arange(n_first) for copy in range(table.copies)])
        numbers = table.values[rows]
        rescaled = (
            np.zeros((len(numbers), 0)) if scales is None else np.asfortranarray(numbers[:, scales.variables])
        )
        if table.rescaled is not None:
            rescaled[:, self._scales >= 0] = table.rescaled.untied(rows)
        if table.dither is not None:
            numbers = numbers + table.dither[rows]
        centres, spreads = np.array([basis.unit for basis in self.bases]).T
        columns = (
            self._columns_of(0, n_first) if n_first == len(table.values) else self.columns(table.values[rows])
        )
        products: FloatArray = np.zeros((len(columns), 0))
        if len(self._pairs):
            products = (
                products_of(self._pairs, self._within(table.values[rows]), len(self.bases)) - self._pair_means
            )
        return Weighing(columns, products, (numbers - centres) / spreads, rescaled, what, table.copies)

    # ------------------------------------------------------------------ fits

    def fit(self, node: int, predecessors: IntArray) -> AdditiveFit:
        """Parents of ``node`` among ``predecessors``, on its likeliest scale, with what they contribute."""
        return self._record(node, self.search(node, predecessors))

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each (node, predecessors); walks that end in one place share their fit."""
        ends, fits = self.ends(requests), self._by_end
        for end, request in zip(ends, requests, strict=True):
            if end not in fits:
                fits[end] = self.fit(*request)
        return [fits[end] for end in ends]

    def fit_parents(self, node: int, parents: IntArray) -> AdditiveFit:
        """``node`` on exactly these parents, ascending, on its likeliest scale."""
        return self._record(node, self.search_shapes(node, parents))

    def _record(self, node: int, chosen: Chosen) -> AdditiveFit:
        """The fit of ``node`` that a search ends with."""
        target, owners, used, excess, dof = chosen
        problem, scale, n_shapes, gain = self.problem, -1, 0, 0.0
        pairs, means = self._products_of(chosen)
        parents = self.parents_of(chosen)
        shape: FloatArray = np.zeros(0)
        centre, spread = self.bases[node].unit
        discrete = problem.families[target, LIKELIHOOD] != GAUSSIAN
        if discrete:
            coefficients, shape, n_shapes = self.fit_discrete(target, self.columns_of(target, owners, used))
        elif problem.rows.size:
            place, used, coefficients, gain, excess, dof = self.weigh(chosen)
            if place >= 0:
                scale, centre, spread = int(self._scales[place]), 0.0, 1.0
            coefficients[:, 0] *= spread
            coefficients[0, 0] += centre
            coefficients[:, 1:] *= 0.5
            coefficients[0, 1:] += np.log(spread)
            if coefficients.shape[1] > 1:
                constant, shares = coefficients[0, 1], coefficients[1:, 1]
                reached = shares @ problem.rows[self.columns_of(target, owners, used)]
                reached = np.clip(reached, 0.5 * NARROW, 0.5 * WIDE)
                shape = constant + np.array([reached.min(), reached.max()])
        else:
            weights = spread * self.solve(target, self.columns_of(target, owners, used))
            coefficients = np.concatenate([[centre], weights])[:, None]
        family, by_moments = 0, False
        if self._families is not None and self._families.candidates[node]:
            family, by_moments = self._families.place(problem, node, target), not discrete
        # The search has what a parameter of the shape costs in the likelihood.
        n_shapes += by_moments
        excess -= n_shapes * 0.5 * problem.penalty_per_dof / problem.n_rows
        dof += n_shapes * problem.share
        if by_moments:
            shape = np.array([variance_of_nll(excess + STANDARD_ENTROPY)])
        places, own = self.columns_of(target, owners, used), owners < problem.widths.size
        of_mean = coefficients[1:] if discrete else coefficients[1:, :1]
        # columns of one owner are uncorrelated, so their shares of the component's variance add up
        variances = np.mean(of_mean**2, axis=1) * problem.moments[places, places]
        used_by_parent = np.zeros(parents.size, dtype=np.int64)
        used_by_parent[np.searchsorted(parents, owners[own])] = used[own]
        starts = np.cumsum(used_by_parent) - used_by_parent
        of_columns = np.repeat(np.arange(parents.size), used_by_parent)
        parts = np.zeros(parents.size)
        np.add.at(parts, of_columns, variances[: of_columns.size])
        for side in np.searchsorted(parents, pairs[:, :2]).T:
            np.add.at(parts, side, variances[of_columns.size :])
        norms = np.sqrt(parts)
        # what is uncorrelated with the line leaves the slope of the best line to its coefficient
        slopes = np.array([self.bases[parent].slope for parent in parents])
        directed = (slopes != 0.0) & (used_by_parent > 0) & (of_mean.shape[1] == 1)
        weights = norms.copy()
        weights[directed] = slopes[directed] * of_mean[starts[directed], 0]
        for place in np.flatnonzero(
            (used_by_parent == 0) & (slopes != 0.0)
        ):  # that of the best line through products
            line, its = parents[place] * problem.blocks.shape[1], (pairs[:, :2] == parents[place]).any(axis=1)
            with_line = problem.moments[line, places[of_columns.size :][its]] / problem.moments[line, line]
            weights[place] = slopes[place] * (with_line @ of_mean[of_columns.size :, 0][its])
        coefficients[0] -= means @ coefficients[coefficients.shape[0] - len(pairs) :]
        bounds = np.full((2, parents.size, coefficients.shape[1]), np.inf)
        bounds[0] = -np.inf
        fit = AdditiveFit(
            parents,
            weights,
            float(excess) + STANDARD_ENTROPY,
            float(dof),
            used_by_parent,
            pairs,
            coefficients,
            shape,
            bounds,
            norms=norms,
            scale=scale,
            family=family,
            gain=gain,
        )
        offset = 0.0 if scale < 0 else problem.other_scales[place, -1]  # of likelihoods on other scales
        self._bound(node, fit, None if discrete else float(np.exp(excess - offset)))
        return fit

    def _bound(self, node: int, fit: AdditiveFit, noise: float | None) -> None:
        """Write the bounds of the curves of a fit; ``noise`` is the standard deviation of a number's."""
        curved = [
            used > self.bases[parent].line and not isinstance(self.bases[parent], LevelBasis)
            for parent, used in zip(fit.parents, fit.used, strict=True)
        ]
        if not any(curved):
            return
        rows, n_means = self._rows_seen, fit.coefficients.shape[1] if noise is None else 1
        residuals: FloatArray = np.zeros(0)
        if self._by_rows and noise is not None:
            predicted = self.predict(node, fit, rows)
            residuals = self._effect(node, fit) - (predicted if predicted.ndim == 1 else predicted[:, 0])
        for place in np.flatnonzero(curved).tolist():
            reached = self._component(fit, place, rows[:, fit.parents[place]])[:, :n_means]
            low, high = reached.min(axis=0), reached.max(axis=0)
            if noise is not None and self._by_rows:
                # Where the spread depends on parents, rows of large noise may not have held a curve near them.
                supported = reached[:, 0] + residuals
                low, high = np.maximum(low, supported.min() - noise), np.minimum(high, supported.max() + noise)
            elif noise is not None:  # rows in between may reach a little further
                low, high = low - noise, high + noise
            fit.bounds[:, place, :n_means] = low, high

    @property
    def _by_rows(self) -> bool:
        """Whether fits are made by rows, and not by moments alone, which streams have too."""
        return self.problem.rows.size > 0 or self.problem.features.size > 0

    @cached_property
    def _rows_seen(self) -> FloatArray:
        """Training rows (m, d), of long tables the first ones; or values of single columns, side by side."""
        table = self._table
        if self._by_rows:
            return table.values[:MAX_ROWS]
        ends = table.quantiles(np.array([0.0, 1.0])) if self._ends is None else self._ends
        seen: FloatArray = np.empty((SEEN, len(self.bases)))
        for column, basis, own in zip(seen.T, self.bases, ends.T, strict=True):
            knots = basis.spline.t if isinstance(basis, NumberBasis) and basis.spline is not None else own
            points = np.unique(np.append(own, knots))
            column[:] = np.interp(np.linspace(0.0, points.size - 1.0, SEEN), np.arange(points.size), points)
        return seen

    def _products_of(self, chosen: Chosen) -> tuple[IntArray, FloatArray]:
        """The products (k, 4) that a search ended with, and what they are on average (k,)."""
        d, variable = self.problem.widths.size, self.problem.variables[chosen.target]
        places = self.problem.product_starts[variable] + chosen.owners[chosen.owners >= d] - d
        return self._pairs[places], self._pair_means[places]

    def mass(self, node: int, fit: LocalFit) -> Mass:
        """The distribution of a discrete node given its linear predictors."""
        assert self._families is not None
        fit = additive(fit)
        family, outcomes = self._families.candidates[node][fit.family]
        return family.mass(outcomes, fit.shape)

    def nonlinear_share(self, fits: Sequence[LocalFit]) -> float:
        """The share of the edges of ``fits`` that are nonlinear, of those that could be."""
        nonlinear = [
            used > self.bases[parent].line
            for fit in map(additive, fits)
            for parent, used in zip(fit.parents, fit.used, strict=True)
            if self.bases[parent].width > self.bases[parent].line
        ]
        return float(np.mean(nonlinear)) if nonlinear else 0.0

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Noise of a number on the training rows, shape (n,); of long tables on the first ones."""
        effect, predicted = self._effect(node, fit), self.predict(node, fit, self._table.values[:MAX_ROWS])
        if predicted.ndim == 1:
            return np.asarray(effect - predicted)
        residuals: FloatArray = (effect - predicted[:, 0]) * np.exp(-log_spread(additive(fit), predicted))
        return residuals

    def _effect(self, node: int, fit: LocalFit) -> FloatArray:
        """A number in these rows, on the scale of its fit."""
        table = self._table
        if fit.scale >= 0:
            assert table.rescaled is not None
            return table.rescaled.untied(slice(MAX_ROWS))[:, fit.scale]
        dither = 0.0 if table.dither is None else table.dither[:MAX_ROWS, node]
        return np.asarray(table.values[:MAX_ROWS, node] + dither)

    def fork(self) -> Self:
        """The same for another thread."""
        clone = super().fork()
        clone._by_end = {}
        return clone


def log_spread(fit: AdditiveFit, predictors: FloatArray) -> FloatArray:
    """The log standard deviation (m,) of a number by its predictors (m, 2): no other than training rows had."""
    bounded: FloatArray = np.clip(predictors[:, 1], *fit.shape)
    return bounded


def other_scales(
    table: Table, features: Callable[[int, int], FloatArray], n_rows: int | None = None
) -> OtherScales | None:
    """What a search needs of the other scales of a table: moments with the features (m, p) of its rows.

    ``features`` gives those from one row to another; ``n_rows``: the first ones, which alone count.
    """
    rescaled = table.rescaled
    if rescaled is None or not rescaled.columns.size:
        return None
    n = len(table.values) if n_rows is None else n_rows
    values = rescaled.values[:n] - rescaled.values[:n].mean(axis=0)
    second = sum(
        features(first, min(first + CHUNK, n)).T @ values[first : first + CHUNK] for first in range(0, n, CHUNK)
    )
    rounding = (
        np.zeros(rescaled.columns.size) if rescaled.dither is None else np.mean(rescaled.dither[:n] ** 2, axis=0)
    )
    return OtherScales(
        rescaled.columns,
        np.asarray(second) / n,
        np.mean(values**2, axis=0),
        rescaled.offsets,
        rounding,
        rescaled.searched,
    )
