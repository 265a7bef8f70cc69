"""What is a graph here? Checked adjacencies, topological orders and Markov equivalence classes."""

from daguerreotype.graphs.cpdag import consistent_extension, to_cpdag
from daguerreotype.graphs.dag import (
    Dag,
    GraphLike,
    align,
    as_adjacency,
    as_dag,
    depths,
    find_cycle,
    topological_order,
)

__all__ = [
    "Dag",
    "GraphLike",
    "align",
    "as_adjacency",
    "as_dag",
    "consistent_extension",
    "depths",
    "find_cycle",
    "to_cpdag",
    "topological_order",
]
