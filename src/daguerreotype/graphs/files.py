"""Graphs from files: lists of edges and adjacency matrices, told apart by their content."""

from pathlib import Path

import networkx as nx
import pandas as pd

from daguerreotype._lib.files import as_written
from daguerreotype.data.readers import called, read_cells
from daguerreotype.graphs.dag import Dag, as_dag, match_names

ENDS = (("cause", "effect"), ("source", "target"), ("from", "to"))


def read_graph(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    """The DAG at ``path`` as 0/1 matrix over the columns ``names`` of a table."""
    dag, listed = read_dag(path)
    if listed:  # a list knows nothing of columns without edges
        dag = _over(dag, (*names, *(name for name in dag.names or () if name not in names)))
    what = f"the graph of {called(path)}"
    if dag.names is None and dag.n_nodes != len(names):
        raise ValueError(f"{what} has {dag.n_nodes} nodes, but the table has {len(names)} columns.")
    place = list(range(len(names))) if dag.names is None else match_names(names, dag.names, "the table", what)
    adjacency = dag.adjacency[place][:, place].astype(int)
    return pd.DataFrame(adjacency, index=list(names), columns=list(names))


def read_pair(true: Path, estimated: Path) -> tuple[Dag, Dag]:
    """Two DAGs on the same nodes: those of the matrices, or all that the lists name."""
    (first, first_listed), (second, second_listed) = read_dag(true), read_dag(estimated)
    for dag, listed, path in ((first, second_listed, true), (second, first_listed, estimated)):
        if listed and dag.names is None:
            raise ValueError(
                f"the matrix of {called(path)} has no names to tell which nodes a list of edges means. Write them "
                "above its columns."
            )
    both = tuple(dict.fromkeys((*(first.names or ()), *(second.names or ()))))
    return (
        _over(first, both if second_listed else second.names or both) if first_listed else first,
        _over(second, both if first_listed else first.names or both) if second_listed else second,
    )


def read_dag(path: Path) -> tuple[Dag, bool]:
    """The DAG at ``path``, and whether it was a list of edges: then it has no nodes without edges."""
    frame, dialect = read_cells(path, words=True)
    if dialect is not None:  # names that our own files keep spreadsheets from running
        frame = frame.rename(columns=as_written).map(as_written)
    what = f"the graph of {called(path)}"
    if dialect is not None and not dialect.header:
        return as_dag(_numbers(frame).to_numpy(), what), False
    lower = [str(column).lower() for column in frame.columns]
    square = len(frame) == frame.shape[1] and bool(frame.isin(["0", "1"]).to_numpy().all())
    for cause, effect in ENDS:
        if cause in lower and effect in lower and not square:
            graph = nx.DiGraph()
            ends = frame.iloc[:, [lower.index(cause), lower.index(effect)]]
            graph.add_edges_from(ends.itertuples(index=False, name=None))
            return (as_dag(graph, what) if graph else Dag(as_dag([[0]]).adjacency[:0, :0], ())), True
    if frame.shape[1] == 2 and len(frame) != 2:
        raise ValueError(
            f"{what} has two columns, {' and '.join(map(repr, frame.columns))}. If it is a list of edges, call "
            "them cause and effect."
        )
    if frame.shape[1] == frame.shape[0] + 1:  # the first column names the rows
        frame = frame.set_index(frame.columns[0])
        if list(frame.index) == [str(row) for row in range(len(frame))]:  # or only numbers them
            frame = frame.reset_index(drop=True)
    return as_dag(_numbers(frame), what), False


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as numbers, or as they are where some are none."""
    try:
        numbers: pd.DataFrame = frame.apply(pd.to_numeric)
        return numbers
    except ValueError:
        return frame


def _over(dag: Dag, names: tuple[object, ...]) -> Dag:
    """The same edges among more nodes."""
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    own = dag.names or ()
    graph.add_nodes_from(own)
    rows, columns = dag.adjacency.nonzero()
    graph.add_edges_from((own[i], own[j]) for i, j in zip(rows, columns, strict=True))
    return as_dag(graph)
