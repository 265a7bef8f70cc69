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
    SETTLED,
    Rows,
    RowsFit,
    new_newton,
    steps_back,
    steps_on,
    transposed,
    weighted_gram,
)

FARTHEST = 30.0  # log mean beyond which exponentials say nothing
LEAST_DISPERSION, MOST_DISPERSION = 1e-4, 1e3
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
def count_nll(rows: Rows, eta: FloatArray, dispersion: float, log_factorials: float, rising: FloatArray) -> float:
    r"""Sum over rows of the negative log-likelihood of counts, Poisson for no dispersion.

    With dispersion a the mass of y is  prod_{k < y} (1 + a k) mu^y (1 + a mu)^{-(y + 1/a)} / y!;  ``rising`` (most
    + 1,) is overwritten by the logs of the products.
    """
    nll = log_factorials
    if dispersion > 0.0:
        rising[0] = 0.0
        for k in range(rising.size - 1):
            rising[k + 1] = rising[k] + np.log1p(dispersion * k)
    outcomes, times = rows.outcomes, rows.times
    for t in range(outcomes.size):
        mean = np.exp(eta[t])
        lost = -outcomes[t] * eta[t]
        if dispersion > 0.0:
            lost += (outcomes[t] + 1.0 / dispersion) * np.log1p(dispersion * mean) - rising[outcomes[t]]
        else:
            lost += mean
        nll += times[t] * lost
    return nll


@subkernel
def dispersion_slope(rows: Rows, eta: FloatArray, dispersion: float, rising: FloatArray) -> float:
    """Derivative of the log-likelihood of counts by the logarithm of the dispersion; overwrites ``rising``."""
    rising[0] = 0.0
    for k in range(rising.size - 1):
        rising[k + 1] = rising[k] + k / (1.0 + dispersion * k)
    outcomes, times = rows.outcomes, rows.times
    slope = 0.0
    for t in range(outcomes.size):
        mean = np.exp(eta[t])
        rise = rising[outcomes[t]] + np.log1p(dispersion * mean) / (dispersion * dispersion)
        rise -= (outcomes[t] + 1.0 / dispersion) * mean / (1.0 + dispersion * mean)
        slope += times[t] * rise
    return slope * dispersion


@subkernel
def best_dispersion(rows: Rows, eta: FloatArray, near: float, rising: FloatArray) -> float:
    """The likeliest dispersion given the means: where its slope is zero, by secants within a bracket."""
    low, high = np.log(LEAST_DISPERSION), np.log(MOST_DISPERSION)
    here = min(max(np.log(near), low), high)
    slope = dispersion_slope(rows, eta, np.exp(here), rising)
    guess = here + (0.1 if slope > 0.0 else -0.1)
    for _ in range(60):
        if slope > 0.0:
            low = here
        else:
            high = here
        if high - low < 1e-10:
            break
        if not low < guess < high:
            guess = 0.5 * (low + high)
        new = dispersion_slope(rows, eta, np.exp(guess), rising)
        last, old = here, slope
        here, slope = guess, new
        if abs(here - last) < 1e-8 or slope == old:
            break
        guess = here - slope * (here - last) / (slope - old)
    return float(np.exp(here))


@subkernel
def fit_log_mean(
    rows: Rows,
    turned: FloatArray,
    beta: FloatArray,
    dispersion: float,
    eta: FloatArray,
    weights: FloatArray,
) -> None:
    r"""Newton's method, by expected information, for the log mean given the dispersion a.

    .. math:: \partial_\beta = Z' \frac{y - \mu}{1 + a \mu}, \qquad
              E[-\partial^2_\beta] = Z' \, diag(\frac{\mu}{1 + a \mu}) \, Z .

    Starts from ``beta`` (p,) and overwrites it; writes the log means ``eta`` (n,) and the weights mu / (1 + a mu),
    times how often each row is there, to ``weights`` (n,).
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    n, p = design.shape
    newton = new_newton(p)
    for c in range(p):
        newton.theta[c] = beta[c]
        newton.ridges[c] = RIDGE if c > 0 else 0.0
    residuals, weighted = np.empty(n), np.empty((n, p))
    for _ in range(MOST_STEPS):
        now = 0.0
        predicted = np.dot(design, newton.theta)
        for t in range(n):
            value = min(max(predicted[t], -FARTHEST), FARTHEST)
            eta[t] = value
            mean = np.exp(value)
            spread = 1.0 + dispersion * mean
            lost = -outcomes[t] * value
            if dispersion > 0.0:
                lost += (outcomes[t] + 1.0 / dispersion) * np.log(spread)
            else:
                lost += mean
            now += times[t] * lost
            weights[t] = times[t] * mean / spread
            residuals[t] = times[t] * (outcomes[t] - mean) / spread
        if steps_back(newton, now, n):
            continue
        if newton.done[0]:
            break
        weighted_gram(design, turned, weights, weighted, newton.hessian)
        steps_on(newton, np.dot(turned, residuals))
    for c in range(p):
        beta[c] = newton.theta[c]


@kernel
def fit_counts(rows: Rows, q: int, k: int, shape_penalty: float, fit: RowsFit) -> int:
    """Poisson, then negative binomial in turns of means and dispersion where counts spread more than Poisson's.

    A dispersion must gain ``shape_penalty`` nats of all rows: infinity for none, minus infinity for always one.
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    n, p = design.shape
    beta = np.empty(p)
    for c in range(p):
        beta[c] = fit.coefficients[c, 0]
    eta, weights = np.empty(n), np.empty(n)
    turned = transposed(design)
    most, log_factorials = 0, 0.0
    for t in range(n):
        most = max(most, outcomes[t])
    rising = np.zeros(most + 1)
    for k in range(1, most + 1):
        rising[k] = rising[k - 1] + np.log(k)
    for t in range(n):
        log_factorials += times[t] * rising[outcomes[t]]
    fit_log_mean(rows, turned, beta, 0.0, eta, weights)
    best = count_nll(rows, eta, 0.0, log_factorials, rising)
    dispersion = 0.0
    excess, scale = 0.0, 0.0
    for t in range(n):
        mean = np.exp(eta[t])
        excess += times[t] * ((outcomes[t] - mean) ** 2 - outcomes[t])
        scale += times[t] * mean * mean
    # Poisson counts exceed this by chance once in fifty times.
    if shape_penalty == -np.inf or (shape_penalty < np.inf and excess > 2.0 * np.sqrt(2.0 * scale)):
        other = beta.copy()
        spread = min(max(excess / scale, LEAST_DISPERSION), MOST_DISPERSION)
        nll = np.inf
        for _ in range(30):
            fit_log_mean(rows, turned, other, spread, eta, weights)
            spread = best_dispersion(rows, eta, spread, rising)
            now = count_nll(rows, eta, spread, log_factorials, rising)
            if now > nll - SETTLED:
                break
            nll = now
        if nll + shape_penalty < best:
            best, dispersion = nll, spread
            for c in range(p):
                beta[c] = other[c]
    fit_log_mean(rows, turned, beta, dispersion, eta, weights)
    information = 0.0
    for t in range(n):
        information += weights[t]
    for t in range(rows.place.size):
        mean = np.exp(eta[rows.place[t]])
        fit.residuals[t, 0] = (outcomes[rows.place[t]] - mean) / (1.0 + dispersion * mean)
    for c in range(p):
        fit.coefficients[c, 0] = beta[c]
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
