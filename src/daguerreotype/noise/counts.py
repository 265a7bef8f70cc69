"""Counts: Poisson, or negative binomial where they spread more than that."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import gammaln

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.records import saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.noise.base import DiscreteNoise, Mass, Outcomes
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

FARTHEST = 30.0  # log mean beyond which exponentials say nothing
LEAST_DISPERSION, START_DISPERSION, MOST_DISPERSION = 1e-4, 0.3, 1e3
# What a dispersion costs, in units of the penalty of a parameter.
SHAPE_PENALTIES = {"counts": 1.0, "poisson": np.inf, "negative-binomial": -np.inf}


@saved
@dataclass(frozen=True)
class CountMass:
    r"""Counts with log mean :math:`\eta` and variance :math:`\mu + a \mu^2`.

    Attributes
    ----------
    dispersion : float
        The a; 0 is Poisson.
    """

    dispersion: float

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of counts (m,) by log means (m, 1)."""
        eta = np.clip(predictors.reshape(-1), -FARTHEST, FARTHEST)
        mean = np.exp(eta)
        if self.dispersion == 0.0:
            mass: FloatArray = outcomes * eta - mean - gammaln(outcomes + 1.0)
            return mass
        size = 1.0 / self.dispersion
        mass = gammaln(outcomes + size) - gammaln(size) - gammaln(outcomes + 1.0)
        mass += outcomes * (np.log(self.dispersion) + eta) - (outcomes + size) * np.log1p(self.dispersion * mean)
        return mass


@subkernel
def dispersion_sums(above: FloatArray, dispersion: float, sums: FloatArray) -> None:
    r"""Write the sums over rows of  log \prod_{k < y} (1 + a k)  and of its two derivatives by a to ``sums`` (3,).

    ``above[k]`` rows have counts above k, so that a pass over the values that counts may have is enough.
    """
    for i in range(3):
        sums[i] = 0.0
    for k in range(above.size):
        share = k / (1.0 + dispersion * k)
        sums[0] += above[k] * np.log1p(dispersion * k)
        sums[1] += above[k] * share
        sums[2] -= above[k] * share * share


