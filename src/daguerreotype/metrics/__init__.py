"""Distances between a true and an estimated graph. Every metric is called with (true, estimated)."""

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
from daguerreotype.metrics.orders import (
    order_divergence,
    r2_sortability,
    sortability_warning,
    topological_order_correlation,
    var_sortability,
)
from daguerreotype.metrics.summary import evaluate

__all__ = [
    "ancestor_aid",
    "evaluate",
    "f1",
    "n_edges",
    "order_divergence",
    "oset_aid",
    "precision",
    "r2_sortability",
    "recall",
    "shd",
    "shd_cpdag",
    "sid",
    "skeleton_f1",
    "sortability_warning",
    "topological_order_correlation",
    "var_sortability",
]
