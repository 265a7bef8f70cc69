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
from daguerreotype.edges.grow_shrink.problem import PREDICTORS, SHAPES, Problem
from daguerreotype.noise.newton import RowsFit

NONE, UNKNOWN, NO_ROOM = -1, -2, -3
OWNER, KIND, CHILD, SIBLING = 0, 1, 2, 3
# Kinds of step: add an owner's first column, add all of them, or add all but the first to a linear parent.
LINEAR, BLOCK, NONLINEAR = 0, 1, 2
KEPT = 2**16  # likelihoods of discrete targets that are kept


class TreeArena(NamedTuple):
    """The trees of all targets in flat arrays, with spare room at the end. The first nodes are the roots.

    Attributes
    ----------
    size : array of shape (1,)
        Number of nodes so far.
    links : array of shape (nodes, 4)
        OWNER and KIND: the parent that the step to this node adds, and which of its columns. CHILD: the best
        step taken from here so far; SIBLING: the next best one from the node above. NONE ends the list,
        UNKNOWN says that the node was never looked at. Side by side, because a walk waits for memory.
    better, improving : arrays of shape (nodes, words)
        Parents whose step would have come before the one to this node; parents that improve from here.
    scores : array of shape (nodes, 2)
        Excess (negative log-likelihood beyond that of a standard normal variable) and degrees of freedom of the
        shrink result; nan until a walk first ends here.
    """

    size: IntArray
    links: npt.NDArray[np.int32]
    better: IntArray
    improving: IntArray
    scores: FloatArray


class CholeskyRows(NamedTuple):
    """Second moments given the parents added so far: the state of one walk down a tree.

    Attributes
    ----------
    rows : array of shape (capacity, d * stride)
        Rows of the Cholesky factor of the moments, one per added column, over all columns: their covariances
        with the added columns, the latter made orthonormal one by one.
    within : array of shape (d * stride, stride)
        What is left of the covariance of each column with the columns of its owner.
    with_target : array of shape (d * stride,)
        What is left of the covariance of each column with the target.
    used : array of shape (d,)
        How many columns of each owner were added.
    nodes : array of shape (2 d + 2,)
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
    """Improving steps from one set of parents, arrays of shape (d,): gains, penalties, whom a step adds, and how.

    A gain is what the step adds to  n log(variance),  or to  2 n nll,  less its penalty.
    """

    gains: FloatArray
    penalties: FloatArray
    owners: IntArray
    kinds: IntArray


class WalkBuffers(NamedTuple):
    """Scratch space of a walk.

    Attributes
    ----------
    before, allowed, missed : arrays of shape (words,)
        Predecessors; those that may be used; parents that would have changed the last walk, had they been
        allowed.
    relevant : array of shape (words,)
        Parents that the walks of a variable took or missed, on the scales so far.
    taken : array of shape (2 d + 1,)
        The nodes that the last walk visited below the root, to the first NONE.
    steps : Steps
        Room for the improving steps of one node.
    owners, used : arrays of shape (d,)
        Parents at the end of a walk, ascending, and how many columns of each; zero for those that shrinking
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

    Those of discrete targets, of limits, and of what weighs rows, are zero where there are none. ``maximise`` is that of a table of
    those of likelihoods: every array in what walks take is counted at each call, which costs as much as its work.
    """

    condition_on: int
    find_steps: int
    expand: int
    eliminate: int
    shrink: int
    limit_parents: int
    choose_shapes: int
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
    )


def doubled(arena: TreeArena) -> TreeArena:
    """The same trees with twice the room."""
    count = len(arena.links)
    longer = new_arena(2 * count, arena.better.shape[1])
    longer.size[0] = arena.size[0]
    for name in arena._fields[1:]:
        getattr(longer, name)[:count] = getattr(arena, name)
    return longer


def new_path(problem: Problem) -> CholeskyRows:
    """A path without parents, with room for sixteen."""
    d, (columns, stride) = problem.widths.size, problem.blocks.shape
    return CholeskyRows(
        rows=np.zeros((16 * stride, columns)),
        within=np.zeros((columns, stride)),
        with_target=np.zeros(columns),
        used=np.zeros(d, dtype=np.int64),
        nodes=np.full(2 * d + 2, NONE),
        counts=np.zeros(2, dtype=np.int64),
    )


def new_buffers(problem: Problem) -> WalkBuffers:
    """Scratch space for walks among the variables of a problem."""
    d = problem.widths.size
    before, allowed, missed, relevant = np.zeros((4, d // 64 + 1), dtype=np.int64)
    owners, used, step_owners, kinds = np.zeros((4, d), dtype=np.int64)
    gains, penalties = np.zeros((2, d))
    steps, taken = Steps(gains, penalties, step_owners, kinds), np.full(2 * d + 1, NONE)
    weighed = np.zeros(4 * (problem.moments.shape[0] + 4))
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
def penalty_of(problem: Problem, owner: int, used: int, predictors: int) -> float:
    """What the first ``used`` columns of a parent cost a target with so many linear predictors."""
    if used == 0:
        return 0.0
    penalty = problem.penalty_per_dof * predictors * used + problem.penalty_per_parent
    least = problem.least_penalty + 2.0 * predictors * (used - problem.lines[owner])
    return penalty if penalty > least else least


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
            if not problem.own_scale[variable]:
                continue
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
                include(relevant, arena.links[taken[i], OWNER])
                i += 1
    if first < last:
        for word in range(relevant.size):
            missed[word] = relevant[word]
    return best
