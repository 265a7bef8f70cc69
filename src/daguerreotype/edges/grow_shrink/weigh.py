r"""What rows say of a number given its parents: its scale, spread that depends on them, noise of any shape.

A walk chooses parents and their curves by second moments, as if noise were Gaussian, of one variance, and added on
the scale of the table. Where a walk ends, and for given parents, all that may be true of the node beside that is
weighed, in nats per row of the column as it came; every parameter is paid for:

- a spread :math:`\log \sigma^2 = g_0 + \sum g_k b_k` by the first columns b of parents that a score test
  names;
- a shape of any kind, as far as it gains more than chance does;
- another scale of the node, with the benefit of the doubt for the one that it came on.

Residuals that look Gaussian and of one spread end that after one pass over the rows.
"""

import math

import numpy as np

from daguerreotype._lib.numba import algebra_kernel, kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.scales import UNUSUAL
from daguerreotype.edges.grow_shrink.problem import (
    DOUBTFUL,
    FIRST,
    GAIN,
    HEAD,
    LAST,
    N_SPREAD,
    ONLY,
    OPEN,
    OVER,
    OWN,
    SCALE,
    Problem,
)
from daguerreotype.edges.grow_shrink.shrink import cost_in_dof, factorise, invert, solve_upper
from daguerreotype.edges.grow_shrink.tree import Addresses, WalkBuffers, columns_of
from daguerreotype.noise.free_shape import CHANCE, shape_gain
from daguerreotype.noise.gaussian import LEAST_VARIANCE
from daguerreotype.noise.newton import solve_in_place, weighted_gram

SPREAD, SHAPE, ALWAYS = 1, 2, 4  # bits of OPEN: what may be weighed, and whether the shape is free in any case
LEAST_GAIN = 0.02  # nats per row that spread must gain beyond its price
PROMISING = 0.25  # share of that, which a score test must promise
SCREENED_ROWS = 2**12  # by which that is judged: they tell a hundredth of what spread must gain
ROUNDS, ENOUGH = 4, 0.002  # of fitting mean and spread in turns, and nats per row that one must gain for another
RIDGE = 3e-3  # of spread, of the sum of squares of each column
NARROW, WIDE = -7.0, 4.0  # log variances, from that at the mean of all parents, that spread may reach
SLACK = 0.02  # nats per row beyond which a Gaussian must not lose without a parent for that to be tried
FEW_SCALES = 2  # that are looked at row by row
LOG_2 = np.log(2.0)
SERIES = tuple(1.0 / math.factorial(k) for k in range(12))  # of the exponential


@algebra_kernel
def dot(a: FloatArray, b: FloatArray) -> float:
    """The sum of products (n,)."""
    total = 0.0
    for t in range(a.size):
        total += a[t] * b[t]
    return total


@algebra_kernel
def central_moments(values: FloatArray, moments: FloatArray) -> float:
    """Write mean, variance, skewness, kurtosis and mean distance in standard deviations of values (n,)."""
    n = values.size
    total = 0.0
    for t in range(n):
        total += values[t]
    mean = total / n
    second, third, fourth, near = 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        u = values[t] - mean
        square = u * u
        second += square
        third += square * u
        fourth += square * square
        near += abs(u)
    variance = max(second / n, 1e-300)
    moments[0] = mean
    moments[1] = variance
    moments[2] = third / n / variance**1.5
    moments[3] = fourth / n / variance**2
    moments[4] = near / n / np.sqrt(variance)
    return variance


@subkernel
def looks_gaussian(moments: FloatArray, n: int) -> bool:
    """Whether skewness, kurtosis and mean distance are those of a Gaussian but for chance."""
    skewed = abs(moments[2]) > UNUSUAL * np.sqrt(6.0 / n)
    tailed = abs(moments[3] - 3.0) > UNUSUAL * np.sqrt(24.0 / n)
    peaked = abs(moments[4] - np.sqrt(2.0 / np.pi)) > UNUSUAL * np.sqrt((1.0 - 3.0 / np.pi) / n)
    return not (skewed or tailed or peaked)


