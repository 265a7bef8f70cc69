"""Shrinking half of a grow-shrink search: backward elimination by BIC, and least squares on what stays.

Loops run along rows, which vectorises them; the order in which terms are added depends on the columns alone.
"""

import numpy as np

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.grow import subtract
from daguerreotype.edges.grow_shrink.problem import (
    DOUBTFUL,
    GAUSSIAN,
    LIKELIHOOD,
    ONLY,
    PREDICTORS,
    SCALE,
    Problem,
)
from daguerreotype.edges.grow_shrink.tree import (
    NONE,
    OWNER,
    STOP,
    Addresses,
    TreeArena,
    WalkBuffers,
    columns_of,
    is_required,
    keep,
)


@subkernel
def factorise(
    moments: FloatArray, limits: FloatArray, response: int, columns: IntArray, m: int, work: FloatArray
) -> float:
    r"""Factorise the moments of the first m ``columns`` and the response; returns its variance given them.

    Row i of ``work`` (m, 2 m + 1) is  [U_i, z_i, L^{-1}_i]:  U' U = L L' are the moments of the columns,
    z = L^{-1} b  their covariances b with the response made orthonormal. All three follow the same recurrence,

    .. math:: w_i = ([M_i, b_i, e_i] - \sum_{k < i} U_{ki} w_k) / U_{ii}, \qquad
              variance = M_{yy} - \sum_i z_i^2 .

    A column that the earlier ones span has a row of zeros and takes no part.
    """
    variance = moments[response, response]
    for i in range(m):
        row = work[i]
        for j in range(2 * m + 1):
            row[j] = 0.0
        for j in range(i, m):
            row[j] = moments[columns[i], columns[j]]
        row[m] = moments[columns[i], response]
        subtract(work, i, work, i, i, m + 1 + i)
        scale = np.sqrt(row[i]) if row[i] > limits[columns[i]] else np.inf
        for j in range(i, m + 1):
            row[j] /= scale
        variance -= row[m] * row[m]
        pivot = row[i] if row[i] > 0.0 else np.inf
        for j in range(m + 1, m + 1 + i):
            row[j] /= pivot
        row[m + 1 + i] = 1.0 / pivot
    floor = limits[response] if limits[response] > 1e-300 else 1e-300
    return variance if variance > floor else floor


@subkernel
def solve_upper(work: FloatArray, m: int, beta: FloatArray) -> None:
    """Write the least-squares coefficients from `factorise`; zero for a column that the earlier ones span."""
    for i in range(m - 1, -1, -1):
        beta[i] = 0.0
        if work[i, i] > 0.0:
            beta[i] = work[i, m]
            for k in range(i + 1, m):
                beta[i] -= work[i, k] * beta[k]
            beta[i] /= work[i, i]


@subkernel
def invert(work: FloatArray, m: int, inverse: FloatArray) -> None:
    """Write  L'^{-1} L^{-1},  the inverse of the moments of the columns, from `factorise`."""
    for i in range(m):
        for j in range(m):
            inverse[i, j] = 0.0
    for k in range(m):
        for i in range(k + 1):
            share = work[k, m + 1 + i]
            for j in range(k + 1):
                inverse[i, j] += share * work[k, m + 1 + j]


@kernel
def coefficients(moments: FloatArray, limits: FloatArray, response: int, columns: IntArray) -> FloatArray:
    """The least-squares coefficients of a response on columns; zero for a column that the earlier ones span."""
    m = columns.size
    work = np.empty((m, 2 * m + 1))
    beta = np.empty(m)
    factorise(moments, limits, response, columns, m, work)
    solve_upper(work, m, beta)
    return beta


@subkernel
def remove(inverse: FloatArray, beta: FloatArray, size: int, column: int) -> float:
    """Take ``column`` out of a regression on ``size`` columns, in place; returns how much the variance rises."""
    pivot = inverse[column, column]
    if pivot <= 0.0:
        return 0.0
    weight = beta[column] / pivot
    rise = beta[column] * weight
    for i in range(size):
        share = inverse[i, column] / pivot
        beta[i] -= inverse[i, column] * weight
        if i != column and share != 0.0:
            for j in range(size):
                inverse[i, j] -= share * inverse[column, j]
    for i in range(size):
        inverse[column, i] = 0.0
        inverse[i, column] = 0.0
    beta[column] = 0.0
    return float(rise)


