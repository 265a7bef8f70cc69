"""Exchange of graphs with other causal libraries: pgmpy, dowhy, causal-learn and lingam."""

from collections.abc import Hashable, Iterable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from daguerreotype._lib.optional import require
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.graphs.dag import Exportable
from daguerreotype.graphs.weighted import WeightedDag, as_weighted, from_textual, texts_of, textual


def to_pgmpy(graph: Exportable) -> Any:
    """A ``pgmpy.base.DAG``; give its edges to a model class of pgmpy to fit probabilities."""
    dag = _library("pgmpy.base", "pgmpy").DAG()
    found = textual(as_weighted(graph))
    dag.add_nodes_from(found.nodes)
    dag.add_edges_from(found.edges)
    nx.set_edge_attributes(dag, {(cause, effect): known for cause, effect, known in found.edges(data=True)})
    return dag


def from_pgmpy(model: Any) -> WeightedDag:
    """The structure of a DAG or Bayesian network of pgmpy."""
    if not isinstance(model, nx.DiGraph):
        raise TypeError(f"expected a DAG or a Bayesian network of pgmpy, got {type(model).__name__}.")
    return from_textual(model, "the pgmpy graph")


def to_dowhy(graph: Exportable) -> nx.DiGraph:
    """The networkx graph, with names as text, that ``dowhy.CausalModel(graph=...)`` and ``dowhy.gcm`` take."""
    return textual(as_weighted(graph))


def from_dowhy(model: Any) -> WeightedDag:
    """The graph of a ``dowhy.CausalModel`` or of a causal model of ``dowhy.gcm``, or the graph that was given."""
    found = model
    for attribute in ("_graph", "_graph", "graph"):  # CausalModel, its CausalGraph; a model of gcm
        if not isinstance(found, nx.Graph):
            found = getattr(found, attribute, found)
    if not isinstance(found, nx.DiGraph):
        raise TypeError(f"expected a causal model of dowhy, got {type(model).__name__}.")
    return from_textual(found, "the dowhy graph")


def to_causal_learn(graph: Exportable) -> Any:
    """A ``GeneralGraph`` of causal-learn, which holds no weights."""
    library = _library("causallearn.graph.GeneralGraph", "causal-learn")
    node = _library("causallearn.graph.GraphNode", "causal-learn").GraphNode
    dag = as_weighted(graph)
    nodes = [node(name) for name in texts_of(dag)]
    found = library.GeneralGraph(nodes)
    for cause, effect in np.argwhere(dag.adjacency):
        found.add_directed_edge(nodes[cause], nodes[effect])
    return found


def from_causal_learn(graph: Any) -> WeightedDag:
    """The DAG in a graph of causal-learn, or in the result of one of its searches; all edges must be directed."""
    found: Any = graph.get("G") if isinstance(graph, dict) else getattr(graph, "G", graph)
    if not (hasattr(found, "graph") and hasattr(found, "nodes")):
        raise TypeError(
            f"expected a graph of causal-learn, or the result of a search, got {type(graph).__name__}."
        )
    return _from_marks(np.asarray(found.graph), [node.get_name() for node in found.nodes])


def _from_marks(marks: IntArray, names: list[str]) -> WeightedDag:
    """The DAG of a matrix of end marks: -1 at the tail of an edge, 1 at its head."""
    directed = (marks == -1) & (marks.T == 1)
    loose = np.argwhere((marks != 0) & ~directed & ~directed.T)
    if loose.size:
        first, second = (names[node] for node in loose[0])
        raise ValueError(
            f"the edge between {first} and {second} has no direction; expected a DAG. Orient undirected edges "
            "with consistent_extension."
        )
    found = nx.DiGraph()
    found.add_nodes_from(names)
    found.add_edges_from((names[i], names[j]) for i, j in np.argwhere(directed))
    return from_textual(found, "the causal-learn graph")


def to_lingam(graph: Exportable) -> FloatArray:
    """The matrix B of lingam, in which B[i, j] is the slope of i in j: transposed. Unknown weights are 1.

    Of a fitted learner these are its ``slopes_``, in the units of the columns as in lingam: by how much i changes
    as j grows by one; a curve is replaced by the best line through it. If the learner changed the scale
    (``transform_``), they are slopes of the transformed columns: fit with ``transform="none"`` for those of the
    columns themselves. Of all other graphs they are the weights as they are.

    An edge whose weight is exactly zero is none to lingam.

    Examples
    --------
    >>> to_lingam(as_weighted([[0, 1], [0, 0]], weights=[[0, -2], [0, 0]]))
    array([[ 0.,  0.],
           [-2.,  0.]])
    """
    learner = not isinstance(graph, nx.Graph | pd.DataFrame)  # whose column or method may be called like that
    dag = as_weighted(graph, weights=getattr(graph, "slopes_", None) if learner else None)
    weights = dag.adjacency.astype(np.float64) if dag.weights is None else dag.weights
    return np.where(np.isnan(weights), 1.0, weights).T.copy()


def from_lingam(model: Any, *, names: Iterable[Hashable] | None = None) -> WeightedDag:
    """The graph of a fitted model of lingam, or of its matrix, in which B[i, j] is the effect of j on i.

    Parameters
    ----------
    model : fitted model, array or DataFrame of shape (d, d)
        A model is read by its ``adjacency_matrix_``.
    names : iterable, optional
        Names of the variables; a DataFrame has its own.
    """
    matrix = getattr(model, "adjacency_matrix_", model)
    if names is None and isinstance(matrix, pd.DataFrame):
        names = matrix.columns
    weights = np.asarray(matrix, dtype=np.float64).T
    labels = list(range(len(weights)) if names is None else names)
    if weights.shape != (len(labels), len(labels)):
        raise ValueError(f"got {len(labels)} names for a matrix of shape {weights.shape}; expected one per row.")
    if np.isnan(weights).any():
        raise ValueError(
            "the matrix has nan where lingam cannot tell a direction; expected a DAG. Fill these entries first."
        )
    frame = pd.DataFrame(weights, labels, labels)
    return as_weighted(frame != 0, "the lingam graph", weights=frame)


def _library(module: str, package: str) -> Any:
    """A module of another library, or an error that says how to install it."""
    return require(module, f"{package} is not installed.", package=package)
