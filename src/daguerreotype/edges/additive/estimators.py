"""Edges by BIC with grow-shrink trees: straight ones; and lines, splines and products."""

from dataclasses import replace

from daguerreotype._lib.checks import check_count
from daguerreotype.data.table import Table
from daguerreotype.edges.additive.local_score import AdditiveModels
from daguerreotype.edges.base import EdgeEstimator, EdgeRules
from daguerreotype.edges.penalty import Penalty

ADDITIVE = replace(AdditiveModels.can, kinds=True, scales=True, copies=True, rules=True, max_parents=True)


class GamEdges(EdgeEstimator):
    r"""Parents by lines, splines and products, by BIC with grow-shrink trees.

    For node j among predecessors P, searches

    .. math:: x_j = \sum_{i \in S} f_i(x_i) + \sum_{i, k \in S} c_{ik} \, b_i(x_i) \, b_k(x_k) + noise

    over S within P that minimises  n log(variance(j | f)) + penalty log(n) dof(f).  Every f_i has the first 1, 2,
    4 or all columns of a natural spline, from the line to rough curves, and costs one degree of freedom for each;
    a product of two of the smoothest columns b costs one, and is not there where ``max_parents`` limits parents.
    Growing adds or bends the parent, or adds the product, that improves most; shrinking removes or straightens.

    Where a search ends, the rows of a number are looked at: its spread may depend on its parents, its noise may
    have any shape, and it may be on another scale, as far as the learner's ``noise`` and ``scales`` leave that
    open and it pays. Streamed rows have Gaussian noise, lines and splines alone.

    Parameters
    ----------
    n_knots : int
        Knots of each spline, at quantiles: it has ``n_knots - 1`` columns, the line among them, and is straight
        beyond the outer ones. 2 is a line; more follow wilder curves and need more rows.
    penalty : float
        Multiplies the BIC term. 1 is BIC; 1.5 to 2 gives sparser graphs with fewer false edges.
    gamma : float
        Adds 2 gamma log(d) to the penalty of every parent: the extended BIC (Chen and Chen 2008), for many
        columns. A fit's ``dof`` then counts this too, in units of a degree of freedom.
    trust : float or None
        Rows of evidence at most, N: n rows are worth n N / (n + N) of them, which keeps BIC from buying edges in
        long tables for what a slightly wrong model leaves over. None: every row counts.

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

    can = replace(ADDITIVE, from_passes=True)

    def __init__(
        self, n_knots: int = 9, penalty: float = 1.0, gamma: float = 0.0, trust: float | None = None
    ) -> None:
        self.n_knots = n_knots
        self.penalty = penalty
        self.gamma = gamma
        self.trust = trust

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> AdditiveModels:
        """Lay out the bases of the columns and take their second moments.

        Searches begin with required parents, as lines, and never remove them.
        """
        check_count(self.n_knots, "n_knots", least=2)  # the two ends
        return AdditiveModels(table, int(self.n_knots), Penalty(self.penalty, self.gamma, self.trust), rules)


class BicEdges(EdgeEstimator):
    r"""Linear parents by BIC subset selection with grow-shrink trees.

    For node j among predecessors P, searches  min_{S in P}  n log(variance(j | S)) + penalty log(n) |S|,
    variance(j | S) being the mean squared residual of least squares: adds the parent that improves most while one
    does, then removes the parent whose removal improves most while one does. Noise is Gaussian unless the
    learner's ``noise`` says otherwise; a number may be on another scale where ``scales`` leaves that open.

    Parameters
    ----------
    penalty : float
        Multiplies the BIC term. 1 is BIC; 1.5 to 2 gives sparser graphs with fewer false edges.
    gamma : float
        Adds 2 gamma log(d) to the penalty of every parent: the extended BIC (Chen and Chen 2008), for many
        columns. A fit's ``dof`` then counts this too, in units of a degree of freedom.
    trust : float or None
        Rows of evidence at most, N: n rows are worth n N / (n + N) of them, which keeps BIC from buying edges in
        long tables for what a slightly wrong model leaves over. None: every row counts.

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

    can = replace(ADDITIVE, from_moments=True)

    def __init__(self, penalty: float = 1.0, gamma: float = 0.0, trust: float | None = None) -> None:
        self.penalty = penalty
        self.gamma = gamma
        self.trust = trust

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> AdditiveModels:
        """Take the second moments of ``table``; the rows of numbers are not needed again but for residuals.

        Searches begin with required parents and never remove them.
        """
        return AdditiveModels(table, 0, Penalty(self.penalty, self.gamma, self.trust), rules)
