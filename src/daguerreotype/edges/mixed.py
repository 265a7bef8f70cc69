"""Local models of tables with discrete columns: nodes by their own likelihood, parents by bases of their kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Basis, Draws, EdgeRules, LocalFit, Moves
from daguerreotype.edges.basis import SplineCurve, fit_basis, pool_rare
from daguerreotype.edges.grow_shrink.models import TreeModels, other_scales
from daguerreotype.edges.grow_shrink.problem import (
    COUNT,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    ORDERED,
    POISSON,
    SOFTMAX,
    DiscreteTargets,
)
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.edges.price import Price
from daguerreotype.noise.base import Mass
from daguerreotype.noise.categorical import CategoricalMass
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.noise.ordinal import OrdinalMass
from daguerreotype.noise.registry import DEFAULTS

# Rows that nodes are fitted on: likelihoods of discrete ones need each row in every step. Those of numbers must be
# of the same rows. Means over others differ by more than the two directions of an edge, and chance would decide.
LIKELIHOOD_ROWS = MAX_ROWS
RARE, MOST_LEVELS = 10, 8  # of a node: rarer levels share a group, as do those beyond the most frequent ones
FAMILIES = {
    "": GAUSSIAN,
    "bernoulli": SOFTMAX,
    "categorical": SOFTMAX,
    "ordinal": ORDERED,
    "counts": COUNT,
    "poisson": POISSON,
    "negative-binomial": NEGATIVE_BINOMIAL,
}


@dataclass(frozen=True, slots=True)
class MixedFit(LocalFit):
    """A fit of a node of any kind.

    Attributes
    ----------
    columns : array of shape (m,)
        Basis columns of the parents, parent by parent.
    coefficients : array of shape (1 + m, q)
        Of the constant and the columns, one column for each linear predictor; a number has one.
    shape : array of shape (s,)
        Cutpoints of ordered levels, or the dispersion of counts.
    """

    columns: IntArray
    coefficients: FloatArray
    shape: FloatArray


class MixedPredictor:
    """Predicts nodes of any kind by the bases of their parents.

    Parameters
    ----------
    names : sequence of str
        Column names, for messages.
    bases : sequence of Basis
        Of each column as a parent.
    stride : int
        Basis columns laid out per column of the table.
    """

    def __init__(self, names: Sequence[str], bases: Sequence[Basis], stride: int) -> None:
        self.names, self.bases, self.stride = tuple(names), list(bases), stride

    def predictor(self) -> "MixedPredictor":
        """What predicts without the table."""
        return MixedPredictor(self.names, self.bases, self.stride)

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of a continuous node for rows (m, d); linear predictors (m, q) of a discrete one."""
        predictors = self.predictors(node, fit, values)
        return predictors if _mixed(fit).shape.size else predictors[:, 0]

    def predictors(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Linear predictors (m, q) for rows (m, d)."""
        predictors = np.repeat(_mixed(fit).coefficients[:1], len(values), axis=0)
        for parent in fit.parents:
            predictors += self._component(fit, int(parent), values[:, parent])
        return predictors

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component of ``parent`` at values ``grid`` (m,) of its column: (m,), or (m, q) for several predictors.

        It has mean zero over the training rows. The predictor of a number is its value, of a level the log-odds,
        of a count the logarithm of its mean.
        """
        if parent not in fit.parents:
            found = ", ".join(repr(self.names[i]) for i in fit.parents) or "none"
            raise ValueError(
                f"{self.names[parent]!r} is not a parent of {self.names[node]!r} in this fit, so it has no "
                f"curve; ask for one of its parents: {found}."
            )
        component = self._component(fit, parent, np.asarray(grid, dtype=np.float64))
        return component[:, 0] if component.shape[1] == 1 else component

    def _component(self, fit: LocalFit, parent: int, values: FloatArray) -> FloatArray:
        mixed = _mixed(fit)
        beta = mixed.coefficients[1:][mixed.columns // self.stride == parent]
        component: FloatArray = self.bases[parent].columns(values)[:, : len(beta)] @ beta
        return component


def _mixed(fit: LocalFit) -> MixedFit:
    if not isinstance(fit, MixedFit):
        raise TypeError(f"expected the MixedFit that fit returned, got {type(fit).__name__}.")
    return fit


@dataclass(frozen=True)
class _Target:
    """A discrete column as an effect: levels that share a group, and what that costs whatever the parents."""

    groups: IntArray
    log_shares: FloatArray
    constant: float

    @classmethod
    def of(cls, codes: IntArray, n_fitted: int, kind: Kind, ordered: bool) -> "_Target":
        """Groups by the first ``n_fitted`` rows, which fits are made from; shares within them by all rows (n,)."""
        n_levels = max(len(kind.levels), int(codes.max()) + 1, 2)
        fitted = np.bincount(codes[:n_fitted], minlength=n_levels).astype(np.float64)
        # A level without a row has no likeliest chance. Among ordered ones it goes with the one below.
        groups = (
            np.maximum(np.cumsum(fitted > 0) - 1, 0)
            if ordered
            else _join_empty(pool_rare(fitted, RARE, MOST_LEVELS), fitted)
        )
        counts = np.bincount(codes, minlength=n_levels).astype(np.float64)
        smooth = counts + 0.5
        totals = np.bincount(groups, weights=smooth)
        log_shares = np.log(smooth / totals[groups])
        return cls(groups, log_shares, float(-(counts @ log_shares) / counts.sum()))


def _join_empty(groups: IntArray, counts: FloatArray) -> IntArray:
    """The groups (levels,), those without a row joined to the smallest that has some."""
    totals = np.bincount(groups, weights=counts)
    if (totals > 0).sum() < 2 or (totals > 0).all():
        return groups
    smallest = int(np.argmin(np.where(totals > 0, totals, np.inf)))
    joined = np.where(totals[groups] > 0, groups, smallest)
    renumbered: IntArray = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return renumbered


class MixedModels(TreeModels, MixedPredictor):
    """Local fits of a table with columns of any kind; every fit shares the search trees of its target.

    Parameters
    ----------
    table : Table
        Its discrete columns hold codes and counts.
    n_knots : int
        Knots of splines; 0 for lines alone.
    price : Price
        What parents cost.
    rules : EdgeRules, optional
        Parents to leave out, and to begin with and never remove.
    """

    def __init__(self, table: Table, n_knots: int, price: Price, rules: EdgeRules | None = None) -> None:
        self._table, self._by_end = table, {}
        rows = min(len(table.values), LIKELIHOOD_ROWS)
        # A sum over all rows takes the uncertainty of these for that of all.
        self._share = len(table.values) / rows
        bases = [
            fit_basis(column[:rows] if np.ptp(column[:rows]) > 0.0 else column, kind, int(n_knots))
            for column, kind in zip(table.values.T, table.kinds, strict=True)
        ]
        widths = np.array([basis.width for basis in bases])
        super().__init__(table.names, bases, int(widths.max()))
        self._some = self._columns(table.values[:rows])
        moments = self._some.T @ self._some / rows
        outcomes, codes = np.zeros((2, table.n_columns, rows), dtype=np.int64)
        n_codes = np.zeros(table.n_columns, dtype=np.int64)
        families = table.families or tuple(DEFAULTS.get(kind.name, "") for kind in table.kinds)
        self._families = np.array([FAMILIES[name] for name in families])
        levels = np.full(table.n_columns, 2)
        # Columns have variance one among the features, and not quite in the table where not all rows count.
        offsets = np.array([np.log(basis.spread) if isinstance(basis, SplineCurve) else 0.0 for basis in bases])
        self._targets: list[_Target | None] = [None] * table.n_columns
        for node in np.flatnonzero(self._families != GAUSSIAN).tolist():
            code = table.values[:, node].astype(np.int64)
            codes[node], n_codes[node] = code[:rows], code.max() + 1
            if self._families[node] in (SOFTMAX, ORDERED):
                ordered = bool(self._families[node] == ORDERED)
                target = _Target.of(code, rows, table.kinds[node], ordered)
                self._targets[node] = target
                levels[node] = max(target.groups.max() + 1, 2)
                code = target.groups[code]
                offsets[node] = target.constant
            outcomes[node] = code[:rows]
        discrete = DiscreteTargets(
            lines=np.array([basis.line for basis in bases]),
            families=self._families,
            levels=levels,
            features=self._some,
            outcomes=outcomes,
            codes=codes,
            n_codes=n_codes,
            offsets=offsets,
        )
        rounding = table.rounding / np.exp(2.0 * np.where(self._families == GAUSSIAN, offsets, 0.0))
        others = other_scales(table, self._columns, rows)
        n = rows // table.copies
        self._trees = GrowShrinkTrees(
            moments, widths, n, price, rules, rounding, discrete, others, copies=table.copies
        )

    def _columns(self, values: FloatArray) -> FloatArray:
        """Basis columns (m, d * stride) of rows (m, d)."""
        columns = np.zeros((len(values), len(self.bases), self.stride))
        for i, basis in enumerate(self.bases):
            columns[:, i, : basis.width] = basis.columns(values[:, i])
        return columns.reshape(len(values), -1)

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        return super().score_many(ranks, rows, nodes) * [1.0, self._share]

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of ``node`` on exactly each of ``sets`` (m, d) of parents."""
        return super().score_parents(node, sets) * [1.0, self._share]

    def fit_moves(self, node: int, others: IntArray) -> Moves:
        """Excess and dof of all nodes for every position of ``node`` among ``others``."""
        moves = super().fit_moves(node, others)
        return Moves(*(each * [1.0, self._share] for each in (moves.own, moves.before, moves.after)))

    def sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  excess + penalty_per_dof * dof."""
        return super().sweep(order, penalty_per_dof * self._share, before)

    def draw_sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray, draws: Draws) -> IntArray:
        """The order after each turn of ``draws``."""
        return super().draw_sweep(order, penalty_per_dof * self._share, before, draws)

    def _record(
        self, node: int, target: int, parents: IntArray, used: IntArray, excess: float, dof: float
    ) -> MixedFit:
        """With slopes and sizes of the parents' effects.

        The weight of levels without an order, and of any parent of a node with several linear predictors, is the
        size of its effect: it has no direction.
        """
        if self._families[node] == GAUSSIAN:
            columns, beta = self._trees.solve(target, parents, used)
            line = self.bases[node]
            assert isinstance(line, SplineCurve)
            centre, spread = line.centre, line.spread
            if target != node:
                assert self._table.others is not None
                place = target - self._table.n_columns
                centre, spread = float(self._table.others.values[: len(self._some), place].mean()), 1.0
            coefficients = np.concatenate([[centre], spread * beta])[:, None]
            shape: FloatArray = np.zeros(0)
        else:
            columns, coefficients, shape = self._trees.fit_discrete(node, parents, used)
        squares: FloatArray = np.mean(coefficients[1:] ** 2, axis=1)  # columns of one parent are orthonormal
        starts = np.cumsum(used) - used
        norms = np.sqrt(np.add.reduceat(squares, starts)) if parents.size else np.zeros(0)
        slopes = np.array([self.bases[parent].slope for parent in parents])
        directed = (slopes != 0.0) & (coefficients.shape[1] == 1)
        weights = np.where(directed, slopes * coefficients[1:][starts, 0], norms)
        if self._families[node] >= COUNT and shape[0] > 0.0:  # the search has it in the likelihood
            cost = 0.5 * self._trees.problem.penalty_per_dof / len(self._some)
            excess, dof = excess - cost, dof + 1.0
        nll = excess + STANDARD_ENTROPY
        return MixedFit(parents, weights, nll, self._share * dof, columns, coefficients, shape, norms=norms)

    def regressors(self, node: int, fit: LocalFit, n_rows: int) -> FloatArray:
        """Columns (m, p) that ``fit`` regresses ``node`` on, in the first rows."""
        columns: FloatArray = self._some[:n_rows, _mixed(fit).columns]
        return columns

    def _own_residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Those of a continuous node."""
        mixed = _mixed(fit)
        residuals: FloatArray = (
            self._table.values[: len(self._some), node]
            - mixed.coefficients[0, 0]
            - self._some[:, mixed.columns] @ mixed.coefficients[1:, 0]
        )
        return residuals

    def mass(self, node: int, fit: LocalFit) -> Mass:
        """The distribution of a discrete node given its linear predictors."""
        mixed, target = _mixed(fit), self._targets[node]
        if target is None:
            return CountMass(float(mixed.shape[0]))
        if self._families[node] == ORDERED:
            return OrdinalMass(mixed.shape, target.groups, target.log_shares)
        return CategoricalMass(target.groups, target.log_shares)
