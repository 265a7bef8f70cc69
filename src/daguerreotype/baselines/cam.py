"""CAM, causal additive models: neighbours by boosting, greedy edges, then significance tests."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.baselines.additive import CHECKS, SPANNED, Curves, condition, prune, spline_curves
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.graphs import topological_order

ROWS_PER_PARENT = 20


@dataclass(kw_only=True, eq=False, repr=False)
class CAM(Baseline):
    r"""Causal additive models (Bühlmann, Peters and Ernest, Annals of Statistics 2014).

    Fits  x_j = sum_{i in parents(j)} f_i(x_i) + noise_j  with Gaussian noise of any variances, in three stages:

    1. every column keeps the few others that boosting selects for it (`select_neighbours`);
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

    checks = CHECKS

    n_basis: int = 10
    neighbours: int | None = 10
    alpha: float | None = 0.001

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Neighbours, greedy edges, pruning."""
        n, d = X.shape
        max_parents = min(d - 1, max(1, round(n / ROWS_PER_PARENT)))
        curves = spline_curves(X, self.n_basis, max_parents)
        most = self.neighbours
        candidates = ~np.eye(d, dtype=np.bool_) if most is None else select_neighbours(curves, most)
        complete = add_edges(curves, candidates, max_parents)
        adjacency, weights = prune(curves, complete, self.alpha)
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
        self._moments = curves.moments[np.ix_(columns, columns)]

    def add(self, parent: int) -> None:
        """Condition on the curves of ``parent``."""
        place = int(np.searchsorted(self.candidates, parent))
        condition(self._moments, place * self._stride, (place + 1) * self._stride)

    def gains(self, asked: IntArray) -> FloatArray:
        """What each candidate ``asked`` for would take off log(residual variance): block Schur complements."""
        place, q = np.searchsorted(self.candidates, asked), self._stride
        moments = self._moments.reshape(self.candidates.size + 1, q, -1, q)
        sizes, directions = np.linalg.eigh(moments[place, :, place, :])  # of (asked, q, q)
        shared = np.einsum("iq,iqk->ik", moments[-1, 0, place], directions)
        kept = sizes > SPANNED
        explained = np.sum(np.where(kept, shared**2, 0.0) / np.where(kept, sizes, 1.0), axis=1)
        variance = max(float(moments[-1, 0, -1, 0]), SPANNED)
        gains: FloatArray = -np.log(np.maximum(1.0 - explained / variance, SPANNED))
        return gains


# The defaults of mboost, by which the authors of CAM select, and their own share of steps.
STEPS = 100
RATE = 0.1
DOF = 3.0  # of every step's curve, beside the constant
LEAST = 0.02  # share of the steps that a neighbour must take


def select_neighbours(curves: Curves, most: int) -> BoolArray:
    r"""For every node the ``most`` columns that boosting turns to most often, as [i, j]: i may be a parent of j.

    Boosting (Bühlmann and Yu 2003) starts from residuals  r = x_j  and repeats, for every column i, the smoothing
    spline of a fixed number of degrees of freedom

        f_i = argmin_f  |r - f(x_i)|^2 / n + lambda_i int f''(x)^2 dx;

    the column whose f_i leaves the least of r is taken, and  r <- r - 0.1 f_i.  After 100 steps the columns that
    took at least 2 % of them are neighbours of j, those taken most often first; ties by what they explained.
    """
    d, stride = curves.roughness.shape
    keep = _shrinkage(curves)  # (d, stride)
    drop = keep * (2.0 - keep)
    chosen = np.zeros((d, d), dtype=np.bool_)
    for node in range(d):
        shared = curves.moments[node * stride].reshape(d, stride).copy()  # of every column with the residuals
        taken, explained = np.zeros(d), np.zeros(d)
        for _ in range(STEPS):
            drops = np.einsum("iq,iq,iq->i", drop, shared, shared)
            drops[node] = -1.0
            best = int(drops.argmax())
            taken[best] += 1
            explained[best] += drops[best]
            beta = RATE * keep[best] * shared[best]
            shared -= (beta @ curves.moments[best * stride : (best + 1) * stride]).reshape(d, stride)
        ranked = np.lexsort((-explained, -taken))[:most]
        chosen[ranked[taken[ranked] >= LEAST * STEPS], node] = True
    return chosen


def _shrinkage(curves: Curves) -> FloatArray:
    """What the smoothing splines keep of every column: 1 / (1 + lambda_i roughness), shape (d, stride).

    Orthonormal columns whose roughness is diagonal make this exact. Degrees of freedom are those of mboost, the
    trace of 2 S - S'S for the smoother S.
    """
    keep = np.zeros(curves.roughness.shape)
    for i, width in enumerate(curves.widths.tolist()):
        roughness = curves.roughness[i, :width]
        penalty = 0.0 if width <= DOF else np.exp(brentq(_surplus, -50.0, 50.0, args=(roughness,)))
        keep[i, :width] = 1.0 / (1.0 + penalty * roughness)
    return keep


def _surplus(log_penalty: float, roughness: FloatArray) -> float:
    """Degrees of freedom of a smoothing spline beyond those of every step."""
    keep = 1.0 / (1.0 + np.exp(log_penalty) * roughness)
    return float(np.sum(keep * (2.0 - keep))) - DOF
