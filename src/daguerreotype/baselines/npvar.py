"""NPVAR: an order by least residual variance, then significance tests (Gao, Ding and Aragam 2020)."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.additive import CHECKS, Curves, condition, prune, spline_curves
from daguerreotype.baselines.base import Baseline, Learned

TIED = 1e-9  # relative difference of variances that is rounding


@dataclass(kw_only=True, eq=False, repr=False)
class NPVAR(Baseline):
    r"""Orders by least residual variance (Gao, Ding and Aragam, NeurIPS 2020).

    Where all noises have the same variance, the causes in a set of columns are those of least variance given
    all columns A before them. So, from no columns on, the next is

        argmin_{j not in A} v_j,    v_j = E Var(x_j | A),

    with v_j from an additive regression on cubic splines of the columns of A. Then every column is regressed on
    all before it, and those whose curve is significant become its parents (F-test). Layers of several columns,
    which the method allows for, are left out, as in the authors' code.

    The settings are those of the authors' code, whose P-splines with next to no penalty are regression splines
    here, on quantiles.

    Parameters
    ----------
    n_basis : int
        Basis functions of each cubic spline, the constant counted, at least 4; tables with too few rows for
        regressions on all columns lower it by themselves.
    alpha : float or None
        Significance level of an edge; None keeps all.
    standardize : bool
        Scale the columns to variance 1, as the DAGuerreotype paper does. False where noises do have the same
        variance: scaling hides it. The first node on standardized columns is drawn at random.
    random_state : int or None
        Seed of that draw.
    time_limit : float or None
        Seconds of wall clock, None for no limit.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=300)
    >>> effect = 2 * np.sin(cause) + rng.normal(size=300)
    >>> NPVAR(standardize=False).fit(np.column_stack([effect, cause])).adjacency_matrix_
    array([[0, 0],
           [1, 0]])
    """

    checks = CHECKS

    n_basis: int = 10
    alpha: float | None = 0.001

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Order, pruning."""
        d = X.shape[1]
        curves = spline_curves(X, self.n_basis, d - 1)
        order = find_order(curves, rng)
        place = np.argsort(order)
        adjacency, weights = prune(curves, place[:, None] < place, self.alpha)
        return Learned(adjacency, weights, order)


def find_order(curves: Curves, rng: np.random.Generator) -> IntArray:
    """Nodes, causes first: that of least variance given all before it comes next, of tied ones any."""
    moments = curves.moments.copy()  # second moments of all columns given the nodes of the order
    nodes = np.arange(curves.scales.size)
    order = np.empty(nodes.size, dtype=np.int64)
    for place in range(order.size):
        lines = nodes * curves.stride
        variances = curves.scales[nodes] ** 2 * np.maximum(moments[lines, lines], 0.0)
        least = variances.min()
        order[place] = rng.choice(nodes[variances - least <= TIED * least], size=1)[0]
        start = int(order[place]) * curves.stride
        condition(moments, start, start + curves.stride)
        nodes = nodes[nodes != order[place]]
    return order
