"""Best-order search sweeps: every variable of an order moved to its best position, one after the other.

Where a walk ends depends on few predecessors: those that it took, and those that it missed, which would have
changed it. So the state of an order keeps both for every variable, and a turn of ``moved`` walks again only for
those whose walk heeds it; for the others its place changes nothing.
"""

from typing import NamedTuple

import numpy as np

from daguerreotype._lib.numba import borrow, call_address, kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.grow_shrink.problem import Problem
from daguerreotype.edges.grow_shrink.tree import (
    NONE,
    OWNER,
    Addresses,
    CholeskyRows,
    TreeArena,
    WalkBuffers,
    contains,
    empty,
    exclude,
    include,
    include_product,
    row_contains,
)

IMPROVEMENT = 1e-10  # of the loss per row that a move must bring; less is rounding


class OrderState(NamedTuple):
    """An order, and what its variables lose.

    Attributes
    ----------
    order, ranks : arrays of shape (d,)
        Variable at each position, position of each variable.
    terms : array of shape (d,)
        What each variable loses; nan before its first walk.
    heeds, heeded : arrays of shape (d, words)
        Sets of bits: whom the walk of each variable took or missed, and whose walks took or missed it. As matrices
        one is the transpose of the other.
    before : array of shape (d, d), or empty
        Whether i must stand before j.
    own : array of shape (d,)
        Room for what one variable loses at every position.
    """

    order: IntArray
    ranks: IntArray
    terms: FloatArray
    heeds: IntArray
    heeded: IntArray
    before: BoolArray
    own: FloatArray


