"""Grow-shrink trees: lazily grown tries of growing steps, one per target, and the walk down those of a variable.

A tree node is a list of parents in the order they were added. It stores the set of parents that would
improve BIC next and, in its children, the steps that some walk has taken from it, each with the set of the
better ones. A walk takes the best step that is allowed: the first child whose parent is allowed, if no
better step is. It ends where no improving parent is allowed, at the node's shrink result. Sets are rows of
bits, so that asking costs d / 64 operations, and no node needs more than a few words of memory per 64
variables or has its steps sorted.

In the words of the paper: a walk is a trace of a prefix through the grow-shrink tree of its target, a tree node
is a list that growing has reached, and the shrink result is what is left at the end of the trace. The paper keeps
all branches of a node sorted by score; here a branch is made when a walk first takes it, and ``better`` says who
would have come before. Ties go to the smaller variable, in growing as in shrinking: nothing else matters.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.grow_shrink.problem import HEAD, ONLY, PREDICTORS, SHAPES, Problem
from daguerreotype.noise.newton import RowsFit

NONE, UNKNOWN, NO_ROOM = -1, -2, -3
OWNER, STOP, CHILD, SIBLING = 0, 1, 2, 3
KEPT = 2**16  # likelihoods of discrete targets that are kept


class TreeArena(NamedTuple):
    """The trees of all targets in flat arrays, with spare room at the end. The first nodes are the roots.

    Attributes
    ----------
    size : array of shape (1,)
        Number of nodes so far.
    links : array of shape (nodes, 4)
        OWNER and STOP: whom the step to this node adds, and how many of its columns are used then. CHILD: the best
        step taken from here so far; SIBLING: the next best one from the node above. NONE ends the list,
        UNKNOWN says that the node was never looked at. Side by side, because a walk waits for memory.
    better, improving : arrays of shape (nodes, words)
        Parents whose step would have come before the one to this node; parents that improve from here.
    scores : array of shape (nodes, 2)
        Excess (negative log-likelihood beyond that of a standard normal variable) and degrees of freedom of the
        shrink result; nan until a walk first ends here.
    kept : array of shape (nodes, 3 words)
        The shrink result: which of its stops each owner has, from one, zero for none; a set for each of 3 bits.
    """

    size: IntArray
    links: npt.NDArray[np.int32]
    better: IntArray
    improving: IntArray
    scores: FloatArray
    kept: IntArray


class CholeskyRows(NamedTuple):
    """Second moments given the parents added so far: the state of one walk down a tree.

    Attributes
    ----------
    rows : array of shape (capacity, c)
        Rows of the Cholesky factor of the moments, one per added column, over all columns: their covariances
        with the added columns, the latter made orthonormal one by one.
    within : array of shape (c, stride)
        What is left of the covariance of each column with those of its owner up to it.
    with_target : array of shape (c,)
        What is left of the covariance of each column with the target.
    used : array of shape (d + k,)
        How many columns of each owner were added.
    nodes : array of shape (3 (d + k) + 2,)
        The tree nodes whose rows these are, from the root to the first -1; a later walk through them needs no
        new rows. Those of the root are its required parents'.
    counts : array of shape (2,)
        Steps of the present walk that are conditioned on, negative before its first look; and rows in use.
    """

    rows: FloatArray
    within: FloatArray
    with_target: FloatArray
    used: IntArray
    nodes: IntArray
    counts: IntArray


class Steps(NamedTuple):
    """Improving steps from one set of parents, arrays of shape (d + k,): gains, penalties, whom a step adds, and
    how many columns it has then.

    A gain is what the step adds to  n log(variance),  or to  2 n nll,  less its penalty.
    """

    gains: FloatArray
    penalties: FloatArray
    owners: IntArray
    stops: IntArray


class WalkBuffers(NamedTuple):
    """Scratch space of a walk.

    Attributes
    ----------
    before, allowed, missed : arrays of shape (words,)
        Predecessors; owners that may be used; parents that would have changed the last walk, had they been
        allowed.
    relevant : array of shape (words,)
        Parents that the walks of a variable took or missed, on the scales so far.
    taken : array of shape (3 (d + k) + 1,)
        The nodes that the last walk visited below the root, to the first NONE.
    steps : Steps
        Room for the improving steps of one node.
    owners, used : arrays of shape (d + k,)
        Owners at the end of a walk, ascending, and how many columns of each; zero for those that shrinking
        let go, and for entries not in use.
    fit : RowsFit
        Room for fits of discrete targets.
    weighed : array
        What the rows of the last number that was weighed said; see `weigh`.
    """

    before: IntArray
    allowed: IntArray
    missed: IntArray
    relevant: IntArray
    taken: IntArray
    steps: Steps
    owners: IntArray
    used: IntArray
    fit: RowsFit
    weighed: FloatArray


class Addresses(NamedTuple):
    """Where the kernels of a walk are: each is compiled once, however many kernels call it.

    Those of discrete targets, of limits, and of what weighs rows, are zero where there are none. ``maximise`` is
    that of a table of those of likelihoods: every array in what walks take is counted at each call, which costs as
    much as its work.
    """

    condition_on: int
    find_steps: int
    expand: int
    eliminate: int
    shrink: int
    limit_parents: int
    choose_shapes: int
    fit_set: int
    weigh: int
    walk_scale: int
    walk: int
    maximise: int
    fit_rows: int
    fit_columns: int
    try_columns: int
    find_likely: int
    eliminate_likely: int


def new_arena(count: int, words: int) -> TreeArena:
    """Room for nodes that no walk has seen."""
    return TreeArena(
        size=np.zeros(1, dtype=np.int64),
        links=np.tile(np.array([NONE, NONE, UNKNOWN, NONE], dtype=np.int32), (count, 1)),
        better=np.zeros((count, words), dtype=np.int64),
        improving=np.zeros((count, words), dtype=np.int64),
        scores=np.full((count, 2), np.nan),
        kept=np.zeros((count, 3 * words), dtype=np.int64),
    )


def doubled(arena: TreeArena) -> TreeArena:
    """The same trees with twice the room."""
    count = len(arena.links)
    longer = new_arena(2 * count, arena.better.shape[1])
    longer.size[0] = arena.size[0]
    for name in arena._fields[1:]:
        getattr(longer, name)[:count] = getattr(arena, name)
    return longer


def count_owners(problem: Problem) -> int:
    """How many owners d + k a target may choose from: all variables, and as many products as any target has."""
    return problem.widths.size + int(np.diff(problem.product_starts).max(initial=0))


def new_path(problem: Problem) -> CholeskyRows:
    """A path without parents, with room for sixteen."""
    columns, stride = problem.blocks.shape
    return CholeskyRows(
        rows=np.zeros((16 * stride, columns)),
        within=np.zeros((columns, stride)),
        with_target=np.zeros(columns),
        used=np.zeros(count_owners(problem), dtype=np.int64),
        nodes=np.full(3 * count_owners(problem) + 2, NONE),
        counts=np.zeros(2, dtype=np.int64),
    )


def new_buffers(problem: Problem) -> WalkBuffers:
    """Scratch space for walks among the variables of a problem."""
    count = count_owners(problem)
    before, allowed, missed, relevant = np.zeros((4, count // 64 + 1), dtype=np.int64)
    owners, used, step_owners, stops = np.zeros((4, count), dtype=np.int64)
    gains, penalties = np.zeros((2, count))
    steps, taken = Steps(gains, penalties, step_owners, stops), np.full(3 * count + 1, NONE)
    weighed = np.zeros(4 * (problem.moments.shape[0] + HEAD))
    weighed[ONLY] = np.nan
    fit = new_rows_fit(problem)
    return WalkBuffers(before, allowed, missed, relevant, taken, steps, owners, used, fit, weighed)


def new_rows_fit(problem: Problem) -> RowsFit:
    """Room for the fits of one problem; next to none where all targets are continuous."""
    columns, n_rows = problem.moments.shape[0], problem.outcomes.shape[1]
    size, q = columns if n_rows else 0, int(problem.families[:, PREDICTORS].max(initial=1))
    return RowsFit(
        state=np.full(1, NONE),
        start=np.zeros((size, q)),
        coefficients=np.zeros((size + 1, q)),
        nuisance=np.zeros(problem.families[:, SHAPES].max(initial=1)),
        columns=np.zeros(size, dtype=np.int64),
        residuals=np.zeros((n_rows, q)),
        information=np.zeros((q, q)),
        nll=np.zeros(2),
        keys=np.zeros(KEPT if n_rows else 1, dtype=np.int64),
        losses=np.zeros((KEPT if n_rows else 1, 2)),
    )


@subkernel
def contains(bits: IntArray, member: int) -> bool:
    """Whether ``member`` is in the set."""
    return bool((bits[member >> 6] >> (member & 63)) & 1)


@subkernel
def include(bits: IntArray, member: int) -> None:
    """Put ``member`` into the set."""
    bits[member >> 6] |= 1 << (member & 63)


@subkernel
def exclude(bits: IntArray, member: int) -> None:
    """Take ``member`` out of the set."""
    bits[member >> 6] &= ~(1 << (member & 63))


@subkernel
def empty(bits: IntArray) -> None:
    """Take everything out of the set."""
    for word in range(bits.size):
        bits[word] = 0


@subkernel
def row_contains(sets: IntArray, row: int, member: int) -> bool:
    """Whether ``member`` is in the set of one row."""
    return bool((sets[row, member >> 6] >> (member & 63)) & 1)


@subkernel
def overlap(sets: IntArray, row: int, bits: IntArray) -> bool:
    """Whether the set of one row shares a member with another."""
    shared = 0
    for word in range(bits.size):
        shared |= sets[row, word] & bits[word]
    return shared != 0


@subkernel
def first_column(problem: Problem, variable: int, owner: int) -> int:
    """The first column of an owner that a variable chooses; products have one."""
    d = problem.widths.size
    if owner < d:
        return owner * problem.blocks.shape[1]
    first = problem.moments.shape[0] - problem.products.shape[0]
    return int(first + problem.product_starts[variable] + owner - d)


@subkernel
def columns_of(
    problem: Problem, variable: int, owners: IntArray, used: IntArray, count: int, columns: IntArray
) -> int:
    """Write the columns of what a variable has, the first ``used[i]`` of ``owners[i]``; returns how many."""
    m = 0
    for i in range(count):
        first = first_column(problem, variable, owners[i])
        for a in range(used[i]):
            columns[m] = first + a
            m += 1
    return m


@subkernel
def include_product(problem: Problem, variable: int, owner: int, bits: IntArray) -> None:
    """Put the two parents of a product into the set."""
    product = problem.product_starts[variable] + owner - problem.widths.size
    include(bits, problem.products[product, 0])
    include(bits, problem.products[product, 1])


@subkernel
def allow_products(problem: Problem, variable: int, allowed: IntArray) -> None:
    """Allow the products of two parents that are."""
    first, d = problem.product_starts[variable], problem.widths.size
    for product in range(first, problem.product_starts[variable + 1]):
        pair = problem.products[product]
        if contains(allowed, pair[0]) and contains(allowed, pair[1]):
            include(allowed, d + product - first)


@subkernel
def name_missed(problem: Problem, variable: int, allowed: IntArray, missed: IntArray) -> None:
    """Put those who keep products from being allowed in the place of the products."""
    first, d = problem.product_starts[variable], problem.widths.size
    for product in range(first, problem.product_starts[variable + 1]):
        owner = d + product - first
        if contains(missed, owner):
            exclude(missed, owner)
            for side in range(2):
                if not contains(allowed, problem.products[product, side]):
                    include(missed, problem.products[product, side])


@subkernel
def keep(problem: Problem, arena: TreeArena, buffers: WalkBuffers, node: int) -> None:
    """Note the shrink result at a node, which is in the buffers."""
    owners, used, kept, stops = buffers.owners, buffers.used, arena.kept, problem.stops
    words = arena.better.shape[1]
    for i in range(used.size):
        owner, place = owners[i], 1
        if used[i] == 0:
            continue
        while owner < problem.widths.size and stops[owner, place - 1] < used[i]:
            place += 1
        for bit in range(3):
            kept[node, bit * words + (owner >> 6)] |= ((place >> bit) & 1) << (owner & 63)


@subkernel
def recall(problem: Problem, arena: TreeArena, buffers: WalkBuffers, node: int) -> int:
    """Write the shrink result at a node to the buffers; returns how many owners it has."""
    owners, used, words = buffers.owners, buffers.used, arena.better.shape[1]
    count = 0
    for owner in range(used.size):
        place = 0
        for bit in range(3):
            place |= ((arena.kept[node, bit * words + (owner >> 6)] >> (owner & 63)) & 1) << bit
        used[owner] = 0
        if place > 0:
            owners[count] = owner
            used[count] = problem.stops[owner, place - 1] if owner < problem.widths.size else 1
            count += 1
    return count


@subkernel
def is_required(required: BoolArray, owner: int, variable: int) -> bool:
    """Whether a parent of a variable may not leave. Of a loop's locals: to look into a problem takes longer."""
    return required.size > 0 and bool(required[owner, variable])


