"""Completed partially directed acyclic graphs (CPDAGs): from a DAG to its Markov equivalence class, and back."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import BoolArray
from daguerreotype.graphs.dag import (
    GraphLike,
    as_adjacency,
    as_dag,
    topological_order,
)


@dataclass(frozen=True)
class EquivalenceClass:
    """The edges of a DAG, by whether all DAGs of its Markov equivalence class agree on their direction.

    Attributes
    ----------
    compelled : list of (cause, effect)
        Edges that have this direction in every DAG of the class.
    reversible : list of (cause, effect)
        Edges that some DAG of the class has the other way around; written as the graph has them.
    """

    compelled: list[tuple[Hashable, Hashable]]
    reversible: list[tuple[Hashable, Hashable]]


def equivalence_class(graph: GraphLike) -> EquivalenceClass:
    """Compelled and reversible edges of a DAG, by the names of their nodes.

    Parameters
    ----------
    graph : array-like of shape (d, d), DataFrame, networkx.DiGraph, or a fitted learner
        A DAG.

    Examples
    --------
    >>> equivalence_class([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    EquivalenceClass(compelled=[(1, 3), (2, 3)], reversible=[(0, 1)])
    """
    dag = as_dag(graph)
    either = to_cpdag(dag)
    edges = [(int(i), int(j)) for i, j in np.argwhere(dag.adjacency)]
    return EquivalenceClass(
        compelled=[(dag.labels[i], dag.labels[j]) for i, j in edges if not either[j, i]],
        reversible=[(dag.labels[i], dag.labels[j]) for i, j in edges if either[j, i]],
    )


def to_cpdag(graph: GraphLike) -> BoolArray:
    """Completed partially directed graph of a DAG: what is common to its Markov equivalence class.

    C[i, j] = 1  iff  some DAG with the skeleton and the v-structures of ``graph`` has the edge i -> j.

    So an edge that has the same direction in all these DAGs is directed, and every other edge is
    undirected: both entries are 1. Edges are labelled as by Chickering (1995), in O(d^2): in topological
    order, the edges into a node y follow from those into x, the last parent of y.

    Parameters
    ----------
    graph : array-like of shape (d, d), DataFrame, networkx.DiGraph, or a fitted learner
        A DAG.

    Returns
    -------
    array of shape (d, d)
        Booleans, nodes in the order of the input.

    Examples
    --------
    >>> to_cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    dag = as_dag(graph)
    order = topological_order(dag)
    parents = np.ascontiguousarray(dag.adjacency.T)  # row y: the parents of y
    compelled = np.zeros_like(parents)
    for y in order:
        in_order = order[parents[y, order]]
        if not len(in_order):
            continue
        x = in_order[-1]
        unshielded = parents[y] & ~parents[x]
        unshielded[x] = False
        # a parent of y not adjacent to x makes a v-structure; w -> x compelled without w -> y fixes x -> y
        if unshielded.any() or (compelled[x] & ~parents[y]).any():
            compelled[y] = parents[y]
        else:
            compelled[y] = compelled[x]
    return dag.adjacency | (parents & ~compelled)


def consistent_extension(graph: GraphLike) -> BoolArray:
    """DAG with the skeleton, the v-structures and the directed edges of a partially directed graph.

    Dor and Tarsi (1992): take a node x without outgoing directed edges, whose undirected neighbours are
    adjacent to everything adjacent to x; direct its undirected edges into x; remove x; repeat. An
    extension exists if and only if such a node is found every time. Of several, the one of smallest
    index is taken.

    Parameters
    ----------
    graph : array-like of shape (d, d), DataFrame or networkx.DiGraph
        A CPDAG, or any partially directed graph: an undirected edge has both entries 1.

    Returns
    -------
    array of shape (d, d)
        Booleans, nodes in the order of the input.

    Raises
    ------
    ValueError
        If no DAG extends the graph.

    Examples
    --------
    >>> consistent_extension([[0, 1], [1, 0]]).astype(int)
    array([[0, 0],
           [1, 0]])
    """
    pdag = as_adjacency(graph)
    entries = pdag.adjacency
    loops = np.flatnonzero(entries.diagonal())
    if loops.size:
        name = pdag.label(int(loops[0]))
        raise ValueError(f"the graph has an edge from {name} to itself; expected none. Clear its diagonal.")
    undirected = entries & entries.T
    directed = entries & ~undirected
    adjacent = entries | entries.T
    dag = directed.copy()
    children = directed.sum(axis=1)
    apart = ~adjacent
    np.fill_diagonal(apart, False)
    # [x, y]: how many neighbours of x are not adjacent to y
    missing = np.rint(adjacent.astype(np.float32) @ apart.astype(np.float32)).astype(np.int32)
    faults = (undirected * missing).sum(axis=1)
    remaining = np.ones(len(entries), dtype=np.bool_)
    for _ in range(len(entries)):
        ready = remaining & (children == 0) & (faults == 0)
        if not ready.any():
            names = listed([pdag.label(int(node)) for node in np.flatnonzero(remaining)], quote=False)
            raise ValueError(
                f"no DAG extends the graph: its edges among {names} force a cycle or a new v-structure. "
                "Check that it is a CPDAG; drop or direct some of these edges."
            )
        x = int(np.argmax(ready))
        dag[undirected[x], x] = True
        remaining[x] = False
        children -= directed[:, x]
        undirected[:, x] = False
        near = np.flatnonzero(adjacent[x] & remaining)
        missing[near] -= apart[x]
        faults[near] = (undirected[near] * missing[near]).sum(axis=1)
    return dag