@subkernel
def collect_parents(problem: Problem, arena: TreeArena, buffers: WalkBuffers, target: int) -> int:
    """Write the required parents and the owners that the last walk added, ascending; returns how many."""
    owners, used, taken = buffers.owners, buffers.used, buffers.taken
    for i in range(used.size):
        used[i] = 0
    count = 0
    for candidate in range(problem.required.shape[0]):
        if problem.required[candidate, problem.variables[target]]:
            owners[count] = candidate
            used[count] = problem.lines[candidate]
            count += 1
    i = 0
    while taken[i] != NONE:
        owner = arena.links[taken[i], OWNER]
        spot = count
        while spot > 0 and owners[spot - 1] >= owner:
            spot -= 1
        if spot == count or owners[spot] != owner:  # a step that adds columns to a parent finds it there already
            for j in range(count, spot, -1):
                owners[j] = owners[j - 1]
                used[j] = used[j - 1]
            count += 1
        owners[spot] = owner
        used[spot] = arena.links[taken[i], STOP]
        i += 1
    return count


@subkernel
def makes_parent(
    problem: Problem, variable: int, owners: IntArray, used: IntArray, member: int, without: int
) -> bool:
    """Whether a variable is a parent by its own columns or a product in use, but for the owner at one place."""
    d, first = problem.widths.size, problem.product_starts[variable]
    for i in range(used.size):
        if used[i] == 0 or i == without:
            continue
        if owners[i] == member:
            return True
        if owners[i] >= d:
            pair = problem.products[first + owners[i] - d]
            if pair[0] == member or pair[1] == member:
                return True
    return False


@subkernel
def parents_less(problem: Problem, variable: int, owners: IntArray, used: IntArray, place: int) -> int:
    """How many parents fewer there are without the owner at one place."""
    d, first, count = problem.widths.size, problem.product_starts[variable], 0
    if owners[place] < d:
        return 0 if makes_parent(problem, variable, owners, used, owners[place], place) else 1
    for side in range(2):
        member = problem.products[first + owners[place] - d, side]
        if not makes_parent(problem, variable, owners, used, member, place):
            count += 1
    return count


@subkernel
def cost_in_dof(problem: Problem, variable: int, owners: IntArray, used: IntArray, predictors: int) -> float:
    """What parents cost, in units of a degree of freedom of the whole table."""
    cost = 0.0
    per_parent = problem.penalty_per_parent / problem.penalty_per_dof
    for i in range(used.size):
        if used[i] > 0:
            cost += predictors * used[i] + per_parent
    if problem.products.size > 0:
        cost += per_parent * count_mere_members(problem, variable, owners, used)
    return cost * problem.share


@subkernel
def count_mere_members(problem: Problem, variable: int, owners: IntArray, used: IntArray) -> int:
    """How many parents have no columns of their own: products alone make them that."""
    d, first, count = problem.widths.size, problem.product_starts[variable], 0
    for i in range(used.size):
        if used[i] == 0 or owners[i] < d:
            continue
        for side in range(2):
            member = problem.products[first + owners[i] - d, side]
            seen = False
            for j in range(used.size):
                if used[j] == 0 or j == i:
                    continue
                if owners[j] == member:
                    seen = True
                elif owners[j] >= d and j < i:
                    pair = problem.products[first + owners[j] - d]
                    seen = seen or pair[0] == member or pair[1] == member
            if not seen:
                count += 1
    return count