@subkernel
def residuals_on(
    rows: FloatArray, response: int, columns: IntArray, m: int, beta: FloatArray, residuals: FloatArray
) -> None:
    """Write what columns leave of a response, its ties spread, to ``residuals`` (n,)."""
    values = rows[response]
    for t in range(residuals.size):
        residuals[t] = values[t]
    k = 0
    while k + 4 <= m:  # four columns at a time: loading and storing residuals would be most of the work
        row0, row1, row2, row3 = rows[columns[k]], rows[columns[k + 1]], rows[columns[k + 2]], rows[columns[k + 3]]
        share0, share1, share2, share3 = beta[k], beta[k + 1], beta[k + 2], beta[k + 3]
        for t in range(residuals.size):
            residuals[t] -= (share0 * row0[t] + share1 * row1[t]) + (share2 * row2[t] + share3 * row3[t])
        k += 4
    while k < m:
        row0, share0 = rows[columns[k]], beta[k]
        for t in range(residuals.size):
            residuals[t] -= share0 * row0[t]
        k += 1


@subkernel
def name_spread(
    problem: Problem,
    owners: IntArray,
    used: IntArray,
    residuals: FloatArray,
    moments: FloatArray,
    price: float,
    chosen: IntArray,
) -> int:
    """Write the columns of parents that squares of residuals depend on, by the score test; returns how many.

    ``price`` is what a column costs in nats per row. Zero columns also where all together promise too little.
    """
    rows, stride = problem.rows, problem.blocks.shape[1]
    n = min(residuals.size, SCREENED_ROWS)
    tailed = max(moments[3] - 1.0, 0.1)  # variance of the squares
    squares = np.empty(n)
    for t in range(n):
        u = residuals[t] - moments[0]
        squares[t] = u * u / moments[1] - 1.0
    count = 0
    promised = 0.0
    for i in range(used.size):
        if used[i] == 0 or owners[i] >= problem.widths.size:
            continue
        width = min(problem.widths[owners[i]], 2)
        gain = 0.0
        for a in range(width):
            column = owners[i] * stride + a
            shared = dot(squares, rows[column, :n]) / n
            gain += 0.5 * shared * shared / (tailed * problem.moments[column, column])
        if gain > width * price:
            promised += gain
            for a in range(width):
                chosen[count] = owners[i] * stride + a
                count += 1
    return count if promised > PROMISING * LEAST_GAIN else 0


