"""Queries of grow-shrink trees: scores of many rankings, and of every position of one variable."""

from functools import cache

import numpy as np

from daguerreotype._lib.numba import address_of, call_address, kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.grow import condition_on, expand, find_steps
from daguerreotype.edges.grow_shrink.likelihood import maximise
from daguerreotype.edges.grow_shrink.parent_sets import choose_shapes
from daguerreotype.edges.grow_shrink.problem import Problem, new_problem
from daguerreotype.edges.grow_shrink.shrink import eliminate, shrink
from daguerreotype.edges.grow_shrink.tree import (
    Addresses,
    CholeskyRows,
    TreeArena,
    WalkBuffers,
    contains,
    empty,
    exclude,
    include,
    new_arena,
    new_buffers,
    new_path,
    shrink_at,
    walk,
    walk_scale,
)
from daguerreotype.edges.price import Price


@cache
def walk_addresses(discrete: bool = False, limited: bool = False) -> Addresses:
    """Where the kernels of a walk are. The data of all problems have the types of those of a single column."""
    problem = new_problem(np.eye(1), np.ones(1, dtype=np.int64), 1, Price())
    arena, path, buffers = new_arena(1, 1), new_path(problem), new_buffers(problem)
    nowhere = Addresses(*([0] * len(Addresses._fields)))
    addresses = nowhere._replace(
        eliminate=address_of(eliminate, problem, buffers, 0, 0, True, np.zeros(2)),
        shrink=address_of(shrink, nowhere, problem, arena, buffers, 0, 0),
        condition_on=address_of(
            condition_on, problem.moments, path.rows, path.within, path.with_target, 0, 1, 0, 0, True
        ),
        find_steps=address_of(find_steps, nowhere, problem, path, buffers, 0),
        choose_shapes=address_of(choose_shapes, nowhere, problem, buffers, 0, 0, np.zeros(2)),
    )
    if discrete:
        from daguerreotype.edges.grow_shrink.discrete import find_likely, fit_given, shrink_likely

        addresses = addresses._replace(
            maximise=address_of(maximise, problem, buffers.fit, 0, 0),
            fit_columns=address_of(fit_given, addresses, problem, buffers, 0, 0),
            find_likely=address_of(find_likely, addresses, problem, path, buffers, 0, 0),
            shrink_likely=address_of(shrink_likely, addresses, problem, arena, buffers, 0, 0),
        )
    if limited:
        from daguerreotype.edges.grow_shrink.limit import limit_parents

        addresses = addresses._replace(
            limit_parents=address_of(limit_parents, addresses, problem, arena, buffers, 0, 0)
        )
    return addresses._replace(
        expand=address_of(expand, addresses, problem, arena, path, buffers, 0, 0, 0),
        walk_scale=address_of(walk_scale, addresses, problem, arena, path, buffers, 0),
        walk=address_of(walk, addresses, problem, arena, path, buffers, 0),
    )


@kernel
def walk_many(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    ranks: IntArray,
    rows: IntArray,
    nodes: IntArray,
    scores: FloatArray,
    start: int,
    wants_parents: bool,
) -> int:
    """Excess and dof of every node in its row of ``ranks``, from ``start`` on; how many are done in the end.

    A third column of ``scores`` is told where the walks end. ``wants_parents`` leaves the parents of the last node
    in the buffers.
    """
    before = buffers.before
    for i in range(start, nodes.size):
        node = nodes[i]
        rank = ranks[rows[i], node]
        empty(before)
        for j in range(ranks.shape[1]):
            before[j >> 6] |= int(ranks[rows[i], j] < rank) << (j & 63)
        end = call_address(addresses.walk, addresses, problem, arena, path, buffers, node)
        if end < 0:
            return i
        if wants_parents:
            target = buffers.chosen[0]
            if problem.scales[node] < problem.scales[node + 1]:  # the last walk was on another scale
                call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
            shrink_at(addresses, problem, arena, buffers, target, end)
        scores[i, 0] = arena.scores[end, 0]
        scores[i, 1] = arena.scores[end, 1]
        if scores.shape[1] > 2:
            scores[i, 2] = end
    return int(nodes.size)


@kernel
def walk_target(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    predecessors: IntArray,
    target: int,
) -> int:
    """Node at which the search for a variable on one scale ends, its parents in the buffers; or NO_ROOM."""
    empty(buffers.before)
    for i in range(predecessors.size):
        include(buffers.before, predecessors[i])
    end = call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
    if end >= 0:
        shrink_at(addresses, problem, arena, buffers, target, end)
    return int(end)


@kernel
def walk_moves(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    moved: int,
    others: IntArray,
    scores: FloatArray,
) -> int:
    """Excess and dof for every position of ``moved`` and either side of it; how many are done in the end.

    Row q of ``scores`` (d, 3, 2): ``moved`` with q of the ``others`` before it; then others[q] without ``moved``
    before it, and with it. A walk is made again only if the newcomer is among those that the last one missed.
    """
    before, missed = buffers.before, buffers.missed
    end = -1
    empty(before)
    for q in range(others.size + 1):
        if q > 0:
            include(before, others[q - 1])
        if q == 0 or contains(missed, others[q - 1]):
            end = call_address(addresses.walk, addresses, problem, arena, path, buffers, moved)
            if end < 0:
                return 0
        scores[q, 0, 0] = arena.scores[end, 0]
        scores[q, 0, 1] = arena.scores[end, 1]
    empty(before)
    for q in range(others.size):
        for side in range(1, 3):
            if side == 1 or contains(missed, moved):
                if side == 2:
                    include(before, moved)
                end = call_address(addresses.walk, addresses, problem, arena, path, buffers, others[q])
                if end < 0:
                    return q
            scores[q, side, 0] = arena.scores[end, 0]
            scores[q, side, 1] = arena.scores[end, 1]
        exclude(before, moved)
        include(before, others[q])
    return int(others.size + 1)
