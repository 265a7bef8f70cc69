"""Checked DAGs, topological orders, equivalence classes, and exchange with files and other libraries."""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.graphs.convert import from_causal_learn as from_causal_learn
    from daguerreotype.graphs.convert import from_dowhy as from_dowhy
    from daguerreotype.graphs.convert import from_edge_list as from_edge_list
    from daguerreotype.graphs.convert import from_gml as from_gml
    from daguerreotype.graphs.convert import from_lingam as from_lingam
    from daguerreotype.graphs.convert import from_networkx as from_networkx
    from daguerreotype.graphs.convert import from_pgmpy as from_pgmpy
    from daguerreotype.graphs.convert import to_causal_learn as to_causal_learn
    from daguerreotype.graphs.convert import to_dot as to_dot
    from daguerreotype.graphs.convert import to_dowhy as to_dowhy
    from daguerreotype.graphs.convert import to_edge_list as to_edge_list
    from daguerreotype.graphs.convert import to_gml as to_gml
    from daguerreotype.graphs.convert import to_lingam as to_lingam
    from daguerreotype.graphs.convert import to_networkx as to_networkx
    from daguerreotype.graphs.convert import to_pgmpy as to_pgmpy
    from daguerreotype.graphs.cpdag import EquivalenceClass as EquivalenceClass
    from daguerreotype.graphs.cpdag import consistent_extension as consistent_extension
    from daguerreotype.graphs.cpdag import equivalence_class as equivalence_class
    from daguerreotype.graphs.cpdag import to_cpdag as to_cpdag
    from daguerreotype.graphs.dag import Dag as Dag
    from daguerreotype.graphs.dag import GraphLike as GraphLike
    from daguerreotype.graphs.dag import align as align
    from daguerreotype.graphs.dag import as_adjacency as as_adjacency
    from daguerreotype.graphs.dag import as_dag as as_dag
    from daguerreotype.graphs.dag import depths as depths
    from daguerreotype.graphs.dag import find_cycle as find_cycle
    from daguerreotype.graphs.dag import topological_order as topological_order
    from daguerreotype.graphs.weighted import WeightedDag as WeightedDag
    from daguerreotype.graphs.weighted import as_weighted as as_weighted

__getattr__ = lazy_names(
    __name__,
    {
        "convert": "from_causal_learn from_dowhy from_edge_list from_gml from_lingam from_networkx from_pgmpy "
        "to_causal_learn to_dot to_dowhy to_edge_list to_gml to_lingam to_networkx to_pgmpy",
        "cpdag": "EquivalenceClass consistent_extension equivalence_class to_cpdag",
        "dag": "Dag GraphLike align as_adjacency as_dag depths find_cycle topological_order",
        "weighted": "WeightedDag as_weighted",
    },
)
