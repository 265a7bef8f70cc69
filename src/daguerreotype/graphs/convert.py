"""Conversion of graphs to and from networkx, edge lists, GML and other causal libraries, and to DOT.

Every ``to_`` function takes what `as_weighted` takes: an adjacency matrix or DataFrame, a networkx graph, a `Dag`,
or a fitted learner with weights, norms and probabilities. Every ``from_`` function returns a `WeightedDag`, which
metrics and every ``to_`` function take. Where names must be text, positions become "0", "1", ...; labels that are
exactly these, in this order, come back as positions.
"""

import os
from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.files import read_words
from daguerreotype._lib.imports import require
from daguerreotype._lib.labels import listed, row_called
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.graphs.dag import GraphLike, is_open
from daguerreotype.graphs.weighted import (
    EDGE_ATTRIBUTES,
    WeightedDag,
    as_weighted,
    from_textual,
    labelled,
    texts_of,
    textual,
)

Text: TypeAlias = str | os.PathLike[str]


def to_networkx(graph: GraphLike) -> nx.DiGraph:
    """A networkx graph whose edges bear what is known of ``weight``, ``norm``, ``probability`` and its reverse.

    ``reverse_probability`` is that of the same edge turned around.

    Examples
    --------
    >>> to_networkx(as_weighted([[0, 1], [0, 0]], weights=[[0, 2], [0, 0]])).edges(data=True)
    OutEdgeDataView([(0, 1, {'weight': 2.0})])
    """
    dag = as_weighted(graph)
    return labelled(dag, dag.labels)


def from_networkx(graph: nx.DiGraph) -> WeightedDag:
    """The DAG in a networkx graph, with those attributes of its edges that `to_networkx` gives them."""
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"expected a networkx.DiGraph, got {type(graph).__name__}.")
    return as_weighted(graph)


def to_edge_list(graph: GraphLike) -> pd.DataFrame:
    """One row per edge: source, target, weight, norm, probability, reverse_probability, nan where unknown.

    The last is the probability of the edge turned around. Nodes without edges are not in it.

    Examples
    --------
    >>> to_edge_list([[0, 1], [0, 0]])
       source  target  weight  norm  probability  reverse_probability
    0       0       1     NaN   NaN          NaN                  NaN
    """
    dag = as_weighted(graph)
    rows = [
        {"source": dag.labels[i], "target": dag.labels[j], **dag.attributes(i, j)}
        for i, j in np.argwhere(dag.adjacency)
    ]
    frame = pd.DataFrame(rows, columns=["source", "target", *EDGE_ATTRIBUTES])
    return frame.astype(dict.fromkeys(EDGE_ATTRIBUTES, np.float64))


def from_edge_list(edges: pd.DataFrame, *, nodes: Iterable[Hashable] | None = None) -> WeightedDag:
    """The DAG of a table with columns source and target, and those others of `to_edge_list` that it has.

    Parameters
    ----------
    edges : DataFrame
        One row per edge.
    nodes : iterable, optional
        All nodes, in the order they are to have. Without it they are those of the edges, as they come.
    """
    if not isinstance(edges, pd.DataFrame):
        raise TypeError(f"edges is a {type(edges).__name__}: expected a DataFrame with columns source and target.")
    missing = [name for name in ("source", "target") if name not in edges.columns]
    if missing:
        raise ValueError(
            f"the edge list has no column {listed(missing, quote=False)}, but "
            f"{listed(edges.columns, quote=False)}. Rename its columns."
        )
    ends = edges[["source", "target"]]
    if ends.isna().to_numpy().any():
        row = int(np.flatnonzero(ends.isna().any(axis=1))[0])
        raise ValueError(f"{row_called(row)} of the edge list names only one node, or none. Fill or drop it.")
    twice = np.flatnonzero(ends.duplicated())
    if twice.size:
        cause, effect = ends.iloc[twice[0]]
        raise ValueError(f"the edge list has the edge {cause} -> {effect} twice. Keep one of the two rows.")
    carried = [name for name in EDGE_ATTRIBUTES if name in edges.columns]
    graph = nx.from_pandas_edgelist(edges, edge_attr=carried or None, create_using=nx.DiGraph)
    if nodes is not None:
        all_nodes = nx.DiGraph()
        all_nodes.add_nodes_from(nodes)
        unknown = [node for node in graph if node not in all_nodes]
        if unknown:
            names = listed(unknown, quote=False)
            raise ValueError(f"the edge list has nodes that are not among nodes: {names}. Add them there.")
        graph = nx.compose(all_nodes, graph)
    return as_weighted(graph, "the edge list")


def to_dot(graph: GraphLike) -> str:
    """Text in Graphviz' DOT language; edges have the attributes that are known of them.

    They are ``strength`` (the weight: Graphviz takes an attribute of that name for a wish about the layout),
    ``norm``, ``probability`` and ``reverse_probability``. An edge whose direction is open, because its reverse is
    about as probable, is drawn without a head (``dir="none"``); in the text its cause stands first all the same.

    Examples
    --------
    >>> print(to_dot(pd.DataFrame([[0, 1], [0, 0]], columns=["dose", 'the "effect"'])), end="")
    digraph {
      "dose";
      "the \\"effect\\"";
      "dose" -> "the \\"effect\\"";
    }
    """
    named = textual(as_weighted(graph))
    for _, _, attributes in named.edges(data=True):
        if "weight" in attributes:
            attributes["strength"] = attributes.pop("weight")
        either = (np.array(attributes.get(name, np.nan)) for name in ("probability", "reverse_probability"))
        if is_open(*either):
            attributes["dir"] = "none"
    lines = [f"  {_quoted(node)};" for node in named.nodes]
    for cause, effect, attributes in named.edges(data=True):
        words = {name: '"none"' if name == "dir" else repr(value) for name, value in attributes.items()}
        brackets = f" [{', '.join(f'{name}={word}' for name, word in words.items())}]" if words else ""
        lines.append(f"  {_quoted(cause)} -> {_quoted(effect)}{brackets};")
    return "\n".join(["digraph {", *lines, "}", ""])


