r"""Growing and shrinking for discrete targets: candidates by the score test, the best few by their likelihood.

At a set of parents the residuals r are derivatives of the log-likelihood by the linear predictors. If columns B
are added, twice the log-likelihood rises by about

.. math:: r' B \, (\bar W \otimes B' (1 - H_Z) B)^{-1} \, B' r,

the score test, with W the mean information of a row and H_Z the projection on the columns that are used: what is
left of second moments given these is known from the Cholesky factor of the walk. One product of r with all columns
screens all candidates; those near the top, and those near the penalty of a parent, are then fitted.
"""

import numpy as np

from daguerreotype._lib.numba import address_in, call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray
from daguerreotype.edges.grow_shrink.grow import find_blocks
from daguerreotype.edges.grow_shrink.problem import LIKELIHOOD, PREDICTORS, SHAPES, Problem
from daguerreotype.edges.grow_shrink.shrink import cost_in_dof, factorise, invert
from daguerreotype.edges.grow_shrink.tree import (
    Addresses,
    CholeskyRows,
    WalkBuffers,
    columns_of,
    is_required,
)
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.noise.newton import Rows, RowsFit, solve_in_place

RIVAL = 0.5  # share of the best gain from which on candidates compete, so that their gains are taken from fits
CLEAR = 8.0  # times its penalty that a parent seems to be worth, from where on it is kept without a fit
DOUBTFUL = 0.7  # share of the penalty of a candidate, either side of it, within which its gain is taken from a fit