def new_order_state(order: IntArray, before: BoolArray) -> OrderState:
    """The state of an order that has not been walked yet."""
    d = order.size
    order = np.array(order, dtype=np.int64)
    heeds, heeded = np.zeros((2, d, d // 64 + 1), dtype=np.int64)
    return OrderState(
        order=order,
        ranks=np.argsort(order),
        terms=np.full(d, np.nan),
        heeds=heeds,
        heeded=heeded,
        before=np.ascontiguousarray(before),
        own=np.zeros(d),
    )


@subkernel
def node_score(scores: FloatArray, end: int, penalty_per_dof: float) -> float:
    """What a variable loses whose walk ends at node ``end``."""
    return float(scores[end, 0] + penalty_per_dof * scores[end, 1])


@subkernel
def update_node(
    problem: Problem,
    state: OrderState,
    arena: TreeArena,
    missed: IntArray,
    taken: IntArray,
    node: int,
    term: float,
) -> None:
    """Note the loss of ``node``, and whom its last walk heeds: ``missed``, which is used up, and ``taken``."""
    heeds, heeded = state.heeds, state.heeded
    i = 0
    while taken[i] != NONE:
        owner = arena.links[taken[i], OWNER]
        if owner < problem.widths.size:
            include(missed, owner)
        else:
            include_product(problem, node, owner, missed)
        i += 1
    for word in range(heeds.shape[1]):
        changed = missed[word] ^ heeds[node, word]
        heeds[node, word] = missed[word]
        bit = 0
        while changed != 0 and bit < 64:
            if (changed >> bit) & 1:
                changed ^= 1 << bit
                heeded[64 * word + bit, node >> 6] ^= 1 << (node & 63)
            bit += 1
    state.terms[node] = term


@subkernel
def draw_position(losses: FloatArray, first: int, last: int, n_rows: float, draw: float) -> int:
    """The position, of those from ``first`` to ``last``, that a number between 0 and 1 stands for."""
    least = np.inf
    for q in range(first, last + 1):
        least = min(least, losses[q])
    total = 0.0
    for q in range(first, last + 1):
        total += np.exp(n_rows * (least - losses[q]))
    rest = draw * total
    for q in range(first, last):
        rest -= np.exp(n_rows * (least - losses[q]))
        if rest < 0.0:
            return q
    return last


@kernel
def sweep_some(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    state: OrderState,
    turns: IntArray,
    penalty_per_dof: float,
    n_rows: float,
    draws: FloatArray,
) -> int:
    """Move the variables of ``turns`` to their best positions; how many had their turn before room ran out.

    With ``draws``, one number between 0 and 1 for each turn, they go to position q with probability proportional
    to  exp(-n_rows * loss)  instead.

    First every variable of the order is walked for, unless it was. Then, in a turn of ``moved``, the loss at
    position q is, but for a constant,  own[q] - spared(q):  what ``moved`` loses there, less what the variables
    before it would lose more, had it been before them. Positions count the others alone: ``order`` without
    ``moved``, which stands at ``at``. It may go to those from ``first`` to ``last``. A tie goes to the earlier
    position, and a move must gain more than rounding could. After it the terms and the ``heeds`` of those are
    brought up to date that it touched.
    """
    problem, arena, path, buffers, state = borrow((problem, arena, path, buffers, state))
    before, missed, taken = buffers.before, buffers.missed, buffers.taken
    order, ranks, terms = state.order, state.ranks, state.terms
    d = order.size
    total = 0.0
    empty(before)
    for q in range(d):
        node = order[q]
        if np.isnan(terms[node]):
            end = call_address(addresses.walk, addresses, problem, arena, path, buffers, node)
            if end < 0:
                return 0
            update_node(problem, state, arena, missed, taken, node, node_score(arena.scores, end, penalty_per_dof))
        include(before, node)
    for node in range(d):
        total += terms[node]
    for done in range(turns.size):
        moved = turns[done]
        at = ranks[moved]
        first = 0
        last = d - 1
        if state.before.size > 0:
            for other in range(d):
                if state.before[other, moved] and ranks[other] + 1 > first:
                    first = ranks[other] + 1
                if state.before[moved, other] and ranks[other] - 1 < last:
                    last = ranks[other] - 1
        # All walks of ``moved`` come first: each goes on where the one before it was, which others would forget.
        empty(before)
        own = 0.0
        for q in range(last + 1):
            newcomer = order[q - 1 if q <= at else q] if q > 0 else moved
            if q > 0:
                include(before, newcomer)
            if q == first or (q > first and contains(missed, newcomer)):
                end = call_address(addresses.walk, addresses, problem, arena, path, buffers, moved)
                if end < 0:
                    return done
                own = node_score(arena.scores, end, penalty_per_dof)
            state.own[q] = own
        empty(before)
        best = first
        least = np.inf
        here = 0.0
        spared = 0.0
        for q in range(last + 1):
            if q >= first:
                loss = state.own[q] - spared
                state.own[q] = loss
                if loss < least:
                    best = q
                    least = loss
                if q == at:
                    here = loss
            if q < last:
                other = order[q if q < at else q + 1]
                if q >= first and row_contains(state.heeded, moved, other):
                    if q < at:
                        include(before, moved)
                    end = call_address(addresses.walk, addresses, problem, arena, path, buffers, other)
                    exclude(before, moved)
                    if end < 0:
                        return done
                    changed = node_score(arena.scores, end, penalty_per_dof)
                    spared += changed - terms[other] if q < at else terms[other] - changed
                include(before, other)
        change = least - here
        moves = change < -IMPROVEMENT * (abs(total) if abs(total) > 1.0 else 1.0)
        if draws.size > 0:
            best = draw_position(state.own, first, last, n_rows, draws[done])
            change = state.own[best] - here
            moves = best != at
        if moves:
            total += change
            step = 1 if best > at else -1
            for q in range(at, best, step):
                order[q] = order[q + step]
                ranks[order[q]] = q
            order[best] = moved
            ranks[moved] = best
            empty(before)
            for q in range((at if at > best else best) + 1):
                node = order[q]
                if q >= (at if at < best else best) and (node == moved or row_contains(state.heeded, moved, node)):
                    # A walk that was made before: there is room.
                    end = call_address(addresses.walk, addresses, problem, arena, path, buffers, node)
                    update_node(
                        problem, state, arena, missed, taken, node, node_score(arena.scores, end, penalty_per_dof)
                    )
                include(before, node)
    return int(turns.size)
