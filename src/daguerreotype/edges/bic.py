"""Linear edges by BIC subset selection with grow-shrink trees."""

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeRules, LocalFit
from daguerreotype.edges.grow_shrink.models import TreeModels, other_scales
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.edges.mixed import MixedModels
from daguerreotype.edges.predictors import LinearPredictor, first_residuals, norms_of_lines
from daguerreotype.edges.price import Price
from daguerreotype.noise.gaussian import STANDARD_ENTROPY


class BicEdges:
    r"""Linear parents by BIC subset selection with grow-shrink trees.

    For node j among predecessors P, searches  min_{S in P}  n log(variance(j | S)) + penalty log(n) |S|,
    variance(j | S) being the mean squared residual of least squares: adds the parent that improves most
    while one does, then removes the parent whose removal improves most while one does.

    Parameters
    ----------
    penalty : float
        Multiplies the BIC term. 1 is BIC; 1.5 to 2 gives sparser graphs with fewer false edges.
    gamma : float
        Adds 2 gamma log(d) to the penalty of every parent: the extended BIC (Chen and Chen 2008), for many
        columns. A fit's ``dof`` then counts this too, in units of a degree of freedom.
    min_gain : float
        Share of what is left of a node that an edge must explain: a floor under its price, which keeps BIC from
        buying edges in long tables for what a slightly wrong model leaves over. 0: BIC alone.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges import Table
    >>> cause = np.tile([-1.0, 0.0, 1.0], 10)
    >>> effect = 2 * cause + np.repeat([-0.1, 0.1], 15)
    >>> models = BicEdges().prepare(Table(np.column_stack([cause, effect]), ("cause", "effect")))
    >>> models.fit(1, np.array([0])).weights.round(3)
    array([2.])
    """

    from_moments = True
    takes_kinds = True
    compares_scales = True
    takes_copies = True
    limits_parents = True

    def __init__(self, penalty: float = 1.0, gamma: float = 0.0, min_gain: float = 0.0) -> None:
        self.penalty = penalty
        self.gamma = gamma
        self.min_gain = min_gain

    def prepare(self, table: Table) -> "BicModels | MixedModels":
        """Take the second moments of ``table``; the rows are not needed again but for residuals."""
        return self._prepare(table, None)

    def prepare_with(self, table: Table, rules: EdgeRules) -> "BicModels | MixedModels":
        """The same for searches that begin with the required parents and never remove them."""
        return self._prepare(table, rules)

    def _prepare(self, table: Table, rules: EdgeRules | None) -> "BicModels | MixedModels":
        price = Price(self.penalty, self.gamma, self.min_gain)
        if table.discrete.any():
            return MixedModels(table, 0, price, rules)
        return BicModels(table, price, rules)


class BicModels(TreeModels, LinearPredictor):
    """Linear local fits of one table; every fit shares the search trees of its target."""

    def __init__(self, table: Table, price: Price, rules: EdgeRules | None = None) -> None:
        self._table = table
        widths = np.ones(table.n_columns, dtype=np.int64)
        others = other_scales(table, lambda rows: rows)
        self._trees = GrowShrinkTrees(
            table.moments, widths, table.n_rows, price, rules, table.rounding, others=others
        )
        self._by_end = {}

    def _record(
        self, node: int, target: int, parents: IntArray, used: IntArray, excess: float, dof: float
    ) -> LocalFit:
        _, weights = self._trees.solve(target, parents, used)
        norms = norms_of_lines(self._table, parents, weights)
        return LocalFit(parents, weights, excess + STANDARD_ENTROPY, dof, norms=norms)

    def regressors(self, node: int, fit: LocalFit, n_rows: int) -> FloatArray:
        """Columns (m, p) that ``fit`` regresses ``node`` on, in the first rows."""
        columns: FloatArray = self._table.values[:n_rows, fit.parents]
        return columns

    def _own_residuals(self, node: int, fit: LocalFit) -> FloatArray:
        return first_residuals(self, self._table, node, fit)
