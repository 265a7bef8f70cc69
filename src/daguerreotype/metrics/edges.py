"""Precision, recall and F1 of directed and undirected edges."""

import numpy as np

from daguerreotype.graphs import GraphLike, align, as_dag


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
    hits, found, wanted = _count(true, estimated)
    return _share(hits, found, both_empty=found == wanted)


def recall(true: GraphLike, estimated: GraphLike) -> float:
    """Share of the true edges that are found, with their direction.

    recall = TP / (TP + FN). Without true edges: 1 if ``estimated`` has none either, else 0.
    Parameters as in `precision`.
    """
    hits, found, wanted = _count(true, estimated)
    return _share(hits, wanted, both_empty=found == wanted)


def f1(true: GraphLike, estimated: GraphLike) -> float:
    """Harmonic mean of `precision` and `recall` of directed edges; a reversed edge is wrong twice.

    F1 = 2 TP / (2 TP + FP + FN). Two empty graphs agree: 1. Parameters as in `precision`.

    Examples
    --------
    >>> f1([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    0.0
    """
    hits, found, wanted = _count(true, estimated)
    return _share(2 * hits, found + wanted, both_empty=True)


def skeleton_f1(true: GraphLike, estimated: GraphLike) -> float:
    """F1 of the edges without their direction: how well adjacent nodes are found.

    F1 = 2 TP / (2 TP + FP + FN) over unordered pairs. Two empty graphs agree: 1. Parameters as in
    `precision`.

    Examples
    --------
    >>> skeleton_f1([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    1.0
    """
    hits, found, wanted = _count(true, estimated, directed=False)
    return _share(2 * hits, found + wanted, both_empty=True)


def n_edges(graph: GraphLike) -> int:
    """Return the number of edges of a DAG."""
    return int(np.count_nonzero(as_dag(graph).adjacency))


def _count(true: GraphLike, estimated: GraphLike, *, directed: bool = True) -> tuple[int, int, int]:
    """Edges in both graphs, in the estimated one and in the true one; undirected ones count twice."""
    wanted, found = (
        dag.adjacency if directed else dag.adjacency | dag.adjacency.T for dag in align(true, estimated)
    )
    return np.count_nonzero(wanted & found), np.count_nonzero(found), np.count_nonzero(wanted)


def _share(part: int, whole: int, both_empty: bool) -> float:
    """Return part / whole, where 0 / 0 is 1 if there was nothing to find and nothing found, else 0."""
    return part / whole if whole else float(both_empty)