def to_gml(graph: GraphLike) -> str:
    """Text in the Graph Modelling Language, as networkx and many graph tools read it."""
    return "\n".join(nx.generate_gml(textual(as_weighted(graph)))) + "\n"


def from_gml(text: Text) -> WeightedDag:
    """The DAG in a text, or a file (a Path), of the Graph Modelling Language."""
    try:
        named = nx.parse_gml(text if isinstance(text, str) else read_words(check_path(text, "text")))
    except nx.NetworkXError as error:
        raise ValueError(f"the GML text cannot be read: {error}. Check that it is whole.") from error
    return from_textual(named, "the GML graph")


def _quoted(name: str) -> str:
    """A name as a quoted string of DOT, in which two characters need an escape."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ------------------------------------------------------------------ other causal libraries


def to_pgmpy(graph: GraphLike) -> Any:
    """A ``pgmpy.base.DAG``; give its edges to a model class of pgmpy to fit probabilities."""
    dag = _library("pgmpy.base", "pgmpy").DAG()
    named = textual(as_weighted(graph))
    dag.add_nodes_from(named.nodes)
    dag.add_edges_from(named.edges)
    nx.set_edge_attributes(dag, {(i, j): attributes for i, j, attributes in named.edges(data=True)})
    return dag


def from_pgmpy(model: Any) -> WeightedDag:
    """The structure of a DAG or Bayesian network of pgmpy."""
    if not isinstance(model, nx.DiGraph):
        raise TypeError(f"expected a DAG or a Bayesian network of pgmpy, got {type(model).__name__}.")
    return from_textual(model, "the pgmpy graph")


def to_dowhy(graph: GraphLike) -> nx.DiGraph:
    """The networkx graph, with names as text, that ``dowhy.CausalModel(graph=...)`` and ``dowhy.gcm`` take."""
    return textual(as_weighted(graph))


def from_dowhy(model: Any) -> WeightedDag:
    """The graph of a ``dowhy.CausalModel`` or of a causal model of ``dowhy.gcm``, or the graph that was given."""
    graph = model
    for attribute in ("_graph", "_graph", "graph"):  # CausalModel, its CausalGraph; a model of gcm
        if not isinstance(graph, nx.Graph):
            graph = getattr(graph, attribute, graph)
    if not isinstance(graph, nx.DiGraph):
        raise TypeError(f"expected a causal model of dowhy, got {type(model).__name__}.")
    return from_textual(graph, "the dowhy graph")


def to_causal_learn(graph: GraphLike) -> Any:
    """A ``GeneralGraph`` of causal-learn, which holds no weights."""
    library = _library("causallearn.graph.GeneralGraph", "causal-learn")
    node = _library("causallearn.graph.GraphNode", "causal-learn").GraphNode
    dag = as_weighted(graph)
    nodes = [node(name) for name in texts_of(dag)]
    general = library.GeneralGraph(nodes)
    for cause, effect in np.argwhere(dag.adjacency):
        general.add_directed_edge(nodes[cause], nodes[effect])
    return general


def from_causal_learn(graph: Any) -> WeightedDag:
    """The DAG in a graph of causal-learn, or in the result of one of its searches; all edges must be directed."""
    general: Any = graph.get("G") if isinstance(graph, dict) else getattr(graph, "G", graph)
    if not (hasattr(general, "graph") and hasattr(general, "nodes")):
        raise TypeError(
            f"expected a graph of causal-learn, or the result of a search, got {type(graph).__name__}."
        )
    return _from_marks(np.asarray(general.graph), [node.get_name() for node in general.nodes])


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
    named = nx.DiGraph()
    named.add_nodes_from(names)
    named.add_edges_from((names[i], names[j]) for i, j in np.argwhere(directed))
    return from_textual(named, "the causal-learn graph")


def to_lingam(graph: GraphLike) -> FloatArray:
    """The matrix B of lingam, in which B[i, j] is the slope of i in j: transposed. Unknown weights are 1.

    Of a fitted learner these are its slopes, in the units of the columns as in lingam: by how much i changes
    as j grows by one; a curve is replaced by the best line through it. If the learner changed the scale
    (``columns_``), they are slopes of the transformed columns: fit with ``scales="none"`` for those of the
    columns themselves. Of all other graphs they are the weights as they are.

    An edge whose weight is exactly zero is none to lingam.

    Examples
    --------
    >>> to_lingam(as_weighted([[0, 1], [0, 0]], weights=[[0, -2], [0, 0]]))
    array([[ 0.,  0.],
           [-2.,  0.]])
    """
    learner = not isinstance(graph, nx.Graph | pd.DataFrame)  # whose column or method may be called like that
    dag = as_weighted(graph, weights=getattr(getattr(graph, "_result", None), "slopes", None) if learner else None)
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
