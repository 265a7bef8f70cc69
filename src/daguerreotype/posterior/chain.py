r"""A Markov chain over DAGs whose parent sets are taken from lists, with the posterior as its equilibrium.

A graph has probability  :math:`\propto e^{-\sum_j loss_j(S_j)}`.  Three kinds of step keep that:

- *A node's parents* are drawn anew given all the others: any set of its list without a descendant of it, each with
  probability  :math:`\propto e^{-loss}`.  The probabilities themselves, and not the draws, are added up.
- *A node is taken out and put back*: its parents and its children are drawn together, given all other edges. So it
  passes any number of others at once, where all nodes are connected and their order is open.
- *An edge is reversed* (Grzegorczyk and Husmeier 2008): both ends lose their parents, the former cause draws new
  ones with the effect among them, then the effect draws its own; a Metropolis step accepts what the way back
  allows. So graphs of one equivalence class are one step apart, which drawing parents of single nodes would have
  to leave.
"""

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.grow_shrink.tree import contains
from daguerreotype.posterior.sets import SetLists
from daguerreotype.posterior.state import ChainState, Room, find_ancestors, find_descendants, set_parents

RELOCATED, REVERSED = 0.5, 0.25  # how often a turn goes on with either kind of step
NEGLIGIBLE = 15.0  # nats by which a set is worse than the best one that is possible, from where on it is not drawn


@subkernel
def is_possible(bits: IntArray, avoid: IntArray, must: int) -> bool:
    """Whether a set has ``must``, unless that is negative, and nobody who is to be avoided."""
    for word in range(bits.size):
        if bits[word] & avoid[word]:
            return False
    return must < 0 or bool((bits[must >> 6] >> (must & 63)) & 1)


@subkernel
def count_members(bits: IntArray) -> int:
    """How many members a set has."""
    count = 0
    for word in range(bits.size):
        left = bits[word]
        while left != 0:
            left &= left - 1
            count += 1
    return count


@subkernel
def avoid_full(lists: SetLists, state: ChainState, node: int, avoid: IntArray) -> None:
    """Avoid those as parents of ``node`` who have as many other children as they may."""
    for cause in range(lists.max_children.size):
        count = count_members(state.children[cause]) - contains(state.children[cause], node)
        if count >= lists.max_children[cause]:
            avoid[cause >> 6] |= 1 << (cause & 63)


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
def total_loss(lists: SetLists, node: int, avoid: IntArray, must: int) -> float:
    """Minus the log of the summed  exp(-loss)  of the sets that are possible; infinite if none is."""
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
    """One of the sets that are possible, whose total loss is given."""
    left = uniform(random)
    last = -1
    for c in range(lists.starts[node], lists.starts[node + 1]):
        if is_possible(lists.bits[c], avoid, must):
            share = np.exp(loss - lists.losses[c])
            if last >= 0 and share < np.exp(-NEGLIGIBLE):
                break
            last = c
            left -= share
            if left <= 0.0:
                break
    return int(last)


@subkernel
def draw_weighed(lists: SetLists, state: ChainState, node: int, room: Room, count: int, least: float) -> int:
    """One of the first ``count`` sets of a node by the losses in ``room``; adds up how probable each was."""
    first, total = lists.starts[node], 0.0
    for c in range(count):
        share = 0.0
        if room.losses[c] < least + NEGLIGIBLE:
            share = np.exp(least - room.losses[c])
        room.losses[c] = share
        total += share
    left = uniform(state.random) * total
    new = -1
    for c in range(count):
        share = room.losses[c]
        if share > 0.0:
            state.mass[first + c] += share / total
            if left >= 0.0:
                new = first + c
            left -= share
    return int(new)


@subkernel
def draw_parents(lists: SetLists, state: ChainState, node: int, avoid: IntArray, room: Room) -> None:
    """Draw the parents of a node given all the others."""
    find_descendants(state.children, node, avoid, room.waiting)
    avoid_full(lists, state, node, avoid)
    none = int(np.int64(-1))
    least, count = np.inf, 0
    for c in range(lists.starts[node], lists.starts[node + 1]):
        loss = lists.losses[c]
        if loss > least + NEGLIGIBLE:
            break
        possible = is_possible(lists.bits[c], avoid, none)
        if possible and least == np.inf:
            least = loss
        room.losses[count] = loss if possible else np.inf
        count += 1
    new = draw_weighed(lists, state, node, room, count, least)
    state.chosen[node] = new
    set_parents(state, node, lists.bits[new])


