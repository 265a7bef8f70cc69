"""Sparse distributions over rankings: top-k sparsemax, SparseMAP, and what they are made of."""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.operators.distribution import OrderDistribution as OrderDistribution
    from daguerreotype.operators.k_best import k_best_rankings as k_best_rankings
    from daguerreotype.operators.precedence import Precedence as Precedence
    from daguerreotype.operators.projection import project_permutahedron as project_permutahedron
    from daguerreotype.operators.rankings import complete_dag as complete_dag
    from daguerreotype.operators.rankings import order_to_ranks as order_to_ranks
    from daguerreotype.operators.rankings import ranks_to_order as ranks_to_order
    from daguerreotype.operators.rankings import score_intervals as score_intervals
    from daguerreotype.operators.registry import OPERATORS as OPERATORS
    from daguerreotype.operators.registry import FixedOrder as FixedOrder
    from daguerreotype.operators.registry import OperatorEntry as OperatorEntry
    from daguerreotype.operators.registry import RandomOrder as RandomOrder
    from daguerreotype.operators.registry import SparseMAP as SparseMAP
    from daguerreotype.operators.registry import Sparsemax as Sparsemax
    from daguerreotype.operators.sparse_map import sparsemap as sparsemap
    from daguerreotype.operators.sparsemax import top_k_sparsemax as top_k_sparsemax

# Loaded on first use: the command line reads the registry, and need not wait for numba.
__getattr__ = lazy_names(
    __name__,
    {
        "distribution": "OrderDistribution",
        "k_best": "k_best_rankings",
        "precedence": "Precedence",
        "projection": "project_permutahedron",
        "rankings": "complete_dag order_to_ranks ranks_to_order score_intervals",
        "registry": "OPERATORS FixedOrder OperatorEntry RandomOrder SparseMAP Sparsemax",
        "sparse_map": "sparsemap",
        "sparsemax": "top_k_sparsemax",
    },
)
