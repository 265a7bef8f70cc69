"""Shrinking half of a grow-shrink search: backward elimination by BIC, and least squares on what stays.

Loops run along rows, which vectorises them; the order in which terms are added depends on the columns alone.
"""

import numpy as np

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.grow import subtract
from daguerreotype.edges.grow_shrink.problem import GAUSSIAN, LIKELIHOOD, PREDICTORS, Problem
from daguerreotype.edges.grow_shrink.tree import (
    KIND,
    LINEAR,
    NONE,
    NONLINEAR,
    OWNER,
    Addresses,
    TreeArena,
    WalkBuffers,
    is_required,
    penalty_of,
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


@subkernel
def columns_of(stride: int, owners: IntArray, used: IntArray, count: int, columns: IntArray) -> int:
    """Write the columns of a parent set, the first ``used[i]`` of ``owners[i]``; returns how many."""
    m = 0
    for i in range(count):
        for a in range(used[i]):
            columns[m] = owners[i] * stride + a
            m += 1
    return m


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
    """Write the required parents and those that the last walk added, ascending; returns how many."""
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
        kind = arena.links[taken[i], KIND]
        spot = count
        while spot > 0 and owners[spot - 1] >= owner:
            spot -= 1
        if kind != NONLINEAR:  # which finds its owner there already
            for j in range(count, spot, -1):
                owners[j] = owners[j - 1]
                used[j] = used[j - 1]
            count += 1
        owners[spot] = owner
        used[spot] = problem.lines[owner] if kind == LINEAR else problem.widths[owner]
        i += 1
    return count


@subkernel
def cost_in_dof(problem: Problem, owners: IntArray, used: IntArray, predictors: int) -> float:
    """What parents cost, in units of a degree of freedom of the whole table."""
    cost = 0.0
    for i in range(used.size):
        if used[i] > 0:
            line = problem.lines[owners[i]]
            dof = predictors * used[i] + problem.penalty_per_parent / problem.penalty_per_dof
            least = (problem.least_penalty + 2.0 * predictors * (used[i] - line)) / problem.penalty_per_dof
            cost += dof if dof > least else least  # as of penalty_of, but whole numbers stay whole
    return cost * problem.share


@kernel
def eliminate(
    problem: Problem, buffers: WalkBuffers, target: int, count: int, keep_all: bool, scores: FloatArray
) -> int:
    r"""Remove some of the first ``count`` parents of the buffers, or their nonlinear columns, while BIC improves.

    Writes the parents that stay to ``buffers``, and their excess and dof to ``scores`` (2,); returns ``count``.
    With ``keep_all`` all of them stay, at least with their lines.

    With  A = (X'X / n)^{-1} = L'^{-1} L^{-1}  and  beta = A X'y / n  over the columns, leaving out column c raises
    the variance by  beta_c^2 / A_cc  and updates

    .. math:: \beta \mathrel{-}= A_c \beta_c / A_{cc}, \qquad A \mathrel{-}= A_c A_c' / A_{cc},

    the sweep operator. The owners ascend; ``starts[i]`` is the first column of owner i, which keeps its place when
    columns leave: their rows of A turn zero. Each round tries, for every parent that is not required, to leave out
    all of its columns, or all but its line, and takes what gains most: a tie goes to the smaller owner, then to
    leaving out more. The variance depends on the surviving columns alone, to the last bit, because it is computed
    from them anew.
    """
    owners, used = buffers.owners, buffers.used
    moments, limits, q = problem.moments, problem.limits, problem.families[target, PREDICTORS]
    n_rows, rounding, response = problem.n_rows, problem.rounding[target], problem.responses[target]
    required, variable = problem.required, problem.variables[target]
    stride = problem.blocks.shape[1]
    columns = np.empty(count * stride, dtype=np.int64)
    m = columns_of(stride, owners, used, count, columns)
    work = np.empty((m, 2 * m + 1))
    variance = factorise(moments, limits, response, columns, m, work) + rounding
    beta, inverse = np.empty(m), np.empty((m, m))
    solve_upper(work, m, beta)
    invert(work, m, inverse)
    block = np.empty((stride, stride))  # of the inverse, and its coefficients: what leaves on trial
    part = np.empty(stride)
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
            stays = keep_all or is_required(required, owners[i], variable)
            for kept in (0, problem.lines[owners[i]]):
                if kept >= used[i] or (kept == 0 and stays):
                    continue
                start = starts[i] + kept
                width = used[i] - kept
                rise = 0.0
                if width == 1:
                    pivot = inverse[start, start]
                    if pivot > 0.0:
                        rise = beta[start] * beta[start] / pivot
                else:
                    for a in range(width):
                        part[a] = beta[start + a]
                        for b in range(width):
                            block[a, b] = inverse[start + a, start + b]
                    for a in range(width):
                        rise += remove(block, part, width, a)
                penalty = penalty_of(problem, owners[i], used[i], q) - penalty_of(problem, owners[i], kept, q)
                gain = penalty - n_rows * np.log((now + rise) / now)
                if gain > best:
                    best, choice, keep = gain, i, kept
        if choice < 0:
            break
        for column in range(starts[choice] + keep, starts[choice] + used[choice]):
            now += remove(inverse, beta, m, column)
        used[choice] = keep
        removed = True
    if removed:
        m = columns_of(stride, owners, used, count, columns)
        variance = factorise(moments, limits, response, columns, m, work) + rounding
    scores[0] = 0.5 * np.log(variance) + problem.offsets[target]
    scores[1] = cost_in_dof(problem, owners, used, q)
    return count


@kernel
def shrink(
    addresses: Addresses, problem: Problem, arena: TreeArena, buffers: WalkBuffers, target: int, node: int
) -> int:
    """Remove parents, or their nonlinear columns, while BIC improves, at the node where the last walk ended.

    Writes the parents that stay to ``buffers``, and their excess and dof to the arena; returns how many parents
    there were. If the dof before shrinking are those that the arena has already, nothing was let go when they were
    written, and nothing is left to do; with a limit on parents they may be of fewer than shrinking leaves, and a
    spread may cost what was let go.
    """
    scores, limited = arena.scores[node], problem.max_parents.size > 0
    count = collect_parents(problem, arena, buffers, target)
    dof = cost_in_dof(problem, buffers.owners, buffers.used, problem.families[target, PREDICTORS])
    gaussian = problem.families[target, LIKELIHOOD] == GAUSSIAN
    if limited or dof != scores[1] or (gaussian and addresses.weigh != 0):
        if gaussian:
            keep_all = count < 0  # never; a literal would compile the callee once more
            call_address(addresses.eliminate, problem, buffers, target, count, keep_all, scores)
            if addresses.weigh != 0:
                call_address(addresses.weigh, addresses, problem, buffers, target, scores)
        else:
            call_address(addresses.eliminate_likely, addresses, problem, buffers, target, count, scores)
    if limited:
        call_address(addresses.limit_parents, addresses, problem, arena, buffers, target, node)
    return count
