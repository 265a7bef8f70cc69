r"""Maximum likelihood of discrete targets by Newton's method: softmax, ordered logits, and counts.

With Z the chosen columns beside a constant, the linear predictors of a row are :math:`\eta = Z \beta`:

- *softmax* (binary, categorical), K levels: K - 1 predictors, those of the levels beyond the first,
  :math:`p_k \propto e^{\eta_k}`;
- *ordered* (ordinal), K levels: one predictor and K - 1 cutpoints, :math:`P(y \le k) = \Lambda(c_k - \eta)`,
  the proportional odds model;
- *count*: one predictor, the log mean. Poisson, or negative binomial with variance :math:`\mu + a \mu^2` where
  that is worth the price of one more parameter.

All are concave in their coefficients (the count's given a), so that few steps from a nearby start are enough. A
ridge so small that data outweigh it keeps levels apart that parents determine exactly.
"""

from typing import NamedTuple

import numpy as np

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.problem import COUNT, NEGATIVE_BINOMIAL, ORDERED, POISSON, Problem

RIDGE = 1e-2  # of the sum over rows: columns have variance one
DAMPING = 1e-6  # of steps of constants and cutpoints, which no ridge holds: more would slow those of rare levels
MOST_STEPS = 50
SETTLED = 1e-9  # nats of all rows that a Newton step promises, below which it is the last
LONGEST = 4.0  # change of a coefficient in one step
SHORTEST = 1e-6  # share of a step below which it is not made at all
ROUNDING = 1e-12  # of a likelihood per row
FARTHEST = 30.0  # linear predictor of counts: beyond, exponentials say nothing
LEAST_DISPERSION, MOST_DISPERSION = 1e-4, 1e3


class RowsFit(NamedTuple):
    """A fit of one discrete target by rows; workspace of the searches for it.

    Attributes
    ----------
    state : array of shape (2,)
        The target that ``start`` belongs to, and whether ``residuals`` are those of the last fit.
    start : array of shape (d * stride, q)
        Coefficients of the last fit by column, zero for columns that took no part: where the next one starts.
    coefficients : array of shape (capacity, q)
        Those of the present fit: the constant's, then those of its columns.
    nuisance : array of shape (k,)
        Cutpoints of ordered levels; the dispersion of counts.
    columns : array of shape (capacity,)
        Columns of the present fit.
    residuals : array of shape (n, q)
        Derivatives of the log-likelihood of each row by its linear predictors.
    information : array of shape (q, q)
        Mean over rows of minus the second derivatives.
    nll : array of shape (2,)
        Negative log-likelihood per row, and parameters spent on its shape (one for a dispersion).
    """

    state: IntArray
    start: FloatArray
    coefficients: FloatArray
    nuisance: FloatArray
    columns: IntArray
    residuals: FloatArray
    information: FloatArray
    nll: FloatArray


class Rows(NamedTuple):
    """What a fit is made from; rows that agree in everything stand here once.

    Attributes
    ----------
    outcomes : array of shape (u,)
        Code or count of the target.
    times : array of shape (u,)
        How many rows are like this one.
    design : array of shape (u, p)
        A constant and the columns of the parents.
    place : array of shape (n,)
        Which of these each row of the table is.
    """

    outcomes: IntArray
    times: FloatArray
    design: FloatArray
    place: IntArray


def new_rows_fit(problem: Problem) -> RowsFit:
    """Room for the fits of one problem; next to none where all targets are continuous."""
    columns, n_rows = problem.moments.shape[0], problem.outcomes.shape[1]
    most = int(problem.levels.max(initial=2))
    size = columns if n_rows else 0
    q = max(most - 1, 1)
    return RowsFit(
        state=np.full(2, -1),
        start=np.zeros((size, q)),
        coefficients=np.zeros((size + 1, q)),
        nuisance=np.zeros(q),
        columns=np.zeros(size, dtype=np.int64),
        residuals=np.zeros((n_rows, q)),
        information=np.zeros((q, q)),
        nll=np.zeros(2),
    )


@subkernel
def solve_in_place(matrix: FloatArray, vector: FloatArray, size: int) -> float:
    """Overwrite ``vector`` by the solution of a positive definite system; returns vector' matrix^-1 vector."""
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[i, i] = np.sqrt(total) if total > 1e-12 else 1e6
            else:
                matrix[i, j] = total / matrix[j, j]
    length = 0.0
    for i in range(size):
        total = vector[i]
        for k in range(i):
            total -= matrix[i, k] * vector[k]
        vector[i] = total / matrix[i, i]
        length += vector[i] * vector[i]
    for i in range(size - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, size):
            total -= matrix[k, i] * vector[k]
        vector[i] = total / matrix[i, i]
    return length


