"""Levels without an order: the multinomial logit; of two levels, Bernoulli."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.noise.base import DiscreteNoise, Mass, Outcomes, log_shares_of, pool_rare
from daguerreotype.noise.newton import (
    MOST_STEPS,
    RIDGE,
    Rows,
    RowsFit,
    new_newton,
    steps_back,
    steps_on,
    weighted_gram,
)

RARE, MOST_LEVELS = 10, 8  # rarer levels share a group, as do those beyond the most frequent ones


@saved
@dataclass(frozen=True)
class CategoricalMass:
    r"""Probabilities :math:`p_g \propto e^{\eta_g}` of groups of levels, the first with predictor zero.

    Rare levels share a group, within which their shares are the same whatever the parents.

    Attributes
    ----------
    groups : array of shape (levels,)
        The group of each level.
    log_shares : array of shape (levels,)
        Logarithm of the share that a level has of its group.
    """

    groups: Annotated[IntArray, Shape("l", least=0, filled=True)]
    log_shares: Annotated[FloatArray, Shape("l")]

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of codes (m,) by linear predictors (m, groups - 1)."""
        codes = outcomes.astype(np.int64)
        eta = np.column_stack([np.zeros(codes.size), predictors])
        top = eta.max(axis=1)
        total = top + np.log(np.exp(eta - top[:, None]).sum(axis=1))
        mass: FloatArray = eta[np.arange(codes.size), self.groups[codes]] - total + self.log_shares[codes]
        return mass


@subkernel
def softmax_rows(
    outcomes: IntArray, times: FloatArray, eta: FloatArray, probs: FloatArray, residuals: FloatArray
) -> float:
    """Sum over rows of the negative log-likelihood by predictors (q, n); writes probabilities and residuals."""
    q = eta.shape[0]
    nll = 0.0
    for t in range(outcomes.size):
        top = 0.0
        for a in range(q):
            if eta[a, t] > top:
                top = eta[a, t]
        total = np.exp(-top) if top > 0.0 else 1.0
        for a in range(q):
            probs[a, t] = np.exp(eta[a, t] - top) if eta[a, t] < top else 1.0
            total += probs[a, t]
        level = outcomes[t] - 1
        lost = top + np.log(total)
        if level >= 0:
            lost -= eta[level, t]
        nll += times[t] * lost
        for a in range(q):
            probs[a, t] /= total
            residuals[a, t] = -probs[a, t]
        if level >= 0:
            residuals[level, t] += 1.0
    return nll


@kernel
def fit_softmax(rows: Rows, q: int, k: int, shape_penalty: float, fit: RowsFit) -> int:
    r"""The maximum of the multinomial likelihood, by Newton's method for all q predictors at once.

    With probabilities p (q, n) of the levels but the first, and y their dummies, the blocks of the derivatives are

    .. math:: \partial_{\beta_a} = Z' (y_a - p_a), \qquad
              -\partial_{\beta_a} \partial_{\beta_b} = Z' \, diag(p_a (1_{a = b} - p_b)) \, Z .

    Coefficient c of predictor a is parameter  a * p + c.
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    p, n = design.shape
    newton = new_newton(p * q)
    theta, hessian = newton.theta, newton.hessian
    for a in range(q):
        for c in range(p):
            theta[a * p + c] = fit.coefficients[c, a]
            newton.ridges[a * p + c] = RIDGE if c > 0 else 0.0
    probs, residuals, counted = np.empty((q, n)), np.empty((q, n)), np.empty((q, n))
    weights, weighted, block = np.empty(n), np.empty((p, n)), np.empty((p, p))
    nll = np.inf
    for _ in range(MOST_STEPS):
        eta = np.dot(theta.reshape((q, p)), design)
        likelihood = softmax_rows(outcomes, times, eta, probs, residuals)
        if steps_back(newton, likelihood, n):
            continue
        nll = likelihood
        if newton.done[0]:
            break
        for a in range(q):
            for t in range(n):
                counted[a, t] = times[t] * residuals[a, t]
            for b in range(0 if newton.keeps[0] else a + 1):
                same = 1.0 if a == b else 0.0
                for t in range(n):
                    weights[t] = times[t] * probs[a, t] * (same - probs[b, t])
                weighted_gram(design, weights, weighted, block)
                for c in range(p):
                    for e in range(p):
                        hessian[a * p + c, b * p + e] = block[c, e]
        steps_on(newton, np.dot(counted, design.T).reshape(p * q))
    for c in range(p):
        for a in range(q):
            fit.coefficients[c, a] = theta[a * p + c]
    for a in range(q):
        for b in range(q):
            total = 0.0
            for t in range(n):
                total += times[t] * probs[a, t] * ((1.0 if a == b else 0.0) - probs[b, t])
            fit.information[a, b] = total / rows.place.size
        for t in range(rows.place.size):
            fit.residuals[t, a] = residuals[a, rows.place[t]]
    fit.nll[0] = nll / rows.place.size
    fit.nll[1] = 0.0
    return q


@saved
@dataclass(frozen=True)
class Categorical(DiscreteNoise):
    """Levels of which each has its own log-odds against the first."""

    name: str = "categorical"

    masses: ClassVar = CategoricalMass
    maximise: ClassVar = staticmethod(fit_softmax)

    def outcomes(self, codes: IntArray, n_fitted: int, kind: Kind) -> Outcomes:
        """Frequent levels by themselves, rare ones in one group."""
        n_levels = max(len(kind.levels), int(codes.max()) + 1, 2)
        fitted = np.bincount(codes[:n_fitted], minlength=n_levels).astype(np.float64)
        groups = _join_empty(pool_rare(fitted, RARE, MOST_LEVELS), fitted)
        log_shares, offset = log_shares_of(codes, groups)
        code = groups[codes[:n_fitted]]
        counts = np.bincount(code, minlength=max(int(groups.max()) + 1, 2)) + 0.5
        return Outcomes(code, np.log(counts[1:] / counts[0]), np.zeros(0), offset, groups, log_shares)

    def mass(self, outcomes: Outcomes, shape: FloatArray) -> Mass:
        """Softmax of the groups."""
        return CategoricalMass(outcomes.groups, outcomes.log_shares)


def _join_empty(groups: IntArray, counts: FloatArray) -> IntArray:
    """The groups (levels,), those without a row joined to the smallest that has one."""
    totals = np.bincount(groups, weights=counts)
    if (totals > 0).sum() < 2 or (totals > 0).all():
        return groups
    smallest = int(np.argmin(np.where(totals > 0, totals, np.inf)))
    joined = np.where(totals[groups] > 0, groups, smallest)
    renumbered: IntArray = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return renumbered
