"""All metrics of an estimate at once, their titles, and what each of them counts."""

from collections.abc import Hashable, Iterable

from daguerreotype.graphs import GraphLike, align
from daguerreotype.metrics.distances import (
    ancestor_aid,
    f1,
    n_edges,
    oset_aid,
    precision,
    recall,
    shd,
    shd_cpdag,
    sid,
    skeleton_f1,
)
from daguerreotype.metrics.orders import order_divergence, topological_order_correlation

GRAPH_METRICS = (shd, shd_cpdag, sid, ancestor_aid, oset_aid, precision, recall, f1, skeleton_f1)
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


TITLES = {
    "shd": "SHD",
    "sid": "SID",
    "f1": "F1",
    "n_edges": "edges",
    # What experiments report of a fit beside its metrics.
    "n_rankings": "rankings",
    "n_iter": "steps",
}
# Every metric of `evaluate`, in its order.
MEANINGS = {
    "shd": "edges to add, remove or turn around",
    "shd_cpdag": "the same between equivalence classes",
    "sid": "causal effects that would be computed wrongly",
    "ancestor_aid": "the same, adjusting for ancestors",
    "oset_aid": "the same, adjusting for the optimal set",
    "precision": "share of the found edges that are right",
    "recall": "share of the true edges that are found",
    "f1": "harmonic mean of the two; 1 is perfect",
    "skeleton_f1": "the same without directions",
    "n_edges": "edges found",
    "order_divergence": "true edges that the order cannot have",
    "topological_order_correlation": "of the order with the depths of the true graph",
}


def title_of(measure: str) -> str:
    """What a column of a table, or an axis, is called.

    >>> title_of("shd"), title_of("wall_seconds")
    ('SHD', 'wall seconds')
    """
    return TITLES.get(measure, measure.replace("_", " "))
