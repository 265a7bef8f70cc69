"""CAM, causal additive models: greedy edges, then significance tests."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.checks import check_count, check_positive_int
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.baselines.additive import SPANNED, Curves, check_alpha, condition, prune, spline_curves
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.cam.preselect import select_neighbours
from daguerreotype.graphs import topological_order

ROWS_PER_PARENT = 20


@dataclass(kw_only=True, eq=False, repr=False)
class CAM(Baseline):
    r"""Causal additive models (Bühlmann, Peters and Ernest, Annals of Statistics 2014).

    Fits  x_j = sum_{i in parents(j)} f_i(x_i) + noise_j  with Gaussian noise of any variances, in three stages:

    1. every column keeps the few others that boosting selects for it (`preselect.select_neighbours`);
    2. from the empty graph on, the edge i -> j from a neighbour i that raises the log-likelihood
       -n/2 sum_j log(residual variance of j)  most and closes no cycle is added, until none is left;
    3. parents whose curve is not significant in the regression on all parents are removed (F-test).

    The settings are those of the authors' experiments, with at most one parent for 20 rows. Their smoothing
    splines, tuned by generalised cross-validation, are regression splines here: gains and tests are exact.

    Parameters
    ----------
    n_basis : int
        Basis functions of each cubic spline, the constant counted, at least 4. Fewer follow less wild curves and
        suit fewer rows; small tables lower it by themselves.
    neighbours : int or None
        How many columns stage 1 keeps at most for each; None skips it, which finds more among few columns, but
        takes time of order d^4 and memory of order d^3.
    alpha : float or None
        Significance level of stage 3; None keeps all edges: that is the setting behind the row "CAM" of the
        DAGuerreotype paper's tables, the default of the toolbox it was run with.
    standardize : bool
        Scale the columns to variance 1. Makes no difference to the graph: the model takes any scales.
    random_state : int or None
        Unused; there is no randomness.
    time_limit : float or None
        Seconds of wall clock, None for no limit.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=300)
    >>> effect = np.cos(2 * cause) + 0.3 * rng.normal(size=300)
    >>> CAM().fit(np.column_stack([effect, cause])).adjacency_matrix_
    array([[0, 0],
           [1, 0]])
    """

    n_basis: int = 10
    neighbours: int | None = 10
    alpha: float | None = 0.001

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Neighbours, greedy edges, pruning."""
        n_basis = check_count(self.n_basis, "n_basis", 4)
        neighbours = None if self.neighbours is None else check_positive_int(self.neighbours, "neighbours")
        alpha = check_alpha(self.alpha)
        n, d = X.shape
        max_parents = min(d - 1, max(1, round(n / ROWS_PER_PARENT)))
        curves = spline_curves(X, n_basis, max_parents)
        candidates = ~np.eye(d, dtype=np.bool_) if neighbours is None else select_neighbours(curves, neighbours)
        complete = add_edges(curves, candidates, max_parents)
        adjacency, weights = prune(curves, complete, alpha)
        return Learned(adjacency, weights, topological_order(complete))


def add_edges(curves: Curves, candidates: BoolArray, max_parents: int) -> BoolArray:
    """Add the edge of the largest gain among ``candidates`` (d, d) that keeps the graph a DAG, until none is left.

    No node gets more than ``max_parents``. Ties go to the first entry of the matrix.
    """
    d = candidates.shape[0]
    nodes = [_Node(curves, node, np.flatnonzero(candidates[:, node])) for node in range(d)]
    gains = np.full((d, d), -np.inf)  # of i -> j; -inf where there is no such edge to add
    for node in nodes:
        gains[node.candidates, node.index] = node.gains(node.candidates)
    leads = np.eye(d, dtype=np.bool_)  # [a, b]: there is a path from a to b
    graph = np.zeros((d, d), dtype=np.bool_)
    while np.isfinite(gains.max(initial=-np.inf)):
        cause, effect = divmod(int(gains.argmax()), d)
        graph[cause, effect] = True
        before, after = leads[:, cause], leads[effect]
        leads[np.ix_(before, after)] = True
        gains[np.ix_(after, before)] = -np.inf
        gains[cause, effect] = -np.inf
        if graph[:, effect].sum() == max_parents:
            gains[:, effect] = -np.inf
        still_open = np.flatnonzero(gains[:, effect] > -np.inf)
        if still_open.size:
            nodes[effect].add(cause)
            gains[still_open, effect] = nodes[effect].gains(still_open)
    return graph


class _Node:
    """One node on its way to its parents: second moments of all candidates' columns given those of the parents."""

    def __init__(self, curves: Curves, index: int, candidates: IntArray) -> None:
        self.index = index
        self.candidates = candidates
        self._stride = curves.stride
        owners = np.append(candidates, index)  # the response and its nonlinear basis come last
        columns = (owners[:, None] * curves.stride + np.arange(curves.stride)).ravel()
        self._left = curves.moments[np.ix_(columns, columns)]

    def add(self, parent: int) -> None:
        """Condition on the curves of ``parent``."""
        place = int(np.searchsorted(self.candidates, parent))
        condition(self._left, place * self._stride, (place + 1) * self._stride)

    def gains(self, asked: IntArray) -> FloatArray:
        """What each candidate ``asked`` for would take off log(residual variance): block Schur complements."""
        place, q = np.searchsorted(self.candidates, asked), self._stride
        left = self._left.reshape(self.candidates.size + 1, q, -1, q)
        sizes, directions = np.linalg.eigh(left[place, :, place, :])  # of (asked, q, q)
        shared = np.einsum("iq,iqk->ik", left[-1, 0, place], directions)
        kept = sizes > SPANNED
        explained = np.sum(np.where(kept, shared**2, 0.0) / np.where(kept, sizes, 1.0), axis=1)
        variance = max(float(left[-1, 0, -1, 0]), SPANNED)
        gains: FloatArray = -np.log(np.maximum(1.0 - explained / variance, SPANNED))
        return gains
