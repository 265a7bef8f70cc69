"""All metrics of an estimate at once."""

from collections.abc import Hashable, Iterable

from daguerreotype.graphs import GraphLike, align
from daguerreotype.metrics.adjustment import ancestor_aid, oset_aid, parent_aid, sid
from daguerreotype.metrics.edges import f1, n_edges, precision, recall, skeleton_f1
from daguerreotype.metrics.hamming import shd, shd_cpdag
from daguerreotype.metrics.order import order_divergence, topological_order_correlation

GRAPH_METRICS = (shd, shd_cpdag, sid, ancestor_aid, oset_aid, parent_aid, precision, recall, f1, skeleton_f1)
ORDER_METRICS = (order_divergence, topological_order_correlation)


def evaluate(
    true: GraphLike, estimated: GraphLike, order: Iterable[Hashable] | None = None
) -> dict[str, int | float]:
    """Compare an estimated DAG, and the order it was found with, to the true DAG by every metric.

    Parameters
    ----------
    true, estimated : array-like of shape (d, d), DataFrame or networkx.DiGraph
        DAGs; entry [i, j] = 1 means i -> j. Two named graphs are aligned by name.
    order : sequence of length d, optional
        ``order[p]`` is the node at position p, causes first: column positions of ``true``, or names. With
        it, `order_divergence` and `topological_order_correlation` are reported too.

    Returns
    -------
    dict
        Metric name to a Python number, ready for JSON. ``n_edges`` counts the estimated edges.

    Examples
    --------
    >>> scores = evaluate([[0, 1], [0, 0]], [[0, 0], [1, 0]], order=[1, 0])
    >>> scores["shd"], scores["sid"], scores["f1"], scores["order_divergence"]
    (1, 2, 0.0, 1)
    """
    first, second = align(true, estimated)
    scores: dict[str, int | float] = {metric.__name__: metric(first, second) for metric in GRAPH_METRICS}
    scores["n_edges"] = n_edges(second)
    if order is not None:
        entries = list(order)
        scores.update({metric.__name__: metric(first, entries) for metric in ORDER_METRICS})
    return scores
