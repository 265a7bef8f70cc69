"""Titles of the metrics, and what each of them counts."""

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
    "parent_aid": "the same, adjusting for parents",
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
