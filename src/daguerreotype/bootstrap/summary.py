"""Frequencies of edges, ancestors and orders over the graphs of all resamples, and their consensus DAG."""

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import pandas as pd
from scipy.special import ndtri

from daguerreotype._lib.checks import check_frequency
from daguerreotype._lib.labels import label
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.graphs.consensus import consensus_order, most_frequent
from daguerreotype.knowledge import Knowledge

logger = logging.getLogger("daguerreotype")
Matrix: TypeAlias = FloatArray | pd.DataFrame


@dataclass(frozen=True)
class Resample:
    """The graph of one resample, or why there is none.

    Attributes
    ----------
    index : int
        Which one.
    order : list of d columns
        Causes first; empty if it failed.
    edges : list of pairs
        Cause and effect of every edge, as column numbers.
    redraws : int
        Draws of rows that could not be fitted.
    failure : str or None
        What the last of them said, if no draw could be fitted.
    """

    index: int
    order: list[int]
    edges: list[list[int]]
    redraws: int
    failure: str | None = None

    def adjacency(self) -> BoolArray:
        """Matrix (d, d), True for an edge i -> j."""
        adjacency = np.zeros((len(self.order), len(self.order)), dtype=np.bool_)
        causes, effects = np.array(self.edges, dtype=np.int64).reshape(-1, 2).T
        adjacency[causes, effects] = True
        return adjacency

    def ancestors(self) -> BoolArray:
        """Matrix (d, d), True where a directed path leads from i to j."""
        parents = self.adjacency().T
        ancestors = parents.copy()  # (d, d), of the row
        for node in self.order:
            ancestors[node] |= ancestors[parents[node]].any(axis=0)
        return ancestors.T

    def precedence(self) -> BoolArray:
        """Matrix (d, d), True where i comes before j in the order."""
        ranks = np.argsort(self.order)
        return ranks[:, None] < ranks


