"""Sets of small numbers as rows of bits, 64 to a word."""

import numpy as np

from daguerreotype._lib.typing import BoolArray, IntArray


def as_bits(sets: BoolArray, words: int | None = None) -> IntArray:
    """Sets (m, d) of truth values as rows of bits (m, d // 64 + 1), or of so many words.

    >>> as_bits(np.array([[True, False, True]]))
    array([[5]])
    """
    m, d = sets.shape
    padded = np.zeros((m, (d // 64 + 1 if words is None else words) * 64), dtype=np.bool_)
    padded[:, :d] = sets
    return np.packbits(padded, axis=1, bitorder="little").view("<i8").astype(np.int64)


def from_bits(bits: IntArray, d: int) -> BoolArray:
    """The sets (m, d) of rows of bits.

    >>> from_bits(np.array([[5]]), 3)
    array([[ True, False,  True]])
    """
    members = np.arange(d)
    sets: BoolArray = (bits[:, members >> 6] >> (members & 63)) & 1 > 0
    return sets