@subkernel
def reverse_edge(lists: SetLists, state: ChainState, avoid: IntArray, waiting: IntArray) -> None:
    """Try to turn an edge of the graph around, with new parents for both ends."""
    d, words = state.parents.shape
    none = int(np.int64(-1))
    n_edges = 0
    for node in range(d):
        n_edges += count_members(state.parents[node])
    if n_edges == 0:
        return
    left = int(uniform(state.random) * n_edges)
    cause, effect = -1, -1
    for node in range(d):
        here = count_members(state.parents[node])
        if left < here:
            effect = node
            for parent in range(d):
                if (state.parents[node, parent >> 6] >> (parent & 63)) & 1:
                    if left == 0:
                        cause = parent
                        break
                    left -= 1
            break
        left -= here
    state.counts[2] += 1
    had = count_members(state.parents[cause]) + count_members(state.parents[effect])
    nothing = np.zeros(words, dtype=np.int64)
    old_cause, old_effect = state.chosen[cause], state.chosen[effect]
    new_cause, new_effect = old_cause, old_effect
    losses = np.zeros(4)
    # The way back and the way there: first with neither end's parents, then with those of one end.
    for way in range(4):
        of_cause, of_effect = nothing, nothing
        if way == 2:
            of_effect = lists.bits[old_effect]
        elif way == 3:
            of_cause = lists.bits[new_cause]
        for end in range(2):
            set_parents(state, effect if end == 0 else cause, nothing)
        for end in range(2):
            set_parents(state, effect if end == 0 else cause, of_effect if end == 0 else of_cause)
        node = effect if way == 0 or way == 3 else cause
        must = cause if way == 0 else (effect if way == 1 else none)
        find_descendants(state.children, node, avoid, waiting)
        avoid_full(lists, state, node, avoid)
        losses[way] = total_loss(lists, node, avoid, must)
        if losses[way] == np.inf:
            break
        if way == 1 or way == 3:
            drawn = draw_set(lists, node, avoid, must, losses[way], state.random)
            new_cause, new_effect = (drawn, new_effect) if way == 1 else (new_cause, drawn)
    has = count_members(lists.bits[new_cause]) + count_members(lists.bits[new_effect])
    gain = losses[0] + losses[2] - losses[1] - losses[3] + np.log(n_edges / (n_edges - had + has))
    accepted = losses[1] < np.inf and losses[3] < np.inf and np.log(uniform(state.random)) < gain
    if not accepted:
        new_cause, new_effect = old_cause, old_effect
    for end in range(4):
        bits = nothing
        if end >= 2:
            bits = lists.bits[new_effect if end == 2 else new_cause]
        set_parents(state, effect if end % 2 == 0 else cause, bits)
    state.chosen[cause] = new_cause
    state.chosen[effect] = new_effect
    state.counts[3] += accepted


@subkernel
def log_sum(first: float, second: float) -> float:
    """The logarithm of  exp(first) + exp(second)."""
    most, least = (first, second) if first > second else (second, first)
    return float(most + np.log1p(np.exp(least - most))) if least > -np.inf else most


@subkernel
def tabulate_children(room: Room, most: int, table: FloatArray) -> float:
    r"""Log-probability that no more than ``most`` nodes outside ``room.found`` are children of ``moved``.

    Each of them is one with its share, independently of the others. Row t of ``table`` holds the log-probabilities
    that k of the first t of them are, for k up to ``most``:

    .. math:: P_t(k) = (1 - s_t) P_{t-1}(k) + s_t P_{t-1}(k - 1).

    Rows beyond those of nodes that can be children are not written. Where so few can, nothing is: it is certain.
    """
    d, count = room.shares.size, 0
    for y in range(d):
        count += room.shares[y] > 0.0 and not contains(room.found, y)
    if count <= most:
        return 0.0
    for k in range(most + 1):
        table[0, k] = 0.0 if k == 0 else -np.inf
    t = 0
    for y in range(d):
        if room.shares[y] > 0.0 and not contains(room.found, y):
            t += 1
            yes, no = room.log_shares[y, 0], room.log_shares[y, 1]
            for k in range(most + 1):
                table[t, k] = table[t - 1, k] + no
                if k > 0:
                    table[t, k] = log_sum(table[t, k], table[t - 1, k - 1] + yes)
    total = -np.inf
    for k in range(most + 1):
        total = log_sum(total, table[t, k])
    return total


@subkernel
def draw_children(room: Room, random: npt.NDArray[np.uint64], most: int, table: FloatArray, total: float) -> None:
    """Set the shares of nodes outside ``room.found`` to one for those that are children, and to zero for others.

    From the last to the first, by what :func:`tabulate_children` wrote; where that is nothing, each on its own.
    """
    d, t, k = room.shares.size, 0, most
    for y in range(d):
        t += room.shares[y] > 0.0 and not contains(room.found, y)
    limited = t > most
    if limited:
        left = uniform(random)
        for each in range(most + 1):
            share = np.exp(table[t, each] - total)
            if share > 0.0 and left >= 0.0:
                k = each
            left -= share
    for y in range(d - 1, -1, -1):
        if room.shares[y] > 0.0 and not contains(room.found, y):
            share = room.shares[y]
            if limited:
                share = 0.0
                if k > 0:
                    share = np.exp(table[t - 1, k - 1] + room.log_shares[y, 0] - table[t, k])
            child = uniform(random) < share
            room.shares[y] = 1.0 if child else 0.0
            if limited:
                t -= 1
                k -= child