@dataclass(frozen=True, eq=False)
class Bootstrap:
    r"""How often each edge, ancestor and precedence came up in graphs learned from resampled rows.

    Matrices are (d, d), row i for the cause and column j for the effect; DataFrames if the table was one. All
    frequencies are shares of the resamples that could be fitted.

    Attributes
    ----------
    edge_frequencies : array or DataFrame of shape (d, d)
        Share of graphs with the edge i -> j.
    ancestor_frequencies : array or DataFrame of shape (d, d)
        Share of graphs with a directed path from i to j.
    order_frequencies : array or DataFrame of shape (d, d)
        Share of orders with i before j. The order of columns without a path between them means nothing.
    consensus_order : list or array of length d
        The order along which the graphs agree most, causes first: of all orders the one that keeps the edges
        common to all graphs, then most of the edges that more than half of them have, then most of all edges.
    order_stability : float
        Do related columns stay in the consensus order? With A the ancestor frequencies,

        .. math:: S = \frac{\sum_{i \text{ before } j} (A_{ij} - A_{ji})}{\sum_{i \text{ before } j} (A_{ij} +
            A_{ji})},

        Kendall's tau between the orders of the graphs and the consensus order, over the pairs with a path between
        them: 1 if no graph ever turns one around, 0 if half of them do. NaN if there never was an edge.
    threshold : float
        Least frequency of the edges of `consensus`.
    n_resamples : int
        How many resamples the frequencies count.
    failures : dict
        Resamples that could not be fitted and are left out, by index, with the reason.
    n_redraws : int
        How often rows were drawn again because they could not be fitted: a column was constant among them, say.
    random_state : int
        Seed of the run; resample i draws from child i of ``numpy.random.SeedSequence(random_state)``.
    settings : dict
        Class and parameters of the learner, and ``fraction`` and ``replace`` of the run.
    """

    edge_frequencies: Matrix = field(repr=False)
    ancestor_frequencies: Matrix = field(repr=False)
    order_frequencies: Matrix = field(repr=False)
    consensus_order: list[Any] | IntArray
    order_stability: float
    threshold: float
    n_resamples: int
    failures: dict[int, str]
    n_redraws: int
    random_state: int
    settings: dict[str, Any] = field(repr=False)

    def consensus_at(self, threshold: float) -> Any:
        """Adjacency (d, d) of the edges along the consensus order with at least this frequency.

        A DAG for every threshold, because all its edges point along one order; a lower threshold only adds edges.
        At one half it is the DAG with the least mean Hamming distance to the graphs of the resamples. Take 0.8 or
        more to claim edges, less than one half to see what else was considered. Where knowledge limits the number
        of parents, the most frequent edges come first, and those that find no room are left out.
        """
        check_frequency(threshold, "threshold")  # 0 would add every edge along the order
        ranks, frequencies = np.argsort(self._order()), np.asarray(self.edge_frequencies)
        adjacency = (frequencies >= threshold) & (ranks[:, None] < ranks)
        knowledge = Knowledge.of(self.settings.get("knowledge"))
        if knowledge.max_parents is not None:
            numbered = not hasattr(self.edge_frequencies, "columns")
            names = [f"x{name}" if numbered else name for name in self._names()]
            limits = knowledge.resolve(names, numbered=numbered)
            adjacency = most_frequent(adjacency, frequencies, ranks, limits.max_parents)
        return self._like(adjacency.astype(np.int64))

    @property
    def consensus(self) -> Any:
        """Adjacency (d, d) of the consensus at `threshold`."""
        return self.consensus_at(self.threshold)

    @property
    def consensus_graph(self) -> nx.DiGraph:
        """The consensus at `threshold`; edges carry ``frequency`` and ``reverse_frequency``."""
        frequencies, names = np.asarray(self.edge_frequencies), self._names()
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        for i, j in np.argwhere(np.asarray(self.consensus)):
            graph.add_edge(
                names[i],
                names[j],
                frequency=float(frequencies[i, j]),
                reverse_frequency=float(frequencies[j, i]),
            )
        return graph

    def edge_intervals(self, confidence: float = 0.95) -> tuple[Any, Any]:
        r"""Where the edge frequencies of infinitely many resamples would lie: lower and upper bounds.

        Wilson's score interval of a frequency f of n resamples, with z the normal quantile:

        .. math:: \frac{f + z^2 / 2n \pm z \sqrt{f (1 - f) / n + z^2 / 4n^2}}{1 + z^2 / n} .

        It says whether there were enough resamples, not how likely the edge is to be a cause.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
        n, f = self.n_resamples, np.asarray(self.edge_frequencies)
        z = float(ndtri(0.5 + 0.5 * confidence))
        centre = f + z**2 / (2 * n)
        spread = z * np.sqrt(f * (1 - f) / n + z**2 / (4 * n**2))
        lower, upper = (np.clip((centre + side * spread) / (1 + z**2 / n), 0, 1) for side in (-1, 1))
        return self._like(lower), self._like(upper)

    def _names(self) -> list[Any]:
        """Names of the columns, or their numbers."""
        return list(getattr(self.edge_frequencies, "columns", range(len(self.edge_frequencies))))

    def _order(self) -> IntArray:
        """The consensus order as column numbers."""
        place = {name: number for number, name in enumerate(self._names())}
        return np.array([place[name] for name in self.consensus_order], dtype=np.int64)

    def _like(self, matrix: Any) -> Any:
        """With the names of the table, if it had any."""
        return label(matrix, getattr(self.edge_frequencies, "columns", None))


def summarise(
    resamples: list[Resample],
    names: tuple[Hashable, ...] | None,
    threshold: float,
    random_state: int,
    settings: dict[str, Any],
) -> Bootstrap:
    """Frequencies, consensus order and stability of the graphs of all resamples."""
    failures = {resample.index: resample.failure for resample in resamples if resample.failure is not None}
    fitted = [resample for resample in resamples if resample.failure is None]
    if failures:
        index, reason = next(iter(failures.items()))
        logger.warning(
            "%d of %d resamples could not be fitted and are left out; resample %d: %s",
            len(failures),
            len(resamples),
            index,
            reason,
        )
    d = len(fitted[0].order)
    edges, ancestors, before = (np.zeros((d, d), dtype=np.int64) for _ in range(3))
    for resample in fitted:
        edges += resample.adjacency()
        ancestors += resample.ancestors()
        before += resample.precedence()
    order = consensus_order(edges, before, len(fitted))
    return Bootstrap(
        edge_frequencies=label(edges / len(fitted), names),
        ancestor_frequencies=label(ancestors / len(fitted), names),
        order_frequencies=label(before / len(fitted), names),
        consensus_order=order if names is None else [names[j] for j in order],
        order_stability=_stability(ancestors, order),
        threshold=threshold,
        n_resamples=len(fitted),
        failures=failures,
        n_redraws=sum(resample.redraws for resample in resamples),
        random_state=random_state,
        settings=settings,
    )


def _stability(ancestors: IntArray, order: IntArray) -> float:
    """Agreement with ``order`` of all pairs that had a path between them; NaN if none had."""
    along = np.triu(ancestors[np.ix_(order, order)]).sum()
    return float(2 * along / ancestors.sum() - 1) if ancestors.any() else np.nan
