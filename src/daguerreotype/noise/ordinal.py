"""Levels that have an order: the proportional odds model."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy.special import log_expit

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.noise.base import DiscreteNoise, Mass, Outcomes, log_shares_of
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


@saved
@dataclass(frozen=True)
class OrdinalMass:
    r"""Probabilities of ordered levels, :math:`P(y \le k) = \Lambda(c_k - \eta)` with logistic :math:`\Lambda`.

    Attributes
    ----------
    cutpoints : array of shape (groups - 1,)
        The c_k, ascending.
    groups : array of shape (levels,)
        The group of each level: levels that no training row has share one with the level below.
    log_shares : array of shape (levels,)
        Logarithm of the share that a level has of its group.
    """

    cutpoints: Annotated[FloatArray, Shape("c")]
    groups: Annotated[IntArray, Shape("l", least=0, filled=True)]
    log_shares: Annotated[FloatArray, Shape("l")]

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of codes (m,) by linear predictors (m, 1)."""
        codes, eta = outcomes.astype(np.int64), predictors.reshape(-1)
        group = self.groups[codes]
        ends = np.concatenate([[-np.inf], self.cutpoints, [np.inf]])
        low, high = ends[group], ends[group + 1]
        # u - l = u (1 - l) (1 - e^(low - high)) to all digits, where both are near one too.
        mass: FloatArray = log_expit(high - eta) + log_expit(eta - low)
        mass += np.log(-np.expm1(low - high)) + self.log_shares[codes]
        return mass


@subkernel
def ordered_rows(rows: Rows, eta: FloatArray, cuts: FloatArray, slopes: FloatArray) -> float:
    """Sum over rows of the negative log-likelihood of ordered levels; infinite if cutpoints do not ascend.

    Writes  u + l - 1, u', l', 1 - 2 u, 1 - 2 l, 1 / P  of each row to ``slopes`` (6, n).
    """
    outcomes, times, k = rows.outcomes, rows.times, cuts.size
    for c in range(1, k):
        if cuts[c] <= cuts[c - 1]:
            return np.inf
    gaps = np.ones(k + 1)
    for c in range(1, k):
        gaps[c] = -np.expm1(cuts[c - 1] - cuts[c])
    nll = 0.0
    for t in range(outcomes.size):
        level = outcomes[t]
        upper, above, lower, beyond = 1.0, 0.0, 0.0, 1.0
        if level < k:
            x = cuts[level] - eta[t]
            tail = np.exp(-abs(x))
            upper, above = 1.0 / (1.0 + tail), tail / (1.0 + tail)
            if x < 0.0:
                upper, above = above, upper
        if level > 0:
            x = cuts[level - 1] - eta[t]
            tail = np.exp(-abs(x))
            lower, beyond = 1.0 / (1.0 + tail), tail / (1.0 + tail)
            if x < 0.0:
                lower, beyond = beyond, lower
        mass = upper * beyond * gaps[level]  # u - l to all digits, where both are near one too
        if mass < 1e-300:
            mass = 1e-300
        nll -= times[t] * np.log(mass)
        slopes[0, t] = upper - beyond
        slopes[1, t], slopes[2, t] = upper * above, lower * beyond
        slopes[3, t], slopes[4, t] = above - upper, beyond - lower
        slopes[5, t] = 1.0 / mass
    return nll


