"""Agreement of an order of the nodes with the true graph."""

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np

from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import IntArray
from daguerreotype.graphs import Dag, GraphLike, as_dag, depths


def order_divergence(true: GraphLike, order: Iterable[Hashable]) -> int:
    """Count the true edges that an order forbids.

    D = #{i -> j in ``true`` : position of i > position of j}.

    0 if and only if the order is a topological order of the true graph; otherwise no regression can find
    these edges in their direction: a lower bound on the SHD of every graph with this order.

    Parameters
    ----------
    true : array-like of shape (d, d), DataFrame or networkx.DiGraph
        A DAG; entry [i, j] = 1 means i -> j.
    order : sequence of length d
        ``order[p]`` is the node at position p, causes first: column positions of ``true``, or its names.

    Examples
    --------
    >>> order_divergence([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [1, 0, 2])
    1
    """
    dag = as_dag(true, "the true graph")
    position = _positions(order, dag)
    causes, effects = np.nonzero(dag.adjacency)
    return int(np.count_nonzero(position[causes] > position[effects]))


def topological_order_correlation(true: GraphLike, order: Iterable[Hashable]) -> float:
    """Pearson correlation of an order with the depth of the nodes in the true graph (TOPC).

    TOPC = corr(position in ``order``, depth in ``true``),  depth = edges on the longest path to the node.

    A graph has many topological orders, and its mean position over all of them is #P-hard to compute. The
    depth needs no choice among them: nodes of one level tie, whatever their names. The paper names the
    metric without a formula; the code published with it compares depths, too. The value reaches 1 only
    where the true graph has a single topological order, its depths then being positions; wide graphs stay
    below 1 even for a right order. So ask `order_divergence` whether an order is possible, and this one how
    alike. Without edges no node is deeper than another, and the value is 0.

    Parameters
    ----------
    true : array-like of shape (d, d), DataFrame or networkx.DiGraph
        A DAG; entry [i, j] = 1 means i -> j.
    order : sequence of length d
        ``order[p]`` is the node at position p, causes first: column positions of ``true``, or its names.

    Examples
    --------
    >>> round(topological_order_correlation([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [2, 1, 0]), 6)
    -1.0
    """
    dag = as_dag(true, "the true graph")
    position = _positions(order, dag).astype(np.float64)
    depth = depths(dag).astype(np.float64)
    position -= position.mean()
    depth -= depth.mean()
    spread = float(np.sqrt((position @ position) * (depth @ depth)))
    return float(np.clip(position @ depth / spread, -1.0, 1.0)) if spread else 0.0


def _positions(order: Iterable[Hashable], dag: Dag) -> IntArray:
    """Position of every node in ``order``, given by names or by indices; checks that none is missing."""
    entries = list(order)
    try:
        counts = Counter(entries)
    except TypeError:
        raise TypeError(
            f"order holds entries of type {type(entries[0]).__name__}; expected node indices or names."
        ) from None
    labels: dict[Hashable, int] = {node: node for node in range(dag.n_nodes)}
    if dag.names is not None and counts.keys() & set(dag.names):
        labels = {name: node for node, name in enumerate(dag.names)}
    faults = {
        "missing": [label for label in labels if label not in counts],
        "unknown": [entry for entry in counts if entry not in labels],
        "repeated": [entry for entry, times in counts.items() if times > 1],
    }
    if any(faults.values()):
        seen = "; ".join(f"{fault}: {listed(nodes, quote=False)}" for fault, nodes in faults.items() if nodes)
        raise ValueError(
            f"order is not a permutation of the {dag.n_nodes} nodes ({seen}). Give every node once, by its "
            "column position or by its name."
        )
    position = np.empty(dag.n_nodes, dtype=np.int64)
    position[[labels[entry] for entry in entries]] = np.arange(dag.n_nodes)
    return position
