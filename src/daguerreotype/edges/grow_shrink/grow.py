"""Growing half of a grow-shrink search: the steps that lower BIC, by a Cholesky factorisation with pivoting."""

import numpy as np

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.problem import GAUSSIAN, LIKELIHOOD, Problem
from daguerreotype.edges.grow_shrink.tree import (
    CHILD,
    NO_ROOM,
    NONE,
    OWNER,
    SIBLING,
    STOP,
    UNKNOWN,
    Addresses,
    CholeskyRows,
    Steps,
    TreeArena,
    WalkBuffers,
    contains,
    first_column,
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
    limits: FloatArray,
    path: CholeskyRows,
    response: int,
    owner: int,
    first_column: int,
    stop: int,
    reused: bool,
    n_owned: int,
    first: int,
    last: int,
) -> int:
    r"""Condition on the columns of ``owner`` from those in use up to ``stop``, one by one.

    For column c row r of the Cholesky factor, the next one, is appended and its outer product subtracted:

    .. math:: R_r = (M_c - \sum_{k < r} R_{kc} R_k) / \sqrt{v_c}, \qquad
              \text{within}_{ab} \mathrel{-}= R_{ra} R_{rb}, \qquad
              \text{with\_target}_a \mathrel{-}= R_{ra} R_{r,target},

    M being the moments and v_c = within_cc the variance of c given the columns so far; a column that these span
    has no row. ``reused`` says that the rows are still there from a walk that began with the same steps; then only
    the subtraction is made. Of the columns from ``n_owned`` on, each alone, only the ``response`` counts, and the
    target's products from ``first`` to ``last``. Returns how many rows there are then.
    """
    rows, within, with_target, counts = path.rows, path.within, path.with_target, path.counts
    stride = within.shape[1]
    for own in range(path.used[owner], stop):
        column = first_column + own
        if within[column, own] <= limits[column]:
            continue
        row = rows[counts[1]]
        if not reused:
            scale = 1.0 / np.sqrt(within[column, own])
            alone = response if response >= n_owned else response + 1  # else it is one of those before
            for start, end in ((int(np.int64(0)), n_owned), (first, last), (alone, response + 1)):
                for c in range(start, end):
                    row[c] = moments[column, c]
                subtract(rows, counts[1], rows, column, start, end)
                for c in range(start, end):
                    row[c] *= scale
        on_target = row[response]
        for c in range(n_owned):
            with_target[c] -= on_target * row[c]
        if stride == 1:
            for c in range(n_owned):
                within[c, 0] -= row[c] * row[c]
        else:
            for start in range(0, n_owned, stride):
                for a in range(stride):
                    share = row[start + a]
                    for b in range(a + 1):  # of symmetric blocks
                        within[start + a, b] -= share * row[start + b]
        for c in range(first, last):
            with_target[c] -= on_target * row[c]
            within[c, 0] -= row[c] * row[c]
        if response >= n_owned:
            within[response, 0] -= on_target * on_target
        counts[1] += 1
    path.used[owner] = stop
    return int(counts[1])


@subkernel
def condition_on_owner(
    addresses: Addresses, problem: Problem, path: CholeskyRows, target: int, owner: int, stop: int, reused: bool
) -> None:
    """Condition on the columns of an owner of a target up to ``stop``; see `condition_on`."""
    moments, starts, variable = problem.moments, problem.product_starts, problem.variables[target]
    first = moments.shape[0] - problem.products.shape[0] + starts[variable]
    last, n_owned = first + starts[variable + 1] - starts[variable], problem.widths.size * path.within.shape[1]
    column, response = first_column(problem, variable, owner), problem.responses[target]
    call_address(
        addresses.condition_on,
        moments,
        problem.limits,
        path,
        response,
        owner,
        column,
        stop,
        reused,
        n_owned,
        first,
        last,
    )


@subkernel
def columns_in_use(path: CholeskyRows) -> int:
    """How many columns the parents so far have together."""
    count = 0
    for owner in range(path.used.size):
        count += path.used[owner]
    return count


@subkernel
def find_linear(
    problem: Problem, path: CholeskyRows, variable: int, steps: Steps, least: float, most: float
) -> int:
    """Fill in every step of one column that gains; returns how many do.

    What a step explains, with_target^2 / within, ranks it: no logarithms are needed.
    """
    within, with_target = path.within, path.with_target
    count = 0
    for owner in range(problem.widths.size):
        rest = within[owner, 0]
        shared = with_target[owner] * with_target[owner]
        if shared > least * rest and rest > problem.limits[owner] and path.used[owner] == 0:
            explained = shared / rest
            if explained > most:
                explained = most
            if explained > least and owner != variable:
                steps.gains[count] = explained
                steps.owners[count] = owner
                steps.stops[count] = 1
                count += 1
    return count


