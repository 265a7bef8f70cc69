"""NPVAR: layers of least residual variance, then significance tests (Gao, Ding and Aragam 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from daguerreotype._lib.checks import check_count, check_positive
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.additive import Curves, check_alpha, condition, prune, spline_curves
from daguerreotype.baselines.base import Baseline, Learned

TIED = 1e-9  # relative difference of variances that is rounding


@dataclass(kw_only=True, eq=False, repr=False)
class NPVAR(Baseline):
    r"""Layers of equal residual variance (Gao, Ding and Aragam, NeurIPS 2020).

    Where all noises have the same variance, the causes in a set of columns are those of least variance given
    all columns A before them. So, from no columns on, the next layer is

        L = {j not in A :  v_j <= min_k v_k + eta},    v_j = E Var(x_j | A),  A <- A + L,

    with v_j from an additive regression on cubic splines of the columns of A. Then every column is regressed on
    all of the layers before its own, and those whose curve is significant become its parents (F-test).

    The settings are those of the authors' code, whose P-splines with next to no penalty are regression splines
    here, on quantiles.

    Parameters
    ----------
    n_basis : int
        Basis functions of each cubic spline, the constant counted, at least 4; tables with too few rows for
        regressions on all columns lower it by themselves.
    eta : float or "adaptive"
        Nodes whose variance is within ``eta`` of the least make one layer, and have no edges between them. 0, as
        in the authors' code and the DAGuerreotype paper, takes one node at a time. "adaptive" is the largest
        difference between the variances of two random halves of the rows. Both others need raw scales:
        on standardized columns the first layer would hold them all.
    alpha : float or None
        Significance level of an edge; None keeps all.
    standardize : bool
        Scale the columns to variance 1, as the DAGuerreotype paper does. False where noises do have the same
        variance: scaling hides it. The first node on standardized columns is drawn at random.
    random_state : int or None
        Seed of that draw, and of the halves.
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

    n_basis: int = 10
    eta: float | Literal["adaptive"] = 0.0
    alpha: float | None = 0.001

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Layers, pruning."""
        n_basis = check_count(self.n_basis, "n_basis", 4)
        alpha = check_alpha(self.alpha)
        if isinstance(self.eta, str) and self.eta != "adaptive":
            raise ValueError(f"eta is {shown(self.eta)}: give a number from 0 on, or 'adaptive'.")
        n, d = X.shape
        curves = spline_curves(X, n_basis, d - 1)
        if self.eta == "adaptive":
            rows = rng.permutation(n)
            halves = [
                spline_curves(half - half.mean(axis=0), n_basis, d - 1) for half in np.array_split(X[rows], 2)
            ]
            layers = find_layers(curves, rng, halves=halves)
        else:
            layers = find_layers(curves, rng, eta=check_positive(self.eta, "eta", zero=True))
        depth = np.empty(d, dtype=np.int64)
        for level, layer in enumerate(layers):
            depth[layer] = level
        adjacency, weights = prune(curves, depth[:, None] < depth, alpha)
        return Learned(adjacency, weights, np.concatenate(layers))


def find_layers(
    curves: Curves, rng: np.random.Generator, *, eta: float = 0.0, halves: Sequence[Curves] = ()
) -> list[IntArray]:
    """Layers of nodes, causes first: those within ``eta`` of the least variance given all layers before.

    One at a time for 0, ties at random. Two ``halves`` of the data make eta the largest difference of theirs.
    """
    tables = [curves, *halves]
    left = [table.moments.copy() for table in tables]  # second moments of all columns given the layers
    nodes, layers = np.arange(curves.scales.size), []
    while nodes.size:
        variances = [_variances(table, moments, nodes) for table, moments in zip(tables, left, strict=True)]
        above = variances[0] - variances[0].min()
        if halves:
            eta = float(np.abs(variances[1] - variances[2]).max())
        layer = nodes[above <= (eta or TIED * variances[0].min())]
        if not eta:
            layer = rng.choice(layer, size=1)
        for table, moments in zip(tables, left, strict=True):
            for start in (layer * table.stride).tolist():
                condition(moments, start, start + table.stride)
        layers.append(layer)
        nodes = np.setdiff1d(nodes, layer)
    return layers


def _variances(curves: Curves, left: FloatArray, nodes: IntArray) -> FloatArray:
    """What is ``left`` of the variances of ``nodes``, on their scales."""
    lines = nodes * curves.stride
    variances: FloatArray = curves.scales[nodes] ** 2 * np.maximum(left[lines, lines], 0.0)
    return variances
