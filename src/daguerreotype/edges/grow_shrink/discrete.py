r"""Growing and shrinking for discrete targets: candidates by the score test, the best few by their likelihood.

At a set of parents the residuals r are derivatives of the log-likelihood by the linear predictors. If columns B
are added, twice the log-likelihood rises by about

.. math:: r' B \, (\bar W \otimes B' (1 - H_Z) B)^{-1} \, B' r,

the score test, with W the mean information of a row and H_Z the projection on the columns that are used: what is
left of second moments given these is known from the Cholesky factor of the walk. One product of r with all columns
screens all candidates; those near the top, and those near the penalty of a parent, are then fitted.
"""

import numpy as np

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray
from daguerreotype.edges.grow_shrink.problem import Problem
from daguerreotype.edges.grow_shrink.shrink import collect_parents, columns_of, cost_in_dof, factorise, invert
from daguerreotype.edges.grow_shrink.tree import (
    BLOCK,
    LINEAR,
    NONLINEAR,
    Addresses,
    CholeskyRows,
    TreeArena,
    WalkBuffers,
    penalty_of,
)
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.noise.newton import Rows, RowsFit, solve_in_place

RIVAL = 0.5  # share of the best gain from which on candidates compete, so that their gains are taken from fits
CLEAR = 8.0  # times its penalty that a parent seems to be worth, from where on it is kept without a fit
DOUBTFUL = 0.7  # share of the penalty of a candidate, either side of it, within which its gain is taken from a fit


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
def fit_rows(addresses: Addresses, problem: Problem, fit: RowsFit, target: int, m: int) -> int:
    """Fit ``target`` on the first m of ``fit.columns``, from the coefficients that are in ``fit``."""
    rows = gather_rows(problem, fit, target, m)
    q, k, penalty = problem.predictors[target], problem.shapes[target], problem.shape_penalties[target]
    call_address(addresses.maximise[problem.families[target]], rows, q, k, penalty, fit)
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
    q = problem.predictors[target]
    if fit.state[0] != target:
        fit.state[0] = target
        for c in range(fit.start.shape[0]):
            for a in range(fit.start.shape[1]):
                fit.start[c, a] = 0.0
        for a in range(q):
            fit.coefficients[0, a] = problem.starts[target, a]
        for a in range(problem.shapes[target]):
            fit.nuisance[a] = problem.start_shapes[target, a]
    for c in range(m):
        for a in range(q):
            fit.coefficients[c + 1, a] = fit.start[fit.columns[c], a]
    call_address(addresses.fit_rows, addresses, problem, fit, target, m)
    rows = problem.outcomes.shape[1]
    return float(2.0 * rows * fit.nll[0] + fit.nll[1] * problem.penalty_per_dof)


@subkernel
def whitened_scores(problem: Problem, buffers: WalkBuffers, q: int) -> FloatArray:
    """Scores (d * stride, q) of all columns, of residuals whose mean information is one."""
    fit = buffers.fit
    n = fit.residuals.shape[0]
    factor = np.zeros((q, q))  # lower, of the information
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
    scores: FloatArray = np.dot(problem.features.T, whitened)
    return scores


