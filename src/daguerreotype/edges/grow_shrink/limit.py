"""Limit on the number of parents: the best few of those that a grow-shrink search ended with."""

import numpy as np

from daguerreotype._lib.numba import call_address, kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.newton import predictors
from daguerreotype.edges.grow_shrink.parent_sets import loss_of_columns
from daguerreotype.edges.grow_shrink.problem import GAUSSIAN, Problem
from daguerreotype.edges.grow_shrink.shrink import collect_parents
from daguerreotype.edges.grow_shrink.tree import NONE, OWNER, Addresses, TreeArena, WalkBuffers

ROUNDING = 1e-9  # share of a loss that an exchange must gain, so that rounding cannot go round in circles


@subkernel
def is_required(problem: Problem, target: int, owner: int) -> bool:
    """Whether a parent of a target may not leave."""
    return problem.required.size > 0 and bool(problem.required[owner, problem.variables[target]])


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
    """Leave out the parent that costs least, one after the other, until no more than ``most`` are left."""
    owners, used = buffers.owners, buffers.used
    left = 0
    for i in range(count):
        left += used[i] > 0
    while left > most:
        least, choice = np.inf, -1
        for i in range(count):
            had = used[i]
            if had > 0 and not is_required(problem, target, owners[i]):
                used[i] = 0
                loss = loss_of_columns(addresses, problem, buffers, target, q, scores)
                used[i] = had
                if loss < least or choice < 0:
                    least, choice = loss, i
        used[choice] = 0
        left -= 1


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
    """Leave parents out, or put one that was grown in the place of one, while that gains; returns the loss."""
    owners, used = buffers.owners, buffers.used
    loss = loss_of_columns(addresses, problem, buffers, target, q, scores)
    while problem.families[target] == GAUSSIAN:  # discrete targets take a fit by rows for each
        least, leaves, enters = loss - ROUNDING * (1.0 + abs(loss)), -1, -1
        for i in range(count):
            had = used[i]
            if had == 0 or is_required(problem, target, owners[i]):
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
    that gains; the likelier end counts, each of its parents as a line or a curve. A search that ends within the
    limit stays as it is. Writes the parents to ``buffers``, and their excess and dof to the arena; returns how
    many there are.
    """
    owners, used, taken = buffers.owners, buffers.used, buffers.taken
    most = problem.max_parents[problem.variables[target]]
    left = 0
    for i in range(used.size):
        left += used[i] > 0
    if left <= most:
        return left
    q = predictors(problem, target) if problem.families[target] != GAUSSIAN else int(np.int64(1))
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
    left = 0
    for i in range(used.size):
        used[i] = 0
        if i < count and is_required(problem, target, owners[i]):
            used[i] = grown[i]
            left += 1
    step = 0
    while taken[step] != NONE and left < most:
        for i in range(count):
            if owners[i] == arena.links[taken[step], OWNER] and used[i] == 0:
                used[i] = grown[i]
                left += 1
        step += 1
    forward = exchange(addresses, problem, buffers, target, q, count, grown, scores)
    left = 0
    for i in range(count):
        if (used[i] if forward < backward else best[i]) > 0:
            owners[left] = owners[i]
            left += 1
    call_address(addresses.choose_shapes, addresses, problem, buffers, target, left, scores)
    arena.scores[node, 0] = scores[0]
    arena.scores[node, 1] = scores[1]
    return left
