"""Checked DAGs, topological orders, equivalence classes, and exchange with files and other libraries."""

from daguerreotype.graphs.convert import (
    from_dot,
    from_edge_list,
    from_gml,
    from_networkx,
    to_dot,
    to_edge_list,
    to_gml,
    to_networkx,
)
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
from daguerreotype.graphs.interop import (
    from_causal_learn,
    from_dowhy,
    from_lingam,
    from_pgmpy,
    to_causal_learn,
    to_dowhy,
    to_lingam,
    to_pgmpy,
)
from daguerreotype.graphs.weighted import WeightedDag, as_weighted

__all__ = [
    "Dag",
    "GraphLike",
    "WeightedDag",
    "align",
    "as_adjacency",
    "as_dag",
    "as_weighted",
    "consistent_extension",
    "depths",
    "find_cycle",
    "from_causal_learn",
    "from_dot",
    "from_dowhy",
    "from_edge_list",
    "from_gml",
    "from_lingam",
    "from_networkx",
    "from_pgmpy",
    "to_causal_learn",
    "to_cpdag",
    "to_dot",
    "to_dowhy",
    "to_edge_list",
    "to_gml",
    "to_lingam",
    "to_networkx",
    "to_pgmpy",
    "topological_order",
]
