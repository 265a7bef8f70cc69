"""What is in the files that a user names? Tables and known graphs, read from CSV."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import networkx as nx
import pandas as pd

from daguerreotype.graphs.dag import as_dag, match_names

NUMBERED = "Unnamed: 0"  # what pandas calls a first column without a name


@dataclass(frozen=True)
class Input:
    """A table to learn from.

    Attributes
    ----------
    name : str
        What the output calls it.
    table : DataFrame of shape (n, d)
        The observations.
    known : DataFrame of shape (d, d) or None
        The graph behind them, where it ships with the data.
    notes : tuple of str
        What the user had better know about the file.
    """

    name: str
    table: pd.DataFrame
    known: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def read_input(path: Path | None) -> Input:
    """The table at ``path``, or the Sachs data with their consensus graph."""
    if path is None:
        from daguerreotype.datasets import load_sachs

        sachs = load_sachs()
        return Input("Sachs et al. (2005), proteins and lipids in T cells", sachs.X, sachs.adjacency)
    table, named = _read_csv(path)
    if table.empty:
        raise ValueError(f"{path} has no rows below the names of its columns.")
    notes: list[str] = []
    if not named:
        table.columns = pd.Index([f"x{j}" for j in range(table.shape[1])])
        notes.append(f"the first line of {path} holds numbers, so the columns are called x0, x1, ...")
    if NUMBERED in table:
        notes.append(
            f"the first column of {path} has no name and is learned like any other. If it numbers the rows, "
            "drop it."
        )
    return Input(path.name, table, None, tuple(notes))


def read_graph(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    """The DAG at ``path`` as 0/1 matrix over ``names``, from a list of edges or a matrix."""
    frame, named = _read_csv(path)
    what = f"the graph of {path}"
    listed = {"cause", "effect"}
    if listed <= set(frame.columns) and not listed <= set(names):
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        graph.add_edges_from(frame[["cause", "effect"]].astype(str).itertuples(index=False))
        dag = as_dag(graph, what)
    elif named:
        if frame.shape[1] == frame.shape[0] + 1:  # the first column names the rows
            frame = frame.set_index(frame.columns[0])
        dag = as_dag(frame, what)
    else:
        dag = as_dag(frame.to_numpy(), what)
        if dag.n_nodes != len(names):
            raise ValueError(f"{what} has {dag.n_nodes} nodes, but the table has {len(names)} columns.")
    place = list(range(len(names))) if dag.names is None else match_names(names, dag.names, "the table", what)
    adjacency = dag.adjacency[place][:, place].astype(int)
    return pd.DataFrame(adjacency, index=list(names), columns=list(names))


def _read_csv(path: Path) -> tuple[pd.DataFrame, bool]:
    """The file as a frame, and whether its first line holds names; without, columns are numbered."""
    frame = _parse(path, "infer")
    if all(_is_number(str(name)) for name in frame.columns):
        return _parse(path, None), False
    return frame, True


def _parse(path: Path, header: Literal["infer"] | None) -> pd.DataFrame:
    """The file as pandas reads it, or an error that says what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # The first column is never an index: where lines are too long, that would shift all names by one.
            return pd.read_csv(path, header=header, index_col=False)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}. Check its name and folder.") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}.") from None
    except pd.errors.ParserWarning:
        raise ValueError(
            f"the lines of {path} have more fields than its first line has names. Name every column."
        ) from None
    except ValueError as error:  # empty, of uneven lines, or not text: all are ValueErrors of pandas
        raise ValueError(f"cannot read {path} as comma-separated text: {error}") from None


def _is_number(name: str) -> bool:
    """Whether a name is a number, or one that pandas made unique as in '1.5.1'."""
    for text in (name, name.rpartition(".")[0]):
        try:
            float(text)
        except ValueError:
            continue
        return True
    return False