@subkernel
def softmax_rows(
    outcomes: IntArray, times: FloatArray, eta: FloatArray, q: int, probs: FloatArray, residuals: FloatArray
) -> float:
    """Sum over rows of the negative log-likelihood; writes probabilities and residuals (n, q)."""
    nll = 0.0
    for t in range(outcomes.size):
        top = 0.0
        for a in range(q):
            if eta[t, a] > top:
                top = eta[t, a]
        total = np.exp(-top)
        for a in range(q):
            probs[t, a] = np.exp(eta[t, a] - top)
            total += probs[t, a]
        level = outcomes[t] - 1
        lost = top + np.log(total)
        if level >= 0:
            lost -= eta[t, level]
        nll += times[t] * lost
        for a in range(q):
            probs[t, a] /= total
            residuals[t, a] = -probs[t, a]
        if level >= 0:
            residuals[t, level] += 1.0
    return nll


@subkernel
def transposed(design: FloatArray) -> FloatArray:
    """The design (n, p) column by column (p, n): products are faster so."""
    n, p = design.shape
    turned = np.empty((p, n))
    for t in range(n):
        for c in range(p):
            turned[c, t] = design[t, c]
    return turned


@subkernel
def weighted_gram(
    design: FloatArray, turned: FloatArray, weights: FloatArray, weighted: FloatArray, out: FloatArray
) -> None:
    """Write  Z' diag(weights) Z  into ``out`` (p, p)."""
    n, p = design.shape
    for t in range(n):
        for c in range(p):
            weighted[t, c] = design[t, c] * weights[t]
    np.dot(turned, weighted, out)


@subkernel
def fit_softmax(rows: Rows, q: int, fit: RowsFit) -> None:
    """Newton's method for all predictors at once."""
    outcomes, times, design = rows.outcomes, rows.times, rows.design
    n, p = design.shape
    size = p * q
    turned = transposed(design)
    beta = np.empty((p, q))
    for c in range(p):
        for a in range(q):
            beta[c, a] = fit.coefficients[c, a]
    old, step = beta.copy(), np.zeros(size)
    probs, residuals, counted = np.empty((n, q)), np.empty((n, q)), np.empty((n, q))
    weights, weighted = np.empty(n), np.empty((n, p))
    hessian, block = np.empty((size, size)), np.empty((p, p))
    before, share, done = np.inf, 1.0, False
    nll = np.inf
    for _ in range(MOST_STEPS):
        eta = np.dot(design, beta)
        likelihood = softmax_rows(outcomes, times, eta, q, probs, residuals)
        ridge = 0.0
        for c in range(1, p):
            for a in range(q):
                ridge += beta[c, a] * beta[c, a]
        now = likelihood + 0.5 * RIDGE * ridge
        if now > before + ROUNDING * n and not done:  # too far: half the way, and in the end none
            share = 0.5 * share if share > SHORTEST else 0.0
            done = share == 0.0
            for c in range(p):
                for a in range(q):
                    beta[c, a] = old[c, a] + share * step[a * p + c]
            continue
        nll = likelihood
        if done:
            break
        before, share = now, 1.0
        for t in range(n):
            for a in range(q):
                counted[t, a] = times[t] * residuals[t, a]
        slopes = np.dot(turned, counted)
        for a in range(q):
            for c in range(p):
                step[a * p + c] = slopes[c, a] - (RIDGE * beta[c, a] if c > 0 else 0.0)
                old[c, a] = beta[c, a]
            for b in range(a + 1):
                for t in range(n):
                    weights[t] = times[t] * probs[t, a] * ((1.0 if a == b else 0.0) - probs[t, b])
                weighted_gram(design, turned, weights, weighted, block)
                for c in range(p):
                    for e in range(p):
                        hessian[a * p + c, b * p + e] = block[c, e]
        for i in range(size):
            hessian[i, i] += RIDGE if i % p > 0 else DAMPING
        promised = 0.5 * solve_in_place(hessian, step, size)
        longest = 0.0
        for i in range(size):
            longest = max(longest, abs(step[i]))
        if longest > LONGEST:
            share = LONGEST / longest
        done = promised < SETTLED
        for c in range(p):
            for a in range(q):
                beta[c, a] = old[c, a] + share * step[a * p + c]
    for c in range(p):
        for a in range(q):
            fit.coefficients[c, a] = beta[c, a]
    for a in range(q):
        for b in range(q):
            total = 0.0
            for t in range(n):
                total += times[t] * probs[t, a] * ((1.0 if a == b else 0.0) - probs[t, b])
            fit.information[a, b] = total / rows.place.size
        for t in range(rows.place.size):
            fit.residuals[t, a] = residuals[rows.place[t], a]
    fit.nll[0] = nll / rows.place.size
    fit.nll[1] = 0.0


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
        longest = 0.0
        for i in range(size):
            longest = max(longest, abs(step[i]))
        if longest > LONGEST:
            share = LONGEST / longest
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
        longest = 0.0
        for c in range(p):
            longest = max(longest, abs(step[c]))
        if longest > LONGEST:
            share = LONGEST / longest
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