@kernel
def eliminate(
    problem: Problem, buffers: WalkBuffers, target: int, count: int, keep_all: bool, scores: FloatArray
) -> int:
    r"""Remove some of the first ``count`` owners of the buffers, or their nonlinear columns, while BIC improves.

    Writes those that stay to ``buffers``, and their excess and dof to ``scores`` (2,); returns ``count``. With
    ``keep_all`` all stay parents, by their lines at least or by a product.

    With  A = (X'X / n)^{-1} = L'^{-1} L^{-1}  and  beta = A X'y / n  over the columns, leaving out column c raises
    the variance by  beta_c^2 / A_cc  and updates

    .. math:: \beta \mathrel{-}= A_c \beta_c / A_{cc}, \qquad A \mathrel{-}= A_c A_c' / A_{cc},

    the sweep operator. The owners ascend; ``starts[i]`` is the first column of owner i, which keeps its place when
    columns leave: their rows of A turn zero. Each round tries, for every parent that is not required, to leave out
    all of its columns, or those beyond one of its stops, and takes what gains most: a tie goes to the smaller
    owner, then to leaving out more. The variance depends on the surviving columns alone, to the last bit, because
    it is computed from them anew.
    """
    owners, used = buffers.owners, buffers.used
    moments, limits, q = problem.moments, problem.limits, problem.families[target, PREDICTORS]
    n_rows, rounding, response = problem.n_rows, problem.rounding[target], problem.responses[target]
    required, variable, d = problem.required, problem.variables[target], problem.widths.size
    per_column, per_parent = problem.penalty_per_dof * q, problem.penalty_per_parent
    stride, has_products = problem.blocks.shape[1], count > 0 and owners[count - 1] >= d
    columns = np.empty(count * stride, dtype=np.int64)
    m = columns_of(problem, variable, owners, used, count, columns)
    work = np.empty((m, 2 * m + 1))
    variance = factorise(moments, limits, response, columns, m, work) + rounding
    beta, inverse = np.empty(m), np.empty((m, m))
    solve_upper(work, m, beta)
    invert(work, m, inverse)
    # of the inverse, and its coefficients: what leaves on trial, the last first
    block, part = np.empty((stride, stride)), np.empty(stride)
    starts = np.empty(count, dtype=np.int64)
    start = 0
    for i in range(count):
        starts[i] = start
        start += used[i]
    removed = False
    now = variance
    while True:
        best, choice, keep = 0.0, -1, 0
        for i in range(count):
            if used[i] == 0:
                continue
            owner, released = owners[i], 1
            stays = owner < d and (keep_all or is_required(required, owner, variable))
            if has_products:
                released = parents_less(problem, variable, owners, used, i)
                stays = (stays and is_required(required, owner, variable)) or (keep_all and released > 0)
            start, kept, rise = starts[i], used[i], 0.0
            for a in range(kept):
                part[a] = beta[start + a]
                for b in range(kept):
                    block[a, b] = inverse[start + a, start + b]
            for k in range(problem.stops.shape[1] - 1 if owner < d else -1, -2, -1):
                stop = 0 if k < 0 else problem.stops[owner, k]
                if stop >= kept or (stop == 0 and stays):
                    continue
                while kept > stop:
                    kept -= 1
                    rise += remove(block, part, kept + 1, kept)
                penalty = per_column * (used[i] - kept)
                if kept == 0:
                    penalty += per_parent * (released if owner < d else released + 1)
                gain = penalty - n_rows * np.log((now + rise) / now)
                if gain > best or (gain == best and choice == i):
                    best, choice, keep = gain, i, kept
        if choice < 0:
            break
        for column in range(starts[choice] + keep, starts[choice] + used[choice]):
            now += remove(inverse, beta, m, column)
        used[choice] = keep
        removed = True
    if removed:
        m = columns_of(problem, variable, owners, used, count, columns)
        variance = factorise(moments, limits, response, columns, m, work) + rounding
    scores[0] = 0.5 * np.log(variance) + problem.offsets[target]
    scores[1] = cost_in_dof(problem, variable, owners, used, q)
    return count


@subkernel
def eliminate_weighed(
    addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, count: int, scores: FloatArray
) -> None:
    """Weigh what rows say, and go on removing parents where that makes others needless.

    Only where anything but a Gaussian of one spread suggests itself: else `eliminate` has removed what can be.
    What `weigh` is sure of stays. Trials are on the scale that was chosen with all parents.
    """
    owners, used, variable = buffers.owners, buffers.used, problem.variables[target]
    nats_per_dof = 0.5 * problem.penalty_per_dof / (problem.n_rows * problem.share)
    trial, weighed = np.empty(2), buffers.weighed
    call_address(addresses.weigh, addresses, problem, buffers, target, scores)
    if weighed[DOUBTFUL] == 0.0:
        return
    while True:
        least, choice, doubts = scores[0] + nats_per_dof * scores[1], -1, buffers.steps.gains.copy()
        weighed[ONLY] = weighed[SCALE]
        for i in range(count):
            had = used[i]
            required = owners[i] < problem.widths.size and is_required(problem.required, owners[i], variable)
            if had == 0 or required or doubts[i] < 0.0:
                continue
            used[i] = 0
            call_address(addresses.weigh, addresses, problem, buffers, target, trial)
            used[i] = had
            loss = trial[0] + nats_per_dof * trial[1]
            if loss < least:
                least, choice = loss, i
        weighed[ONLY] = np.nan
        if choice < 0:
            break
        used[choice] = 0
        call_address(addresses.weigh, addresses, problem, buffers, target, scores)


@kernel
def shrink(
    addresses: Addresses, problem: Problem, arena: TreeArena, buffers: WalkBuffers, target: int, node: int
) -> int:
    """Remove parents, or their nonlinear columns, while BIC improves, at the node where the last walk ended.

    Writes the parents that stay, and their excess and dof, to the arena; returns how many parents there were.
    """
    scores = arena.scores[node]
    count = collect_parents(problem, arena, buffers, target)
    if problem.families[target, LIKELIHOOD] == GAUSSIAN:
        keep_all = count < 0  # never; a literal would compile the callee once more
        call_address(addresses.eliminate, problem, buffers, target, count, keep_all, scores)
        if addresses.weigh != 0:
            eliminate_weighed(addresses, problem, buffers, target, count, scores)
    else:
        call_address(addresses.eliminate_likely, addresses, problem, buffers, target, count, scores)
    if problem.max_parents.size > 0:
        call_address(addresses.limit_parents, addresses, problem, arena, buffers, target, node)
    keep(problem, arena, buffers, node)
    return count