@subkernel
def explain(
    within: FloatArray,
    limits: FloatArray,
    scores: FloatArray,
    owner: int,
    used: int,
    width: int,
    room: FloatArray,
    explained: FloatArray,
) -> None:
    r"""Write what the columns from ``used`` to ``width`` of an owner explain of a target, the first ones together.

    With  within = L L'  over these columns, z = L^{-1} s  are their ``scores`` s (columns, q), covariances with
    the target or with its residuals, made orthonormal one by one; so the first ones explain the sum of squares,

    .. math:: L_{aj} = (\text{within}_{aj} - \sum_{k < j} L_{ak} L_{jk}) / L_{jj}, \quad
              z_a = (s_a - \sum_{j < a} L_{aj} z_j) / L_{aa}, \quad explained_a = \sum_{j \le a} |z_j|^2 .

    A column that the others span has a row of zeros. Row a of ``room`` (stride, stride + q) is  [L_a, z_a].
    """
    stride, q = within.shape[1], scores.shape[1]
    first, total = owner * stride, 0.0
    for a in range(used, width):
        rest = within[first + a, a]
        for b in range(q):
            room[a, stride + b] = scores[first + a, b]
        for j in range(used, a):
            entry = within[first + a, j]
            for k in range(used, j):
                entry -= room[a, k] * room[j, k]
            entry = entry / room[j, j] if room[j, j] > 0.0 else 0.0
            room[a, j] = entry
            rest -= entry * entry
            for b in range(q):
                room[a, stride + b] -= entry * room[j, stride + b]
        room[a, a] = np.sqrt(rest) if rest > limits[first + a] else 0.0
        for b in range(q):
            score = room[a, stride + b] / room[a, a] if room[a, a] > 0.0 else 0.0
            room[a, stride + b] = score
            total += score * score
        explained[a] = total


@subkernel
def has_product(problem: Problem, path: CholeskyRows, variable: int, member: int) -> bool:
    """Whether a product in use makes a variable a parent."""
    first, d = problem.product_starts[variable], problem.widths.size
    for product in range(first, problem.product_starts[variable + 1]):
        pair = problem.products[product]
        if path.used[d + product - first] > 0 and (pair[0] == member or pair[1] == member):
            return True
    return False


@subkernel
def find_blocks(
    problem: Problem,
    path: CholeskyRows,
    target: int,
    steps: Steps,
    scores: FloatArray,
    least: float,
    variance: float,
    floor: float,
    doubt: float,
) -> int:
    r"""Fill in the better step of every owner whose gain is above  -doubt * penalty;  returns how many have one.

    Steps to each of the owner's stops compete: to the first columns that it can be a parent with, its line, to
    those of smoother and of rougher curves. Columns that explain e of a target, see `explain`, gain
    n log(variance / (variance - e)),  or  n e  of a discrete target, whose residuals have information one: the
    score test. A new parent that explains no more than ``least`` cannot gain, with so many columns no more than
    ``enough``. A tie goes to the smaller step, which is met first.
    """
    stride, q = path.within.shape[1], scores.shape[1]
    room, explained = np.empty((stride, stride + q)), np.empty(stride)
    within, limits, n_rows = path.within, problem.limits, problem.n_rows
    gaussian, variable = problem.families[target, LIKELIHOOD] == GAUSSIAN, problem.variables[target]
    widths, all_stops, n_stops, in_use = problem.widths, problem.stops, problem.stops.shape[1], path.used
    per_column, per_parent = problem.penalty_per_dof * q, problem.penalty_per_parent
    max_dof, max_nonlinear_dof = problem.max_dof, problem.max_nonlinear_dof
    any_product = problem.product_starts[variable] < problem.product_starts[variable + 1]
    enough = np.empty(stride + 1)
    new_parent = min(per_parent, 0.0) if any_product else per_parent  # which a product may have paid for
    for stop in range(stride + 1):
        price = per_column * stop + new_parent
        enough[stop] = variance * -np.expm1(-price / n_rows) if gaussian else least
    spent = columns_in_use(path)
    count = 0
    for owner in range(widths.size):
        used, width = in_use[owner], widths[owner]
        if owner == variable or used == width:
            continue
        explain(within, limits, scores, owner, used, width, room, explained)
        best, chosen, its_penalty, new = -np.inf, width, 0.0, per_parent if used == 0 else 0.0
        if used == 0 and any_product and has_product(problem, path, variable, owner):
            new = 0.0  # a product pays
        for k in range(n_stops):
            stop = all_stops[owner, k]
            most = max_dof if gaussian and stop == 1 else max_nonlinear_dof
            too_many = stop <= used or (spent + stop - used) * q > most
            if too_many or (used == 0 and explained[stop - 1] <= enough[stop]):
                continue
            penalty = per_column * (stop - used) + new
            gain = n_rows * explained[stop - 1]
            if gaussian:
                rest = variance - explained[stop - 1]
                gain = n_rows * np.log(variance / (rest if rest > floor else floor))
            if gain - penalty > best:
                best, its_penalty = gain - penalty, penalty
                chosen = stop
        if best > -doubt * its_penalty:
            steps.gains[count] = best
            steps.penalties[count] = its_penalty
            steps.owners[count] = owner
            steps.stops[count] = chosen
            count += 1
    return count


