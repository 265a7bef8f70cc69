"""What can a search ask the trees? One fit, what many fits of rankings score, or every place of one variable."""

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.grow import Path, Problem
from daguerreotype.edges.grow_shrink.shrink import shrink
from daguerreotype.edges.grow_shrink.tree import (
    Pools,
    Walker,
    contains,
    cost_in_dof,
    exclude,
    include,
    may_use,
    parents_of,
    walk,
)


@kernel
def walk_once(
    problem: Problem, pools: Pools, path: Path, walker: Walker, target: int, predecessors: IntArray
) -> tuple[int, IntArray, IntArray]:
    """End of the walk among ``predecessors`` (NONE: no room), and the columns used of each parent."""
    walker.before[:] = 0
    for predecessor in predecessors:
        include(walker.before, predecessor)
    may_use(problem, walker, target)
    end = walk(problem, pools, path, walker, target)
    owners, used = parents_of(problem, pools, walker, target)
    if end >= 0 and cost_in_dof(problem, used) != pools.dof[end]:
        shrink(problem, target, owners, used)  # rarely asked for: cheaper to repeat than to store
    return end, owners, used


@kernel
def walk_many(
    problem: Problem,
    pools: Pools,
    path: Path,
    walker: Walker,
    ranks: IntArray,
    rows: IntArray,
    nodes: IntArray,
    table: FloatArray,
    start: int,
) -> int:
    """Variance and dof of every node in its row of ``ranks``, from ``start`` on; how many are done in the end."""
    before = walker.before
    for i in range(start, nodes.size):
        rank = ranks[rows[i], nodes[i]]
        before[:] = 0
        for j in range(ranks.shape[1]):
            before[j >> 6] |= int(ranks[rows[i], j] < rank) << (j & 63)
        may_use(problem, walker, nodes[i])
        end = walk(problem, pools, path, walker, nodes[i])
        if end < 0:
            return i
        table[i, 0], table[i, 1] = pools.variance[end], pools.dof[end]
    return int(nodes.size)


@kernel
def walk_moves(
    problem: Problem,
    pools: Pools,
    path: Path,
    walker: Walker,
    moved: int,
    others: IntArray,
    own: FloatArray,
    around: FloatArray,
) -> bool:
    """Variance and dof for every position of ``moved`` and either side of it; False: no room."""
    before, missed = walker.before, walker.missed
    before[:] = 0
    end = -1
    for q in range(others.size + 1):
        if q > 0:
            include(before, others[q - 1])
        if q == 0 or contains(missed, others[q - 1]):  # otherwise the newcomer changes nothing
            may_use(problem, walker, moved)
            end = walk(problem, pools, path, walker, moved)
            if end < 0:
                return False
        own[q, 0], own[q, 1] = pools.variance[end], pools.dof[end]
    before[:] = 0
    for i in range(others.size):
        for side in range(2):
            if side == 0 or contains(missed, moved):
                if side == 1:
                    include(before, moved)
                may_use(problem, walker, others[i])
                end = walk(problem, pools, path, walker, others[i])
                if end < 0:
                    return False
            around[side, i, 0], around[side, i, 1] = pools.variance[end], pools.dof[end]
        exclude(before, moved)
        include(before, others[i])
    return True
