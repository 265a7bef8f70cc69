"""Additive edges, each a line or a cubic spline, by BIC with grow-shrink trees."""

from functools import cached_property
from typing import Literal

import numpy as np

from daguerreotype._lib.checks import check_count, check_positive
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeRules, LocalFit
from daguerreotype.edges.grow_shrink.models import TreeModels, other_scales
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.edges.mixed import MixedModels
from daguerreotype.edges.predictors import CurvePredictor, GamFit, additive, first_residuals
from daguerreotype.edges.price import Price
from daguerreotype.edges.splines import SplineBasis, change_basis, nonlinear_columns
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.noise.gaussian import STANDARD_ENTROPY

EXACT_SIZE = 1200  # B-splines of all columns, up to which ties do not hang on the sequence of rows
KEPT_BYTES = 2**26  # of basis columns that are kept for residuals; longer tables compute them each time


class GamEdges:
    r"""Additive parents, linear or cubic spline each, by BIC with grow-shrink trees.

    For node j among predecessors P, searches  x_j = sum_{i in S} f_i(x_i) + noise  over S within P that
    minimises  n log(variance(j | f)) + penalty log(n) dof(f).  A linear f_i costs one degree of freedom, a
    spline one per basis column. Growing adds the parent that improves most, as a line or as a spline,
    whichever is better, or turns a line into a spline; shrinking removes a parent or straightens a spline.

    Parameters
    ----------
    n_knots : int
        Knots of each spline, at quantiles, the two ends counted: a spline costs ``n_knots + 1`` degrees of
        freedom. 2 is a cubic polynomial; more follow wilder curves and need more rows.
    penalty : float
        Multiplies the BIC term. 1 is BIC; 1.5 to 2 gives sparser graphs with fewer false edges.
    gamma : float
        Adds 2 gamma log(d) to the penalty of every parent: the extended BIC (Chen and Chen 2008), for many
        columns. A fit's ``dof`` then counts this too, in units of a degree of freedom.
    min_gain : float
        Share of what is left of a node that an edge must explain: a floor under its price, which keeps BIC from
        buying edges in long tables for what a slightly wrong model leaves over. 0: BIC alone.
    bent_share : float or "auto"
        Raises the price of a line, to  1 + bent_share * n_knots  degrees of freedom. 0: a line costs one. 1: as
        much as a spline. "auto": the share of the edges that bend, learned from the table. On the problems that
        the defaults were chosen on this finds no better graphs than ``min_gain`` alone.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges import Table
    >>> cause = np.linspace(-1, 1, 50)
    >>> effect = cause**2 - np.mean(cause**2) + np.tile([-0.01, 0.01], 25)
    >>> models = GamEdges().prepare(Table(np.column_stack([cause, effect]), ("cause", "effect")))
    >>> fit = models.fit(1, np.array([0]))
    >>> models.curve(1, fit, 0, np.array([-1.0, 0.0, 1.0])).round(1)
    array([ 0.7, -0.3,  0.7])
    """

    from_passes = True
    takes_kinds = True
    compares_scales = True
    takes_copies = True
    limits_parents = True

    def __init__(
        self,
        n_knots: int = 4,
        penalty: float = 1.0,
        gamma: float = 0.0,
        min_gain: float = 0.0,
        bent_share: float | Literal["auto"] = 0.0,
    ) -> None:
        self.n_knots = n_knots
        self.penalty = penalty
        self.gamma = gamma
        self.min_gain = min_gain
        self.bent_share = bent_share

    def prepare(self, table: Table) -> "GamModels | MixedModels":
        """Lay out the basis columns of ``table`` and take their second moments."""
        return self._prepare(table, None)

    def prepare_with(self, table: Table, rules: EdgeRules) -> "GamModels | MixedModels":
        """The same for searches that begin with the required parents, as lines, and never remove them."""
        return self._prepare(table, rules)

    def _prepare(self, table: Table, rules: EdgeRules | None) -> "GamModels | MixedModels":
        learned = isinstance(self.bent_share, str) and self.bent_share == "auto"
        share = 0.0 if learned else check_positive(self.bent_share, "bent_share", zero=True)
        check_count(self.n_knots, "n_knots", least=2)  # the two ends
        price = Price(self.penalty, self.gamma, self.min_gain, share)
        models: GamModels | MixedModels
        if table.discrete.any():
            models = MixedModels(table, self.n_knots, price, rules)
        else:
            models = GamModels(table, self.n_knots, price, rules)
        models.learns_bent_share = learned
        return models


