"""Given parent sets: the likeliest shape of each parent, who nearly pays beside them, the best few of many."""

import numpy as np

from daguerreotype._lib.numba import borrow, call_address, kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.grow_shrink.discrete import excess_of_fit, keep_start
from daguerreotype.edges.grow_shrink.grow import condition_on_owner, reset_path
from daguerreotype.edges.grow_shrink.problem import GAUSSIAN, LIKELIHOOD, PREDICTORS, Problem
from daguerreotype.edges.grow_shrink.shrink import collect_parents, cost_in_dof, factorise, makes_parent
from daguerreotype.edges.grow_shrink.tree import (
    NONE,
    OWNER,
    Addresses,
    CholeskyRows,
    TreeArena,
    WalkBuffers,
    columns_of,
    contains,
    empty,
    include,
    is_required,
    recall,
)

ROUNDING = 1e-9  # share of a loss that an exchange must gain, so that rounding cannot go round in circles


@subkernel
def loss_of_columns(
    addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, q: int, scores: FloatArray
) -> float:
    """What a target loses on the columns in use, in half nats of the whole table; ``scores[0]`` is the excess."""
    owners, used, fit = buffers.owners, buffers.used, buffers.fit
    variable, m = problem.variables[target], 0
    for i in range(used.size):
        m += used[i]
    penalty = cost_in_dof(problem, variable, owners, used, q) / problem.share * problem.penalty_per_dof
    if problem.families[target, LIKELIHOOD] == GAUSSIAN:
        columns = np.empty(m, dtype=np.int64)
        columns_of(problem, variable, owners, used, used.size, columns)
        work = np.empty((m, 2 * m + 1))
        response = problem.responses[target]
        variance = factorise(problem.moments, problem.limits, response, columns, m, work)
        variance += problem.rounding[target]
        scores[0] = 0.5 * np.log(variance) + problem.offsets[target]
        return float(problem.n_rows * np.log(variance) + penalty)
    columns_of(problem, variable, owners, used, used.size, fit.columns)
    call_address(addresses.try_columns, addresses, problem, buffers, target, m)
    scores[0] = excess_of_fit(problem, fit, target)
    loss = 2.0 * problem.n_rows * fit.nll[0] + fit.nll[1] * problem.penalty_per_dof
    return float(loss + penalty)


@kernel
def choose_shapes(
    addresses: Addresses, problem: Problem, buffers: WalkBuffers, target: int, count: int, scores: FloatArray
) -> int:
    """Fit a target on the first ``count`` owners of the buffers; each is a line or a curve, as rough as it pays.

    They begin as curves, or as lines without products where rows are too few for that many columns; then the shape
    of one at a time, the one that lowers the loss most, changes while one does; a tie goes to the smaller owner.
    ``spent`` columns are in use, at most as many as rows allow if one is nonlinear. Gaussian targets that begin as
    curves go the same way by backward elimination, which takes no fit for each trial. Writes how many columns of
    each are used to the buffers, and excess and dof to ``scores`` (2,).
    """
    owners, used = buffers.owners, buffers.used
    discrete = problem.families[target, LIKELIHOOD] != GAUSSIAN
    q, d, variable = problem.families[target, PREDICTORS], problem.widths.size, problem.variables[target]
    curves = 0
    for i in range(count):
        curves += (problem.widths[owners[i]] if owners[i] < d else 1) * q
    enough = curves <= problem.max_nonlinear_dof
    spent = 0
    for i in range(used.size):
        used[i] = 0
        if i < count and owners[i] < d:
            used[i] = problem.widths[owners[i]] if enough else problem.lines[owners[i]]
        elif i < count and enough and not discrete:
            used[i] = 1
        spent += used[i]
    if not discrete and enough:
        keep_all = count >= 0
        call_address(addresses.eliminate, problem, buffers, target, count, keep_all, scores)
        if addresses.weigh != 0:
            call_address(addresses.weigh, addresses, problem, buffers, target, scores)
        return count
    buffers.fit.state[0] = NONE  # what other sets were fitted before must not matter
    loss = loss_of_columns(addresses, problem, buffers, target, q, scores)
    if discrete and buffers.fit.state[0] == target:  # and not a fit that was made earlier
        keep_start(buffers.fit, spent, q)
    excess = scores[0]
    while True:
        best, choice, least, after = loss, -1, excess, 0
        for i in range(count):
            if owners[i] >= d:
                continue
            had, owner = used[i], owners[i]
            for k in range(problem.stops.shape[1]):
                other = problem.stops[owner, k]
                if other == had or (other > had and (spent + other - had) * q > problem.max_nonlinear_dof):
                    continue
                used[i] = other
                tried = loss_of_columns(addresses, problem, buffers, target, q, scores)
                used[i] = had
                if tried < best:
                    best, choice, least, after = tried, i, scores[0], other
        if choice < 0:
            break
        spent += after - used[choice]
        used[choice] = after
        loss, excess = best, least
    buffers.fit.state[0] = NONE
    scores[0] = excess
    scores[1] = cost_in_dof(problem, variable, owners, used, q)
    if not discrete and addresses.weigh != 0:
        call_address(addresses.weigh, addresses, problem, buffers, target, scores)
    return count


