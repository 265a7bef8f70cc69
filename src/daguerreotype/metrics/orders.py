"""Orders against the true graph, and how far the scale of the columns gives one away."""

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.checks import refuse_complex
from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.columns import check_table_like
from daguerreotype.data.validation import check_finite, check_frame
from daguerreotype.graphs import Dag, GraphLike, as_dag, depths
from daguerreotype.graphs.dag import Names, match_names


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
        wrong = "; ".join(f"{fault}: {listed(nodes, quote=False)}" for fault, nodes in faults.items() if nodes)
        raise ValueError(
            f"order is not a permutation of the {dag.n_nodes} nodes ({wrong}). Give every node once, by its "
            "column position or by its name."
        )
    position = np.empty(dag.n_nodes, dtype=np.int64)
    position[[labels[entry] for entry in entries]] = np.arange(dag.n_nodes)
    return position


TIE = 1e-9  # scores closer than this share of the largest differ by rounding alone
TELLING = (0.2, 0.8)  # a sortability outside is worth a warning
WIDE = 2.0  # ratio of the largest to the smallest variance from which columns are not on one scale


def var_sortability(X: npt.ArrayLike | pd.DataFrame, true: GraphLike) -> float:
    """Share of directed paths along which the variance grows (Reisach, Seiler and Weichwald 2021).

    v = sum_k #{i, j joined by a path of k edges, var(x_i) < var(x_j)} / sum_k #{i, j joined by one},

    k = 1, ..., d - 1, where equal variances count one half. 1: sorting columns by variance gives a causal
    order; 0: so does sorting them downwards; 1/2: the scale says nothing, as for standardized columns.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, d)
        The data. Columns of a DataFrame are matched to the nodes of a named graph by name.
    true : array-like of shape (d, d), DataFrame or networkx.DiGraph
        The true DAG.

    Returns
    -------
    float
        Between 0 and 1; nan for a graph without edges.

    Examples
    --------
    >>> var_sortability([[1.0, 2.0], [2.0, 5.0], [0.0, 1.0]], [[0, 1], [0, 0]])
    1.0
    """
    dag = as_dag(true, "the true graph")
    data, _ = _read_data(X, dag)
    return _sortability(dag.adjacency, data.var(axis=0))


def r2_sortability(X: npt.ArrayLike | pd.DataFrame, true: GraphLike) -> float:
    """Share of directed paths along which the predictability grows (Reisach et al. 2023).

    As `var_sortability`, with the R^2 of each column regressed on all others in place of its variance.
    Standardizing does not change it.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, d)
        The data. Columns of a DataFrame are matched to the nodes of a named graph by name.
    true : array-like of shape (d, d), DataFrame or networkx.DiGraph
        The true DAG.

    Returns
    -------
    float
        Between 0 and 1; nan for a graph without edges.
    """
    dag = as_dag(true, "the true graph")
    data, names = _read_data(X, dag)
    return _sortability(dag.adjacency, _r2(data, names))


def sortability_warning(X: npt.ArrayLike | pd.DataFrame, true: GraphLike | None = None) -> str | None:
    """Say in plain words whether the data give the causal order away by their scale.

    With a known graph it speaks when `var_sortability` or `r2_sortability` is at least 0.8 or at most 0.2.
    Without one nobody can say whether the scale points the right way: it speaks when the largest variance
    is more than twice the smallest.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, d)
        The data.
    true : array-like of shape (d, d), DataFrame or networkx.DiGraph, optional
        The true DAG, where it is known, as in a benchmark.

    Returns
    -------
    str or None
        The warning; None when there is nothing to warn of.

    Examples
    --------
    >>> sortability_warning([[1.0, 20.0], [2.0, 50.0], [3.0, 10.0]])[:41]
    'The variances of the columns range from 0'
    """
    if true is None:
        data, names = _read_data(X, None)
        return _spread_warning(data.var(axis=0), names)
    dag = as_dag(true, "the true graph")
    by_variance, by_r2 = var_sortability(X, dag), r2_sortability(X, dag)
    sentences = []
    if _is_telling(by_variance):
        sentences.append(
            f"Var-sortability is {by_variance:.2f}: {_sorting('variance', by_variance)}. "
            "A method that sees the scale can score well without finding causes: standardize the columns."
        )
    if _is_telling(by_r2):
        sentences.append(
            f"R²-sortability is {by_r2:.2f}: {_sorting('R² given all others', by_r2)}. "
            "Standardizing does not remove this: report a baseline that sorts by R² next to your results."
        )
    return " ".join(sentences) or None


