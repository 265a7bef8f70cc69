"""Structural Hamming distance of DAGs and of their equivalence classes."""

import numpy as np

from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import BoolArray
from daguerreotype.graphs import GraphLike, align, to_cpdag


def shd(true: GraphLike, estimated: GraphLike, *, reversal: int = 1) -> int:
    """Structural Hamming distance between two DAGs.

    SHD = #missing + #extra + reversal * #reversed edges.

    Parameters
    ----------
    true, estimated : array-like of shape (d, d), DataFrame or networkx.DiGraph
        DAGs; entry [i, j] = 1 means i -> j. Two named graphs are aligned by name.
    reversal : {1, 2}
        What a reversed edge costs. 1 is usual, and what the paper reports; with 2 the distance is the
        number of entries in which the two adjacency matrices differ.

    Examples
    --------
    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]]), shd([[0, 1], [0, 0]], [[0, 0], [1, 0]], reversal=2)
    (1, 2)
    """
    if reversal not in (1, 2):
        raise ValueError(f"reversal is {shown(reversal)}; expected 1 (a reversed edge counts once) or 2 (twice).")
    first, second = align(true, estimated)
    if reversal == 2:
        return int(np.count_nonzero(first.adjacency != second.adjacency))
    return _differing_pairs(first.adjacency, second.adjacency)


def shd_cpdag(true: GraphLike, estimated: GraphLike) -> int:
    """Structural Hamming distance between the Markov equivalence classes of two DAGs.

    The number of node pairs which the two CPDAGs join differently: no edge, ->, <- or undirected.
    It is 0 if and only if no observational data can tell the two DAGs apart without further assumptions.

    Parameters
    ----------
    true, estimated : array-like of shape (d, d), DataFrame or networkx.DiGraph
        DAGs; entry [i, j] = 1 means i -> j. Two named graphs are aligned by name.

    Examples
    --------
    >>> shd_cpdag([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    0
    """
    first, second = align(true, estimated)
    return _differing_pairs(to_cpdag(first), to_cpdag(second))


def _differing_pairs(first: BoolArray, second: BoolArray) -> int:
    """Count unordered node pairs joined differently."""
    differs = first != second
    return int(np.count_nonzero(np.triu(differs | differs.T)))