@subkernel
def add_missing(problem: Problem, variable: int, buffers: WalkBuffers, count: int) -> int:
    """Put those of ``before`` that are no parents yet among the owners of the buffers; returns how many there are.

    They come with all of their columns, or as lines where rows are too few for that many.
    """
    owners, used, before = buffers.owners, buffers.used, buffers.before
    columns = 0
    for i in range(count):
        columns += used[i]
    for turn in range(2):  # to count columns, then to add them
        enough = columns <= problem.max_nonlinear_dof
        for member in range(problem.widths.size):
            if not contains(before, member) or makes_parent(problem, variable, owners, used, member, NONE):
                continue
            columns += problem.widths[member]
            if turn == 0:
                continue
            spot = count
            while spot > 0 and owners[spot - 1] > member:
                owners[spot] = owners[spot - 1]
                used[spot] = used[spot - 1]
                spot -= 1
            owners[spot] = member
            used[spot] = problem.widths[member] if enough else problem.lines[member]
            count += 1
    return count


@kernel
def fit_set(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    target: int,
    scores: FloatArray,
) -> int:
    """Fit a target on the parents in ``before`` of the buffers, all of which stay; returns how many owners there
    are, or NO_ROOM.

    A walk among them grows what pays, on the trees that all searches share. If it ends with all of them, that is
    the fit: no search sees the same parents otherwise. Else those that it lacks come in, and what the others have
    is eliminated as far as that pays. Discrete targets take no walk, which would cost more fits: see
    `choose_shapes`. Writes excess and dof to ``scores`` (2,), and how many columns of each owner are
    used to the buffers.
    """
    owners, used, before, d = buffers.owners, buffers.used, buffers.before, problem.widths.size
    variable = problem.variables[target]
    if problem.families[target, LIKELIHOOD] != GAUSSIAN:
        count = 0
        for member in range(d):
            if contains(before, member):
                owners[count] = member
                count += 1
        return int(call_address(addresses.choose_shapes, addresses, problem, buffers, target, count, scores))
    end = call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
    if end < 0:
        return int(end)
    count, complete = recall(problem, arena, buffers, end), True
    for member in range(d):
        if contains(before, member):
            complete = complete and makes_parent(problem, variable, owners, used, member, NONE)
    if complete:
        scores[0] = arena.scores[end, 0]
        scores[1] = arena.scores[end, 1]
        return count
    count = add_missing(problem, variable, buffers, collect_parents(problem, arena, buffers, target))
    keep_all = count >= 0  # always; a literal would compile the callee once more
    call_address(addresses.eliminate, problem, buffers, target, count, keep_all, scores)
    if addresses.weigh != 0:
        call_address(addresses.weigh, addresses, problem, buffers, target, scores)
    return count


