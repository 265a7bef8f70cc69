"""All graphs of sets from lists that are not much worse than the best, one by one."""

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import IntArray
from daguerreotype.posterior.chain import avoid_full, is_possible
from daguerreotype.posterior.sets import SetLists
from daguerreotype.posterior.state import ChainState, find_descendants, set_parents


@kernel
def list_graphs(lists: SetLists, state: ChainState, most_loss: float, most_steps: int, found: IntArray) -> int:
    """Write all graphs that lose no more than ``most_loss`` to ``found`` (g, d); how many, -1 if too many.

    Nodes take their sets one after the other, unless the best sets of those still to come would lose too much.
    ``state`` is one without edges, and is so again in the end.
    """
    d, words = state.parents.shape
    avoid, nothing = np.zeros((2, words), dtype=np.int64)
    waiting = np.empty(d, dtype=np.int64)
    at = np.empty(d, dtype=np.int64)
    loss = np.zeros(d + 1)  # of the nodes so far
    rest = np.zeros(d + 1)  # the least that those from here on lose
    for node in range(d - 1, -1, -1):
        rest[node] = rest[node + 1] + lists.losses[lists.starts[node]]
    count, node = 0, 0
    at[0] = lists.starts[0]
    for _ in range(most_steps):
        if node < 0:
            return count
        c = at[node]
        set_parents(state, node, nothing)
        if c == lists.starts[node + 1] or loss[node] + lists.losses[c] + rest[node + 1] > most_loss:
            node -= 1
            continue
        at[node] = c + 1
        find_descendants(state.children, node, avoid, waiting)
        avoid_full(lists, state, node, avoid)
        if not is_possible(lists.bits[c], avoid, int(np.int64(-1))):
            continue
        loss[node + 1] = loss[node] + lists.losses[c]
        if node == d - 1:
            if count == found.shape[0]:
                return -1
            for each in range(d):
                found[count, each] = at[each] - 1
            count += 1
            continue
        set_parents(state, node, lists.bits[c])
        node += 1
        at[node] = lists.starts[node]
    return -1