@subkernel
def gather_rows(problem: Problem, fit: RowsFit, target: int, m: int) -> Rows:
    """The design of the first m of ``fit.columns``, with rows that agree in all that it is made of once.

    Cells are all combinations of the codes of the target and of the owners of the columns, in mixed radix:
    cell = (outcome * n_1 + code_1) * n_2 + code_2 ... If there are no more of them than rows, ``place`` has first
    the cell of every row, then which of the different rows it is, numbered as they come; ``number`` maps cells to
    these. Otherwise, or if an owner is not coded, every row stands for itself.
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
    design = np.ones((m + 1, count))
    values = np.empty(count, dtype=np.int64)
    for i in range(count):
        values[i] = outcomes[first[i]]
    for c in range(m):
        feature = problem.features[fit.columns[c]]
        for i in range(count):
            design[c + 1, i] = feature[first[i]]
    return Rows(values, times[:count].copy(), design, place)


@kernel
def fit_rows(addresses: Addresses, problem: Problem, fit: RowsFit, target: int, m: int) -> int:
    """Fit ``target`` on the first m of ``fit.columns``, from the coefficients that are in ``fit``."""
    rows = gather_rows(problem, fit, target, m)
    q, k = problem.families[target, PREDICTORS], problem.families[target, SHAPES]
    maximise = address_in(addresses.maximise, problem.families[target, LIKELIHOOD])
    call_address(maximise, rows, q, k, problem.starts[target, q + k], fit)
    return m


@subkernel
def keep_start(fit: RowsFit, m: int, q: int) -> None:
    """Let the next fit start from the present one."""
    for c in range(fit.start.shape[0]):
        for a in range(q):
            fit.start[c, a] = 0.0
    for c in range(m):
        for a in range(q):
            fit.start[fit.columns[c], a] = fit.coefficients[c + 1, a]


@subkernel
def fit_columns(addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, m: int) -> float:
    """Fit the target on the first m columns of the workspace; returns  2 n nll, one more penalty for a dispersion.

    It starts from the last fit of the same target, if that was the last target.
    """
    fit = buffers.fit
    q = problem.families[target, PREDICTORS]
    if fit.state[0] != target:
        fit.state[0] = target
        for c in range(fit.start.shape[0]):
            for a in range(fit.start.shape[1]):
                fit.start[c, a] = 0.0
        for a in range(q):
            fit.coefficients[0, a] = problem.starts[target, a]
        for a in range(problem.families[target, SHAPES]):
            fit.nuisance[a] = problem.starts[target, q + a]
    for c in range(m):
        for a in range(q):
            fit.coefficients[c + 1, a] = fit.start[fit.columns[c], a]
    call_address(addresses.fit_rows, addresses, problem, fit, target, m)
    place, key = place_of_loss(fit, target, m)
    fit.keys[place], fit.losses[place, 0], fit.losses[place, 1] = key, fit.nll[0], fit.nll[1]
    return loss_of_fit(problem, fit)


@subkernel
def loss_of_fit(problem: Problem, fit: RowsFit) -> float:
    """What the last fit loses,  2 n nll,  with one more penalty for a dispersion."""
    return float(2.0 * problem.n_rows * fit.nll[0] + fit.nll[1] * problem.penalty_per_dof)


@subkernel
def place_of_loss(fit: RowsFit, target: int, m: int) -> tuple[int, int]:
    """Where the loss of a target on the first m of ``fit.columns``, in any order, is kept, and under which key.

    The key is the xor of a hash of each (splitmix64, without its first shift); a later set takes a taken place.
    """
    key = 0
    for c in range(-1, m):
        mixed = ((fit.columns[c] if c >= 0 else -1 - target) + 1) * 0x1E3779B97F4A7C15
        mixed = (mixed ^ ((mixed >> 27) & 0x1FFFFFFFFF)) * 0x14D049BB133111EB
        key ^= mixed ^ ((mixed >> 31) & 0x1FFFFFFFF)
    return key & (fit.keys.size - 1), key | 1


@subkernel
def try_columns(addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, m: int) -> float:
    """What `fit_columns` returns, for those who need no more than that: nothing is fitted a second time."""
    fit = buffers.fit
    place, key = place_of_loss(fit, target, m)
    if fit.keys[place] != key:
        return fit_columns(addresses, problem, buffers, target, m)
    fit.nll[0], fit.nll[1] = fit.losses[place, 0], fit.losses[place, 1]
    return loss_of_fit(problem, fit)


@subkernel
def excess_of_fit(problem: Problem, fit: RowsFit, target: int) -> float:
    """What the last fit of a target loses per row beyond a standard normal variable, its dispersion paid for."""
    dispersion = 0.5 * fit.nll[1] * problem.penalty_per_dof / problem.n_rows
    return float(fit.nll[0] - STANDARD_ENTROPY + dispersion + problem.offsets[target])


@subkernel
def whitened_scores(problem: Problem, buffers: WalkBuffers, q: int) -> FloatArray:
    r"""Scores (d * stride, q) per row of all columns B, of residuals r whose mean information W is one.

    With  W = F F'  the residuals of a row become  u = F^{-1} r,  so that the scores are  B' u / n:

    .. math:: F_{ab} = (W_{ab} - \sum_{k < b} F_{ak} F_{bk}) / F_{bb}, \qquad
              u_a = (r_a - \sum_{k < a} F_{ak} u_k) / F_{aa} .
    """
    fit = buffers.fit
    n = fit.residuals.shape[0]
    factor = np.zeros((q, q))
    for a in range(q):
        for b in range(a + 1):
            total = fit.information[a, b]
            for k in range(b):
                total -= factor[a, k] * factor[b, k]
            if a == b:
                factor[a, a] = np.sqrt(total) if total > 1e-8 else 1e-4
            else:
                factor[a, b] = total / factor[b, b]
    whitened = np.empty((n, q))
    for t in range(n):
        for a in range(q):
            total = fit.residuals[t, a]
            for k in range(a):
                total -= factor[a, k] * whitened[t, k]
            whitened[t, a] = total / factor[a, a]
    scores: FloatArray = np.dot(problem.features, whitened)
    for c in range(scores.shape[0]):
        for a in range(q):
            scores[c, a] /= n
    return scores


@kernel
def find_likely(
    addresses: Addresses, problem: Problem, path: CholeskyRows, buffers: WalkBuffers, target: int
) -> int:
    """Fill in the better step of every owner that has one which gains; returns how many have.

    The score test screens all steps, by their gains to first order. Those near the best gain, and those that may
    or may not pay, have then the gains of fits. Steps that cannot pay are taken out of the list again.
    """
    steps, fit = buffers.steps, buffers.fit
    q, stride, d = problem.families[target, PREDICTORS], problem.blocks.shape[1], path.used.size
    m = columns_of(problem, target, np.arange(d), path.used, d, fit.columns)
    here = fit_columns(addresses, problem, buffers, target, m)
    keep_start(fit, m, q)
    scores = whitened_scores(problem, buffers, q)
    none, one, doubt = -1.0, 1.0, DOUBTFUL  # literals would compile the callee once more
    count = find_blocks(problem, path, target, steps, scores, none, one, one, doubt)
    top, rivals = -np.inf, 0
    for i in range(count):
        top = max(top, steps.gains[i])
    for i in range(count):
        rivals += steps.gains[i] > RIVAL * top
    kept = 0
    for i in range(count):
        gain, owner, stop = steps.gains[i], steps.owners[i], steps.stops[i]
        if (gain > RIVAL * top and rivals > 1) or gain < DOUBTFUL * steps.penalties[i]:
            more = m
            for a in range(path.used[owner], stop):
                fit.columns[more] = owner * stride + a
                more += 1
            gain = here - try_columns(addresses, problem, buffers, target, more) - steps.penalties[i]
        if gain > 0.0:
            steps.gains[kept] = gain
            steps.owners[kept] = owner
            steps.stops[kept] = stop
            kept += 1
    return kept


@subkernel
def removal_cost(fit: RowsFit, inverse: FloatArray, q: int, first: int, width: int) -> float:
    """Rise of  2 nll  per row, about, if some columns leave:  b' (A_BB)^-1 b  times the information (Wald)."""
    block = np.empty((width, width))
    side = np.empty(width)
    cost = 0.0
    for a in range(q):
        for b in range(q):
            for i in range(width):
                side[i] = fit.coefficients[1 + first + i, b]
                for j in range(width):
                    block[i, j] = inverse[first + i, first + j]
            solve_in_place(block, side, width)
            for i in range(width):
                cost += fit.information[a, b] * fit.coefficients[1 + first + i, a] * side[i]
    return cost


