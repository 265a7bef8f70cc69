"""A graph of sets from lists, as a chain changes it: parents and children in bits, who descends from whom."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.bits import from_bits
from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.grow_shrink.tree import contains
from daguerreotype.posterior.sets import SetLists


class ChainState(NamedTuple):
    """Where a chain is, and what it has seen.

    Attributes
    ----------
    chosen : array of shape (d,)
        The set that each node has.
    parents, children : arrays of shape (d, words)
        The same as sets of bits.
    random : array of shape (1,)
        State of the generator of random numbers.
    mass : array of shape (m,)
        Sum over sweeps of the probability of each set given the rest of the graph.
    ancestors : array of shape (d, d)
        In how many of the kept graphs i is an ancestor of j.
    counts : array of shape (4,)
        Sweeps so far, graphs kept, reversals tried and accepted.
    """

    chosen: IntArray
    parents: IntArray
    children: IntArray
    random: npt.NDArray[np.uint64]
    mass: FloatArray
    ancestors: IntArray
    counts: IntArray


def new_chain(lists: SetLists, chosen: IntArray, seed: int) -> ChainState:
    """A chain that begins at the graph of the chosen sets."""
    d, words = lists.starts.size - 1, lists.bits.shape[1]
    parents = lists.bits[chosen].copy()
    children = np.zeros((d, words), dtype=np.int64)
    for node, members in enumerate(from_bits(parents, d)):
        for parent in np.flatnonzero(members):
            children[parent, node >> 6] |= np.int64(1) << np.int64(node & 63)
    return ChainState(
        chosen=np.array(chosen, dtype=np.int64),
        parents=parents,
        children=children,
        random=np.array([seed], dtype=np.uint64),
        mass=np.zeros(lists.losses.size),
        ancestors=np.zeros((d, d), dtype=np.int64),
        counts=np.zeros(4, dtype=np.int64),
    )


class Room(NamedTuple):
    """Scratch space of a chain.

    Attributes
    ----------
    found : array of shape (words,)
        A set of nodes.
    waiting : array of shape (d,)
        Nodes whose neighbours are still to be looked at.
    without, beside : arrays of shape (d,)
        The set that every node has without the one that is moved, and with it.
    costs, shares : arrays of shape (d,)
        What it costs that a node cannot be a child of the one that is moved; how probably it is, where it can.
    log_shares : array of shape (d, 2)
        Logarithms of how probably it is, and is not.
    losses : array of shape (m,)
        What the sets of one node lose.
    ancestors : array of shape (d, words)
        Those of nodes that are known so far, each among its own.
    known : array of shape (d,)
        Whose these are.
    """

    found: IntArray
    waiting: IntArray
    without: IntArray
    beside: IntArray
    costs: FloatArray
    shares: FloatArray
    log_shares: FloatArray
    losses: FloatArray
    ancestors: IntArray
    known: BoolArray


def new_room(lists: SetLists) -> Room:
    """Scratch space for chains over these lists."""
    d, words = lists.starts.size - 1, lists.bits.shape[1]
    found = np.zeros(words, dtype=np.int64)
    waiting, without, beside = np.zeros((3, d), dtype=np.int64)
    costs, shares = np.zeros((2, d))
    ancestors, known = np.zeros((d, words), dtype=np.int64), np.zeros(d, dtype=np.bool_)
    losses = np.zeros(int(np.diff(lists.starts).max()))
    return Room(found, waiting, without, beside, costs, shares, np.zeros((d, 2)), losses, ancestors, known)


@subkernel
def set_parents(state: ChainState, node: int, bits: IntArray) -> None:
    """Give ``node`` other parents."""
    parents, children = state.parents, state.children
    for word in range(bits.size):
        changed = parents[node, word] ^ bits[word]
        parents[node, word] = bits[word]
        bit = 0
        while changed != 0 and bit < 64:
            if (changed >> bit) & 1:
                changed ^= 1 << bit
                children[64 * word + bit, node >> 6] ^= 1 << (node & 63)
            bit += 1


@subkernel
def find_descendants(children: IntArray, node: int, found: IntArray, waiting: IntArray) -> None:
    """Write the set of ``node`` and all its descendants."""
    for word in range(found.size):
        found[word] = 0
    found[node >> 6] |= 1 << (node & 63)
    waiting[0] = node
    count = 1
    while count > 0:
        count -= 1
        at = waiting[count]
        for word in range(found.size):
            new = children[at, word] & ~found[word]
            found[word] |= new
            bit = 0
            while new != 0 and bit < 64:
                if (new >> bit) & 1:
                    new ^= 1 << bit
                    waiting[count] = 64 * word + bit
                    count += 1
                bit += 1


@subkernel
def find_ancestors(parents: IntArray, bits: IntArray, room: Room) -> None:
    """Write a set and all ancestors of its members to ``room.found``; those of each node are made once."""
    d, words = parents.shape
    found, known = room.found, room.known
    for w in range(words):
        found[w] = 0
    for node in range(d):
        if contains(bits, node):
            if not known[node]:
                find_descendants(parents, node, room.ancestors[node], room.waiting)  # against the arrows
                known[node] = True
            for w in range(words):
                found[w] |= room.ancestors[node, w]


@kernel
def add_ancestors(bits: IntArray, weight: float, ancestors: FloatArray) -> int:
    """Add a weight wherever i is an ancestor of j in the graph of parents (d, words); returns d."""
    d, words = bits.shape
    found = np.zeros(words, dtype=np.int64)
    waiting = np.empty(d, dtype=np.int64)
    for node in range(d):
        find_descendants(bits, node, found, waiting)  # against the arrows
        for other in range(d):
            if other != node and contains(found, other):
                ancestors[other, node] += weight
    return d