@kernel
def walk_scale(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    target: int,
) -> int:
    """Node at which the search for ``target`` ends, growing the tree on the way; NO_ROOM when room runs out.

    From the root, as long as some parent among ``buffers.before`` improves, the walk goes to the child of the
    best one. Most children are there from earlier walks, and finding them takes no arithmetic; others grow. The
    invariant is that a child and the set of those better than it depend on the steps above it alone, and not on
    the walk that made it: so any two walks with the same predecessors end at the same node.

    ``buffers.missed`` collects every parent that was better than the step taken, or improved at the end, without
    being allowed: any other newcomer among the predecessors leaves the walk as it is.
    """
    links, better, improving = arena.links, arena.better, arena.improving
    allowed, missed, taken = buffers.allowed, buffers.missed, buffers.taken
    for word in range(missed.size):
        allowed[word] = buffers.before[word]
        missed[word] = 0
    if problem.allowed.size > 0:
        for word in range(missed.size):
            allowed[word] &= problem.allowed[problem.variables[target], word]
    variable = problem.variables[target]
    has_products = problem.product_starts[variable] < problem.product_starts[variable + 1]
    if has_products:
        allow_products(problem, variable, allowed)
    path.counts[0] = NONE
    node = target
    depth = 0
    while True:
        child = links[node, CHILD]
        while child >= 0 and not contains(allowed, links[child, OWNER]):
            child = links[child, SIBLING]
        if child < 0 or overlap(better, child, allowed):
            if links[node, CHILD] != UNKNOWN and not overlap(improving, node, allowed):
                break
            child = call_address(addresses.expand, addresses, problem, arena, path, buffers, target, node, depth)
            if child == NO_ROOM:
                return NO_ROOM
            if child < 0:
                break
        for word in range(missed.size):
            missed[word] |= better[child, word]
        taken[depth] = child
        depth += 1
        node = child
    for word in range(missed.size):
        missed[word] |= improving[node, word]
    if has_products:
        name_missed(problem, variable, allowed, missed)
    taken[depth] = NONE
    if np.isnan(arena.scores[node, 0]):
        call_address(addresses.shrink, addresses, problem, arena, buffers, target, node)
    return node


