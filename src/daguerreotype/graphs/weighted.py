"""DAGs with weights, norms and probabilities of their edges, either way."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import FloatArray
from daguerreotype.graphs.dag import Dag, GraphLike, as_dag, is_learner


@dataclass(frozen=True, slots=True)
class WeightedDag(Dag):
    """A checked graph with what is known of its edges, as the importers hand it out; metrics take it as it is.

    Attributes
    ----------
    adjacency : array of shape (d, d)
        Entry [i, j] is True for an edge i -> j.
    names : tuple or None
        Node names in the order of the rows; None when nodes are known by their position only.
    weights, probabilities, norms, reverse_probabilities : array of shape (d, d) or None
        Of every edge, zero elsewhere; None if unknown. An edge for which only others' are known has nan. Weights
        are slopes with their sign; norms are sizes of effects, whatever their shape. Entry [i, j] of the last is
        the probability of the edge i -> j turned around.
    """

    weights: FloatArray | None = None
    probabilities: FloatArray | None = None
    norms: FloatArray | None = None
    reverse_probabilities: FloatArray | None = None

    def attributes(self, cause: int, effect: int) -> dict[str, float]:
        """What is known of one edge, by the name that networkx attributes bear."""
        matrices = {name: getattr(self, plural) for name, plural in EDGE_ATTRIBUTES.items()}
        values = {name: float(matrix[cause, effect]) for name, matrix in matrices.items() if matrix is not None}
        return {name: value for name, value in values.items() if not np.isnan(value)}


EDGE_ATTRIBUTES = {  # the name of one edge's, and of the matrix of all
    "weight": "weights",
    "norm": "norms",
    "probability": "probabilities",
    "reverse_probability": "reverse_probabilities",
}


def as_weighted(
    graph: GraphLike,
    what: str = "the graph",
    *,
    weights: npt.ArrayLike | None = None,
) -> WeightedDag:
    """Check that ``graph`` is a DAG and return it with weights, probabilities and norms of its edges.

    Parameters
    ----------
    graph : array-like of shape (d, d), DataFrame, networkx.DiGraph, Dag, or a fitted learner
        As in `as_dag`. Of a networkx graph the edge attributes ``weight``, ``norm``, ``probability`` and
        ``reverse_probability`` are kept, of a learner or baseline ``weights_``, ``norms_`` and
        ``edge_probabilities_``, those of the reverse of its edges among them, as far as it has them.
    what : str
        What error messages call the graph.
    weights : array of shape (d, d), optional
        Of the edges, in place of those of ``graph``; entries where there is no edge play no part.

    Examples
    --------
    >>> as_weighted([[0, 1], [0, 0]], weights=[[0, -0.5], [0, 0]]).attributes(0, 1)
    {'weight': -0.5}
    """
    dag = as_dag(graph, what)
    matrices: dict[str, Any] = {}
    if isinstance(graph, WeightedDag):
        matrices = {plural: getattr(graph, plural) for plural in EDGE_ATTRIBUTES.values()}
    elif isinstance(graph, nx.DiGraph):
        matrices = {plural: _edge_attribute(graph, dag, name) for name, plural in EDGE_ATTRIBUTES.items()}
    elif is_learner(graph):
        learner: Any = graph
        norms = getattr(getattr(learner, "_result", None), "norms", None)
        matrices = {"weights": learner.weights_, "norms": norms}
        likely = getattr(learner, "edge_probabilities_", None)
        if likely is not None:
            matrices |= {"probabilities": likely, "reverse_probabilities": likely.T}
    if weights is not None:
        matrices["weights"] = weights
    return WeightedDag(dag.adjacency, dag.names, **{name: _on_edges(m, dag, name) for name, m in matrices.items()})


def labelled(dag: WeightedDag, labels: Iterable[Hashable]) -> nx.DiGraph:
    """A networkx graph with these labels."""
    names = list(labels)
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j], dag.attributes(i, j)) for i, j in np.argwhere(dag.adjacency))
    return graph


def texts_of(dag: Dag) -> list[str]:
    """Names as text, each its own."""
    texts = [dag.label(node) for node in range(dag.n_nodes)]
    repeated = [text for text, count in Counter(texts).items() if count > 1]
    if repeated:
        twice = listed(repeated, quote=False)
        raise ValueError(f"two nodes are called {twice} when written as text. Rename one of them.")
    return texts


def textual(dag: WeightedDag) -> nx.DiGraph:
    """A networkx graph with names as text."""
    return labelled(dag, texts_of(dag))


def from_textual(graph: nx.DiGraph, what: str) -> WeightedDag:
    """The DAG of a graph whose labels may be positions written as text."""
    labels = list(graph.nodes)
    if labels == [str(place) for place in range(len(labels))]:
        graph = nx.relabel_nodes(nx.DiGraph(graph), {label: int(label) for label in labels})
    return as_weighted(graph, what)


def _edge_attribute(graph: nx.DiGraph, dag: Dag, name: str) -> FloatArray | None:
    """One attribute of all edges (d, d), nan for edges that lack it; None if all do."""
    position = {label: place for place, label in enumerate(dag.labels)}
    matrix = np.where(dag.adjacency, np.nan, 0.0)
    for cause, effect, value in graph.edges(data=name):
        if pd.isna(value):
            continue
        try:
            matrix[position[cause], position[effect]] = float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"the edge {cause} -> {effect} has {name} {value!r}; expected a number. Change or drop it."
            ) from None
    return None if np.isnan(matrix[dag.adjacency]).all() else matrix


def _on_edges(matrix: Any, dag: Dag, what: str) -> FloatArray | None:
    """Entries (d, d) of the edges, zero elsewhere."""
    if matrix is None:
        return None
    labels = list(dag.labels)
    if isinstance(matrix, pd.DataFrame) and set(matrix.columns) == set(matrix.index) == set(labels):
        matrix = matrix.loc[labels, labels]
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != dag.adjacency.shape:
        raise ValueError(f"{what} have shape {values.shape}; expected that of the graph, {dag.adjacency.shape}.")
    return np.where(dag.adjacency, values, 0.0)