@subkernel
def fit_spread(
    rows: FloatArray,
    response: int,
    columns: IntArray,
    m: int,
    spreads: IntArray,
    q: int,
    residuals: FloatArray,
    beta: FloatArray,
    gamma: FloatArray,
) -> float:
    r"""Fit mean and log variance in turns; returns the negative log-likelihood per row beyond a standard normal's.

    ``residuals`` (n,) come as those of least squares with coefficients ``beta`` (1 + m,), the constant's first.
    They leave divided by their standard deviations, with ``beta`` and ``gamma`` (1 + q,) of the likeliest round.
    The mean is fitted by weighted least squares, the log variance  V g  by steps of Fisher scoring under a ridge,

    .. math:: g = (V'V + R)^{-1} V' (V g + r^2 e^{-V g} - 1) ,

    in which  r^2 e^{-V g}  counts as 9 at most.
    """
    n = residuals.size
    squares, log_variance, weights, work = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    # a constant and the columns of the mean, then the response; a constant and the columns of the spread
    design, of_spread = np.empty((m + 2, n)), np.empty((q + 1, n))
    room, gram, hessian = np.empty((max(m, q) + 2, n)), np.empty((m + 2, m + 2)), np.empty((q + 1, q + 1))
    damped, step, side, places = np.empty((q + 1, q + 1)), np.empty(q + 1), np.empty(m + 1), np.arange(m + 1)
    least_beta, least_gamma = np.empty(m + 1), np.empty(q + 1)
    total = 0.0
    for t in range(n):
        squares[t] = residuals[t] * residuals[t]
        total += squares[t]
        weights[t] = design[0, t] = of_spread[0, t] = 1.0
    design[m + 1] = rows[response]
    for k in range(m):
        design[k + 1] = rows[columns[k]]
    for a in range(q):
        of_spread[a + 1] = rows[spreads[a]]
    weighted_gram(of_spread, weights, room[: q + 1], hessian)
    gamma[0] = np.log(max(total / n, 1e-300))
    for a in range(1, q + 1):
        gamma[a] = 0.0
        hessian[a, a] *= 1.0 + RIDGE
    for t in range(n):
        log_variance[t] = gamma[0]
        weights[t] = np.exp(-gamma[0])
    least = np.inf
    for _ in range(ROUNDS):
        for _ in range(2):
            for t in range(n):
                excess = squares[t] * weights[t] - 1.0
                work[t] = log_variance[t] + (excess if excess < 8.0 else 8.0)
            for a in range(q + 1):
                step[a] = dot(of_spread[a], work)
                for b in range(a + 1):
                    damped[a, b] = hessian[a, b]
            solve_in_place(damped, step, q + 1)
            gamma[:] = step
            weights_at(of_spread, gamma, log_variance, weights)
        weighted_gram(design, weights, room[: m + 2], gram)
        for a in range(m + 1):
            side[a] = gram[m + 1, a]
            gram[a, a] *= 1.0 + 1e-9
        solve_in_place(gram, side, m + 1)
        residuals_on(design, m + 1, places, m + 1, side, work)
        total = 0.0
        for t in range(n):
            squares[t] = work[t] * work[t]
            total += log_variance[t] + squares[t] * weights[t]
        nll = 0.5 * total / n - 0.5
        gained = least - nll
        if gained > 0.0:
            least = nll
            for t in range(n):
                residuals[t] = work[t] * np.sqrt(weights[t])
            least_beta[:], least_gamma[:] = side, gamma
        if gained < ENOUGH:
            break
    beta[:], gamma[:] = least_beta, least_gamma
    return least


@subkernel
def weights_at(of_spread: FloatArray, gamma: FloatArray, log_variance: FloatArray, weights: FloatArray) -> None:
    """Write the log variance of every row (n,), within bounds, and one over the variance.

    The exponential is  2^k e^r  with |r| <= log(2) / 2, by the first terms of its series, to 14 digits: a loop
    without calls, which vectorises.
    """
    n = weights.size
    for t in range(n):
        log_variance[t] = gamma[0]
    for a in range(1, gamma.size):
        column, share = of_spread[a], gamma[a]
        for t in range(n):
            log_variance[t] += share * column[t]
    low, high = gamma[0] + NARROW, gamma[0] + WIDE
    powers = np.empty(n, dtype=np.int64)
    for t in range(n):
        log_variance[t] = min(max(log_variance[t], low), high)
        exponent = -log_variance[t]
        whole = np.floor(exponent * (1.0 / LOG_2) + 0.5)
        rest = exponent - whole * LOG_2
        total = SERIES[-1]
        for k in range(len(SERIES) - 2, -1, -1):
            total = SERIES[k] + total * rest
        powers[t] = (np.int64(whole) + 1023) << 52  # the bits of 2^k
        weights[t] = total
    halves = powers.view(np.float64)
    for t in range(n):
        weights[t] *= halves[t]


