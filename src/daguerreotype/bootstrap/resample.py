"""One resample: rows drawn with or without replacement, and the graph that a learner finds in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from daguerreotype._lib.interrupts import reraise_interrupts
from daguerreotype._lib.parallel import one_thread
from daguerreotype._lib.typing import BoolArray, IntArray

DRAWS = 10  # tries before a resample counts as failed


class Learner(Protocol):
    """What can be resampled: a scikit-learn estimator that leaves a DAG and an order that its edges follow."""

    adjacency_matrix_: Any
    causal_order_: Any

    def fit(self, X: Any) -> Any:
        """Learn the graph of the columns of ``X``."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        ...


@dataclass(frozen=True)
class Draws:
    """How rows are drawn. Every resample has a stream of its own, whoever asks for it and when."""

    n_rows: int
    n_drawn: int
    replace: bool
    random_state: int

    def stream(self, index: int) -> np.random.Generator:
        """Generator of resample ``index``: of the child that ``SeedSequence(random_state).spawn`` has there."""
        return np.random.default_rng(np.random.SeedSequence(self.random_state, spawn_key=(index,)))

    def rows(self, stream: np.random.Generator) -> IntArray:
        """Rows of one resample."""
        if self.replace:
            return stream.integers(self.n_rows, size=self.n_drawn)
        return stream.choice(self.n_rows, size=self.n_drawn, replace=False)


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


def refit(learner: Learner, X: Any, fit_params: Mapping[str, Any], draws: Draws, index: int) -> Resample:
    """Fit ``learner`` to one resample of ``X`` and of every fit parameter that has as many rows.

    The stream first gives the learner its ``random_state``, so that ties are broken anew each time, then rows.
    Rows that cannot be fitted (a ValueError: a column has become constant, say) are drawn again.
    """
    stream = draws.stream(index)
    model = clone(learner)
    seed = int(stream.integers(2**31))
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    failure = ""
    for redraws in range(DRAWS):
        rows = draws.rows(stream)
        params = {
            name: _take(value, rows) if _has_rows(value, draws.n_rows) else value
            for name, value in fit_params.items()
        }
        try:
            with one_thread, reraise_interrupts():
                model.fit(_take(X, rows), **params)
        except ValueError as error:
            failure = str(error)
            continue
        return Resample(index, *_graph_of(model), redraws)
    return Resample(index, [], [], DRAWS, failure)


def _graph_of(model: Learner) -> tuple[list[int], list[list[int]]]:
    """Order and edges of a fitted learner, as column numbers."""
    adjacency, order = model.adjacency_matrix_, list(model.causal_order_)
    if isinstance(adjacency, pd.DataFrame):
        place = {name: number for number, name in enumerate(adjacency.columns)}
        order = [place[name] for name in order]
    return [int(node) for node in order], np.argwhere(np.asarray(adjacency)).tolist()


def _has_rows(value: Any, n_rows: int) -> bool:
    """Whether a fit parameter has one entry per row."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        return False
    return len(value) == n_rows


def _take(value: Any, rows: IntArray) -> Any:
    """The given rows of an array, frame, series or sequence, numbered anew."""
    taken = _safe_indexing(value, rows)
    return taken.reset_index(drop=True) if isinstance(taken, pd.DataFrame | pd.Series) else taken
