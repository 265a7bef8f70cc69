"""Distances between graphs: structural Hamming, adjustment identification, precision and recall of edges."""

import numpy as np

from daguerreotype._lib.imports import require
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import BoolArray
from daguerreotype.graphs import GraphLike, align, as_dag, to_cpdag


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


def precision(true: GraphLike, estimated: GraphLike) -> float:
    """Share of the estimated edges that are true, with their direction.

    precision = TP / (TP + FP). Without estimated edges: 1 if ``true`` has none either, else 0.

    Parameters
    ----------
    true, estimated : array-like of shape (d, d), DataFrame or networkx.DiGraph
        DAGs; entry [i, j] = 1 means i -> j. Two named graphs are aligned by name.

    Examples
    --------
    >>> precision([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    0.5
    """
    hits, n_estimated, n_true = _count(true, estimated)
    return _share(hits, n_estimated, both_empty=n_estimated == n_true)


def recall(true: GraphLike, estimated: GraphLike) -> float:
    """Share of the true edges that are found, with their direction.

    recall = TP / (TP + FN). Without true edges: 1 if ``estimated`` has none either, else 0.
    Parameters as in `precision`.
    """
    hits, n_estimated, n_true = _count(true, estimated)
    return _share(hits, n_true, both_empty=n_estimated == n_true)


def f1(true: GraphLike, estimated: GraphLike) -> float:
    """Harmonic mean of `precision` and `recall` of directed edges; a reversed edge is wrong twice.

    F1 = 2 TP / (2 TP + FP + FN). Two empty graphs agree: 1. Parameters as in `precision`.

    Examples
    --------
    >>> f1([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    0.0
    """
    hits, n_estimated, n_true = _count(true, estimated)
    return _share(2 * hits, n_estimated + n_true, both_empty=True)


def skeleton_f1(true: GraphLike, estimated: GraphLike) -> float:
    """F1 of the edges without their direction: how well adjacent nodes are found.

    F1 = 2 TP / (2 TP + FP + FN) over unordered pairs. Two empty graphs agree: 1. Parameters as in
    `precision`.

    Examples
    --------
    >>> skeleton_f1([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    1.0
    """
    hits, n_estimated, n_true = _count(true, estimated, directed=False)
    return _share(2 * hits, n_estimated + n_true, both_empty=True)


def n_edges(graph: GraphLike) -> int:
    """Return the number of edges of a DAG."""
    return int(np.count_nonzero(as_dag(graph).adjacency))


def _count(true: GraphLike, estimated: GraphLike, *, directed: bool = True) -> tuple[int, int, int]:
    """Edges in both graphs, in the estimated one and in the true one; undirected ones count twice."""
    first, second = (
        dag.adjacency if directed else dag.adjacency | dag.adjacency.T for dag in align(true, estimated)
    )
    return int((first & second).sum()), int(second.sum()), int(first.sum())


def _share(part: int, whole: int, both_empty: bool) -> float:
    """Return part / whole, where 0 / 0 is 1 if there was nothing to find and nothing found, else 0."""
    return part / whole if whole else float(both_empty)


def sid(true: GraphLike, estimated: GraphLike) -> int:
    """Structural intervention distance of Peters and Bühlmann (2015).

    SID = #{(i, j), i != j : adjusting for the parents of i in ``estimated`` gives a wrong p(x_j | do(x_i))},

    where ``true`` says what is right, and a parent j of i in ``estimated`` is taken not to react to i.
    Between 0 and d (d - 1); not symmetric; 0 whenever ``estimated`` has all edges of ``true``. Between DAGs it is
    the parent adjustment identification distance of Henckel et al. (2024).

    Parameters
    ----------
    true, estimated : array-like of shape (d, d), DataFrame or networkx.DiGraph
        DAGs; entry [i, j] = 1 means i -> j. Two named graphs are aligned by name.

    Notes
    -----
    Computed by gadjid (Henckel, Würtzen and Weichwald 2024), which uses every core; the environment
    variable RAYON_NUM_THREADS sets another number of threads.

    Examples
    --------
    >>> sid([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    2
    """
    return _mistakes("sid", true, estimated)


def ancestor_aid(true: GraphLike, estimated: GraphLike) -> int:
    """Ancestor adjustment identification distance (Henckel et al. 2024).

    #{(i, j), i != j : the effect of i on j, by adjusting for ancestors of i in ``estimated``, is wrong}.
    A pair without a directed path i -> ... -> j in ``estimated`` is taken to have no effect. Only the
    ancestors in ``estimated`` matter, so it judges the causal order: an edge that adds no ancestor costs
    nothing. Parameters as in `sid`.
    """
    return _mistakes("ancestor_aid", true, estimated)


def oset_aid(true: GraphLike, estimated: GraphLike) -> int:
    """Optimal adjustment identification distance (Henckel et al. 2024).

    #{(i, j), i != j : the effect of i on j, by the adjustment set of least asymptotic variance in
    ``estimated``, is wrong}. A pair without a directed path i -> ... -> j in ``estimated`` is taken to have
    no effect. The slowest of the three on dense graphs. Parameters as in `sid`.
    """
    return _mistakes("oset_aid", true, estimated)


def _mistakes(distance: str, true: GraphLike, estimated: GraphLike) -> int:
    """Count of a gadjid distance, which comes as (normalised, count)."""
    gadjid = require("gadjid", "adjustment distances, SID among them, are computed by gadjid.", package="gadjid")
    first, second = align(true, estimated)
    if first.n_nodes == 1:  # gadjid panics; there is no pair to get wrong
        return 0
    matrices = (first.adjacency.astype(np.int8), second.adjacency.astype(np.int8))
    _, count = getattr(gadjid, distance)(*matrices, edge_direction="from row to column")
    return int(count)