@subkernel
def find_products(
    problem: Problem, path: CholeskyRows, variable: int, steps: Steps, count: int, variance: float, floor: float
) -> int:
    """Add the products that gain to the ``count`` steps; returns how many steps there are then.

    A product costs a column and a choice among many, and its variables what parents cost, unless they are parents.
    """
    within, with_target, n_rows = path.within, path.with_target, problem.n_rows
    first, d = problem.product_starts[variable], problem.widths.size
    if columns_in_use(path) >= problem.max_nonlinear_dof:
        return count
    for product in range(first, problem.product_starts[variable + 1]):
        owner = d + product - first
        column = first_column(problem, variable, owner)
        rest = within[column, 0]
        if path.used[owner] > 0 or rest <= problem.limits[column]:
            continue
        left = variance - with_target[column] * with_target[column] / rest
        gain = n_rows * np.log(variance / (left if left > floor else floor))
        penalty = problem.penalty_per_dof + problem.penalty_per_parent
        if gain <= penalty:
            continue
        for side in range(2):
            member = problem.products[product, side]
            if path.used[member] == 0 and not has_product(problem, path, variable, member):
                penalty += problem.penalty_per_parent
        if gain > penalty:
            steps.gains[count] = gain - penalty
            steps.penalties[count] = penalty
            steps.owners[count] = owner
            steps.stops[count] = 1
            count += 1
    return count


@subkernel
def reset_path(problem: Problem, path: CholeskyRows, target: int) -> None:
    """Second moments given nothing."""
    response, stride = problem.responses[target], problem.blocks.shape[1]
    for column in range(path.with_target.size):
        path.with_target[column] = problem.moments[response, column]
        for b in range(stride):
            path.within[column, b] = problem.blocks[column, b]
    for owner in range(path.used.size):
        path.used[owner] = 0
    path.counts[1] = 0


@kernel
def find_steps(
    addresses: Addresses, problem: Problem, path: CholeskyRows, buffers: WalkBuffers, target: int
) -> int:
    """Fill in the better step of every owner that has one which gains, given the path; returns how many have.

    A step pays if it explains more of the variance than  variance * (1 - exp(-penalty / n)).
    """
    if problem.families[target, LIKELIHOOD] != GAUSSIAN:
        return int(call_address(addresses.find_likely, addresses, problem, path, buffers, target))
    limits, response = problem.limits, problem.responses[target]
    floor = limits[response] if limits[response] > 1e-300 else 1e-300
    variance = path.within[response, 0] if path.within[response, 0] > floor else floor
    variance += problem.rounding[target]
    floor += problem.rounding[target]
    if columns_in_use(path) >= problem.max_dof:
        return int(np.int64(0))  # a literal would compile the callers once more
    penalty = problem.penalty_per_dof + problem.penalty_per_parent
    least = variance * -np.expm1(-penalty / problem.n_rows)
    if problem.blocks.shape[1] == 1:
        return find_linear(problem, path, problem.variables[target], buffers.steps, least, variance - floor)
    scores = path.with_target.reshape((path.with_target.size, 1))
    doubt = 0.0
    count = find_blocks(problem, path, target, buffers.steps, scores, least, variance, floor, doubt)
    variable = problem.variables[target]
    if problem.product_starts[variable] == problem.product_starts[variable + 1]:
        return count
    return find_products(problem, path, variable, buffers.steps, count, variance, floor)


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
    links[new, STOP] = steps.stops[best]
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
    variable, n_required = problem.variables[target], problem.required.shape[0]
    if arena.size[0] == links.shape[0] or depth * path.within.shape[1] + n_required > path.rows.shape[0]:
        return NO_ROOM
    reused = nodes[0] == target
    if counts[0] < 0:
        reset_path(problem, path, target)
        counts[0] = -n_required
        if not reused:
            nodes[0] = target
            nodes[1] = NONE
    for i in range(counts[0], depth):
        owner = i + n_required
        if i < 0:
            if not problem.required[owner, variable]:
                continue
            stop = problem.lines[owner]
        else:
            at = buffers.taken[i]
            owner = links[at, OWNER]
            stop = links[at, STOP]
            reused = nodes[i + 1] == at
            if not reused:
                nodes[i + 1] = at
                nodes[i + 2] = NONE
        condition_on_owner(addresses, problem, path, target, owner, stop, reused)
    counts[0] = depth
    count = call_address(addresses.find_steps, addresses, problem, path, buffers, target)
    return branch(arena, buffers.steps, count, node, buffers.allowed)
