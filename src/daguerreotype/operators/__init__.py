"""Sparse distributions over rankings: top-k sparsemax, SparseMAP, and what they are made of."""

from daguerreotype.operators.distribution import OrderDistribution
from daguerreotype.operators.k_best import k_best_rankings
from daguerreotype.operators.precedence import Precedence
from daguerreotype.operators.projection import project_permutahedron
from daguerreotype.operators.rankings import (
    complete_dag,
    hyperplanes_crossed,
    order_to_ranks,
    ranks_to_order,
    score_intervals,
)
from daguerreotype.operators.registry import OPERATORS, OperatorEntry
from daguerreotype.operators.sparsemap import sparsemap
from daguerreotype.operators.sparsemax import top_k_sparsemax

__all__ = [
    "OPERATORS",
    "OperatorEntry",
    "OrderDistribution",
    "Precedence",
    "complete_dag",
    "hyperplanes_crossed",
    "k_best_rankings",
    "order_to_ranks",
    "project_permutahedron",
    "ranks_to_order",
    "score_intervals",
    "sparsemap",
    "top_k_sparsemax",
]
