"""What is each variable's best place in an order? One pass over all of them, on the trees of every target.

Where a walk ends depends on few predecessors: those that it took, and those that it missed, which would have
changed it. So a standing order keeps both for every variable, and a turn of ``moved`` walks again only for
those whose walk knows of it; for the others its place changes nothing.
"""

from typing import NamedTuple

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import IMPROVEMENT
from daguerreotype.edges.grow_shrink.grow import Path, Problem
from daguerreotype.edges.grow_shrink.tree import (
    OWNER,
    Pools,
    Walker,
    contains,
    exclude,
    include,
    may_use,
    walk,
)


class Standing(NamedTuple):
    """An order, and what its variables lose.

    Attributes
    ----------
    order, ranks : arrays of shape (d,)
        Variable at each position, position of each variable.
    terms : array of shape (d,)
        What each variable loses.
    knows, known : arrays of shape (d, words)
        Sets of bits: whom the walk of each variable took or missed, and whose walks took or missed it.
    before : array of shape (d, d), or empty
        Whether i must stand before j.
    fresh, missed : arrays of shape (words,)
        Room for sets.
    own : array of shape (d,)
        Room for what one variable loses at every position.
    """

    order: IntArray
    ranks: IntArray
    terms: FloatArray
    knows: IntArray
    known: IntArray
    before: BoolArray
    fresh: IntArray
    missed: IntArray
    own: FloatArray


def stand(order: IntArray, before: BoolArray) -> Standing:
    """An order that has not been walked yet."""
    d = order.size
    words = d // 64 + 1
    order = np.array(order, dtype=np.int64)
    return Standing(
        order=order,
        ranks=np.argsort(order),
        terms=np.zeros(d),
        knows=np.zeros((d, words), dtype=np.int64),
        known=np.zeros((d, words), dtype=np.int64),
        before=np.ascontiguousarray(before),
        fresh=np.zeros(words, dtype=np.int64),
        missed=np.zeros(words, dtype=np.int64),
        own=np.zeros(d),
    )


@kernel
def lose(problem: Problem, pools: Pools, path: Path, walker: Walker, target: int, price: float) -> float:
    """What ``target`` loses after those in ``walker.before``; nan when room runs out."""
    may_use(problem, walker, target)
    end = walk(problem, pools, path, walker, target)
    if end < 0:
        return float(np.nan)
    return float(0.5 * np.log(pools.variance[end]) + price * pools.dof[end])


@kernel
def settle(standing: Standing, pools: Pools, walker: Walker, node: int, term: float) -> None:
    """Note the loss of ``node``, and whom its last walk knows of."""
    fresh, knows = standing.fresh, standing.knows[node]
    for word in range(fresh.size):
        fresh[word] = walker.missed[word]
    for i in range(walker.depth[0]):
        include(fresh, pools.links[walker.taken[i], OWNER])
    for word in range(fresh.size):
        changed = fresh[word] ^ knows[word]
        knows[word] = fresh[word]
        bit = 0
        while changed != 0 and bit < 64:
            if (changed >> bit) & 1:
                changed ^= 1 << bit
                standing.known[64 * word + bit, node >> 6] ^= 1 << (node & 63)
            bit += 1
    standing.terms[node] = term


@kernel
def walk_all(problem: Problem, pools: Pools, path: Path, walker: Walker, standing: Standing, price: float) -> bool:
    """Walk for every variable of the order; False: no room."""
    walker.before[:] = 0
    for node in standing.order:
        term = lose(problem, pools, path, walker, node, price)
        if np.isnan(term):
            return False
        settle(standing, pools, walker, node, term)
        include(walker.before, node)
    return True


@kernel
def window(standing: Standing, node: int) -> tuple[int, int]:
    """First and last position that ``node`` may take in the order of the others."""
    first, last = 0, standing.order.size - 1
    if standing.before.size > 0:
        for other in standing.order:
            if standing.before[other, node]:
                first = max(first, standing.ranks[other] + 1)
            if standing.before[node, other]:
                last = min(last, standing.ranks[other] - 1)
    return first, last


@kernel
def best_place(
    problem: Problem, pools: Pools, path: Path, walker: Walker, standing: Standing, moved: int, price: float
) -> tuple[int, float]:
    """First of the best positions of ``moved``, and how much the loss changes there; -1: no room.

    The loss at a position is, but for a constant, that of ``moved`` less what the variables before it would
    lose more, had it been before them.
    """
    order, at, before = standing.order, standing.ranks[moved], walker.before
    first, last = window(standing, moved)
    # All walks of ``moved`` come first: each goes on where the one before it was, which others would forget.
    before[:] = 0
    for q in range(last + 1):
        newcomer = order[q - 1 if q <= at else q] if q > 0 else -1
        if q > 0:
            include(before, newcomer)
        if q == first or (q > first and contains(standing.missed, newcomer)):
            own = lose(problem, pools, path, walker, moved, price)
            if np.isnan(own):
                return -1, 0.0
            for word in range(before.size):
                standing.missed[word] = walker.missed[word]
        if q >= first:
            standing.own[q] = own
    before[:] = 0
    best, least, here, spared = -1, np.inf, 0.0, 0.0
    for q in range(last + 1):
        if q >= first:
            loss = standing.own[q] - spared
            if loss < least:
                best, least = q, loss
            if q == at:
                here = loss
        if q == last:
            break
        other = order[q if q < at else q + 1]
        if q >= first and contains(standing.known[moved], other):
            if q < at:
                include(before, moved)
            changed = lose(problem, pools, path, walker, other, price)
            exclude(before, moved)
            if np.isnan(changed):
                return -1, 0.0
            spared += changed - standing.terms[other] if q < at else standing.terms[other] - changed
        include(before, other)
    return best, least - here


@kernel
def move(
    problem: Problem,
    pools: Pools,
    path: Path,
    walker: Walker,
    standing: Standing,
    moved: int,
    to: int,
    price: float,
) -> None:
    """Put ``moved`` at position ``to``; all walks that this takes have been made before."""
    order, ranks, at = standing.order, standing.ranks, standing.ranks[moved]
    step = 1 if to > at else -1
    for q in range(at, to, step):
        order[q] = order[q + step]
        ranks[order[q]] = q
    order[to] = moved
    ranks[moved] = to
    walker.before[:] = 0
    for q in range(max(at, to) + 1):
        node = order[q]
        if q >= min(at, to) and (node == moved or contains(standing.known[moved], node)):
            settle(standing, pools, walker, node, lose(problem, pools, path, walker, node, price))
        include(walker.before, node)


@kernel
def sweep_some(
    problem: Problem, pools: Pools, path: Path, walker: Walker, standing: Standing, turns: IntArray, price: float
) -> int:
    """Move the variables of ``turns`` to their best positions; how many had their turn before room ran out."""
    total = standing.terms.sum()
    for done in range(turns.size):
        to, change = best_place(problem, pools, path, walker, standing, turns[done], price)
        if to < 0:
            return done
        if change < -IMPROVEMENT * max(1.0, abs(total)):
            move(problem, pools, path, walker, standing, turns[done], to, price)
            total += change
    return int(turns.size)
