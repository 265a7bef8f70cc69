"""Growing half of a grow-shrink search: the steps that lower BIC, by a Cholesky factorisation with pivoting."""

import numpy as np

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.problem import GAUSSIAN, Problem
from daguerreotype.edges.grow_shrink.tree import (
    BLOCK,
    CHILD,
    KIND,
    LINEAR,
    NO_ROOM,
    NONE,
    NONLINEAR,
    OWNER,
    SIBLING,
    UNKNOWN,
    Addresses,
    CholeskyRows,
    Steps,
    TreeArena,
    WalkBuffers,
    contains,
    penalty_of,
    row_contains,
)


@subkernel
def subtract(rows: FloatArray, i: int, factor: FloatArray, column: int, start: int, stop: int) -> None:
    """Take  factor[0, column] * rows[0] + ... + factor[i - 1, column] * rows[i - 1]  from ``rows[i, start:stop]``.

    Four rows at a time: most of a fit goes by here, and loading and storing the sum would be most of that. The
    order of the terms is fixed, so that a row depends on those before it alone, to the last bit. An unsigned index
    cannot count from the end, and only so does the loop vectorise.
    """
    row = rows[i]
    first = np.uint64(start)
    end = np.uint64(stop)
    k = 0
    while k + 4 <= i:
        row0 = rows[k]
        row1 = rows[k + 1]
        row2 = rows[k + 2]
        row3 = rows[k + 3]
        share0 = factor[k, column]
        share1 = factor[k + 1, column]
        share2 = factor[k + 2, column]
        share3 = factor[k + 3, column]
        for c in range(first, end):
            row[c] -= (share0 * row0[c] + share1 * row1[c]) + (share2 * row2[c] + share3 * row3[c])
        k += 4
    while k < i:
        row0 = rows[k]
        share0 = factor[k, column]
        for c in range(first, end):
            row[c] -= share0 * row0[c]
        k += 1


@kernel
def condition_on(
    moments: FloatArray,
    rows: FloatArray,
    within: FloatArray,
    with_target: FloatArray,
    n_rows: int,
    n_owned: int,
    response: int,
    column: int,
    known: bool,
) -> int:
    r"""Condition on one column: append row r = ``n_rows`` of the Cholesky factor, subtract its outer product.

    .. math:: R_r = (M_c - \sum_{k < r} R_{kc} R_k) / \sqrt{left_c}, \qquad
              \text{within}_{ab} \mathrel{-}= R_{ra} R_{rb}, \qquad
              \text{with\_target}_a \mathrel{-}= R_{ra} R_{r,target},

    M being the moments and left_c = within_cc the variance of column c given the columns so far. ``known`` says
    that the row is still there from a walk that began with the same steps; then only the subtraction is made.
    Columns from ``n_owned`` on are variables on other scales, which are nobody's parents. Returns how many rows
    there are then.
    """
    row, size, stride = rows[n_rows], moments.shape[0], within.shape[1]
    if not known:
        for c in range(size):
            row[c] = moments[column, c]
        subtract(rows, n_rows, rows, column, int(np.int64(0)), size)  # a literal would compile it once more
        scale = 1.0 / np.sqrt(within[column, column % stride])
        for c in range(size):
            row[c] *= scale
    on_target = row[response]
    for c in range(size):
        with_target[c] -= on_target * row[c]
    if stride == 1:
        for c in range(size):
            within[c, 0] -= row[c] * row[c]
    else:
        for first in range(0, n_owned, stride):
            for a in range(first, first + stride):
                for b in range(stride):
                    within[a, b] -= row[a] * row[first + b]
        for c in range(n_owned, size):
            within[c, 0] -= row[c] * row[c]
    return n_rows + 1


@subkernel
def find_linear(
    problem: Problem, path: CholeskyRows, variable: int, steps: Steps, least: float, most: float
) -> int:
    """Fill in every step of one column that gains; returns how many do.

    What a step explains, with_target^2 / within, ranks it: no logarithms are needed.
    """
    within, with_target = path.within, path.with_target
    count = 0
    for owner in range(path.used.size):
        left = within[owner, 0]
        shared = with_target[owner] * with_target[owner]
        if shared > least * left and left > problem.limits[owner] and path.used[owner] == 0:
            explained = shared / left
            if explained > most:
                explained = most
            if explained > least and owner != variable:
                steps.gains[count] = explained
                steps.owners[count] = owner
                steps.kinds[count] = LINEAR
                count += 1
    return count


