"""Which DAG stands for a graph of causal-learn? The class it marks, and one member of it."""

from typing import Any

import numpy as np

from daguerreotype._lib.typing import BoolArray, IntArray
from daguerreotype.baselines.base import Learned
from daguerreotype.graphs import consistent_extension, find_cycle, topological_order

TAIL = -1  # causal-learn's mark at i of an edge i -> j or i - j; the mark of an arrow head is 1


def read_class(graph: Any) -> Learned:
    """CPDAG of a causal-learn graph, and a DAG of that class.

    An edge with two heads, which PC draws where its tests contradict each other, counts as undirected.
    """
    marks = np.asarray(graph.graph)  # (d, d)
    heads_only = (marks == -TAIL) & (marks.T == -TAIL)
    cpdag = (marks == TAIL) | heads_only
    return Learned(extend(cpdag), cpdag=cpdag.astype(np.int64))


def extend(pdag: BoolArray) -> IntArray:
    """A DAG (d, d) with all adjacencies of ``pdag``: a consistent extension where there is one.

    Finite samples can mislead PC to a graph without one. Then its arrows are kept, except that each cycle of them
    loses the direction of one edge, and all other edges follow a topological order of the arrows.
    """
    try:
        return consistent_extension(pdag).astype(np.int64)
    except ValueError:
        arrows = pdag & ~pdag.T
        while (cycle := find_cycle(arrows)) is not None:
            arrows[cycle[-1], cycle[0]] = False
        place = np.argsort(topological_order(arrows))
        forwards = place[:, None] < place[None, :]
        return ((pdag | pdag.T) & forwards).astype(np.int64)