@kernel
def fit_ordered(rows: Rows, q: int, k: int, shape_penalty: float, fit: RowsFit) -> int:
    r"""The maximum of the likelihood of ordered levels, by Newton's method for coefficients and the k cutpoints.

    With u, l the logistic function at the cutpoints around a row's level, less its predictor, P = u - l:

    .. math:: \partial_\eta \log P = u + l - 1, \qquad -\partial^2_\eta \log P = u' + l',

    u' = u (1 - u). Derivatives by the cutpoints are u' / P and -l' / P. The constant of the design takes no
    part: the cutpoints hold it.
    """
    outcomes, times = rows.outcomes, rows.times
    design = rows.design[1:]
    m, n = design.shape
    newton = new_newton(m + k)
    theta, hessian = newton.theta, newton.hessian
    for c in range(m):
        theta[c] = fit.coefficients[c + 1, 0]
        newton.ridges[c] = RIDGE
    for c in range(k):
        theta[m + c] = fit.nuisance[c]
    slopes, counted, weights = np.empty((6, n)), np.empty(n), np.empty(n)
    weighted, block = np.empty((m, n)), np.empty((m, m))
    gradient, nll = np.empty(m + k), np.inf
    for _ in range(MOST_STEPS):
        now = ordered_rows(rows, np.dot(theta[:m], design), theta[m:], slopes)
        if steps_back(newton, now, n):
            continue
        nll = now
        if newton.done[0]:
            break
        gradient[m:] = 0.0
        for t in range(n):
            level, often = outcomes[t], times[t]
            counted[t] = often * slopes[0, t]
            if level < k:
                gradient[m + level] += often * slopes[1, t] * slopes[5, t]
            if level > 0:
                gradient[m + level - 1] -= often * slopes[2, t] * slopes[5, t]
        gradient[:m] = np.dot(design, counted)
        if not newton.keeps[0]:
            for t in range(n):
                weights[t] = times[t] * (slopes[1, t] + slopes[2, t])
            weighted_gram(design, weights, weighted, block)
            for i in range(m + k):
                for j in range(i + 1):
                    hessian[i, j] = block[i, j] if i < m else 0.0
            for c in range(m):
                for t in range(n):
                    if outcomes[t] < k:
                        hessian[m + outcomes[t], c] -= times[t] * slopes[1, t] * design[c, t]
                    if outcomes[t] > 0:
                        hessian[m + outcomes[t] - 1, c] -= times[t] * slopes[2, t] * design[c, t]
            for t in range(n):
                level, often = outcomes[t], times[t]
                by_upper, by_lower = slopes[1, t] * slopes[5, t], slopes[2, t] * slopes[5, t]
                if level < k:
                    hessian[m + level, m + level] += often * by_upper * (by_upper - slopes[3, t])
                if level > 0:
                    below = m + level - 1
                    hessian[below, below] += often * by_lower * (by_lower + slopes[4, t])
                    if level < k:
                        hessian[m + level, below] -= often * by_upper * by_lower
        steps_on(newton, gradient)
    fit.coefficients[0, 0] = 0.0
    for c in range(m):
        fit.coefficients[c + 1, 0] = theta[c]
    for c in range(k):
        fit.nuisance[c] = theta[m + c]
    for t in range(rows.place.size):
        fit.residuals[t, 0] = slopes[0, rows.place[t]]
    information = 0.0
    for t in range(n):
        information += times[t] * (slopes[1, t] + slopes[2, t])
    fit.information[0, 0] = information / rows.place.size
    fit.nll[0] = nll / rows.place.size
    fit.nll[1] = 0.0
    return k


@saved
@dataclass(frozen=True)
class Ordinal(DiscreteNoise):
    """Levels whose log-odds of being exceeded are cutpoints apart."""

    name: str = "ordinal"

    masses: ClassVar = OrdinalMass
    maximise: ClassVar = staticmethod(fit_ordered)

    def outcomes(self, codes: IntArray, n_fitted: int, kind: Kind) -> Outcomes:
        """Every level by itself; one without a row goes with the one below."""
        n_levels = max(len(kind.levels), int(codes.max()) + 1, 2)
        fitted = np.bincount(codes[:n_fitted], minlength=n_levels)
        groups = np.maximum(np.cumsum(fitted > 0) - 1, 0)
        log_shares, offset = log_shares_of(codes, groups)
        code = groups[codes[:n_fitted]]
        counts = np.bincount(code, minlength=max(int(groups.max()) + 1, 2)) + 0.5
        below = np.cumsum(counts)[:-1]
        return Outcomes(code, np.zeros(1), np.log(below / (counts.sum() - below)), offset, groups, log_shares)

    def mass(self, outcomes: Outcomes, shape: FloatArray) -> Mass:
        """Proportional odds, ``shape`` being the cutpoints."""
        return OrdinalMass(shape, outcomes.groups, outcomes.log_shares)
