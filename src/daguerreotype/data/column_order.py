"""Canonical order of columns, by correlations and then by colour refinement (Weisfeiler and Leman 1968).

What breaks ties in a fit must not depend on how the user numbered the columns, or rows. Columns are sorted by
how strongly they correlate with all others, then by skewness. Columns of few values may tie in both. Then rows
and columns are coloured in turns: the colour of a row stands for the colours of its columns with their values
in it, that of a column for the colours of its rows with its values in them. Sums of hashes do not depend on the
sequence of their terms. Where colours settle and still tie, one column of the first tie is told apart, and
colouring goes on. Columns that any statistic sees alike, because rows stay the same if they change places, are
told apart by name, or by number where they have no names: either choice is the other with the two renamed.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

Hashes = npt.NDArray[np.uint64]
BLOCK = 2**16  # rows at a time


def canonical_columns(
    covariance: FloatArray,
    skewness: FloatArray,
    values: FloatArray | None = None,
    intervened: BoolArray | None = None,
    kinds: Sequence[object] = (),
    names: Sequence[str] = (),
) -> IntArray:
    """Columns in an order that neither renumbering them nor shuffling the rows changes.

    Two columns alone always tie in their correlations, and their skewness tells them apart. Without ``values``
    (n, d) correlations stand for rows. Columns without names are told by their numbers in the end.
    """
    scale = np.sqrt(np.diag(covariance))
    correlations = covariance / (scale[:, None] * scale)
    strength = np.abs(correlations).sum(axis=0)
    # The same sum in another sequence differs in its last digits.
    keys = np.stack([strength.round(9), skewness.round(9)])  # (2, d)
    colours = np.unique(keys, axis=1, return_inverse=True)[1].ravel()  # ranks
    if np.unique(colours).size < colours.size:
        rows = correlations.round(9) if values is None else values
        if kinds:
            colours = _split(colours, _hash_texts([repr(kind) for kind in kinds]))
        colours = _refined(colours, rows, intervened, names)
    return np.argsort(colours, kind="stable")


def _refined(
    colours: IntArray, values: FloatArray, intervened: BoolArray | None, names: Sequence[str]
) -> IntArray:
    """Colours (d,), no two alike, in the sequence of those given."""
    by_name = np.argsort(np.argsort(names)) if names else np.arange(colours.size)
    while True:
        n_before = 0
        while n_before < np.unique(colours).size:  # at most d times: every round splits a colour
            n_before = np.unique(colours).size
            colours = _split(colours, _seen_by_rows(colours, values, intervened))
        counts = np.bincount(colours)
        if counts.max() == 1:
            return colours
        tied = np.flatnonzero(colours == np.flatnonzero(counts > 1)[0])
        colours = 2 * colours  # room to stand before its equals
        colours[tied[np.argmin(by_name[tied])]] -= 1
        colours = np.unique(colours, return_inverse=True)[1].ravel()


def _split(colours: IntArray, hashes: Hashes) -> IntArray:
    """Colours as ranks (d,): those of one colour told apart by their hashes."""
    keys = np.stack([colours.astype(np.uint64), hashes])
    ranks: IntArray = np.unique(keys, axis=1, return_inverse=True)[1].ravel()
    return ranks


def _seen_by_rows(colours: IntArray, values: FloatArray, intervened: BoolArray | None) -> Hashes:
    """A hash of every column (d,), by the colours of rows, which are those of the columns with their values."""
    own, seen = _mix(colours.astype(np.uint64)), np.zeros(colours.size, dtype=np.uint64)
    for first in range(0, len(values), BLOCK):
        block = values[first : first + BLOCK]
        same = np.where(np.isnan(block), np.nan, block + 0.0)  # one nan, and no negative zero
        cells = _mix(np.ascontiguousarray(same).view(np.uint64))  # (m, d)
        if intervened is not None:
            cells = _mix(cells + intervened[first : first + BLOCK].astype(np.uint64))
        rows = _mix(_mix(cells + own).sum(axis=1, dtype=np.uint64))
        seen += _mix(cells + rows[:, None]).sum(axis=0, dtype=np.uint64)
    return seen


def _mix(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit depends on all."""
    mixed: Hashes = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _hash_texts(texts: Sequence[str]) -> Hashes:
    """Hashes that are the same in every process."""
    digests = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
