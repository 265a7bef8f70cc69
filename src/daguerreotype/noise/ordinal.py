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
from daguerreotype.noise.newton import MOST_STEPS, RIDGE, Rows, RowsFit, new_newton, steps_back, steps_on


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
def logistic(x: float) -> float:
    """The logistic distribution function."""
    return float(1.0 / (1.0 + np.exp(-x)))


@kernel
def fit_ordered(rows: Rows, q: int, k: int, shape_penalty: float, fit: RowsFit) -> int:
    r"""The maximum of the likelihood of ordered levels, by Newton's method for coefficients and the k cutpoints.

    With u, l the logistic function at the cutpoints around a row's level, less its predictor, P = u - l:

    .. math:: \partial_\eta \log P = u + l - 1, \qquad -\partial^2_\eta \log P = u' + l',

    u' = u (1 - u). Derivatives by the cutpoints are u' / P and -l' / P. The constant of the design takes no
    part: the cutpoints hold it.
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    n, p = design.shape
    slopes = p - 1
    size = slopes + k
    newton = new_newton(size)
    theta, hessian = newton.theta, newton.hessian
    for c in range(slopes):
        theta[c] = fit.coefficients[c + 1, 0]
        newton.ridges[c] = RIDGE
    for c in range(k):
        theta[slopes + c] = fit.nuisance[c]
    residuals, information, nll = np.empty(n), 0.0, np.inf
    for _ in range(MOST_STEPS):
        now, valid = 0.0, True
        for c in range(1, k):
            if theta[slopes + c] <= theta[slopes + c - 1]:
                valid = False
        gradient = np.zeros(size)
        for i in range(size):
            for j in range(size):
                hessian[i, j] = 0.0
        information = 0.0
        if valid:
            for t in range(n):
                eta = 0.0
                for c in range(slopes):
                    eta += design[t, c + 1] * theta[c]
                level = outcomes[t]
                upper, above, lower, beyond, gap = 1.0, 0.0, 0.0, 1.0, 1.0
                if level < k:
                    upper, above = logistic(theta[slopes + level] - eta), logistic(eta - theta[slopes + level])
                if level > 0:
                    lower = logistic(theta[slopes + level - 1] - eta)
                    beyond = logistic(eta - theta[slopes + level - 1])
                    if level < k:
                        gap = -np.expm1(theta[slopes + level - 1] - theta[slopes + level])
                mass = upper * beyond * gap  # u - l to all digits, where both are near one too
                if mass < 1e-300:
                    mass = 1e-300
                often = times[t]
                now -= often * np.log(mass)
                at_upper, at_lower = upper * above, lower * beyond
                residuals[t] = upper - beyond
                residual, weight = often * residuals[t], often * (at_upper + at_lower)
                information += weight
                for c in range(slopes):
                    gradient[c] += design[t, c + 1] * residual
                    product = weight * design[t, c + 1]
                    for e in range(c + 1):
                        hessian[c, e] += product * design[t, e + 1]
                by_upper, by_lower = at_upper / mass, at_lower / mass
                if level < k:
                    row = slopes + level
                    gradient[row] += often * by_upper
                    hessian[row, row] += often * (by_upper * by_upper - by_upper * (above - upper))
                    for c in range(slopes):
                        hessian[row, c] -= often * at_upper * design[t, c + 1]
                if level > 0:
                    row = slopes + level - 1
                    gradient[row] -= often * by_lower
                    hessian[row, row] += often * (by_lower * by_lower + by_lower * (beyond - lower))
                    for c in range(slopes):
                        hessian[row, c] -= often * at_lower * design[t, c + 1]
                    if level < k:
                        hessian[slopes + level, row] -= often * by_upper * by_lower
        else:
            now = np.inf
        if steps_back(newton, now, n):
            continue
        nll = now
        if newton.done[0]:
            break
        steps_on(newton, gradient)
    fit.coefficients[0, 0] = 0.0
    for c in range(slopes):
        fit.coefficients[c + 1, 0] = theta[c]
    for c in range(k):
        fit.nuisance[c] = theta[slopes + c]
    for t in range(rows.place.size):
        fit.residuals[t, 0] = residuals[rows.place[t]]
    fit.information[0, 0] = information / rows.place.size
    fit.nll[0] = nll / rows.place.size
    fit.nll[1] = 0.0
    return k


@saved
@dataclass(frozen=True)
class Ordinal(DiscreteNoise):
    """Levels whose log-odds of being exceeded are cutpoints apart."""

    name: str = "ordinal"

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
