"""Which predecessors belong in an additive regression, and is each effect a line or a curve? BIC decides."""

from dataclasses import dataclass

import numpy as np

from daguerreotype.arrays import FloatArray, IntArray
from daguerreotype.edges.base import Table
from daguerreotype.edges.splines import bend, fit_bends
from daguerreotype.edges.trees import GrowShrinkTrees
from daguerreotype.result import LocalFit, Moves


@dataclass(frozen=True, slots=True)
class GamFit(LocalFit):
    """An additive fit, which remembers its curves; weights are the standard deviations of the components.

    Attributes
    ----------
    columns : array of shape (dof,)
        Basis columns of the parents, parent by parent, the linear one first.
    coefficients : array of shape (dof,)
        Their least-squares coefficients.
    """

    columns: IntArray
    coefficients: FloatArray


class GamEdges:
    r"""Additive parents, linear or cubic spline each, by BIC with grow-shrink trees.

    For node j among predecessors P, searches  x_j = sum_{i in S} f_i(x_i) + noise  over S within P that
    minimises  n log(variance(j | f)) + penalty log(n) dof(f).  A linear f_i costs one degree of freedom, a
    spline one per basis column. Growing adds the parent that improves most, as a line or as a spline,
    whichever is better, or bends a line into a spline; shrinking removes a parent or straightens a spline.

    Parameters
    ----------
    n_knots : int
        Knots of each spline, at quantiles, the two ends counted: a spline costs ``n_knots + 1`` degrees of
        freedom. 2 is a cubic polynomial; more follow wilder curves and need more rows.
    penalty : float
        Multiplies the BIC term. 1 is BIC; 1.5 to 2 gives sparser graphs with fewer false edges.
    gamma : float
        Adds 2 gamma log(d) to the price of every parent: the extended BIC (Chen and Chen 2008), for many columns.
        A fit's ``dof`` then counts this too, in units of a degree of freedom.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges.base import Table
    >>> cause = np.linspace(-1, 1, 50)
    >>> effect = cause**2 - np.mean(cause**2) + np.tile([-0.01, 0.01], 25)
    >>> models = GamEdges().prepare(Table(np.column_stack([cause, effect]), ("cause", "effect")))
    >>> fit = models.fit(1, np.array([0]))
    >>> models.curve(1, fit, 0, np.array([-1.0, 0.0, 1.0])).round(1)
    array([ 0.7, -0.3,  0.7])
    """

    def __init__(self, n_knots: int = 4, penalty: float = 1.0, gamma: float = 0.0) -> None:
        self.n_knots = n_knots
        self.penalty = penalty
        self.gamma = gamma

    def prepare(self, table: Table) -> "GamModels":
        """Lay out the basis columns of ``table`` and take their second moments."""
        return GamModels(table, self.n_knots, self.penalty, self.gamma)


class GamModels:
    """Additive local fits of one table; every fit shares the search trees of its target."""

    def __init__(self, table: Table, n_knots: int, penalty: float, gamma: float = 0.0) -> None:
        if not isinstance(n_knots, int | np.integer) or n_knots < 2:
            raise ValueError(f"n_knots is {n_knots!r}, expected a whole number of at least 2, the two ends.")
        self._names = table.names
        self._splines = [fit_bends(column, int(n_knots)) for column in table.values.T]
        widths = np.array([1 if spline is None else 1 + spline.c.shape[1] for spline in self._splines])
        self._stride = int(widths.max())
        basis = np.zeros((table.n_rows, table.n_columns, self._stride))
        for i, spline in enumerate(self._splines):
            basis[:, i, 0] = table.values[:, i]
            if spline is not None:
                basis[:, i, 1 : widths[i]] = bend(spline, table.values[:, i])
        self._basis = basis.reshape(table.n_rows, -1)  # (n, d * stride)
        moments = self._basis.T @ self._basis / table.n_rows
        self._trees = GrowShrinkTrees(moments, widths, table.n_rows, penalty, gamma)

    def fit(self, node: int, predecessors: IntArray) -> GamFit:
        """Parents of ``node`` among ``predecessors``, with the standard deviations of their components."""
        parents, used, variance, dof = self._trees.fit(node, predecessors)
        columns, beta = self._trees.solve(node, parents, used)
        # columns of one owner are orthogonal, so their shares of the component's variance add up
        shares = beta**2 * self._trees.problem.moments[columns, columns]
        starts = np.cumsum(used) - used
        weights = np.sqrt(np.add.reduceat(shares, starts)) if parents.size else np.zeros(0)
        return GamFit(parents, weights, variance, dof, columns, beta)

    def fit_moves(self, node: int, others: IntArray) -> Moves:
        """Variance and dof of all nodes for every position of ``node`` among ``others`` (in order)."""
        return self._trees.moves(node, others)

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,)."""
        fit = _own(fit)
        fitted = self._basis[:, fit.columns] @ fit.coefficients
        residuals: FloatArray = self._basis[:, node * self._stride] - fitted
        return residuals

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table."""
        fitted = np.zeros(values.shape[0])
        for parent in fit.parents:
            fitted += self.curve(node, fit, int(parent), values[:, parent])
        return fitted

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component f(x) of ``parent`` in ``fit`` at the values ``grid`` of its column, shape (m,).

        Values are on the scale of the table that was prepared. The component has mean zero on the training
        rows, and goes on as a straight line beyond them.
        """
        fit = _own(fit)
        if parent not in fit.parents:
            found = ", ".join(repr(self._names[i]) for i in fit.parents) or "none"
            raise ValueError(
                f"{self._names[parent]!r} is not a parent of {self._names[node]!r} in this fit, so it has no "
                f"curve; ask for one of its parents: {found}."
            )
        grid = np.asarray(grid, dtype=np.float64)
        beta = fit.coefficients[fit.columns // self._stride == parent]
        values: FloatArray = beta[0] * grid
        spline = self._splines[parent]
        if beta.size > 1 and spline is not None:
            values = values + bend(spline, grid) @ beta[1:]
        return values


def _own(fit: LocalFit) -> GamFit:
    """Refuse a fit that does not hold its curves."""
    if not isinstance(fit, GamFit):
        raise TypeError(
            f"expected the GamFit that fit returned, which holds its curves, got {type(fit).__name__}."
        )
    return fit