@subkernel
def likeliest_counts(
    rows: Rows,
    above: FloatArray,
    free: bool,
    theta: FloatArray,
    eta: FloatArray,
    weights: FloatArray,
) -> float:
    r"""Newton's method for the coefficients of the log mean and, if it is ``free``, the log of the dispersion.

    With dispersion a the mass of y is  prod_{k < y} (1 + a k) mu^y (1 + a mu)^{-(y + 1/a)} / y!;  without one it
    is Poisson, the limit a = 0. The derivatives by the coefficients are

    .. math:: \partial_\beta = Z' \frac{y - \mu}{1 + a \mu}, \qquad
              -\partial^2_\beta = Z' \, diag\Big(\frac{\mu (1 + a y)}{(1 + a \mu)^2}\Big) \, Z .

    Means and dispersion are orthogonal: their mixed derivatives are zero on average, and are left out. Starts from
    ``theta`` (p + 1,), the coefficients and the logarithm, and overwrites it. Returns the sum over rows of the
    negative log-likelihood; writes log means and  mu / (1 + a mu),  times how often each row is there, (n,).
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    p, n = design.shape
    low, high = np.log(LEAST_DISPERSION), np.log(MOST_DISPERSION)
    log_factorials = 0.0
    for k in range(above.size):
        log_factorials += above[k] * np.log(k + 1.0)
    newton = new_newton(p + 1 if free else p)
    point, hessian = newton.theta, newton.hessian
    for c in range(point.size):
        point[c] = theta[c]
        newton.ridges[c] = RIDGE if 0 < c < p else 0.0
    sums, curvatures, residuals, weighted = np.zeros(3), np.empty(n), np.empty(n), np.empty((p, n))
    block, gradient = np.empty((p, p)), np.empty(point.size)
    now, dispersion = 0.0, 0.0
    for _ in range(MOST_STEPS):
        predicted = np.dot(point[:p], design)
        now = log_factorials
        slope, curvature = 0.0, 0.0
        if free:
            point[p] = min(max(point[p], low), high)
            dispersion = np.exp(point[p])
            dispersion_sums(above, dispersion, sums)
            now -= sums[0]
            size = 1.0 / dispersion
            for t in range(n):
                value = min(max(predicted[t], -FARTHEST), FARTHEST)
                mean, y = np.exp(value), outcomes[t]
                log_spread = np.log1p(dispersion * mean)
                share = mean / (1.0 + dispersion * mean)
                now += times[t] * ((y + size) * log_spread - y * value)
                eta[t], weights[t] = value, times[t] * share
                residuals[t] = times[t] * (y - mean) / (1.0 + dispersion * mean)
                curvatures[t] = weights[t] * (1.0 + dispersion * y) / (1.0 + dispersion * mean)
                slope += times[t] * (size * size * log_spread - (y + size) * share)
                curvature += times[t] * (
                    2.0 * size * size * (share - size * log_spread) + (y + size) * share * share
                )
            curvature = dispersion * (slope + sums[1]) + dispersion * dispersion * (curvature + sums[2])
            slope = dispersion * (slope + sums[1])
        else:
            for t in range(n):
                value = min(max(predicted[t], -FARTHEST), FARTHEST)
                mean = np.exp(value)
                now += times[t] * (mean - outcomes[t] * value)
                eta[t], weights[t] = value, times[t] * mean
                residuals[t] = times[t] * (outcomes[t] - mean)
                curvatures[t] = weights[t]
        if steps_back(newton, now, n):
            continue
        if newton.done[0]:
            break
        gradient[:p] = np.dot(design, residuals)
        if not newton.keeps[0]:
            weighted_gram(design, curvatures, weighted, block)
            for i in range(p):
                for j in range(i + 1):
                    hessian[i, j] = block[i, j]
        if free:
            at_end = (point[p] == low and slope < 0.0) or (point[p] == high and slope > 0.0)
            gradient[p] = 0.0 if at_end else slope
            if not newton.keeps[0]:
                for j in range(p):
                    hessian[p, j] = 0.0
                # Where the likelihood is not concave, a step that goes up and is not longer than one.
                hessian[p, p] = -curvature if -curvature > 0.5 * abs(slope) else 0.5 * abs(slope) + 1.0
        steps_on(newton, gradient)
    for c in range(point.size):
        theta[c] = point[c]
    return now


@kernel
def fit_counts(rows: Rows, q: int, k: int, shape_penalty: float, fit: RowsFit) -> int:
    """Poisson, and negative binomial where counts spread more than Poisson's.

    A dispersion must gain ``shape_penalty`` nats of all rows: infinity for none, minus infinity for always one.
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    p, n = design.shape
    most = 0
    for t in range(n):
        most = max(most, outcomes[t])
    above = np.zeros(most + 1)
    for t in range(n):
        if outcomes[t] > 0:
            above[outcomes[t] - 1] += times[t]
    for y in range(most - 1, -1, -1):
        above[y] += above[y + 1]
    theta, eta, weights = np.empty(p + 1), np.empty(n), np.empty(n)
    for c in range(p):
        theta[c] = fit.coefficients[c, 0]
    free = shape_penalty < 0.0  # literals would compile the callee twice
    best = np.inf
    dispersed = shape_penalty == -np.inf
    if not dispersed:
        best = likeliest_counts(rows, above, free, theta, eta, weights)
        excess, scale = 0.0, 0.0
        for t in range(n):
            mean = np.exp(eta[t])
            excess += times[t] * ((outcomes[t] - mean) ** 2 - outcomes[t])
            scale += times[t] * mean * mean
        # Poisson counts exceed this by chance once in fifty times.
        dispersed = shape_penalty < np.inf and excess > 2.0 * np.sqrt(2.0 * scale)
    dispersion = 0.0
    if dispersed:
        other, means, shares = theta.copy(), np.empty(n), np.empty(n)
        free = not free if shape_penalty > 0.0 else free
        other[p] = np.log(fit.nuisance[0]) if fit.nuisance[0] > 0.0 else np.log(START_DISPERSION)
        nll = likeliest_counts(rows, above, free, other, means, shares)
        if nll + shape_penalty < best:
            best, dispersion = nll, np.exp(other[p])
            theta, eta, weights = other, means, shares
    information = 0.0
    for t in range(n):
        information += weights[t]
    for t in range(rows.place.size):
        mean = np.exp(eta[rows.place[t]])
        fit.residuals[t, 0] = (outcomes[rows.place[t]] - mean) / (1.0 + dispersion * mean)
    for c in range(p):
        fit.coefficients[c, 0] = theta[c]
    fit.nuisance[0] = dispersion
    fit.information[0, 0] = information / rows.place.size
    fit.nll[0] = best / rows.place.size
    fit.nll[1] = 1.0 if dispersion > 0.0 else 0.0
    return q


@saved
@dataclass(frozen=True)
class Counts(DiscreteNoise):
    """Counts whose variance is their mean, or more than that where the likelihood asks for it."""

    name: Literal["counts", "poisson", "negative-binomial"] = "counts"

    masses: ClassVar = CountMass
    maximise: ClassVar = staticmethod(fit_counts)

    @property
    def shape_penalty(self) -> float:
        """What a dispersion costs, in units of the penalty of a parameter."""
        return SHAPE_PENALTIES[self.name]

    def outcomes(self, codes: IntArray, n_fitted: int, kind: Kind) -> Outcomes:
        """The counts themselves."""
        count = codes[:n_fitted]
        return Outcomes(count, np.log([(count.sum() + 0.5) / n_fitted]), np.zeros(1), 0.0)

    def mass(self, outcomes: Outcomes, shape: FloatArray) -> Mass:
        """Poisson or negative binomial, ``shape`` being the dispersion."""
        return CountMass(float(shape[0]))

    def name_of(self, mass: CountMass) -> str:
        """Poisson where no dispersion was worth it."""
        return "poisson" if mass.dispersion == 0.0 else "negative-binomial"