@kernel
def walk(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    variable: int,
) -> int:
    """Node at which the search for a variable ends on its likeliest scale; NO_ROOM when room runs out.

    Its tree on each scale is walked. What any of these walks took or missed is among ``buffers.missed``.
    """
    missed, relevant, taken = buffers.missed, buffers.relevant, buffers.taken
    first, last = problem.scales[variable], problem.scales[variable + 1]
    nats_per_dof = 0.5 * problem.penalty_per_dof / (problem.n_rows * problem.share)
    empty(relevant)
    best = -1
    least = np.inf
    for target in range(first - 1, last):
        if target < first:  # the scale that it has as a parent comes first
            target = variable
        end = call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
        if end < 0:
            return end
        loss = arena.scores[end, 0] + nats_per_dof * arena.scores[end, 1]
        if best < 0 or loss < least:
            best = end
            least = loss
        if first < last:
            for word in range(relevant.size):
                relevant[word] |= missed[word]
            i = 0
            while taken[i] != NONE:
                owner = arena.links[taken[i], OWNER]
                if owner < problem.widths.size:
                    include(relevant, owner)
                else:
                    include_product(problem, variable, owner, relevant)
                i += 1
    if first < last:
        for word in range(relevant.size):
            missed[word] = relevant[word]
    return best