@subkernel
def find_blocks(
    problem: Problem,
    path: CholeskyRows,
    variable: int,
    steps: Steps,
    least: float,
    variance: float,
    floor: float,
    spent: int,
) -> int:
    r"""Fill in the better step of every owner that has one which gains; returns how many have.

    With  within = L L'  over the columns of an owner that are not used yet, the scores  z = L^{-1} with_target
    are the covariances of the target with these columns made orthonormal, so that the first a of them explain
    z_1^2 + ... + z_a^2  of its variance. Two steps compete: the line (a = line - 1), if none is used, and all that
    are left (a = width - 1). ``lower`` holds L, row by row; a column that the others span has a row of
    zeros. A tie goes to the smaller step, which is met first.
    """
    within, limits, stride = path.within, problem.limits, path.within.shape[1]
    lower = np.empty((stride, stride))
    scores = np.empty(stride)
    one = int(np.int64(1))  # a literal would compile the callee once more
    count = 0
    for owner in range(path.used.size):
        used = path.used[owner]
        width = problem.widths[owner]
        line = problem.lines[owner]
        first = owner * stride
        if owner == variable or used == width:
            continue
        explained = 0.0
        best = 0.0
        kind = LINEAR
        for a in range(used, width):
            left = within[first + a, a]
            score = path.with_target[first + a]
            for j in range(used, a):
                entry = within[first + a, j]
                for k in range(used, j):
                    entry -= lower[a, k] * lower[j, k]
                entry = entry / lower[j, j] if lower[j, j] > 0.0 else 0.0
                lower[a, j] = entry
                left -= entry * entry
                score -= entry * scores[j]
            if left > limits[first + a]:
                lower[a, a] = np.sqrt(left)
                score = score / lower[a, a]
            else:
                lower[a, a] = 0.0
                score = 0.0
            scores[a] = score
            explained += score * score
            size = a + 1 - used
            most = problem.max_dof if a == 0 else problem.max_nonlinear_dof
            if (a == line - 1 or a == width - 1) and (used > 0 or explained > least) and spent + size <= most:
                rest = variance - explained
                if rest < floor:
                    rest = floor
                penalty = penalty_of(problem, owner, a + 1, one)
                if used > 0:
                    penalty -= penalty_of(problem, owner, used, one)
                gain = problem.n_rows * np.log(variance / rest) - penalty
                if gain > best:
                    best = gain
                    kind = LINEAR if a == line - 1 else (BLOCK if used == 0 else NONLINEAR)
        if best > 0.0:
            steps.gains[count] = best
            steps.owners[count] = owner
            steps.kinds[count] = kind
            count += 1
    return count


@subkernel
def reset_path(problem: Problem, path: CholeskyRows, target: int) -> None:
    """Second moments given nothing."""
    response, stride = problem.responses[target], problem.blocks.shape[1]
    for column in range(problem.limits.size):
        path.with_target[column] = problem.moments[response, column]
        for b in range(stride):
            path.within[column, b] = problem.blocks[column, b]
    for owner in range(path.used.size):
        path.used[owner] = 0


@kernel
def find_steps(
    addresses: Addresses, problem: Problem, path: CholeskyRows, buffers: WalkBuffers, target: int
) -> int:
    """Fill in the better step of every owner that has one which gains, given the path; returns how many have.

    A step pays if it explains more of the variance than  variance * (1 - exp(-penalty / n)).
    """
    limits, response = problem.limits, problem.responses[target]
    floor = limits[response] if limits[response] > 1e-300 else 1e-300
    variance = path.within[response, 0] if path.within[response, 0] > floor else floor
    variance += problem.rounding[target]
    floor += problem.rounding[target]
    spent = int(np.int64(0))  # here and below: a literal would compile the callee once more
    for owner in range(path.used.size):
        spent += path.used[owner]
    count = int(np.int64(0))
    if problem.families[target] != GAUSSIAN:
        count = call_address(addresses.find_likely, addresses, problem, path, buffers, target, spent)
    elif spent < problem.max_dof:
        penalty = problem.penalty_per_dof + problem.penalty_per_parent
        if penalty < problem.least_penalty:
            penalty = problem.least_penalty
        least = variance * -np.expm1(-penalty / problem.n_rows)
        variable = problem.variables[target]
        if problem.blocks.shape[1] == 1:
            count = find_linear(problem, path, variable, buffers.steps, least, variance - floor)
        else:
            count = find_blocks(problem, path, variable, buffers.steps, least, variance, floor, spent)
    return int(count)


