"""How does a search walk a grow-shrink tree, and how does the tree grow under its feet?

A tree node is a list of parents in the order they were added. It stores the set of parents that would
improve BIC next and, in its children, the steps that some walk has taken from it, each with the set of the
better ones. A walk takes the best step that is allowed: the first child whose parent is allowed, if no
better step is. It ends where no improving parent is allowed, at the node's shrink result. Sets are rows of
bits, so that asking costs d / 64 operations, and no node needs more than a few words of memory per 64
variables or has its steps sorted.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.grow import (
    BEND,
    LINEAR,
    Path,
    Problem,
    Steps,
    add,
    begin_required,
    find_steps,
)
from daguerreotype.edges.grow_shrink.shrink import shrink

NONE, UNKNOWN = -1, -2
OWNER, KIND, CHILD, SIBLING = 0, 1, 2, 3


class Pools(NamedTuple):
    """The trees of all targets, flat, with spare room at the end. Nodes 0 to d - 1 are the roots.

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
    variance, dof : arrays over nodes
        The shrink result; variance is nan until a walk first ends here.
    """

    size: IntArray
    links: npt.NDArray[np.int32]
    better: IntArray
    improving: IntArray
    variance: FloatArray
    dof: FloatArray


class Walker(NamedTuple):
    """Scratch space of a walk.

    Attributes
    ----------
    before, allowed, missed : arrays of shape (words,)
        Predecessors; those that may be used; parents that would have changed the last walk, had they been
        allowed.
    taken, depth : arrays of shape (2 d,) and (1,)
        The nodes that the last walk visited below the root, and how many.
    found : Steps
        Room for the improving steps of one node.
    """

    before: IntArray
    allowed: IntArray
    missed: IntArray
    taken: IntArray
    depth: IntArray
    found: Steps


@kernel
def cost_in_dof(problem: Problem, used: IntArray) -> float:
    """Columns in use, and what their owners cost beside them in units of a column."""
    cost = 0.0
    for i in range(used.size):
        if used[i] > 0:
            cost += used[i] + problem.entry / problem.price
    return cost


@kernel
def contains(bits: IntArray, member: int) -> bool:
    """Whether ``member`` is in the set."""
    return bool((bits[member >> 6] >> (member & 63)) & 1)


@kernel
def include(bits: IntArray, member: int) -> None:
    """Put ``member`` into the set."""
    bits[member >> 6] |= 1 << (member & 63)


@kernel
def exclude(bits: IntArray, member: int) -> None:
    """Take ``member`` out of the set."""
    bits[member >> 6] &= ~(1 << (member & 63))


@kernel
def overlap(bits: IntArray, others: IntArray) -> bool:
    """Whether two sets share a member."""
    shared = 0
    for word in range(bits.size):
        shared |= bits[word] & others[word]
    return shared != 0


@kernel
def merge(bits: IntArray, others: IntArray) -> None:
    """Put all ``others`` into the set."""
    for word in range(bits.size):
        bits[word] |= others[word]


@kernel
def branch(pools: Pools, found: Steps, count: int, node: int, allowed: IntArray) -> int:
    """Note what improves at ``node`` and give it the child of the best allowed step; NONE: there is none."""
    if pools.links[node, CHILD] == UNKNOWN:
        pools.links[node, CHILD] = NONE
    best = -1
    for i in range(count):
        include(pools.improving[node], found.owners[i])
        if contains(allowed, found.owners[i]) and (best < 0 or found.gains[i] > found.gains[best]):
            best = i  # owners ascend: ties go to the smaller one
    if best < 0:
        return NONE
    new, owner = int(pools.size[0]), found.owners[best]
    pools.size[0] = new + 1
    pools.links[new, OWNER], pools.links[new, KIND] = owner, found.kinds[best]
    for i in range(count):
        if found.gains[i] > found.gains[best] or (found.gains[i] == found.gains[best] and i < best):
            include(pools.better[new], found.owners[i])
    before, after = NONE, pools.links[node, CHILD]
    while after >= 0 and not contains(pools.better[after], owner):
        before, after = after, pools.links[after, SIBLING]
    pools.links[new, SIBLING] = after
    if before < 0:
        pools.links[node, CHILD] = new
    else:
        pools.links[before, SIBLING] = new
    return new


@kernel
def parents_of(problem: Problem, pools: Pools, walker: Walker, target: int) -> tuple[IntArray, IntArray]:
    """Owners that the last walk began with and added, ascending, and how many columns of each."""
    depth = walker.depth[0]
    room = depth + problem.required.shape[0]
    owners = np.empty(room, dtype=np.int64)
    used = np.empty(room, dtype=np.int64)
    count = 0
    for candidate in range(problem.required.shape[0]):
        if problem.required[candidate, target]:
            owners[count], used[count] = candidate, 1
            count += 1
    for i in range(depth):
        node = walker.taken[i]
        owner = np.int64(pools.links[node, OWNER])
        columns = 1 if pools.links[node, KIND] == LINEAR else problem.widths[owner]
        spot = count
        while spot > 0 and owners[spot - 1] >= owner:
            spot -= 1
        if pools.links[node, KIND] != BEND:
            for j in range(count, spot, -1):
                owners[j], used[j] = owners[j - 1], used[j - 1]
            count += 1
        owners[spot], used[spot] = owner, columns
    return owners[:count], used[:count]


@kernel
def may_use(problem: Problem, walker: Walker, target: int) -> None:
    """Allow the predecessors that may be parents of ``target``."""
    for word in range(walker.before.size):
        walker.allowed[word] = walker.before[word]
    if problem.allowed.size > 0:
        for word in range(walker.before.size):
            walker.allowed[word] &= problem.allowed[target, word]


@kernel
def walk(problem: Problem, pools: Pools, path: Path, walker: Walker, target: int) -> int:
    """Node at which the search for ``target`` ends, growing the tree on the way; NONE when room runs out."""
    allowed, missed, taken = walker.allowed, walker.missed, walker.taken
    missed[:] = 0
    walker.depth[0] = 0
    node, depth = target, 0
    known, n_rows = -1, 0  # steps that ``path`` has taken, and its rows
    while True:
        child = pools.links[node, CHILD]
        while child >= 0 and not contains(allowed, pools.links[child, OWNER]):
            child = pools.links[child, SIBLING]
        if child < 0 or overlap(pools.better[child], allowed):
            if pools.links[node, CHILD] != UNKNOWN and not overlap(pools.improving[node], allowed):
                break
            most = depth * problem.blocks.shape[1] + problem.required.shape[0]  # rows
            if pools.size[0] == pools.links.shape[0] or most > path.rows.shape[0]:
                return NONE
            if known < 0:
                same = path.nodes[0] == target
                n_rows = begin_required(problem, path, target, same)
                if not same:
                    path.nodes[0], path.nodes[1] = target, NONE
                known = 0
            for i in range(known, depth):
                at = taken[i]
                same = path.nodes[i + 1] == at
                n_rows = add(problem, path, n_rows, target, pools.links[at, OWNER], pools.links[at, KIND], same)
                if not same:
                    path.nodes[i + 1], path.nodes[i + 2] = at, NONE
            known = depth
            count = find_steps(problem, path, target, walker.found)
            child = branch(pools, walker.found, count, node, allowed)
            if child < 0:
                break
        merge(missed, pools.better[child])
        taken[depth] = child
        depth += 1
        node = child
    merge(missed, pools.improving[node])
    walker.depth[0] = depth
    if np.isnan(pools.variance[node]):
        owners, used = parents_of(problem, pools, walker, target)
        pools.variance[node] = shrink(problem, target, owners, used)
        pools.dof[node] = cost_in_dof(problem, used)
    return node
