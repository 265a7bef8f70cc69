"""Counts: Poisson and negative binomial regression with a log link."""

import numpy as np

from daguerreotype._lib.numba import subkernel
from daguerreotype._lib.typing import FloatArray
from daguerreotype.edges.grow_shrink.newton import (
    DAMPING,
    MOST_STEPS,
    RIDGE,
    ROUNDING,
    SETTLED,
    SHORTEST,
    Rows,
    RowsFit,
    solve_in_place,
    step_share,
    transposed,
    weighted_gram,
)
from daguerreotype.edges.grow_shrink.problem import NEGATIVE_BINOMIAL, POISSON

FARTHEST = 30.0  # linear predictor: beyond, exponentials say nothing
LEAST_DISPERSION, MOST_DISPERSION = 1e-4, 1e3


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
    """Newton's method, by expected information, for the log mean given the dispersion; writes eta and weights."""
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    n, p = design.shape
    hessian, step, old = np.empty((p, p)), np.zeros(p), beta.copy()
    residuals, weighted = np.empty(n), np.empty((n, p))
    before, share, done = np.inf, 1.0, False
    for _ in range(MOST_STEPS):
        now = 0.0
        predicted = np.dot(design, beta)
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
        for c in range(1, p):
            now += 0.5 * RIDGE * beta[c] * beta[c]
        if now > before + ROUNDING * n and not done:
            share = 0.5 * share if share > SHORTEST else 0.0
            done = share == 0.0
            for c in range(p):
                beta[c] = old[c] + share * step[c]
            continue
        if done:
            break
        before, share = now, 1.0
        gradient = np.dot(turned, residuals)
        weighted_gram(design, turned, weights, weighted, hessian)
        for c in range(p):
            old[c] = beta[c]
            step[c] = gradient[c] - (RIDGE * beta[c] if c > 0 else 0.0)
            hessian[c, c] += RIDGE if c > 0 else DAMPING
        done = 0.5 * solve_in_place(hessian, step, p) < SETTLED
        share = step_share(step, p)
        for c in range(p):
            beta[c] = old[c] + share * step[c]


@subkernel
def fit_counts(rows: Rows, family: int, price: float, fit: RowsFit) -> None:
    """Poisson, then negative binomial in turns of means and dispersion where counts spread more than Poisson's.

    Where ``family`` leaves open which it is, a dispersion must gain its price, in nats of all rows.
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
    if family == NEGATIVE_BINOMIAL or (family != POISSON and excess > 2.0 * np.sqrt(2.0 * scale)):
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
        if family == NEGATIVE_BINOMIAL or nll + price < best:
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