@subkernel
def branch(arena: TreeArena, steps: Steps, count: int, node: int, allowed: IntArray) -> int:
    """Note what improves at ``node`` and give it the child of the best allowed step; NONE: there is none.

    Children of a node stand in its list from the best step to the worst, so that a walk takes the first that is
    allowed. Steps are ranked by their gain; owners ascend, and a tie goes to the smaller one. The new child is
    put before the first child whose ``better`` set holds its owner.
    """
    links, better, improving = arena.links, arena.better, arena.improving
    gains, owners = steps.gains, steps.owners
    if links[node, CHILD] == UNKNOWN:
        links[node, CHILD] = NONE
    best = -1
    for i in range(count):
        owner = owners[i]
        improving[node, owner >> 6] |= 1 << (owner & 63)
        if contains(allowed, owner) and (best < 0 or gains[i] > gains[best]):
            best = i
    if best < 0:
        return NONE
    new = arena.size[0]
    arena.size[0] = new + 1
    chosen = owners[best]
    links[new, OWNER] = chosen
    links[new, KIND] = steps.kinds[best]
    for i in range(count):
        if gains[i] > gains[best] or (gains[i] == gains[best] and i < best):
            owner = owners[i]
            better[new, owner >> 6] |= 1 << (owner & 63)
    last = NONE
    after = links[node, CHILD]
    while after >= 0 and not row_contains(better, after, chosen):
        last = after
        after = links[after, SIBLING]
    links[new, SIBLING] = after
    if last < 0:
        links[node, CHILD] = new
    else:
        links[last, SIBLING] = new
    return int(new)


@kernel
def expand(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    target: int,
    node: int,
    depth: int,
) -> int:
    """Grow the child of the best allowed step from ``node``, ``depth`` steps below the root; NONE or NO_ROOM.

    ``path`` catches up with the walk: ``path.counts[0]`` of its steps are conditioned on already, and the rows of
    those that ``path.nodes`` names are known from an earlier walk. The required parents come before the first
    step, each as a line: they are steps -d to -1 of the loop. Then all steps from here are scored.
    """
    links, nodes, counts = arena.links, path.nodes, path.counts
    moments, limits, stride = problem.moments, problem.limits, problem.blocks.shape[1]
    n_required = problem.required.shape[0]
    if arena.size[0] == links.shape[0] or depth * stride + n_required > path.rows.shape[0]:
        return NO_ROOM
    response = problem.responses[target]
    variable = problem.variables[target]
    n_owned = stride * path.used.size
    known = nodes[0] == target
    if counts[0] < 0:
        reset_path(problem, path, target)
        counts[0] = -n_required
        counts[1] = 0
        if not known:
            nodes[0] = target
            nodes[1] = NONE
    for i in range(counts[0], depth):
        owner = i + n_required
        kind = LINEAR
        if i < 0:
            if not problem.required[owner, variable]:
                continue
        else:
            at = buffers.taken[i]
            owner = links[at, OWNER]
            kind = links[at, KIND]
            known = nodes[i + 1] == at
            if not known:
                nodes[i + 1] = at
                nodes[i + 2] = NONE
        line = problem.lines[owner]
        stop = line if kind == LINEAR else problem.widths[owner]
        for a in range(line if kind == NONLINEAR else 0, stop):
            column = owner * stride + a
            if path.within[column, a] > limits[column]:  # else the parents span this column already
                counts[1] = call_address(
                    addresses.condition_on,
                    moments,
                    path.rows,
                    path.within,
                    path.with_target,
                    counts[1],
                    n_owned,
                    response,
                    column,
                    known,
                )
        path.used[owner] = stop
    counts[0] = depth
    count = call_address(addresses.find_steps, addresses, problem, path, buffers, target)
    return branch(arena, buffers.steps, count, node, buffers.allowed)