@kernel
def eliminate_likely(
    addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, count: int, scores: FloatArray
) -> int:
    """Remove some of the first ``count`` parents of the buffers, or all but their lines or a smooth curve, while
    BIC improves.

    As `eliminate` for Gaussian targets, ties too, but what is removed is chosen by fits without it. Parents that
    are clearly worth their penalty, by the Wald test in ``costs``, need none.
    """
    owners, used, fit = buffers.owners, buffers.used, buffers.fit
    q, n_rows = problem.families[target, PREDICTORS], problem.n_rows
    required, variable, costs = problem.required, problem.variables[target], np.empty(count)
    while True:
        m = columns_of(problem, variable, owners, used, count, fit.columns)
        here = fit_columns(addresses, problem, buffers, target, m)
        keep_start(fit, m, q)
        scores[0] = excess_of_fit(problem, fit, target)
        work, inverse = np.empty((m, 2 * m + 1)), np.empty((m, m))
        factorise(problem.moments, problem.limits, problem.responses[target], fit.columns, m, work)
        invert(work, m, inverse)
        first = 0
        for i in range(count):
            costs[i] = n_rows * removal_cost(fit, inverse, q, first, used[i])
            first += used[i]
        best, choice, keep = 0.0, -1, 0
        for i in range(count):
            for k in range(-1, problem.stops.shape[1]):
                kept = 0 if k < 0 else problem.stops[owners[i], k]
                if kept >= used[i] or (kept == 0 and is_required(required, owners[i], variable)):
                    continue
                had = used[i]
                penalty = problem.penalty_per_dof * q * (had - kept)
                if kept == 0:
                    penalty += problem.penalty_per_parent
                # Curves are steepest in the tails, where a row says least about a level: never clear.
                if kept == 0 and costs[i] > CLEAR * penalty:
                    continue
                used[i] = kept
                m = columns_of(problem, variable, owners, used, count, fit.columns)
                used[i] = had
                gain = here - try_columns(addresses, problem, buffers, target, m) + penalty
                if gain > best:
                    best, choice, keep = gain, i, kept
        if choice < 0:
            break
        used[choice] = keep
    scores[1] = cost_in_dof(problem, variable, owners, used, q)
    return count


@kernel
def fit_given(addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, m: int) -> int:
    """Leave the fit of a discrete target on the first m columns of the workspace in it; returns m."""
    fit_columns(addresses, problem, buffers, target, m)
    return m


@kernel
def try_given(addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, m: int) -> int:
    """Leave the likelihood alone of a discrete target on these columns there; returns m."""
    try_columns(addresses, problem, buffers, target, m)
    return m
