"""Checked DAGs: adjacency and names of what users give, cycles, depths and topological orders."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.labels import check_writable, listed
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

Names: TypeAlias = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Dag:
    """A checked graph, as `as_dag` hands it out.

    Attributes
    ----------
    adjacency : array of shape (d, d)
        Entry [i, j] is True for an edge i -> j.
    names : tuple or None
        Node names in the order of the rows; None when nodes are known by their position only.
    """

    adjacency: BoolArray
    names: Names | None = None

    def __post_init__(self) -> None:
        check_writable(self.names or (), "node")

    @property
    def n_nodes(self) -> int:
        """Number of nodes d."""
        return int(self.adjacency.shape[0])

    @property
    def labels(self) -> Names:
        """Names, or positions where there are none."""
        return tuple(range(self.n_nodes)) if self.names is None else self.names

    def label(self, node: int) -> str:
        """Return what a message calls ``node``: its name, or its position."""
        return str(node if self.names is None else self.names[node])


# Any: a fitted learner, which this package knows by its attributes.
GraphLike: TypeAlias = npt.ArrayLike | pd.DataFrame | nx.DiGraph | Dag | Any


def as_dag(graph: GraphLike, what: str = "the graph") -> Dag:
    """Check that ``graph`` is a DAG and return its adjacency with its names.

    Parameters
    ----------
    graph : array-like of shape (d, d), DataFrame, networkx.DiGraph, Dag, or a fitted learner
        Entry [i, j] = 1 means i -> j. A DataFrame is read by its column names, a networkx graph by its
        nodes; labels that are exactly 0, ..., d - 1 are positions, not names. Weights of networkx edges
        are ignored.
    what : str
        What error messages call the graph.

    Returns
    -------
    Dag
        Adjacency of shape (d, d) and names. A `Dag` is returned as it is.

    Raises
    ------
    ValueError
        If the matrix is not square, an entry is neither 0 nor 1, or edges form a cycle (which is named).

    Examples
    --------
    >>> as_dag([[0, 1], [0, 0]]).adjacency
    array([[False,  True],
           [False, False]])
    """
    if isinstance(graph, Dag):
        return graph
    dag = as_adjacency(graph, what)
    cycle = find_cycle(dag.adjacency)
    if cycle is not None:
        path = " -> ".join(dag.label(node) for node in [*cycle, cycle[0]])
        advice = "Remove one of these edges."
        if len(cycle) == 2:
            advice += " If the two entries stand for an undirected edge, orient it with consistent_extension."
        raise ValueError(f"{what} has a cycle: {path}; expected a directed acyclic graph. {advice}")
    return dag


def is_learner(graph: GraphLike) -> bool:
    """Whether this is a fitted learner or baseline; those of lingam have no ``weights_``."""
    # A column, or a method of a graph of pgmpy, may be called like an attribute of learners.
    other = isinstance(graph, nx.Graph | pd.DataFrame)
    return not other and hasattr(graph, "adjacency_matrix_") and hasattr(graph, "weights_")


def fitted_graph(graph: GraphLike, what: str = "the graph") -> GraphLike:
    """The graph of a fitted learner; graphs as they are."""
    learner: Any = graph
    if is_learner(graph):
        fitted: GraphLike = learner.adjacency_matrix_
        return fitted
    if hasattr(graph, "fit") and not isinstance(graph, nx.Graph | pd.DataFrame):
        raise TypeError(
            f"{what} is a {type(graph).__name__} that is not fitted, or of another library; expected a graph or a "
            "fitted learner. Fit it first; from_lingam and its like read models of others."
        )
    plain: GraphLike = graph
    return plain


def as_adjacency(graph: GraphLike, what: str = "the graph") -> Dag:
    """Check what `as_dag` checks except for cycles, so that undirected edges (both entries 1) may come in."""
    if isinstance(graph, Dag):
        return graph
    graph = fitted_graph(graph, what)
    names: Names | None = None
    if isinstance(graph, nx.Graph):
        entries, names = _read_networkx(graph, what)
    elif isinstance(graph, pd.DataFrame):
        entries, names = _read_frame(graph, what)
    else:
        entries = np.asarray(graph)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise ValueError(
            f"{what} has shape {entries.shape}; expected a square matrix (d, d) whose entry [i, j] is 1 "
            "for an edge i -> j."
        )
    if entries.shape[0] == 0:
        raise ValueError(f"{what} has no nodes; expected at least one.")
    adjacency = _binary(entries, names, what)
    if names is not None and set(names) == set(range(len(names))):
        rows = np.argsort(np.array(names, dtype=np.int64))
        adjacency, names = adjacency[np.ix_(rows, rows)], None
    return Dag(adjacency, names)


def align(true: GraphLike, estimated: GraphLike) -> tuple[Dag, Dag]:
    """Check both graphs and bring the nodes of ``estimated`` into the order of ``true``.

    Two named graphs are matched by name; where one side has no names, nodes are matched by position.
    Both graphs come back with the names that either side had.
    """
    first, second = as_dag(true, "the true graph"), as_dag(estimated, "the estimated graph")
    if first.names is None or second.names is None:
        if first.n_nodes != second.n_nodes:
            raise ValueError(
                f"the true graph has {first.n_nodes} nodes and the estimated graph {second.n_nodes}; "
                "expected two graphs on the same nodes."
            )
        names = first.names or second.names
        return Dag(first.adjacency, names), Dag(second.adjacency, names)
    if first.names == second.names:
        return first, second
    rows = match_names(first.names, second.names, "the true graph", "the estimated graph")
    return first, Dag(second.adjacency[np.ix_(rows, rows)], first.names)


def match_names(wanted: Names, given: Names, wanted_by: str, given_by: str) -> IntArray:
    """Position in ``given`` of every one of as many ``wanted`` names; an error lists where they differ."""
    if set(wanted) != set(given):
        sides = [
            f"only {side} has {listed(own, quote=False)}"
            for side, names, opposite in ((wanted_by, wanted, set(given)), (given_by, given, set(wanted)))
            if (own := [name for name in names if name not in opposite])
        ]
        raise ValueError(
            f"names of {wanted_by} and {given_by} differ: {'; '.join(sides)}. "
            "Rename or drop nodes until both sides have the same."
        )
    position = {name: place for place, name in enumerate(given)}
    return np.array([position[name] for name in wanted], dtype=np.int64)


def find_cycle(adjacency: BoolArray) -> list[int] | None:
    """Nodes of one cycle in the direction of its edges (the last leads back to the first), or None."""
    if not isinstance(adjacency, np.ndarray) or adjacency.ndim != 2 or adjacency.dtype != np.bool_:
        adjacency = as_adjacency(adjacency, "adjacency").adjacency
    core = _layers(adjacency) < 0  # every such node has a parent among them, so walking back must repeat
    if not core.any():
        return None
    node, seen = int(np.argmax(core)), set()
    while node not in seen:
        seen.add(node)
        node = int(np.argmax(adjacency[:, node] & core))
    return _shortest_cycle_through(node, adjacency)


def depths(graph: GraphLike) -> IntArray:
    """Number of edges on the longest directed path that ends in each node, shape (d,); 0 for a source."""
    return _layers(as_dag(graph).adjacency)


def topological_order(graph: GraphLike) -> IntArray:
    """Node indices, causes first, shape (d,): sorted by `depths`, ties by index.

    Examples
    --------
    >>> topological_order([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    array([2, 1, 0])
    """
    return np.argsort(depths(graph), kind="stable")


def _layers(adjacency: BoolArray) -> IntArray:
    """Longest-path depth of every node, -1 for nodes on a cycle or below one."""
    depth = np.full(len(adjacency), -1, dtype=np.int64)
    unseen_parents = adjacency.sum(axis=0, dtype=np.int64)
    level = 0
    while (layer := np.flatnonzero(unseen_parents == 0)).size:
        depth[layer] = level
        unseen_parents[layer] = -1  # done
        unseen_parents -= adjacency[layer].sum(axis=0, dtype=np.int64)
        level += 1
    return depth


def _shortest_cycle_through(start: int, adjacency: BoolArray) -> list[int]:
    """Breadth-first search from ``start`` back to itself; ``start`` must lie on a cycle."""
    came_from = np.full(len(adjacency), -1, dtype=np.int64)
    frontier = np.array([start])
    while came_from[start] < 0:
        steps = adjacency[frontier]  # (frontier, d)
        reached = np.flatnonzero(steps.any(axis=0) & (came_from < 0))
        came_from[reached] = frontier[steps[:, reached].argmax(axis=0)]
        frontier = reached
    backwards = [int(came_from[start])]
    while backwards[-1] != start:
        backwards.append(int(came_from[backwards[-1]]))
    return backwards[::-1]


def _read_networkx(graph: nx.Graph, what: str) -> tuple[BoolArray, Names]:
    """Adjacency and node names of a directed networkx graph."""
    if not graph.is_directed():
        raise TypeError(f"{what} is an undirected networkx graph; expected a networkx.DiGraph.")
    return nx.to_numpy_array(graph, dtype=np.bool_, weight=None), tuple(graph.nodes)


def _read_frame(frame: pd.DataFrame, what: str) -> tuple[npt.NDArray[Any], Names]:
    """Entries and names of a DataFrame, rows brought into the order of the columns."""
    names = tuple(frame.columns)
    repeated = frame.columns[frame.columns.duplicated()].unique()
    if len(repeated):
        twice = listed(repeated, quote=False)
        raise ValueError(f"{what} has repeated column names: {twice}. Give every node its own.")
    if set(frame.index) == set(names) and frame.index.is_unique:
        frame = frame.loc[list(names)]
    # rows without labels of their own are taken in the order of the columns
    elif len(frame) == len(names) and not frame.index.equals(pd.RangeIndex(len(names))):
        rows, columns = listed(frame.index, quote=False), listed(names, quote=False)
        raise ValueError(
            f"{what} has rows {rows} and columns {columns}; expected the same names on both. Set the index to the "
            "column names."
        )
    return frame.to_numpy(), names


def _binary(entries: npt.NDArray[Any], names: Names | None, what: str) -> BoolArray:
    """Entries as booleans, or an error that names the first entry which is neither 0 nor 1."""
    try:
        if entries.dtype.kind == "O":  # missing values of pandas become nan
            entries = np.where(pd.isna(entries), np.nan, entries).astype(np.float64)
        if entries.dtype.kind not in "biuf":
            raise ValueError
    except (TypeError, ValueError):
        raise TypeError(f"{what} has entries that are not numbers; expected 0 and 1.") from None
    adjacency: BoolArray = entries == 1
    wrong = ~adjacency & (entries != 0)
    if wrong.any():
        i, j = (int(index) for index in np.argwhere(wrong)[0])
        dag = Dag(adjacency, names)
        value = entries[i, j].item()
        advice = "Fill missing entries." if value != value else "Of a matrix of weights W, pass W != 0."
        raise ValueError(f"entry ({dag.label(i)}, {dag.label(j)}) of {what} is {value}; expected 0 or 1. {advice}")
    return adjacency


# ------------------------------------------------------------------ open directions


OPEN = 0.25  # share of the probability of an edge, either way, from which on its reverse leaves the direction open


def is_open(forward: FloatArray, backward: FloatArray) -> BoolArray:
    """Whether the less likely of two directions has at least a quarter of the probability of both.

    >>> is_open(np.array([0.5, 0.9, 0.0]), np.array([0.4, 0.1, 0.0]))
    array([ True, False, False])
    """
    open_: BoolArray = np.minimum(forward, backward) >= np.maximum(OPEN * (forward + backward), 1e-9)
    return open_