def _spread_warning(variances: FloatArray, names: tuple[str, ...]) -> str | None:
    """Warn of columns on different scales, naming the extreme ones."""
    low, high = int(variances.argmin()), int(variances.argmax())
    if variances[high] <= WIDE * variances[low]:
        return None
    return (
        f"The variances of the columns range from {variances[low]:.3g} ({names[low]}) to "
        f"{variances[high]:.3g} ({names[high]}). In simulated data causes often vary less than effects, so "
        "that the scale gives the order away; in measured data the scale is a choice of units. Standardize "
        "the columns, or check that the result does not change when you do."
    )


def _sorting(criterion: str, value: float) -> str:
    """Say what sorting by a criterion achieves."""
    direction, share = ("growing", value) if value > 0.5 else ("falling", 1.0 - value)
    return f"sorting the columns by {direction} {criterion} puts {share:.0%} of the causal paths in order"


def _is_telling(value: float) -> bool:
    """Tell whether a sortability is far from 1/2; nan is not."""
    return value <= TELLING[0] or value >= TELLING[1]


def _sortability(adjacency: BoolArray, scores: FloatArray) -> float:
    """Share of (pair, path length) along which ``scores`` grow, ties counting one half."""
    gain = scores[None, :] - scores[:, None]  # (d, d), positive where the effect scores higher
    tie = TIE * np.abs(scores).max()
    credit = np.where(gain > tie, 1.0, np.where(gain < -tie, 0.0, 0.5))
    step = adjacency.astype(np.float32)
    joined = adjacency
    n_paths, n_grown = 0, 0.0
    while joined.any():
        n_paths += int(np.count_nonzero(joined))
        n_grown += float(credit[joined].sum())
        starts, ends = joined.any(axis=1), joined.any(axis=0)  # fewer with every step: keep the product small
        longer = joined[np.ix_(starts, ends)].astype(np.float32) @ step[ends]
        joined = np.zeros_like(adjacency)
        joined[starts] = longer > 0.5
    return n_grown / n_paths if n_paths else float("nan")


def _r2(data: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """R² of every column given all others; refuses constant columns."""
    centred = data - data.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    constant = np.flatnonzero(norms <= 1e-12 * np.abs(data).max(axis=0) * np.sqrt(len(data)))
    if constant.size:
        columns = listed([names[j] for j in constant], quote=False)
        raise ValueError(f"columns without variation have no R²: {columns}. Drop them from data and graph.")
    return r2_of_columns(centred / norms)


def r2_of_columns(unit: FloatArray) -> FloatArray:
    """R² (d,) of every column given all others: 1 - 1 / (C^-1)_jj, with C the correlation matrix.

    ``unit`` (n, d) has centred columns of length 1.
    """
    values, vectors = np.linalg.eigh(unit.T @ unit)
    # A combination of other columns is explained but for rounding: the floor keeps some order among those.
    values = np.maximum(values, len(values) * np.finfo(np.float64).eps * values[-1])
    r2: FloatArray = 1.0 - 1.0 / (vectors**2 @ (1.0 / values))
    return r2


def _read_data(X: npt.ArrayLike | pd.DataFrame, dag: Dag | None) -> tuple[FloatArray, tuple[str, ...]]:
    """Values of shape (n, d), columns in the order of the nodes, and what messages call them."""
    refuse_complex(X, "X")
    check_table_like(X)
    check_frame(X)
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X, dtype=np.float64))
    data: FloatArray = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    if data.shape[0] < 2 or data.shape[1] < 1:
        raise ValueError(f"the data have shape {data.shape}; expected (n, d) with n >= 2 rows.")
    columns: Names = tuple(frame.columns)
    if dag is not None and dag.n_nodes != data.shape[1]:
        raise ValueError(
            f"the data have {data.shape[1]} columns and the true graph {dag.n_nodes} nodes; expected as many."
        )
    nodes = columns
    if set(columns) == set(range(len(columns))):  # labels 0, ..., d - 1 are positions, as in graphs
        nodes = tuple(range(len(columns)))
    elif dag is not None and dag.names is not None:
        nodes = dag.names
    if nodes != columns:
        data = data[:, match_names(nodes, columns, "the true graph", "the data")]
    names = tuple(str(name) for name in nodes)
    check_finite(data, names)
    return data, names
