"""Gated linear edges, trained by gradient."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Capabilities, EdgeRules, LocalFit
from daguerreotype.edges.gradient.descent import CHECK, COLUMN, FIRST, SECOND, STEP, WORD, seed_of
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.predictors import LinearPredictor, first_residuals, norms_of_lines


@dataclass(frozen=True, kw_only=True)
class LinearEdges(GradientEdges):
    r"""Linear parents chosen by L0 gates that are trained by gradient: the paper's "linear" (appendices B, D).

    For node j on predecessors P, with s and S its second moments with them and among them, minimises

    .. math:: \mathbb{E}_{z \sim \pi} \Big[ \tfrac12 (S_{jj} - 2 s^\top u + u^\top S u) \Big]
              + \lambda \sum_{i \in P} \Pr(z_i > 0) + l_2 \|w\|^2, \qquad u = w \circ z

    over weights w and gate parameters, one sample of z per step. By default weights start from ridge regression on
    all of P, gates undecided. Parents are those whose gate is open in the best model seen; their weights are then
    those of ridge regression on them alone. With ``warm_up=False`` weights start from zero, and with
    ``keep="last"`` the model after the last step is the result. Without ``pruning`` all gates are open: least
    squares when ``l2=0``.

    Parameters
    ----------
    pruning, l2, l2_norm, optimizer, learning_rate, warm_up, keep, final_fit, max_iter, tol, patience, \
    batch_size, device, dtype, random_state
        See :class:`~daguerreotype.edges.GradientEdges`. A parent alone stays if it explains more than
        2 lambda of the node's variance: the default keeps correlations above 0.14 on standardized columns.
        The table is seen through its second moments only, and outside of joint training fits are computed on
        the CPU in double precision: ``batch_size``, ``device`` and ``dtype`` play no part.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges import Table
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] += 2 * x[:, 0]
    >>> models = LinearEdges(pruning=0.1).prepare(Table(x - x.mean(axis=0), ("a", "b", "c")))
    >>> models.fit(2, np.array([0, 1])).parents
    array([0])
    """

    can: ClassVar[Capabilities] = replace(GradientEdges.can, from_moments=True, batches=False, curves=True)

    patience: int = 100  # steps are cheap, and noisy

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> "LinearModels":
        """Check the settings and compute the second moments once. The gates of required parents never close."""
        self.check()
        return LinearModels(self, table, rules)


class LinearModels(LinearPredictor):
    """Gated linear fits on the second moments of one table."""

    can = LinearEdges.can

    def __init__(self, edges: LinearEdges, table: Table, rules: EdgeRules | None = None) -> None:
        self.edges, self.table = edges, table
        d = table.n_columns
        self.required = np.zeros((d, d), dtype=np.bool_) if rules is None else rules.required
        self.moments: FloatArray = np.array(table.moments, dtype=np.float64, order="C")
        self.l2 = edges.penalty_of_squares(d, d)

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Choose parents of ``node`` among ``predecessors``; the cost does not depend on n."""
        edges, columns = self.edges, np.array(predecessors, dtype=np.int64)
        if edges.pruning == 0:  # no gate gains by closing
            return self._refit(node, columns)
        start = ridge(self.moments, node, columns, self.l2) if edges.warm_up else np.zeros(columns.size)
        opened, weights = train_gates(
            self.moments,
            node,
            columns,
            start,
            seed_of(edges.random_state, node, columns),
            float(edges.pruning),
            float(self.l2),
            float(edges.learning_rate),
            edges.max_iter,
            float(edges.tol),
            edges.patience,
            edges.optimizer == "adam",
            edges.keep == "last",
            self.required[columns, node],
        )
        return self._refit(node, columns[opened], weights[opened] if edges.keep == "last" else None)

    def fit_from(self, node: int, parents: IntArray, parameters: Mapping[str, FloatArray]) -> LocalFit:
        """The fit on these parents with weights (d, d) that were trained for all nodes together."""
        weights = parameters["weights"][parents, node]
        return self._refit(node, parents, weights if self.edges.keep == "last" else None)

    def _refit(self, node: int, parents: IntArray, weights: FloatArray | None = None) -> LocalFit:
        """The fit of the parents that are left: with these weights, or those of ridge regression."""
        if weights is None:
            weights = ridge(self.moments, node, parents, self.l2)
        used = (weights != 0) | self.required[parents, node]
        parents, weights = parents[used], weights[used]
        total = self.moments[node, node]
        explained = weights @ (2 * self.moments[parents, node] - self.moments[np.ix_(parents, parents)] @ weights)
        # A perfect fit leaves rounding, which may be negative.
        variance = max(total - explained, np.finfo(np.float64).eps * total)
        norms = norms_of_lines(self.table, parents, weights)
        return LocalFit.gaussian(parents, weights, float(variance), float(parents.size), norms=norms)

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,); of long tables on the first."""
        return first_residuals(self, self.table, node, fit)


def ridge(moments: FloatArray, node: int, columns: IntArray, l2: float) -> FloatArray:
    """Minimiser (p,) of half the mean squared residual of ``node`` plus l2 |w|^2; the least if there are many."""
    inner, cross = moments[np.ix_(columns, columns)], moments[columns, node]
    if l2 == 0:
        weights: FloatArray = np.linalg.lstsq(inner, cross, rcond=None)[0]
        return weights
    return np.linalg.solve(inner + 2 * l2 * np.eye(columns.size), cross)


@kernel
def train_gates(
    moments: FloatArray,
    node: int,
    columns: IntArray,
    start: FloatArray,
    seed: int,
    pruning: float,
    l2: float,
    rate: float,
    max_iter: int,
    tol: float,
    patience: int,
    adam: bool,
    keep_last: bool,
    required: BoolArray,
) -> tuple[BoolArray, FloatArray]:
    r"""Open gates (p,) of the best model met on the way from weights ``start`` (p,), or of the last; its weights.

    With S, s the second moments among the columns and with the node, a step of gates z, one where uniform noise is
    below :math:`\pi`, goes along

    .. math:: b = S (w \circ z) - s, \qquad \partial_w = z \circ b + 2 l_2 w, \qquad
              \partial_\pi = w \circ b + \lambda,

    the latter straight through the gates. ``state`` is w, then :math:`\pi`, clamped to [0, 1]; ``mean`` and
    ``square`` are Adam's. Every CHECK steps, and after the last, the objective is that of the gates with
    :math:`\pi > 1/2`: a tie keeps the earlier model. ``reference`` is the objective that progress is counted from,
    at first that of closed gates. Noise is a hash of seed, column and step. Required gates never close.
    """
    p = columns.size
    inner = np.empty((p, p))
    state = np.empty(2 * p)  # weights, then gate parameters
    keys = np.empty(p, dtype=np.int64)
    for i in range(p):
        for k in range(p):
            inner[i, k] = moments[columns[i], columns[k]]
        state[i] = start[i]
        state[p + i] = 0.5
        keys[i] = _mixed(seed + (columns[i] + 1) * COLUMN)
    mean, square, gradient = np.zeros(2 * p), np.zeros(2 * p), np.empty(2 * p)
    by_product, gates = np.empty(p), np.empty(p)
    cross, opened, best_opened = np.empty(p), np.empty(p, dtype=np.bool_), np.empty(p, dtype=np.bool_)
    for i in range(p):
        cross[i] = moments[columns[i], node]
        opened[i] = required[i]
    empty = 0.5 * moments[node, node]
    nothing = empty + _gain(inner, cross, state, opened, l2, pruning)
    for i in range(p):
        opened[i] = True
    everything = empty + _gain(inner, cross, state, opened, l2, pruning)
    best, reference = min(nothing, everything), nothing
    best_weights = start.copy()
    for i in range(p):
        best_opened[i] = everything < nothing or required[i]
    waited = 0
    for step in range(max_iter):
        for i in range(p):
            noise = (_mixed(keys[i] + (step + 1) * STEP) >> 8) * 2.0**-24
            gates[i] = 1.0 if required[i] or noise < state[p + i] else 0.0
            by_product[i] = -cross[i]
        for i in range(p):
            weight = state[i] * gates[i]
            if weight != 0.0:  # the matrix is symmetric: add up rows of open gates
                for k in range(p):
                    by_product[k] += weight * inner[i, k]
        for i in range(p):
            gradient[i] = gates[i] * by_product[i] + 2.0 * l2 * state[i]
            gradient[p + i] = state[i] * by_product[i] + pruning
        first, second = 1.0 - 0.9 ** (step + 1), 1.0 - 0.999 ** (step + 1)
        for i in range(2 * p):
            if adam:
                mean[i] += 0.1 * (gradient[i] - mean[i])
                square[i] = 0.999 * square[i] + 0.001 * gradient[i] * gradient[i]
                state[i] -= rate / first * mean[i] / (math.sqrt(square[i] / second) + 1e-8)
            else:
                state[i] -= rate * gradient[i]
        for i in range(p, 2 * p):
            state[i] = min(max(state[i], 0.0), 1.0)
        if (step + 1) % CHECK != 0 and step + 1 != max_iter:
            continue

        for i in range(p):
            opened[i] = required[i] or state[p + i] > 0.5
        objective = empty + _gain(inner, cross, state, opened, l2, pruning)
        if keep_last or objective < best:
            best = objective
            for i in range(p):
                best_opened[i] = opened[i]
                best_weights[i] = state[i]
        if objective < reference - tol * abs(reference):
            reference, waited = objective, 0
        else:
            waited += step % CHECK + 1
        if waited >= patience:
            break
    return best_opened, best_weights


@kernel
def _gain(
    inner: FloatArray, cross: FloatArray, weights: FloatArray, opened: BoolArray, l2: float, pruning: float
) -> float:
    """What open gates add to the objective, penalties included."""
    gain = 0.0
    for i in range(cross.size):
        if opened[i]:
            slope = (0.5 * inner[i, i] + l2) * weights[i] - cross[i]
            for k in range(i):
                if opened[k]:
                    slope += inner[i, k] * weights[k]
            gain += slope * weights[i] + pruning
    return gain


@kernel
def _mixed(word: int) -> int:
    """Spread the low 32 bits over each other."""
    word = word & WORD
    word = ((word ^ (word >> 16)) * FIRST) & WORD
    word = ((word ^ (word >> 15)) * SECOND) & WORD
    return word ^ (word >> 16)