@subkernel
def read_set(sets: BoolArray, row: int, before: IntArray) -> None:
    """Make the set of one row that of the predecessors."""
    empty(before)
    for member in range(sets.shape[1]):
        if sets[row, member]:
            include(before, member)


@kernel
def score_sets(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    target: int,
    sets: BoolArray,
    scores: FloatArray,
    start: int,
) -> int:
    """Write excess and dof (m, 2) of a target on each of ``sets`` (m, d) of parents from ``start`` on.

    Returns how many sets are done before room runs out. The owners of the last one are left in the buffers, with
    how many of their columns are used.
    """
    problem, arena, path, buffers = borrow((problem, arena, path, buffers))
    for s in range(start, sets.shape[0]):
        read_set(sets, s, buffers.before)
        if call_address(addresses.fit_set, addresses, problem, arena, path, buffers, target, scores[s]) < 0:
            return s
    return int(sets.shape[0])


@kernel
def near_steps(
    addresses: Addresses,
    problem: Problem,
    cheaper: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    target: int,
    sets: BoolArray,
    near: BoolArray,
    start: int,
) -> int:
    """Note in ``near`` (m, d) who gains beside each of ``sets`` (m, d), from ``start`` on, at lower penalties.

    The parents of a set have the shapes that `fit_set` gives them; conditioned on these, ``path`` has what
    is left of the moments, from which all steps are scored by the penalties of the problem ``cheaper``. Returns
    how many sets are done before room runs out.
    """
    problem, cheaper, arena, path, buffers = borrow((problem, cheaper, arena, path, buffers))
    scores = np.empty(2)
    reused = start < 0  # never; a literal would compile the callee once more
    variable, less = problem.variables[target], problem.penalty_per_parent - cheaper.penalty_per_parent
    for s in range(start, sets.shape[0]):
        read_set(sets, s, buffers.before)
        count = call_address(addresses.fit_set, addresses, problem, arena, path, buffers, target, scores)
        if count < 0:
            return s
        columns = 0
        for i in range(count):
            columns += buffers.used[i]
        if columns > path.rows.shape[0]:
            return s
        reset_path(problem, path, target)
        path.nodes[0] = NONE  # its rows are no walk's
        path.counts[0] = NONE
        for i in range(count):
            condition_on_owner(addresses, problem, path, target, buffers.owners[i], buffers.used[i], reused)
        n_steps = call_address(addresses.find_steps, addresses, cheaper, path, buffers, target)
        for i in range(n_steps):
            owner = buffers.steps.owners[i]
            if owner >= near.shape[1]:
                pair = problem.products[problem.product_starts[variable] + owner - near.shape[1]]
                one, other = sets[s, pair[0]], sets[s, pair[1]]
                if one != other and buffers.steps.gains[i] > less:  # which was taken off twice
                    near[s, pair[1] if one else pair[0]] = True
            elif not sets[s, owner]:
                near[s, owner] = True
        buffers.fit.state[0] = NONE
    return int(sets.shape[0])


# ------------------------------------------------------------------ limits on the number of parents


@subkernel
def drop_to(
    addresses: Addresses,
    problem: Problem,
    buffers: WalkBuffers,
    target: int,
    q: int,
    count: int,
    most: int,
    scores: FloatArray,
) -> None:
    """Leave out the parent that costs least, one after the other, until no more than ``most`` are left.

    Required parents stay; a tie goes to the smaller owner.
    """
    owners, used = buffers.owners, buffers.used
    n_parents = 0
    for i in range(count):
        n_parents += used[i] > 0
    while n_parents > most:
        least, choice = np.inf, -1
        for i in range(count):
            had = used[i]
            if had > 0 and not is_required(problem.required, owners[i], problem.variables[target]):
                used[i] = 0
                loss = loss_of_columns(addresses, problem, buffers, target, q, scores)
                used[i] = had
                if loss < least or choice < 0:
                    least, choice = loss, i
        used[choice] = 0
        n_parents -= 1


