"""Conversion of graphs to and from networkx, edge lists, DOT and GML.

Every ``to_`` function takes what `as_weighted` takes: an adjacency matrix or DataFrame, a networkx graph, a `Dag`,
or a fitted learner with weights, norms and probabilities. Every ``from_`` function returns a `WeightedDag`, which
metrics and every ``to_`` function take. Where names must be text, positions become "0", "1", ...; labels that are
exactly these, in this order, come back as positions.
"""

import os
from collections.abc import Hashable, Iterable
from typing import TypeAlias

import networkx as nx
import numpy as np
import pandas as pd

from daguerreotype._lib.bounded_reading import read_words
from daguerreotype._lib.checks import check_path
from daguerreotype._lib.labels import listed, row_called
from daguerreotype.graphs.dag import Exportable
from daguerreotype.graphs.direction import is_open
from daguerreotype.graphs.dot import read_dot, write_dot
from daguerreotype.graphs.weighted import (
    KNOWN,
    WeightedDag,
    as_weighted,
    from_textual,
    labelled,
    textual,
)

Text: TypeAlias = str | os.PathLike[str]


def to_networkx(graph: Exportable) -> nx.DiGraph:
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


def to_edge_list(graph: Exportable) -> pd.DataFrame:
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
    frame = pd.DataFrame(rows, columns=["source", "target", *KNOWN])
    return frame.astype(dict.fromkeys(KNOWN, np.float64))


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
    named = pd.unique(ends.to_numpy().ravel())
    found = nx.DiGraph()
    found.add_nodes_from(named if nodes is None else nodes)
    unknown = [node for node in named if node not in found]
    if unknown:
        names = listed(unknown, quote=False)
        raise ValueError(f"the edge list has nodes that are not among nodes: {names}. Add them there.")
    found.add_edges_from(ends.itertuples(index=False, name=None))
    for name in [name for name in KNOWN if name in edges.columns]:
        values = zip(ends.itertuples(index=False, name=None), edges[name], strict=True)
        nx.set_edge_attributes(found, {edge: value for edge, value in values if not pd.isna(value)}, name)
    return as_weighted(found, "the edge list")


def to_dot(graph: Exportable) -> str:
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
    found = textual(as_weighted(graph))
    for _, _, attributes in found.edges(data=True):
        if "weight" in attributes:
            attributes["strength"] = attributes.pop("weight")
        either = (np.array(attributes.get(name, np.nan)) for name in ("probability", "reverse_probability"))
        if is_open(*either):
            attributes["dir"] = "none"
    return write_dot(found)


def from_dot(text: Text) -> WeightedDag:
    """The DAG in a text, or a file (a Path), of the DOT language; of its attributes those that `to_dot` writes."""
    found = read_dot(_text_of(text))
    for _, _, attributes in found.edges(data=True):
        attributes["weight"] = attributes.get("strength")
    return from_textual(found, "the DOT graph")


def to_gml(graph: Exportable) -> str:
    """Text in the Graph Modelling Language, as networkx and many graph tools read it."""
    return "\n".join(nx.generate_gml(textual(as_weighted(graph)))) + "\n"


def from_gml(text: Text) -> WeightedDag:
    """The DAG in a text, or a file (a Path), of the Graph Modelling Language."""
    try:
        found = nx.parse_gml(_text_of(text))
    except nx.NetworkXError as error:
        raise ValueError(f"the GML text cannot be read: {error}. Check that it is whole.") from error
    return from_textual(found, "the GML graph")


def _text_of(text: Text) -> str:
    """A text as it is, or that of a file."""
    return text if isinstance(text, str) else read_words(check_path(text, "text"))
