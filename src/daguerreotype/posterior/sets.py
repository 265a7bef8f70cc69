"""Lists of parent sets as chains walk through them, and the neighbours of every set."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.bits import from_bits
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray


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
    max_children : array of shape (d,), or empty
        How many children each node may have.
    """

    starts: IntArray
    bits: IntArray
    losses: FloatArray
    toggled: npt.NDArray[np.int32]
    max_children: IntArray


def make_lists(
    starts: IntArray, bits: IntArray, losses: FloatArray, max_children: IntArray | None = None
) -> SetLists:
    """Lists of sets, with their neighbours found."""
    d = starts.size - 1
    numbers = np.random.default_rng(0).integers(2**63, size=d, dtype=np.int64)
    members = from_bits(bits, d)
    keys = np.bitwise_xor.reduce(np.where(members, numbers, 0), axis=1)  # of the sets, one by one
    owners = np.repeat(np.arange(d), np.diff(starts))
    order = np.lexsort([keys, owners])
    toggled = np.full((keys.size, d), -1, dtype=np.int32)
    find_toggled(starts, order, keys[order], keys, numbers, toggled)
    return SetLists(
        starts, bits, losses, toggled, np.array([] if max_children is None else max_children, dtype=np.int64)
    )


@kernel
def find_toggled(
    starts: IntArray,
    order: IntArray,
    ordered: IntArray,
    keys: IntArray,
    numbers: IntArray,
    toggled: npt.NDArray[np.int32],
) -> int:
    """Note where the set with one member more or less stands; the keys of each list ascend in ``ordered``."""
    for node in range(numbers.size):
        for c in range(starts[node], starts[node + 1]):
            for member in range(numbers.size):
                wanted = keys[c] ^ numbers[member]
                low, high = starts[node], starts[node + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if ordered[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                if low < starts[node + 1] and ordered[low] == wanted:
                    toggled[c, member] = order[low]
    return int(keys.size)