@subkernel
def gain_beyond_chance(problem: Problem, values: FloatArray, moments: FloatArray, what: int) -> float:
    """Nats per row that the shape of values (n,) gains over a Gaussian; of several copies of rows their mean."""
    if not what & (SHAPE | ALWAYS):
        return 0.0
    always = what & ALWAYS != 0
    if not always and looks_gaussian(moments, values.size // problem.copies):
        return 0.0
    copies = problem.copies
    n = values.size // copies
    total = 0.0
    for copy in range(copies):
        gain = shape_gain(values[copy * n : (copy + 1) * n], problem.usual, 0.0 if always else CHANCE)
        total += gain if always or gain > 0.0 else 0.0
    return total / copies


@subkernel
def judge(
    problem: Problem,
    target: int,
    scale: int,
    owners: IntArray,
    used: IntArray,
    columns: IntArray,
    m: int,
    beta: FloatArray,
    excess: float,
    residuals: FloatArray,
    weighed: FloatArray,
) -> float:
    """What a node loses on one scale in nats per row, by its rows; the price of its spread is among that.

    ``excess`` is what it loses as a Gaussian of one spread, ``beta`` (m,) are the coefficients. ``residuals`` (n,)
    is room; what is chosen is written to ``weighed``.
    """
    n, what, rows = residuals.size, problem.places[target, OPEN], problem.rows
    response = problem.moments.shape[0] + (problem.variables[target] if scale < 0 else problem.widths.size + scale)
    price = 0.5 * problem.penalty_per_dof / problem.n_rows
    shape = np.empty(5)
    weighed[SCALE], weighed[N_SPREAD], weighed[GAIN], weighed[HEAD] = scale, 0.0, 0.0, 0.0
    for k in range(m):
        weighed[HEAD + 1 + k] = beta[k]
    if what == 0:  # second moments say it all
        weighed[DOUBTFUL] = 1.0 if scale != problem.places[target, OWN] else 0.0
        return excess
    residuals_on(rows, response, columns, m, beta, residuals)
    variance = central_moments(residuals, shape)
    spreads = np.empty(2 * used.size, dtype=np.int64)
    q = name_spread(problem, owners, used, residuals, shape, price, spreads) if what & SPREAD else 0
    gain = gain_beyond_chance(problem, residuals, shape, what)
    weighed[GAIN], weighed[HEAD] = gain, shape[0]
    weighed[DOUBTFUL] = 1.0 if q > 0 or not looks_gaussian(shape, n // problem.copies) else 0.0
    loss = excess - gain
    if q == 0:
        return loss
    mean, gamma = np.empty(m + 1), np.empty(q + 1)
    nll = fit_spread(rows, response, columns, m, spreads, q, residuals, mean, gamma)
    central_moments(residuals, shape)
    gain = gain_beyond_chance(problem, residuals, shape, what)
    spread_loss = excess + nll - 0.5 * np.log(variance) - gain + q * price
    if spread_loss >= loss - LEAST_GAIN:
        return loss
    weighed[N_SPREAD], weighed[GAIN] = q, gain
    for k in range(m + 1):
        weighed[HEAD + k] = mean[k]
    for a in range(q + 1):
        weighed[HEAD + m + 1 + a] = gamma[a]
    for a in range(q):
        weighed[HEAD + m + 2 + q + a] = spreads[a]
    return float(spread_loss)


@subkernel
def regress_on_scale(
    problem: Problem, target: int, scale: int, columns: IntArray, m: int, inverse: FloatArray, beta: FloatArray
) -> float:
    """Write the coefficients (m,) of a node on a scale; returns what it loses as a Gaussian, in nats per row."""
    moments = problem.moments
    size, variable = moments.shape[0], problem.variables[target]
    if scale < 0:
        response = problem.responses[variable]
        covariances = moments[response]
        variance, offset = moments[response, response] + problem.rounding[variable], problem.offsets[variable]
    else:
        covariances = problem.other_scales[scale]
        variance, offset = covariances[size], covariances[size + 1]
    for k in range(m):
        total = 0.0
        for j in range(m):
            total += inverse[k, j] * covariances[columns[j]]
        beta[k] = total
        variance -= total * covariances[columns[k]]
    return float(0.5 * np.log(max(variance, LEAST_VARIANCE)) + offset)


@subkernel
def write_doubts(
    problem: Problem,
    used: IntArray,
    inverse: FloatArray,
    beta: FloatArray,
    variance: float,
    gain: float,
    doubts: FloatArray,
) -> None:
    r"""Write how many nats per row each owner lacks of being clearly needed to ``doubts``; negative if it is.

    As a Gaussian on the scale that was chosen a node loses  log(1 + rise / variance) / 2  without the columns b of
    an owner,  rise = beta_b' (A_bb)^-1 beta_b,  A being the inverse of the moments of all columns. Shape and
    spread may make up for as much as their ``gain`` is now, and a little more.
    """
    price = 0.5 * problem.penalty_per_dof / problem.n_rows
    start = 0
    for i in range(used.size):
        width = used[i]
        if width == 0:
            doubts[i] = -1.0
            continue
        block, side = np.empty((width, width)), np.empty(width)
        for a in range(width):
            side[a] = beta[start + a]
            for b in range(width):
                block[a, b] = inverse[start + a, start + b]
        rise = solve_in_place(block, side, width)
        start += width
        doubts[i] = max(gain, 0.0) + SLACK + price * width - 0.5 * np.log1p(max(rise, 0.0) / variance)


@kernel
def weigh(addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, scores: FloatArray) -> int:
    """Weigh what rows say of a target on the parents of the buffers, which have the columns that a walk left them.

    Writes excess and dof to ``scores`` (2,) in the place of those of a Gaussian, and what was chosen to the
    ``weighed`` of the buffers; returns how many columns the parents have. On trial ``ONLY`` one scale is judged.
    """
    owners, used, weighed = buffers.owners, buffers.used, buffers.weighed
    moments, limits, response = problem.moments, problem.limits, problem.responses[target]
    variable = problem.variables[target]
    m = 0
    for i in range(used.size):
        m += used[i]
    columns, beta = np.empty(m, dtype=np.int64), np.empty(m)
    work, inverse = np.empty((m, 2 * m + 1)), np.empty((m, m))
    columns_of(problem, variable, owners, used, used.size, columns)
    variance = factorise(moments, limits, response, columns, m, work) + problem.rounding[target]
    residuals, trial, other = np.empty(problem.rows.shape[1]), weighed.copy(), np.empty(m)
    own, first, last = problem.places[target, OWN], problem.places[target, FIRST], problem.places[target, LAST]
    gaussian = 0.5 * np.log(variance) + problem.offsets[target]
    scores[1] = cost_in_dof(problem, variable, owners, used, 1)
    only, least = weighed[ONLY], np.inf
    if np.isnan(only):
        solve_upper(work, m, beta)
        least = judge(problem, target, own, owners, used, columns, m, beta, gaussian, residuals, weighed)
        if weighed[DOUBTFUL] == 0.0 and own < 0 and problem.places[target, OPEN] != 0:
            scores[0], weighed[OVER] = least, 0.0
            return m
    invert(work, m, inverse)
    if not np.isnan(only):
        excess = regress_on_scale(problem, target, int(only), columns, m, inverse, other)
        least = judge(problem, target, int(only), owners, used, columns, m, other, excess, residuals, weighed)
        first = last
    if first < last and (weighed[DOUBTFUL] > 0.0 or problem.places[target, OPEN] == 0):
        tried = np.zeros(last - first + 1, dtype=np.bool_)
        for _ in range(FEW_SCALES):
            choice, likely = -2, gaussian
            for place in range(first - 1, last):
                scale = place if place >= first else -1
                if scale == own or tried[place - first + 1]:
                    continue
                excess = regress_on_scale(problem, target, scale, columns, m, inverse, other)
                if excess < likely:
                    choice, likely = place, excess
            if choice == -2:
                break
            tried[choice - first + 1] = True
            scale = choice if choice >= first else -1
            excess = regress_on_scale(problem, target, scale, columns, m, inverse, other)
            loss = judge(problem, target, scale, owners, used, columns, m, other, excess, residuals, trial)
            if loss < least:
                least = loss
                weighed[:] = trial
    dof = weighed[N_SPREAD]
    scores[0] = least - dof * 0.5 * problem.penalty_per_dof / problem.n_rows
    scores[1] += dof * problem.share
    if not np.isnan(only):
        return m
    scale = int(weighed[SCALE])
    excess = regress_on_scale(problem, target, scale, columns, m, inverse, other)
    offset = problem.offsets[variable] if scale < 0 else problem.other_scales[scale, moments.shape[0] + 1]
    variance = np.exp(2.0 * (excess - offset))
    write_doubts(problem, used, inverse, other, variance, excess - least, buffers.steps.gains)
    weighed[OVER] = regress_on_scale(problem, target, -1, columns, m, inverse, other) - least
    return m