@kernel
def find_likely(
    addresses: Addresses, problem: Problem, path: CholeskyRows, buffers: WalkBuffers, target: int, spent: int
) -> int:
    """Fill in the better step of every owner that has one which gains; returns how many have.

    As for Gaussian targets two steps of an owner compete: its line, or all that is left of its columns. ``spent``
    columns are in use.

    With ``within`` = L L' over the columns of an owner that are not used yet, and s their scores (q, one for each
    linear predictor, of residuals whose information is one), ``ahead`` holds  z = L^{-1} s / n  row by row and
    ``lower`` holds L. Then  n sum z^2  is twice the log-likelihood that the columns would gain, about: the score
    test. A column that the others span has a row of zeros. ``penalties`` are those of the steps that are noted.
    """
    within, limits, stride = path.within, problem.limits, path.within.shape[1]
    steps, fit = buffers.steps, buffers.fit
    q = problem.predictors[target]
    rows = problem.outcomes.shape[1]
    d = path.used.size
    m = columns_of(stride, np.arange(d), path.used, d, fit.columns)
    here = fit_columns(addresses, problem, buffers, target, m)
    keep_start(fit, m, q)
    scores = whitened_scores(problem, buffers, q)
    lower = np.empty((stride, stride))
    ahead = np.empty((stride, q))
    count = 0
    penalties = np.empty(path.used.size)
    for owner in range(path.used.size):
        used, width, line = path.used[owner], problem.widths[owner], problem.lines[owner]
        first = owner * stride
        if owner == target or used == width:
            continue
        explained, best, kind, penalty = 0.0, -np.inf, LINEAR, 0.0
        for a in range(used, width):
            left = within[first + a, a]
            for b in range(q):
                ahead[a, b] = scores[first + a, b] / rows
            for j in range(used, a):
                entry = within[first + a, j]
                for k in range(used, j):
                    entry -= lower[a, k] * lower[j, k]
                entry = entry / lower[j, j] if lower[j, j] > 0.0 else 0.0
                lower[a, j] = entry
                left -= entry * entry
                for b in range(q):
                    ahead[a, b] -= entry * ahead[j, b]
            lower[a, a] = np.sqrt(left) if left > limits[first + a] else 0.0
            for b in range(q):
                ahead[a, b] = ahead[a, b] / lower[a, a] if lower[a, a] > 0.0 else 0.0
                explained += ahead[a, b] * ahead[a, b]
            size = a + 1 - used
            if (a == line - 1 or a == width - 1) and (spent + size) * q <= problem.max_nonlinear_dof:
                cost = penalty_of(problem, owner, a + 1, q)
                if used > 0:
                    cost -= penalty_of(problem, owner, used, q)
                gain = rows * explained - cost
                if gain > best:
                    best, penalty = gain, cost
                    kind = LINEAR if a == line - 1 and used == 0 else (BLOCK if used == 0 else NONLINEAR)
        if best > -DOUBTFUL * penalty and best > -np.inf:
            steps.gains[count] = best
            steps.owners[count] = owner
            steps.kinds[count] = kind
            penalties[count] = penalty
            count += 1
    # The gains of those that compete for the best, and of those that may or may not pay, are those of fits.
    top, rivals = -np.inf, 0
    for i in range(count):
        top = max(top, steps.gains[i])
    for i in range(count):
        rivals += steps.gains[i] > RIVAL * top
    for i in range(count):
        if (steps.gains[i] > RIVAL * top and rivals > 1) or steps.gains[i] < DOUBTFUL * penalties[i]:
            owner = steps.owners[i]
            used = path.used[owner]
            stop = problem.lines[owner] if steps.kinds[i] == LINEAR else problem.widths[owner]
            more = m
            for a in range(used, stop):
                fit.columns[more] = owner * stride + a
                more += 1
            steps.gains[i] = here - fit_columns(addresses, problem, buffers, target, more) - penalties[i]
    kept = 0
    for i in range(count):
        if steps.gains[i] > 0.0:
            steps.gains[kept] = steps.gains[i]
            steps.owners[kept] = steps.owners[i]
            steps.kinds[kept] = steps.kinds[i]
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
def shrink_likely(
    addresses: Addresses, problem: Problem, arena: TreeArena, buffers: WalkBuffers, target: int, node: int
) -> int:
    """Remove parents, or all but their lines, while the penalised likelihood improves: as for Gaussian targets.

    What is removed is chosen by fits without it. Writes the parents that stay to ``buffers``, and their excess and
    dof to the arena; returns how many parents there were.
    """
    owners, used, scores, fit = buffers.owners, buffers.used, arena.scores, buffers.fit
    count = collect_parents(problem, arena, buffers, target)
    q = problem.predictors[target]
    if cost_in_dof(problem, owners, used, q) == scores[node, 1]:
        return count
    required, stride = problem.required, problem.blocks.shape[1]
    m = columns_of(stride, owners, used, count, fit.columns)
    here = fit_columns(addresses, problem, buffers, target, m)
    keep_start(fit, m, q)
    shape = fit.nll[1]
    nll = fit.nll[0]
    rows = problem.outcomes.shape[1]
    costs = np.empty(count)
    while True:
        # Those that are clearly worth their penalty need no fit without them.
        work, inverse = np.empty((m, 2 * m + 1)), np.empty((m, m))
        factorise(problem.moments, problem.limits, problem.responses[target], fit.columns, m, work)
        invert(work, m, inverse)
        first = 0
        for i in range(count):
            costs[i] = rows * removal_cost(fit, inverse, q, first, used[i])
            first += used[i]
        best, choice, keep = 0.0, -1, 0
        for i in range(count):
            line = problem.lines[owners[i]]
            options = 0 if used[i] == 0 else (1 if used[i] <= line else 2)
            for option in range(options):
                kept = line if option == 1 else 0
                if kept == 0 and required.size > 0 and required[owners[i], target]:
                    continue
                had = used[i]
                penalty = penalty_of(problem, owners[i], had, q)
                if kept > 0:
                    penalty -= penalty_of(problem, owners[i], kept, q)
                # Curves are steepest in the tails, where a row says least about a level: never clear.
                if option == 0 and costs[i] > CLEAR * penalty:
                    continue
                used[i] = kept
                m = columns_of(stride, owners, used, count, fit.columns)
                used[i] = had
                gain = here - fit_columns(addresses, problem, buffers, target, m) + penalty
                if gain > best:
                    best, choice, keep = gain, i, kept
        if choice < 0:
            break
        used[choice] = keep
        m = columns_of(stride, owners, used, count, fit.columns)
        here = fit_columns(addresses, problem, buffers, target, m)
        keep_start(fit, m, q)
        shape = fit.nll[1]
        nll = fit.nll[0]
    dispersion = 0.5 * shape * problem.penalty_per_dof / problem.outcomes.shape[1]
    scores[node, 0] = nll - STANDARD_ENTROPY + dispersion + problem.offsets[target]
    scores[node, 1] = cost_in_dof(problem, owners, used, q)
    return count


@kernel
def fit_given(addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, m: int) -> int:
    """Leave the fit of a discrete target on the first m columns of the workspace in it; returns m."""
    fit_columns(addresses, problem, buffers, target, m)
    return m
