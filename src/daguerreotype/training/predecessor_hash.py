"""Zobrist hash of a predecessor set: the exclusive or of random 64-bit numbers of its members."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, IntArray

HashArray: TypeAlias = npt.NDArray[np.uint64]


@kernel
def predecessor_keys(ranks: IntArray, member: HashArray, target: HashArray) -> HashArray:
    """Key (m, d) of every node's set of predecessors in every ranking."""
    m, d = ranks.shape
    keys = np.empty((m, d), dtype=np.uint64)
    order = np.empty(d, dtype=np.int64)
    for s in range(m):
        for i in range(d):
            order[ranks[s, i]] = i
        before = np.uint64(0)
        for p in range(d):
            node = order[p]
            keys[s, node] = before ^ target[node]
            before ^= member[node]
    return keys


def short_lists(allowed: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """For every node the shorter of two lists: nodes that may be its parents, or nodes that may not.

    As starts (d + 1,) into all entries, the entries, and whether (d,) a list is of those that may not.
    """
    d = len(allowed)
    forbidden = ~allowed
    forbidden[np.arange(d), np.arange(d)] = False
    inverted = forbidden.sum(axis=0) < allowed.sum(axis=0)
    listed = [np.flatnonzero(forbidden[:, j] if inverted[j] else allowed[:, j]) for j in range(d)]
    starts = np.concatenate([[0], np.cumsum([each.size for each in listed])]).astype(np.int64)
    return starts, np.concatenate(listed).astype(np.int64), inverted


@kernel
def allowed_keys(
    ranks: IntArray, member: HashArray, target: HashArray, starts: IntArray, entries: IntArray, inverted: BoolArray
) -> HashArray:
    """Key (m, d) of the predecessors that may be parents, for every node in every ranking, by short lists."""
    m, d = ranks.shape
    keys = np.empty((m, d), dtype=np.uint64)
    order = np.empty(d, dtype=np.int64)
    for s in range(m):
        for i in range(d):
            order[ranks[s, i]] = i
        before = np.uint64(0)
        for p in range(d):
            node = order[p]
            key = target[node]
            if inverted[node]:
                key ^= before
            for entry in range(starts[node], starts[node + 1]):
                if ranks[s, entries[entry]] < p:
                    key ^= member[entries[entry]]
            keys[s, node] = key
            before ^= member[node]
    return keys
