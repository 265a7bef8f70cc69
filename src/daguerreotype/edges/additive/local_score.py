"""Local fits of additive models: each cause by its basis, each effect by its family."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.additive.basis import BASES, EXACT_SIZE, Basis, NumberBasis, spline_bases
from daguerreotype.edges.additive.family import Families
from daguerreotype.edges.base import Capabilities, EdgeRules, LocalFit, LocalModels
from daguerreotype.edges.grow_shrink.problem import GAUSSIAN, LIKELIHOOD, OtherScales, Weighing, new_problem
from daguerreotype.edges.grow_shrink.search import Chosen, GrowShrinkTrees
from daguerreotype.edges.grow_shrink.weigh import ALWAYS, SHAPE, SPREAD
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.base import Mass
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, variance_of_nll

# Rows that tables with discrete columns are fitted on: their likelihoods need each row in every step. Those of
# numbers must be of the same rows: means over others differ by more than the two directions of an edge.
LIKELIHOOD_ROWS = MAX_ROWS
CELLS, LEAST_ROWS = 2**24, 2**12  # of basis columns that are kept for weighing rows, and rows of them at least
CHUNK = 2**14  # rows whose basis columns are laid out at a time
# What may be weighed of a number, by the name of its noise.
WEIGHED = {"auto": SPREAD | SHAPE, "free-shape": SHAPE | ALWAYS}


@saved
@dataclass(frozen=True, slots=True)
class AdditiveFit(LocalFit):
    """An additive fit, which remembers its components.

    The weight of a parent is the slope of the least-squares line through its component over the training rows,
    cov(f(x), x) / var(x): an average of the slopes f'(x), and their plain mean where x is normal (Stein's lemma).
    Levels without an order, and parents of a node with several linear predictors, have no direction: their weight
    is the size of their effect.

    Attributes
    ----------
    used : array of shape (p,)
        How many columns of each parent's basis it has, the first ones.
    coefficients : array of shape (1 + m, q)
        Of the constant and these columns, parent by parent; one for each linear predictor of a discrete node, one
        for a number, and another for its log standard deviation where its spread depends on its parents.
    shape : array of shape (k,)
        Cutpoints of ordered levels, the dispersion of counts, or the variance of whole numbers; empty for others.
    family : int
        Which of the families that a discrete node may have it has.
    """

    used: Annotated[IntArray, Shape("p", least=1)]
    coefficients: Annotated[FloatArray, Shape("k", "q", filled=True)]
    shape: Annotated[FloatArray, Shape("s")]
    family: int = field(default=0, kw_only=True)

    def check_saved(self) -> None:
        """Refuse coefficients of more or fewer columns than are used."""
        if len(self.coefficients) != 1 + self.used.sum():
            raise ValueError("coefficients of other columns than are used")


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
        return predictors[:, 0] if predictors.shape[1] == 1 else predictors

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component of ``parent`` at values ``grid`` (m,) of its column: (m,), or (m, q) for several predictors.

        It has mean zero over the training rows, and goes on as a straight line beyond them. The predictor of a
        number is its value, of a level the log-odds, of a count the logarithm of its mean, or its value where
        that is likelier.
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
        component: FloatArray = columns @ fit.coefficients[first : first + used]
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
        self._scales: IntArray = np.arange(0 if table.rescaled is None else table.rescaled.columns.size)
        self._by_end: dict[int, AdditiveFit] = {}  # fits, by where their walks end
        if table.discrete.any():
            self._prepare_rows(table, n_knots, penalty, rules)
            return
        bases, moments = [NumberBasis(None) for _ in table.names], table.moments
        if n_knots:
            bases, moments = spline_bases(table, n_knots)
        AdditivePredictor.__init__(self, table.names, bases)
        scales = other_scales(table, self.columns)
        problem = new_problem(
            moments,
            self._widths,
            table.n_rows,
            penalty,
            rules,
            table.rounding,
            scales,
            weighing=self._weighing(table, scales),
        )
        GrowShrinkTrees.__init__(self, problem)

    def _prepare_rows(self, table: Table, n_knots: int, penalty: Penalty, rules: EdgeRules | None) -> None:
        """Bases, families and trees of a table with discrete columns, from its first rows."""
        rows = min(len(table.values), LIKELIHOOD_ROWS)
        bases = [
            BASES[kind.name](column[:rows] if np.ptp(column[:rows]) > 0.0 else column, kind, n_knots)
            for column, kind in zip(table.values.T, table.kinds, strict=True)
        ]
        AdditivePredictor.__init__(self, table.names, bases)
        features = self.columns(table.values[:rows])
        spreads = np.array([basis.unit[1] for basis in bases])
        families = self._families = Families.of(table, rows)
        scales, order = families.beside(other_scales(table, self.columns, rows), features)
        self._scales = np.append(self._scales, np.full(order.size - self._scales.size, -1))[order]
        first = Table(table.values[:rows], table.names, copies=table.copies)
        problem = new_problem(
            first.moments_of(self.columns, exact=features.shape[1] <= EXACT_SIZE),
            self._widths,
            rows // table.copies,
            penalty,
            rules,
            table.rounding / spreads**2,
            scales,
            table.copies,
            len(table.values) / rows,
            weighing=self._weighing(table, scales),
        )
        problem = families.describe(problem, table, bases, features)
        GrowShrinkTrees.__init__(self, problem, table.copies, families.kernels)

    @property
    def _widths(self) -> IntArray:
        return np.array([basis.width for basis in self.bases])

    def columns(self, values: FloatArray) -> FloatArray:
        """Basis columns (m, d * stride) of rows (m, d), owner by owner."""
        columns = np.zeros((len(values), len(self.bases), int(self._widths.max())))
        for i, basis in enumerate(self.bases):
            columns[:, i, : basis.width] = basis.columns(values[:, i])
        return columns.reshape(len(values), -1)

    def _weighing(self, table: Table, scales: OtherScales | None) -> Weighing | None:
        """The rows that numbers are weighed by: the first ones of every copy of a long table."""
        names = table.families or ("",) * table.n_columns
        what = np.array([WEIGHED.get(name, 0) for name in names]) * ~table.discrete
        if not table.holds_rows or not (what.any() or scales is not None):
            return None
        width = len(self.bases) * int(self._widths.max())
        n_first = min(table.n_rows, max(min(MAX_ROWS, CELLS // width) // table.copies, LEAST_ROWS))
        rows = np.concatenate([copy * table.n_rows + np.arange(n_first) for copy in range(table.copies)])
        numbers = table.values[rows]
        rescaled = np.zeros((rows.size, 0)) if scales is None else numbers[:, scales.variables]
        if table.rescaled is not None:
            rescaled[:, self._scales >= 0] = table.rescaled.untied(rows)
        if table.dither is not None:
            numbers = numbers + table.dither[rows]
        centres, spreads = np.array([basis.unit for basis in self.bases]).T
        return Weighing(
            self.columns(table.values[rows]), (numbers - centres) / spreads, rescaled, what, table.copies
        )

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
        target, parents, used, excess, dof = chosen
        problem, scale, n_shapes = self.problem, -1, 0
        shape: FloatArray = np.zeros(0)
        centre, spread = self.bases[node].unit
        if problem.families[target, LIKELIHOOD] != GAUSSIAN:
            coefficients, shape, n_shapes = self.fit_discrete(target, self.columns_of(parents, used))
        elif problem.rows.size:
            place, used, coefficients, excess, dof = self.weigh(chosen)
            if place >= 0:
                scale, centre, spread = int(self._scales[place]), 0.0, 1.0
            coefficients[:, 0] *= spread
            coefficients[0, 0] += centre
            coefficients[:, 1:] *= 0.5
            coefficients[0, 1:] += np.log(spread)
        else:
            weights = spread * self.solve(target, self.columns_of(parents, used))
            coefficients = np.concatenate([[centre], weights])[:, None]
        family, by_moments = 0, False
        if self._families is not None and self._families.candidates[node]:
            family = self._families.place(problem, node, target)
            by_moments = problem.families[target, LIKELIHOOD] == GAUSSIAN
        # The search has what a parameter of the shape costs in the likelihood.
        n_shapes += by_moments
        excess -= n_shapes * 0.5 * problem.penalty_per_dof / problem.n_rows
        dof += n_shapes * problem.share
        if by_moments:
            shape = np.array([variance_of_nll(excess + STANDARD_ENTROPY)])
        starts, places = np.cumsum(used) - used, self.columns_of(parents, used)
        of_mean = coefficients[1:] if shape.size or coefficients.shape[1] > 2 else coefficients[1:, :1]
        # columns of one owner are uncorrelated, so their shares of the component's variance add up
        variances = np.mean(of_mean**2, axis=1) * problem.moments[places, places]
        norms = np.sqrt(np.add.reduceat(variances, starts)) if parents.size else np.zeros(0)
        # what is uncorrelated with the line leaves the slope of the best line to its coefficient
        slopes = np.array([self.bases[parent].slope for parent in parents])
        directed = (slopes != 0.0) & (of_mean.shape[1] == 1)
        weights = np.where(directed, slopes * of_mean[starts, 0], norms)
        nll = float(excess) + STANDARD_ENTROPY
        return AdditiveFit(
            parents, weights, nll, float(dof), used, coefficients, shape, norms=norms, scale=scale, family=family
        )

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
        table, values = self._table, self._table.values[:MAX_ROWS]
        if fit.scale >= 0:
            assert table.rescaled is not None
            effect = table.rescaled.untied(slice(MAX_ROWS))[:, fit.scale]
        else:
            effect = values[:, node] + (0.0 if table.dither is None else table.dither[:MAX_ROWS, node])
        predicted = self.predict(node, fit, values)
        residuals: FloatArray = effect - predicted if predicted.ndim == 1 else noise_of(effect, predicted)
        return residuals

    def fork(self) -> Self:
        """The same for another thread."""
        clone = super().fork()
        clone._by_end = {}
        return clone


def noise_of(values: FloatArray, predictors: FloatArray) -> FloatArray:
    """What predictors (m, 2), mean and log standard deviation, leave of values (m,) of a number."""
    noise: FloatArray = (values - predictors[:, 0]) * np.exp(-predictors[:, 1])
    return noise


def other_scales(
    table: Table, features: Callable[[FloatArray], FloatArray], n_rows: int | None = None
) -> OtherScales | None:
    """What a search needs of the other scales of a table: moments with the features (m, p) of its rows (m, d).

    ``n_rows``: the first ones, which alone count.
    """
    rescaled = table.rescaled
    if rescaled is None or not rescaled.columns.size:
        return None
    n = len(table.values) if n_rows is None else n_rows
    values = rescaled.values[:n] - rescaled.values[:n].mean(axis=0)
    second = sum(
        features(table.values[first : min(first + CHUNK, n)]).T @ values[first : first + CHUNK]
        for first in range(0, n, CHUNK)
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
