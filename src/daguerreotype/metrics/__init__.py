"""Distances between a true and an estimated graph. Every metric is called with (true, estimated)."""

from daguerreotype.metrics.adjustment import ancestor_aid, oset_aid, parent_aid, sid
from daguerreotype.metrics.edges import f1, n_edges, precision, recall, skeleton_f1
from daguerreotype.metrics.hamming import shd, shd_cpdag
from daguerreotype.metrics.order import order_divergence, topological_order_correlation
from daguerreotype.metrics.sortability import r2_sortability, sortability_warning, var_sortability
from daguerreotype.metrics.summary import evaluate

__all__ = [
    "ancestor_aid",
    "evaluate",
    "f1",
    "n_edges",
    "order_divergence",
    "oset_aid",
    "parent_aid",
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