@subkernel
def exchange(
    addresses: Addresses,
    problem: Problem,
    buffers: WalkBuffers,
    target: int,
    q: int,
    count: int,
    grown: IntArray,
    scores: FloatArray,
) -> float:
    """Leave parents out, or put one that was grown in the place of one, while that gains; returns the loss.

    Owner i of the buffers has ``grown[i]`` columns when it is put in. Each round takes what loses least of all
    that leaves, or exchanges, one parent, if it gains more than rounding could; a tie goes to the smaller owner
    that leaves, then to putting none in, then to the smaller that enters.
    """
    owners, used = buffers.owners, buffers.used
    loss = loss_of_columns(addresses, problem, buffers, target, q, scores)
    while problem.families[target, LIKELIHOOD] == GAUSSIAN:  # discrete targets take a fit by rows for each
        least, leaves, enters = loss - ROUNDING * (1.0 + abs(loss)), -1, -1
        for i in range(count):
            had = used[i]
            if had == 0 or is_required(problem.required, owners[i], problem.variables[target]):
                continue
            used[i] = 0
            for j in range(-1, count):  # -1: nobody
                if j == i or (j >= 0 and used[j] > 0):
                    continue
                if j >= 0:
                    used[j] = grown[j]
                tried = loss_of_columns(addresses, problem, buffers, target, q, scores)
                if j >= 0:
                    used[j] = 0
                if tried < least:
                    least, leaves, enters = tried, i, j
            used[i] = had
        if leaves < 0:
            break
        used[leaves] = 0
        if enters >= 0:
            used[enters] = grown[enters]
        loss = least
    return loss


@kernel
def limit_parents(
    addresses: Addresses, problem: Problem, arena: TreeArena, buffers: WalkBuffers, target: int, node: int
) -> int:
    """Where shrinking left more parents than a target may have, take the best of those that were grown.

    Two starts: what shrinking left, less the parents that cost least; and the first parents of the walk, which
    stand for others best where they are few. From each, parents are exchanged with others that were grown while
    that gains; the likelier end counts, each of its parents as a line or a curve, in a tie the first one. A
    search that ends within the limit stays as it is. Writes the parents to ``buffers``, and their excess and dof
    to the arena; returns how many there are.
    """
    owners, used, taken = buffers.owners, buffers.used, buffers.taken
    most = problem.max_parents[problem.variables[target]]
    n_parents = 0
    for i in range(used.size):
        n_parents += used[i] > 0
    if n_parents <= most:
        return n_parents
    q = problem.families[target, PREDICTORS]
    scores = np.empty(2)
    buffers.fit.state[0] = NONE  # what other targets were fitted before must not matter
    shrunk = used.copy()
    count = collect_parents(problem, arena, buffers, target)
    grown = used.copy()
    for i in range(used.size):
        used[i] = shrunk[i]
    drop_to(addresses, problem, buffers, target, q, count, most, scores)
    backward = exchange(addresses, problem, buffers, target, q, count, grown, scores)
    best = used.copy()
    n_parents = 0
    for i in range(used.size):
        used[i] = 0
        if i < count and is_required(problem.required, owners[i], problem.variables[target]):
            used[i] = grown[i]
            n_parents += 1
    step = 0
    while taken[step] != NONE and n_parents < most:
        for i in range(count):
            if owners[i] == arena.links[taken[step], OWNER] and used[i] == 0:
                used[i] = grown[i]
                n_parents += 1
        step += 1
    forward = exchange(addresses, problem, buffers, target, q, count, grown, scores)
    n_parents = 0
    for i in range(count):
        if (used[i] if forward < backward else best[i]) > 0:
            owners[n_parents] = owners[i]
            n_parents += 1
    call_address(addresses.choose_shapes, addresses, problem, buffers, target, n_parents, scores)
    arena.scores[node, 0] = scores[0]
    arena.scores[node, 1] = scores[1]
    return n_parents
