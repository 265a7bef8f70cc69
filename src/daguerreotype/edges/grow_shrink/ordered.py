"""Ordered levels: the proportional odds model."""

import numpy as np

from daguerreotype._lib.numba import subkernel
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
)


@subkernel
def logistic(x: float) -> float:
    """The logistic distribution function."""
    return float(1.0 / (1.0 + np.exp(-x)))


@subkernel
def fit_ordered(rows: Rows, k: int, fit: RowsFit) -> None:
    r"""Newton's method for coefficients and cutpoints at once.

    With u, l the logistic function at the cutpoints around a row's level, less its predictor, P = u - l:

    .. math:: \partial_\eta \log P = u + l - 1, \qquad -\partial^2_\eta \log P = u' + l',

    u' = u (1 - u). Derivatives by the cutpoints are u' / P and -l' / P. The constant of the design takes no
    part: the cutpoints hold it.
    """
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    n, p = design.shape
    slopes = p - 1
    size = slopes + k
    theta, old, step = np.empty(size), np.empty(size), np.zeros(size)
    for c in range(slopes):
        theta[c] = fit.coefficients[c + 1, 0]
    for c in range(k):
        theta[slopes + c] = fit.nuisance[c]
    hessian = np.empty((size, size))
    residuals, information = np.empty(n), 0.0
    before, share, done, nll = np.inf, 1.0, False, np.inf
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
        likelihood = now
        for c in range(slopes):
            now += 0.5 * RIDGE * theta[c] * theta[c]
        if now > before + ROUNDING * n and not done:
            share = 0.5 * share if share > SHORTEST else 0.0
            done = share == 0.0
            for i in range(size):
                theta[i] = old[i] + share * step[i]
            continue
        nll = likelihood
        if done:
            break
        before, share = now, 1.0
        for i in range(size):
            old[i] = theta[i]
            step[i] = gradient[i] - (RIDGE * theta[i] if i < slopes else 0.0)
            hessian[i, i] += RIDGE if i < slopes else DAMPING
        promised = 0.5 * solve_in_place(hessian, step, size)
        share = step_share(step, size)
        done = promised < SETTLED
        for i in range(size):
            theta[i] = old[i] + share * step[i]
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
