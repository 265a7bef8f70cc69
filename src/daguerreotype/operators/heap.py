"""Binary min-heaps on plain arrays, for numba kernels.

Entries are (key, item) pairs. Equal keys go by item, or by a scrambled item if a seed is given.
"""

import numpy as np

from daguerreotype._lib.numba import subkernel
from daguerreotype._lib.typing import FloatArray, IntArray


@subkernel
def _scramble(item: int, seed: int) -> int:
    """A pseudo-random 62-bit number that depends on both."""
    x = np.uint64(item) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((x ^ (x >> np.uint64(31))) >> np.uint64(2))


@subkernel
def _precedes(key: float, item: int, other_key: float, other_item: int, seed: int) -> bool:
    """Whether the first entry belongs above the second."""
    if key != other_key:
        return key < other_key
    if seed < 0:
        return item < other_item
    return _scramble(item, seed) < _scramble(other_item, seed)


@subkernel
def heap_push(keys: FloatArray, items: IntArray, size: int, key: float, item: int, seed: int) -> None:
    """Insert an entry into a heap that holds ``size`` of them."""
    hole = size
    while hole > 0:
        above = (hole - 1) >> 1
        if not _precedes(key, item, keys[above], items[above], seed):
            break
        keys[hole], items[hole] = keys[above], items[above]
        hole = above
    keys[hole], items[hole] = key, item


@subkernel
def heap_replace_top(keys: FloatArray, items: IntArray, size: int, key: float, item: int, seed: int) -> None:
    """Put a new entry in the place of the smallest of ``size`` entries."""
    hole = 0
    child = 1
    while child < size:
        right = child + 1
        if right < size and _precedes(keys[right], items[right], keys[child], items[child], seed):
            child = right
        if not _precedes(keys[child], items[child], key, item, seed):
            break
        keys[hole], items[hole] = keys[child], items[child]
        hole = child
        child = 2 * hole + 1
    keys[hole], items[hole] = key, item


@subkernel
def heap_pop(keys: FloatArray, items: IntArray, size: int, seed: int) -> None:
    """Drop the smallest of ``size`` entries (read it at index 0 before)."""
    last = size - 1
    if last > 0:
        heap_replace_top(keys, items, last, keys[last], items[last], seed)