@subkernel
def relocate(lists: SetLists, state: ChainState, moved: int, room: Room) -> None:
    r"""Take a node out and put it back: draw its parents and its children together, given all other edges.

    Without ``moved``, let  :math:`a_y`  be the weight of another node's parents, and  :math:`b_y`  that with
    ``moved`` among them. If ``moved`` has parents S, its children are any of those that are no ancestors of S:

    .. math:: P(S) \propto e^{-loss(S)} \prod_{y \in an(S)} a_y \prod_{y \notin an(S)} (a_y + b_y).

    Where it may have no more than c children, that is times the probability that there are so few, each y being
    one with probability  :math:`b_y / (a_y + b_y)`; and S holds nobody who has no room for another child.
    """
    d = len(state.parents)
    most = d
    if lists.max_children.size > 0:
        most = lists.max_children[moved]
    limited = most < d
    full = np.zeros(state.parents.shape[1], dtype=np.int64)
    table = np.empty((d + 1, most + 1) if limited else (1, 1))
    without, beside, costs, shares = room.without, room.beside, room.costs, room.shares
    word, bit = moved >> 6, np.int64(1) << np.int64(moved & 63)
    for y in range(d):
        room.known[y] = False
        costs[y], shares[y] = 0.0, 0.0
        if y == moved:
            continue
        here = state.chosen[y]
        other = int(lists.toggled[here, moved])
        child = contains(state.parents[y], moved)
        without[y], beside[y] = (other, here) if child else (here, other)
        # What it costs that y cannot be a child, and the probability that it is one where it can.
        if without[y] < 0:
            costs[y], shares[y] = np.inf, 1.0
            if limited:
                room.log_shares[y, 0], room.log_shares[y, 1] = 0.0, -np.inf
        elif beside[y] >= 0:
            gain = lists.losses[without[y]] - lists.losses[beside[y]]
            costs[y] = np.log1p(np.exp(gain)) if gain < NEGLIGIBLE else gain
            shares[y] = 1.0 / (1.0 + np.exp(-gain))
            if limited:
                room.log_shares[y, 0], room.log_shares[y, 1] = -log_sum(0.0, -gain), -log_sum(0.0, gain)
        if child:  # the graph without the node
            state.parents[y, word] &= ~bit
            state.children[moved, y >> 6] &= ~(np.int64(1) << np.int64(y & 63))
    avoid_full(lists, state, moved, full)
    none = int(np.int64(-1))
    first, least, count = lists.starts[moved], np.inf, 0
    for c in range(first, lists.starts[moved + 1]):
        loss = lists.losses[c]
        if loss > least + NEGLIGIBLE:
            break
        find_ancestors(state.parents, lists.bits[c], room)
        for y in range(d):
            if contains(room.found, y) and y != moved:
                loss += costs[y]
        if limited:
            loss -= tabulate_children(room, most, table)
        if lists.max_children.size > 0 and not is_possible(lists.bits[c], full, none):
            loss = np.inf
        room.losses[count] = loss
        least = min(least, loss)
        count += 1
    new = draw_weighed(lists, state, moved, room, count, least)
    find_ancestors(state.parents, lists.bits[new], room)
    state.chosen[moved] = new
    set_parents(state, moved, lists.bits[new])
    if limited:
        total = tabulate_children(room, most, table)
        draw_children(room, state.random, most, table, total)
    for y in range(d):
        if y != moved:
            child = not contains(room.found, y) and shares[y] > 0.0 and uniform(state.random) < shares[y]
            state.chosen[y] = beside[y] if child else without[y]
            if child:
                state.parents[y, word] |= bit
                state.children[moved, y >> 6] |= np.int64(1) << np.int64(y & 63)


@kernel
def run_chain(lists: SetLists, state: ChainState, room: Room, n_sweeps: int, every: int, kept: IntArray) -> int:
    """Go on for some sweeps, each with one turn for every node; returns how many graphs are kept by now.

    After every so many sweeps the graph is kept: its sets are written to the next row of ``kept`` (g, d).
    """
    d, words = state.parents.shape
    avoid = np.zeros(words, dtype=np.int64)
    waiting = room.waiting
    turns = np.empty(d, dtype=np.int64)
    for _ in range(n_sweeps):
        for i in range(d):
            turns[i] = i
        for i in range(d - 1, 0, -1):
            j = int(uniform(state.random) * (i + 1))
            swapped = turns[i]
            turns[i] = turns[j]
            turns[j] = swapped
        for i in range(d):
            draw_parents(lists, state, turns[i], avoid, room)
            way = uniform(state.random)
            if way < RELOCATED:
                relocate(lists, state, turns[i], room)
            elif way < RELOCATED + REVERSED:
                reverse_edge(lists, state, avoid, waiting)
        state.counts[0] += 1
        if state.counts[0] % every == 0:
            at = state.counts[1]
            for node in range(d):
                kept[at, node] = state.chosen[node]
                find_descendants(state.children, node, avoid, waiting)
                for other in range(d):
                    state.ancestors[node, other] += contains(avoid, other)
            state.counts[1] = at + 1
    return int(state.counts[1])
