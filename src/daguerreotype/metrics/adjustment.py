"""Structural intervention distance and other adjustment identification distances."""

import numpy as np

from daguerreotype._lib.optional import require
from daguerreotype.graphs import GraphLike, align


def sid(true: GraphLike, estimated: GraphLike) -> int:
    """Structural intervention distance of Peters and Bühlmann (2015).

    SID = #{(i, j), i != j : adjusting for the parents of i in ``estimated`` gives a wrong p(x_j | do(x_i))},

    where ``true`` says what is right, and a parent j of i in ``estimated`` is taken not to react to i.
    Between 0 and d (d - 1); not symmetric; 0 whenever ``estimated`` has all edges of ``true``.

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


def parent_aid(true: GraphLike, estimated: GraphLike) -> int:
    """Parent adjustment identification distance: `sid`, in the words of Henckel et al. (2024).

    #{(i, j), i != j : the effect of i on j, by adjusting for parents of i in ``estimated``, is wrong}.
    Equal to `sid` between DAGs. Parameters as in `sid`.
    """
    return _mistakes("parent_aid", true, estimated)


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
    no effect. The slowest of the four on dense graphs. Parameters as in `sid`.
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