class GamModels(TreeModels, CurvePredictor):
    """Additive local fits of one table; every fit shares the search trees of its target."""

    def __init__(
        self,
        table: Table,
        n_knots: int,
        price: Price,
        rules: EdgeRules | None = None,
    ) -> None:
        breaks = table.quantiles(np.linspace(0.0, 1.0, int(n_knots), dtype=np.float64))  # (n_knots, d)
        basis = SplineBasis([np.unique(column) for column in breaks.T])
        second = table.moments_of(basis, exact=basis.size <= EXACT_SIZE)
        splines = [basis.nonlinear(i, second[part, part]) for i, part in enumerate(basis.parts)]
        widths = np.array([1 if spline is None else 1 + spline.c.shape[1] for spline in splines])
        super().__init__(table.names, splines, int(widths.max()))
        self._table = table
        moments = self._moments_of_all_columns(basis, second)
        others = other_scales(table, self._columns)
        self._trees = GrowShrinkTrees(moments, widths, table.n_rows, price, rules, table.rounding, others=others)
        self._by_end = {}

    def _moments_of_all_columns(self, basis: SplineBasis, second: FloatArray) -> FloatArray:
        """Second moments (d * stride,) * 2 of lines and nonlinear bases, from those of the B-splines."""
        owned = [basis.slopes(i)[:, None] for i in range(len(self.splines))]  # B-splines to the line and the rest
        for i, spline in enumerate(self.splines):
            if spline is not None:
                owned[i] = np.hstack([owned[i], spline.c])  # (b, width)
        if basis.size > EXACT_SIZE:
            moments = change_basis(second, basis.parts, owned, self.stride)
        else:
            moments = second
            for _ in range(2):  # one side after the other
                half = np.zeros((len(owned) * self.stride, moments.shape[1]))
                for i, (part, each) in enumerate(zip(basis.parts, owned, strict=True)):
                    half[i * self.stride : i * self.stride + each.shape[1]] = each.T @ moments[part]
                moments = np.ascontiguousarray(half.T)
            moments = 0.5 * (half + moments)  # rounding leaves the two sides a little apart
        moments[:: self.stride, :: self.stride] = self._table.moments  # known to more digits
        return moments

    def _record(
        self, node: int, target: int, parents: IntArray, used: IntArray, excess: float, dof: float
    ) -> GamFit:
        """With average slopes and sizes of the parents' curves."""
        columns, beta = self._trees.solve(target, parents, used)
        # columns of one owner are orthogonal, so their shares of the component's variance add up
        shares = beta**2 * self._trees.problem.moments[columns, columns]
        starts = np.cumsum(used) - used
        norms = np.sqrt(np.add.reduceat(shares, starts)) if parents.size else np.zeros(0)
        # what is orthogonal to the column leaves the slope of the best line to its linear coefficient
        return GamFit(parents, beta[starts], excess + STANDARD_ENTROPY, dof, columns, beta, norms=norms)

    def regressors(self, node: int, fit: LocalFit, n_rows: int) -> FloatArray:
        """Columns (m, p) that ``fit`` regresses ``node`` on, in the first rows."""
        values, columns = self._table.values[:MAX_ROWS], additive(fit).columns
        if 8 * values.size * self.stride <= KEPT_BYTES:
            kept: FloatArray = self._basis[:n_rows, columns]
            return kept
        parts: list[FloatArray] = [np.zeros((len(values[:n_rows]), 0))]
        for parent in fit.parents:
            used, spline, own = (
                int(np.sum(columns // self.stride == parent)),
                self.splines[parent],
                values[:n_rows, parent],
            )
            parts.append(own[:, None])
            if used > 1 and spline is not None:
                parts.append(nonlinear_columns(spline, own))
        return np.hstack(parts)

    def _own_residuals(self, node: int, fit: LocalFit) -> FloatArray:
        fit, values = additive(fit), self._table.values[:MAX_ROWS]
        if 8 * values.size * self.stride > KEPT_BYTES:
            return first_residuals(self, self._table, node, fit)
        residuals: FloatArray = values[:, node] - self._basis[:, fit.columns] @ fit.coefficients
        return residuals

    @cached_property
    def _basis(self) -> FloatArray:
        """Lines and nonlinear bases (n, d * stride) in the rows of residuals, where that is not too much."""
        return self._columns(self._table.values[:MAX_ROWS])

    def _columns(self, values: FloatArray) -> FloatArray:
        """Lines and nonlinear bases (m, d * stride) of rows (m, d)."""
        basis = np.zeros((len(values), len(self.splines), self.stride))
        for i, spline in enumerate(self.splines):
            basis[:, i, 0] = values[:, i]
            if spline is not None:
                basis[:, i, 1 : 1 + spline.c.shape[1]] = nonlinear_columns(spline, values[:, i])
        return basis.reshape(len(values), -1)
