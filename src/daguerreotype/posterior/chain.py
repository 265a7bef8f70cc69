r"""A Markov chain over DAGs whose parent sets are taken from lists, with the posterior as its equilibrium.

A graph G gives node j the parents S_j and has the probability

.. math:: P(G) \propto \prod_j e^{-loss_j(S_j)}

if it has no cycle and every S_j is in the list of j, else 0. A sweep gives every node a turn, in random order. A
turn draws the parents of the node; then, with probability 1/2, it moves the node; else, with probability 1/4 of
all turns, it reverses an edge. Each kind of step leaves P as it is, so that any sequence of them does:

- *Parents of a node* (`draw_parents`), a Gibbs step. Given the parents of all others, any set of j's list without
  a descendant of j is possible, with probability  :math:`\propto e^{-loss_j(S)}`.  These probabilities, and not
  the draws, are added up (Rao-Blackwellised): `ChainState.mass`.
- *A node is moved* (`relocate`), a Gibbs step on more at once: its parents and its children are drawn together,
  given all other edges. So it passes any number of others, where all nodes are connected and their order is open.
- *An edge is reversed* (`reverse_edge`), the Metropolis-Hastings step of Grzegorczyk and Husmeier (2008): both
  ends lose their parents, the former cause draws new ones with the effect among them, then the effect draws its
  own. So graphs of one equivalence class are one step apart, which draws of single nodes would have to leave.

Sets of nodes are bits of 64-bit words; losses are in nats of the whole table.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.bits import from_bits
from daguerreotype._lib.numba import borrow, kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.grow_shrink.tree import contains

MOVED, REVERSED = 0.5, 0.25  # shares of the turns that go on with either kind of step
NEGLIGIBLE = 15.0  # nats by which a set is worse than the best possible one, from which on it is not drawn


class SetLists(NamedTuple):
    """The parent sets that nodes may have, the best of each node first.

    Attributes
    ----------
    starts : array of shape (d + 1,)
        Where the list of each node begins and ends.
    bits : array of shape (m, words)
        The sets.
    losses : array of shape (m,)
        What each loses, in nats of the whole table, ascending within a list.
    toggled : array of shape (m, d)
        The set of the same list that has one member more or less; -1 if there is none.
    """

    starts: IntArray
    bits: IntArray
    losses: FloatArray
    toggled: npt.NDArray[np.int32]


class ChainState(NamedTuple):
    """Where a chain is, and what it has seen.

    Attributes
    ----------
    chosen : array of shape (d,)
        The set that each node has: its place in the lists.
    parents, children : arrays of shape (d, words)
        The graph, as the parents and as the children of each node.
    random : array of shape (1,)
        State of the generator of random numbers.
    mass : array of shape (m,)
        Sum over sweeps of the probability of each set given the rest of the graph.
    ancestors : array of shape (d, d)
        In how many of the kept graphs i is an ancestor of j.
    counts : array of shape (2,)
        Sweeps so far, graphs kept.
    """

    chosen: IntArray
    parents: IntArray
    children: IntArray
    random: npt.NDArray[np.uint64]
    mass: FloatArray
    ancestors: IntArray
    counts: IntArray


class Scratch(NamedTuple):
    """Arrays that a chain writes to before it reads them; `relocate` says what those of its own mean.

    Attributes
    ----------
    nodes, avoid : arrays of shape (words,)
        Sets of nodes.
    stack : array of shape (d,)
        Nodes whose neighbours are still to be looked at.
    losses : array of shape (m,)
        What the sets of one node lose, infinite for those that are not possible; then their probabilities.
    bare, joined : arrays of shape (d,)
    costs, shares : arrays of shape (d,)
    ancestors : array of shape (d, words)
        Nodes with all their ancestors, where ``has_ancestors``.
    has_ancestors : array of shape (d,)
    """

    nodes: IntArray
    avoid: IntArray
    stack: IntArray
    losses: FloatArray
    bare: IntArray
    joined: IntArray
    costs: FloatArray
    shares: FloatArray
    ancestors: IntArray
    has_ancestors: BoolArray


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
        counts=np.zeros(2, dtype=np.int64),
    )


def new_scratch(lists: SetLists) -> Scratch:
    """Arrays for a chain over these lists."""
    d, words = lists.starts.size - 1, lists.bits.shape[1]
    nodes, avoid = np.zeros((2, words), dtype=np.int64)
    stack, bare, joined = np.zeros((3, d), dtype=np.int64)
    losses = np.zeros(int(np.diff(lists.starts).max()))
    costs, shares = np.zeros((2, d))
    ancestors = np.zeros((d, words), dtype=np.int64)
    return Scratch(
        nodes, avoid, stack, losses, bare, joined, costs, shares, ancestors, np.zeros(d, dtype=np.bool_)
    )


# ---------------------------------------------------------------------------- sets of nodes, and the graph


@subkernel
def count_members(bits: IntArray) -> int:
    """How many members a set has: every step takes away its lowest bit."""
    count = 0
    for word in range(bits.size):
        rest = bits[word]
        while rest != 0:
            rest &= rest - 1
            count += 1
    return count


@subkernel
def is_possible(bits: IntArray, avoid: IntArray, must: int) -> bool:
    """Whether a set has ``must``, unless that is negative, and none of those to be avoided."""
    for word in range(bits.size):
        if bits[word] & avoid[word]:
            return False
    return must < 0 or bool((bits[must >> 6] >> (must & 63)) & 1)


@subkernel
def set_parents(state: ChainState, node: int, bits: IntArray) -> None:
    """Give ``node`` other parents: whoever is in one of the old and new sets alone wins or loses it as a child."""
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
def find_descendants(children: IntArray, node: int, nodes: IntArray, stack: IntArray) -> None:
    """Write the set of ``node`` and all its descendants to ``nodes``; its ancestors, if given the parents.

    A search in depth: ``nodes`` are those that were met, each once on the ``stack`` (d,) until its own children
    are looked at.
    """
    for word in range(nodes.size):
        nodes[word] = 0
    nodes[node >> 6] |= 1 << (node & 63)
    stack[0] = node
    count = 1
    while count > 0:
        count -= 1
        at = stack[count]
        for word in range(nodes.size):
            new = children[at, word] & ~nodes[word]
            nodes[word] |= new
            bit = 0
            while new != 0 and bit < 64:
                if (new >> bit) & 1:
                    new ^= 1 << bit
                    stack[count] = 64 * word + bit
                    count += 1
                bit += 1


@subkernel
def find_ancestors(parents: IntArray, bits: IntArray, scratch: Scratch) -> None:
    """Write a set and all ancestors of its members to ``scratch.nodes``; those of each node are found once."""
    d, words = parents.shape
    for word in range(words):
        scratch.nodes[word] = 0
    for node in range(d):
        if contains(bits, node):
            if not scratch.has_ancestors[node]:
                find_descendants(parents, node, scratch.ancestors[node], scratch.stack)  # against the arrows
                scratch.has_ancestors[node] = True
            for word in range(words):
                scratch.nodes[word] |= scratch.ancestors[node, word]


# ---------------------------------------------------------------------------- random draws


@subkernel
def uniform(random: npt.NDArray[np.uint64]) -> float:
    """A number between 0 and 1 (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    x = random[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return float((x >> np.uint64(11)) * (1.0 / 9007199254740992.0))


@subkernel
def draw_weighed(lists: SetLists, state: ChainState, node: int, scratch: Scratch, count: int, least: float) -> int:
    r"""One of the first ``count`` sets of a node, by ``scratch.losses`` whose least is given.

    Set c has the probability  :math:`p_c = e^{-l_c} / \sum_k e^{-l_k}`,  which is added to its mass.
    """
    first, total = lists.starts[node], 0.0
    for c in range(count):
        share = 0.0
        if scratch.losses[c] < least + NEGLIGIBLE:
            share = np.exp(least - scratch.losses[c])
        scratch.losses[c] = share
        total += share
    rest = uniform(state.random) * total
    new = -1
    for c in range(count):
        share = scratch.losses[c]
        if share > 0.0:
            state.mass[first + c] += share / total
            if rest >= 0.0:
                new = first + c
            rest -= share
    return int(new)


@subkernel
def total_loss(lists: SetLists, node: int, avoid: IntArray, must: int) -> float:
    r"""The loss of all possible sets of a node together, :math:`-\log \sum_c e^{-l_c}`; infinite if none is."""
    least, total = np.inf, 0.0
    for c in range(lists.starts[node], lists.starts[node + 1]):
        if lists.losses[c] > least + NEGLIGIBLE:
            break
        if is_possible(lists.bits[c], avoid, must):
            if least == np.inf:
                least = lists.losses[c]
            total += np.exp(least - lists.losses[c])
    return float(least - np.log(total)) if total > 0.0 else np.inf


@subkernel
def draw_set(
    lists: SetLists, node: int, avoid: IntArray, must: int, loss: float, random: npt.NDArray[np.uint64]
) -> int:
    """One of the possible sets of a node, each by its share of their total loss, which is given."""
    rest = uniform(random)
    last = -1
    for c in range(lists.starts[node], lists.starts[node + 1]):
        if is_possible(lists.bits[c], avoid, must):
            share = np.exp(loss - lists.losses[c])
            if last >= 0 and share < np.exp(-NEGLIGIBLE):
                break
            last = c
            rest -= share
            if rest <= 0.0:
                break
    return int(last)


# ---------------------------------------------------------------------------- the three kinds of step


@subkernel
def draw_parents(lists: SetLists, state: ChainState, node: int, scratch: Scratch) -> None:
    r"""Draw the parents of a node given those of all others.

    .. math:: P(S_j = S \mid \text{rest}) \propto e^{-loss_j(S)} \; [S \cap de(j) = \emptyset]
    """
    find_descendants(state.children, node, scratch.avoid, scratch.stack)
    none = int(np.int64(-1))
    least, count = np.inf, 0
    for c in range(lists.starts[node], lists.starts[node + 1]):
        loss = lists.losses[c]
        if loss > least + NEGLIGIBLE:
            break
        possible = is_possible(lists.bits[c], scratch.avoid, none)
        if possible and least == np.inf:
            least = loss
        scratch.losses[count] = loss if possible else np.inf
        count += 1
    new = draw_weighed(lists, state, node, scratch, count, least)
    state.chosen[node] = new
    set_parents(state, node, lists.bits[new])


@subkernel
def relocate(lists: SetLists, state: ChainState, moved: int, scratch: Scratch) -> None:
    r"""Take a node out and put it back: draw its parents and its children together, given all other edges.

    Every other node y keeps its parents but for ``moved``: it has either the set ``bare[y]`` without it, or
    ``joined[y]`` with it, of weights  :math:`a_y = e^{-loss(bare)}`  and  :math:`b_y = e^{-loss(joined)}`,  zero
    for a set that is not in the list. With the parents S of ``moved``, exactly those y may be its children that
    are no ancestors of S (nor in S), where the graph is that without ``moved``; each then decides on its own:

    .. math:: P(S) \propto e^{-loss(S)} \prod_{y \in an(S)} a_y \prod_{y \notin an(S)} (a_y + b_y),
              \qquad P(y \text{ is a child} \mid S) = \frac{b_y}{a_y + b_y}.

    Divided by the product of all  :math:`a_y + b_y`,  a set costs  ``costs[y]`` :math:`= \log(1 + b_y / a_y)`  for
    every y among its ancestors; ``shares[y]`` is the probability of being a child. The draw does not depend on
    where the node was before: a Gibbs step.
    """
    d = len(state.parents)
    bare, joined, costs, shares = scratch.bare, scratch.joined, scratch.costs, scratch.shares
    word, bit = moved >> 6, np.int64(1) << np.int64(moved & 63)
    for y in range(d):
        scratch.has_ancestors[y] = False
        costs[y], shares[y] = 0.0, 0.0
        if y == moved:
            continue
        here = state.chosen[y]
        other = int(lists.toggled[here, moved])
        child = contains(state.parents[y], moved)
        bare[y], joined[y] = (other, here) if child else (here, other)
        if bare[y] < 0:  # y must be a child
            costs[y], shares[y] = np.inf, 1.0
        elif joined[y] >= 0:
            gain = lists.losses[bare[y]] - lists.losses[joined[y]]  # log(b / a)
            costs[y] = np.log1p(np.exp(gain)) if gain < NEGLIGIBLE else gain
            shares[y] = 1.0 / (1.0 + np.exp(-gain))
        if child:  # the graph without the node
            state.parents[y, word] &= ~bit
            state.children[moved, y >> 6] &= ~(np.int64(1) << np.int64(y & 63))
    first, least, count = lists.starts[moved], np.inf, 0
    for c in range(first, lists.starts[moved + 1]):
        loss = lists.losses[c]
        if loss > least + NEGLIGIBLE:  # costs only add to it
            break
        find_ancestors(state.parents, lists.bits[c], scratch)
        for y in range(d):
            if contains(scratch.nodes, y) and y != moved:
                loss += costs[y]
        scratch.losses[count] = loss
        least = min(least, loss)
        count += 1
    new = draw_weighed(lists, state, moved, scratch, count, least)
    find_ancestors(state.parents, lists.bits[new], scratch)
    state.chosen[moved] = new
    set_parents(state, moved, lists.bits[new])
    for y in range(d):
        if y != moved:
            child = not contains(scratch.nodes, y) and shares[y] > 0.0 and uniform(state.random) < shares[y]
            state.chosen[y] = joined[y] if child else bare[y]
            if child:
                state.parents[y, word] |= bit
                state.children[moved, y >> 6] |= np.int64(1) << np.int64(y & 63)


@subkernel
def reverse_edge(lists: SetLists, state: ChainState, scratch: Scratch) -> None:
    r"""Try to turn an edge of the graph around, with new parents for both ends.

    An edge i -> j is drawn uniformly from the m of the graph G, and i and j lose their parents. Let
    :math:`Z_i(j)` be the summed  :math:`e^{-loss}`  of the sets of i that contain j and no descendant of i; and
     :math:`Z_j`  that of the sets of j without a descendant of j, once i has its new parents. i draws by the
    first, j by the second. The way back has  :math:`Z_j(i)`  (no parents) and  :math:`Z_i`  (j with its old
    parents). Losses cancel in the acceptance probability of Metropolis and Hastings:

    .. math:: \min\Big(1, \frac{m}{m'} \cdot \frac{Z_i(j) \, Z_j}{Z_j(i) \, Z_i}\Big)

    with m' the edges of the proposal. ``losses`` holds minus the logarithms, in the order in which they are
    computed: Z_j(i), Z_i(j), Z_i, Z_j.
    """
    d, words = state.parents.shape
    avoid, none = scratch.avoid, int(np.int64(-1))
    n_edges = 0
    for node in range(d):
        n_edges += count_members(state.parents[node])
    if n_edges == 0:
        return
    rest = int(uniform(state.random) * n_edges)
    cause, effect = -1, -1
    for node in range(d):
        here = count_members(state.parents[node])
        if rest < here:
            effect = node
            for parent in range(d):
                if (state.parents[node, parent >> 6] >> (parent & 63)) & 1:
                    if rest == 0:
                        cause = parent
                        break
                    rest -= 1
            break
        rest -= here
    had = count_members(state.parents[cause]) + count_members(state.parents[effect])
    nothing = np.zeros(words, dtype=np.int64)
    old_cause, old_effect = state.chosen[cause], state.chosen[effect]
    new_cause, new_effect = old_cause, old_effect
    losses = np.zeros(4)
    for step in range(4):
        of_cause, of_effect = nothing, nothing
        if step == 2:
            of_effect = lists.bits[old_effect]
        elif step == 3:
            of_cause = lists.bits[new_cause]
        for end in range(2):
            set_parents(state, effect if end == 0 else cause, of_effect if end == 0 else of_cause)
        node = effect if step == 0 or step == 3 else cause
        must = cause if step == 0 else (effect if step == 1 else none)
        find_descendants(state.children, node, avoid, scratch.stack)
        losses[step] = total_loss(lists, node, avoid, must)
        if losses[step] == np.inf:
            break
        if step == 1 or step == 3:
            drawn = draw_set(lists, node, avoid, must, losses[step], state.random)
            new_cause, new_effect = (drawn, new_effect) if step == 1 else (new_cause, drawn)
    has = count_members(lists.bits[new_cause]) + count_members(lists.bits[new_effect])
    gain = losses[0] + losses[2] - losses[1] - losses[3] + np.log(n_edges / (n_edges - had + has))
    accepted = losses[1] < np.inf and losses[3] < np.inf and np.log(uniform(state.random)) < gain
    if not accepted:
        new_cause, new_effect = old_cause, old_effect
    for end in range(2):
        set_parents(state, effect if end == 0 else cause, lists.bits[new_effect if end == 0 else new_cause])
    state.chosen[cause] = new_cause
    state.chosen[effect] = new_effect


# ---------------------------------------------------------------------------- what is called from Python


@kernel
def run_chain(
    lists: SetLists, state: ChainState, scratch: Scratch, n_sweeps: int, every: int, kept: IntArray
) -> int:
    """Go on for ``n_sweeps`` sweeps, each with one turn for every node; returns how many graphs are kept by now.

    After ``every`` sweeps the graph is kept: its sets are written to the next row of ``kept`` (g, d).
    """
    lists, state, scratch = borrow((lists, state, scratch))
    d = len(state.parents)
    turns = np.empty(d, dtype=np.int64)
    for _ in range(n_sweeps):
        for i in range(d):
            turns[i] = i
        for i in range(d - 1, 0, -1):  # Fisher-Yates
            j = int(uniform(state.random) * (i + 1))
            swapped = turns[i]
            turns[i] = turns[j]
            turns[j] = swapped
        for i in range(d):
            draw_parents(lists, state, turns[i], scratch)
            kind = uniform(state.random)
            if kind < MOVED:
                relocate(lists, state, turns[i], scratch)
            elif kind < MOVED + REVERSED:
                reverse_edge(lists, state, scratch)
        state.counts[0] += 1
        if state.counts[0] % every == 0:
            at = state.counts[1]
            for node in range(d):
                kept[at, node] = state.chosen[node]
                find_descendants(state.children, node, scratch.avoid, scratch.stack)
                for other in range(d):
                    state.ancestors[node, other] += contains(scratch.avoid, other)
            state.counts[1] = at + 1
    return int(state.counts[1])


@kernel
def list_graphs(lists: SetLists, state: ChainState, most_loss: float, most_steps: int, graphs: IntArray) -> int:
    """Write all graphs that lose no more than ``most_loss`` to ``graphs`` (g, d); how many, -1 if too many.

    A search in depth: nodes take their sets one after the other, as ``at`` says, unless what the nodes so far lose
    (``loss``) and the best sets of those to come (``least``) are too much together. ``state`` is one without
    edges, and is so again in the end.
    """
    lists, state = borrow((lists, state))
    d, words = state.parents.shape
    avoid, nothing = np.zeros((2, words), dtype=np.int64)
    stack = np.empty(d, dtype=np.int64)
    at = np.empty(d, dtype=np.int64)
    loss = np.zeros(d + 1)
    least = np.zeros(d + 1)
    for node in range(d - 1, -1, -1):
        least[node] = least[node + 1] + lists.losses[lists.starts[node]]
    count, node = 0, 0
    at[0] = lists.starts[0]
    for _ in range(most_steps):
        if node < 0:
            return count
        c = at[node]
        set_parents(state, node, nothing)
        if c == lists.starts[node + 1] or loss[node] + lists.losses[c] + least[node + 1] > most_loss:
            node -= 1
            continue
        at[node] = c + 1
        find_descendants(state.children, node, avoid, stack)
        if not is_possible(lists.bits[c], avoid, int(np.int64(-1))):
            continue
        loss[node + 1] = loss[node] + lists.losses[c]
        if node == d - 1:
            if count == graphs.shape[0]:
                return -1
            for other in range(d):
                graphs[count, other] = at[other] - 1
            count += 1
            continue
        set_parents(state, node, lists.bits[c])
        node += 1
        at[node] = lists.starts[node]
    return -1


@kernel
def add_ancestors(bits: IntArray, weight: float, ancestors: FloatArray) -> int:
    """Add a weight wherever i is an ancestor of j in the graph of parents (d, words); returns d."""
    d, words = bits.shape
    nodes = np.zeros(words, dtype=np.int64)
    stack = np.empty(d, dtype=np.int64)
    for node in range(d):
        find_descendants(bits, node, nodes, stack)  # against the arrows
        for other in range(d):
            if other != node and contains(nodes, other):
                ancestors[other, node] += weight
    return d
