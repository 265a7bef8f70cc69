"""Zobrist hash of a predecessor set: the exclusive or of random 64-bit numbers of its members."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, IntArray

HashArray: TypeAlias = npt.NDArray[np.uint64]


class PredecessorHash:
    """Hashes of what each of d nodes can choose its parents from: its predecessors, of those that are allowed.

    Parameters
    ----------
    d : int
        Number of nodes.
    allowed : array of shape (d, d), optional
        Whether i may be a parent of j; by default all may.
    """

    def __init__(self, d: int, allowed: BoolArray | None = None) -> None:
        self.constrained = allowed is not None
        self.allowed = np.ones((d, d), dtype=np.bool_) if allowed is None else allowed
        # Of a node as a member of the set, and as the one whose set it is.
        self._member, self._target = np.random.default_rng(0).integers(2**64, size=(2, d), dtype=np.uint64)
        self._lists = short_lists(self.allowed)

    def keys(self, ranks: IntArray) -> HashArray:
        """Key (m, d) of every node in every ranking."""
        return allowed_keys(ranks, self._member, self._target, *self._lists)

    def prefix_keys(self, node: int, others: IntArray) -> HashArray:
        """Key (m + 1,) of ``node`` after the first q of ``others`` (m,), for every q."""
        start = np.zeros(1, dtype=np.uint64)  # a plain 0 would take the hashes to floats and cut their last digits
        members = np.where(self.allowed[others, node], self._member[others], start)
        keys: HashArray = np.concatenate([start, np.bitwise_xor.accumulate(members)]) ^ self._target[node]
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