@subkernel
def start_from_levels(problem: Problem, target: int, fit: RowsFit) -> None:
    """Constants and cutpoints of the target without parents, half a row more in every level."""
    outcomes, levels = problem.outcomes[target], problem.levels[target]
    n = outcomes.size
    for c in range(fit.coefficients.shape[1]):
        fit.coefficients[0, c] = 0.0
    if problem.families[target] >= COUNT:
        total = 0.5
        for t in range(n):
            total += outcomes[t]
        fit.coefficients[0, 0] = np.log(total / n)
        return
    counts = np.full(levels, 0.5)
    for t in range(n):
        counts[outcomes[t]] += 1.0
    if problem.families[target] == ORDERED:
        below, total = 0.0, n + 0.5 * levels
        for k in range(levels - 1):
            below += counts[k]
            fit.nuisance[k] = np.log(below / (total - below))
    else:
        for k in range(1, levels):
            fit.coefficients[0, k - 1] = np.log(counts[k] / counts[0])


@subkernel
def gather_rows(problem: Problem, fit: RowsFit, target: int, m: int) -> Rows:
    """The design of the first m of ``fit.columns``, with rows that agree in all that it is made of once.

    Cells are all combinations of the codes of the target and of the owners of the columns, in mixed radix.
    """
    outcomes, stride = problem.outcomes[target], problem.blocks.shape[1]
    n = outcomes.size
    most = 0
    for t in range(n):
        most = max(most, outcomes[t])
    cells = most + 1
    owner = -1
    for c in range(m):
        if fit.columns[c] // stride != owner and cells <= n:
            owner = fit.columns[c] // stride
            cells = cells * problem.n_codes[owner] if problem.n_codes[owner] > 0 else n + 1
    place = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)  # row that stands for each different one
    times = np.empty(n)
    count = 0
    if cells <= n:
        for t in range(n):
            place[t] = outcomes[t]
        owner = -1
        for c in range(m):
            if fit.columns[c] // stride != owner:
                owner = fit.columns[c] // stride
                for t in range(n):
                    place[t] = place[t] * problem.n_codes[owner] + problem.codes[owner, t]
        number = np.full(cells, -1)
        for t in range(n):
            if number[place[t]] < 0:
                number[place[t]] = count
                first[count] = t
                times[count] = 0.0
                count += 1
            place[t] = number[place[t]]
            times[place[t]] += 1.0
    else:
        count = n
        for t in range(n):
            place[t], first[t], times[t] = t, t, 1.0
    design = np.empty((count, m + 1))
    values = np.empty(count, dtype=np.int64)
    for i in range(count):
        design[i, 0] = 1.0
        values[i] = outcomes[first[i]]
        for c in range(m):
            design[i, c + 1] = problem.features[first[i], fit.columns[c]]
    return Rows(values, times[:count].copy(), design, place)


@kernel
def maximise(problem: Problem, fit: RowsFit, target: int, m: int) -> int:
    """Fit ``target`` on the first m of ``fit.columns``, from the coefficients that are in ``fit``."""
    rows = gather_rows(problem, fit, target, m)
    family = problem.families[target]
    if family >= COUNT:
        fit_counts(rows, family, 0.5 * problem.penalty_per_dof, fit)
    elif family == ORDERED:
        fit_ordered(rows, problem.levels[target] - 1, fit)
    else:
        fit_softmax(rows, problem.levels[target] - 1, fit)
    return m
