"""Contract of all baselines: a table in, a DAG with the learner's fitted attributes out."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from daguerreotype._lib.checks import Check, check_flag, check_positive, check_positive_int, check_seed, optional
from daguerreotype._lib.labels import label
from daguerreotype._lib.parallel import one_thread
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.baselines.limit import learn_in_child
from daguerreotype.baselines.quiet import load
from daguerreotype.data.columns import to_pandas
from daguerreotype.data.validation import validate_table
from daguerreotype.graphs import find_cycle

# What a setting of a name or a type may be, unless its method says otherwise.
CHECKS: dict[Any, Check] = {
    "random_state": optional(check_seed),
    bool: check_flag,
    int: check_positive_int,
    float: partial(check_positive, zero=True),
    int | None: optional(check_positive_int),
    float | None: optional(check_positive),
}


@dataclass(frozen=True)
class Learned:
    """What a method found.

    Attributes
    ----------
    adjacency : array of shape (d, d)
        A[i, j] = 1 means i -> j; a DAG.
    weights : array of shape (d, d) or None
        Strength of every edge on the scale that the method worked on, 0 where there is none.
    order : array of shape (d,) or None
        A causal order, order[p] the node at position p, where the method has one.
    cpdag : array of shape (d, d) or None
        For methods that find an equivalence class: both entries are 1 for an undirected edge. ``adjacency`` is
        then one member of the class.
    """

    adjacency: IntArray
    weights: FloatArray | None = None
    order: IntArray | None = None
    cpdag: IntArray | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class Baseline(BaseEstimator):  # type: ignore[misc]
    """A method that learns a DAG from a table. A subclass is a dataclass of its settings with a method `learn`.

    Parameters
    ----------
    standardize : bool
        Scale the columns to variance 1. True unless the method lives from raw scales.
    random_state : int or None
        Seed; None for fresh randomness.
    time_limit : float or None
        Seconds of wall clock that `learn` may take, None for no limit. With a limit, `learn` runs in a process of
        its own, the only way to end code of a library; the seconds that this process takes to start do not count.

    Attributes
    ----------
    adjacency_matrix_ : array or DataFrame of shape (d, d)
        1 where column i is a parent of column j; a DataFrame if X was one.
    weights_ : array or DataFrame of shape (d, d), or None
        On the scale that the method worked on; None where it has none.
    causal_order_ : list or array of length d, or None
        Causes first, names if X had them; None where the method has no order.
    cpdag_ : array or DataFrame of shape (d, d), or None
        The equivalence class, an undirected edge as two entries, where the method finds one.
    fit_seconds_, fit_cpu_seconds_ : float
        Seconds that `learn` took, without imports: of the wall clock, and of the processor, to which other work
        on the machine does not add.
    n_features_in_, feature_names_in_
        Number and names of the columns.
    """

    libraries: ClassVar[tuple[str, ...]] = ()
    """Modules that `learn` needs of an extra; imported, or missed with advice, before the clock starts."""

    checks: ClassVar[Mapping[str, Check]] = {}
    """What settings may be, by name, where their types do not say it: see ``CHECKS``."""

    standardize: bool = True
    random_state: int | None = 0
    time_limit: float | None = None

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Find the graph of checked, centred (and standardized, if asked) columns X (n, d); X may be changed."""
        raise NotImplementedError(f"{type(self).__name__} must define learn(X, rng).")

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the graph of the columns of ``X``.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            Numeric observations, one row each, without missing values.
        y : None
            Ignored; there for pipelines.

        Raises
        ------
        TimeLimitError
            If `learn` takes longer than ``time_limit`` seconds.
        ImportError
            If a library of ``libraries`` is missing; says which extra to install.
        """
        for field in fields(self):
            check = self.checks.get(field.name) or CHECKS.get(field.name) or CHECKS.get(field.type)
            if check is not None:
                check(getattr(self, field.name), field.name)
        self.load_libraries()
        X = to_pandas(X)
        values, names = validate_table(self, X)
        table = np.ascontiguousarray(values - values.mean(axis=0))
        if self.standardize:
            table /= table.std(axis=0)
        rng = np.random.default_rng(self.random_state)
        timed = self.timed(table, rng) if self.time_limit is None else learn_in_child(self, table, rng)
        learned, self.fit_seconds_, self.fit_cpu_seconds_ = timed
        self._verify(learned, names)
        self._store(learned, X.columns.tolist() if isinstance(X, pd.DataFrame) else None)
        return self

    def load_libraries(self) -> None:
        """Import what `learn` needs, so that its seconds are not those of imports."""
        for module in self.libraries:
            load(module)

    def timed(self, X: FloatArray, rng: np.random.Generator) -> tuple[Learned, float, float]:
        """What `learn` finds on one thread, and its seconds: wall clock, processor."""
        # As in the learner: threads of small products only wait for each other.
        with one_thread:
            wall, cpu = time.perf_counter(), time.process_time()
            learned = self.learn(X, rng)
            return learned, time.perf_counter() - wall, time.process_time() - cpu

    def _verify(self, learned: Learned, names: tuple[str, ...]) -> None:
        """Refuse a result that is no DAG, or whose order its edges contradict."""
        edges = np.asarray(learned.adjacency) != 0
        cycle = find_cycle(edges)
        if cycle is not None:
            path = " -> ".join(names[node] for node in [*cycle, cycle[0]])
            raise RuntimeError(f"{type(self).__name__} returned a graph with the cycle {path}; expected a DAG.")
        if learned.order is not None:
            place = np.argsort(learned.order)
            causes, effects = np.nonzero(edges)
            if (place[causes] > place[effects]).any():
                raise RuntimeError(f"{type(self).__name__} returned an edge against its own causal order.")

    def _store(self, learned: Learned, names: list[Any] | None) -> None:
        """Fitted attributes, with names if there are any."""

        def frame(matrix: Any, dtype: type) -> Any:
            return None if matrix is None else label(np.asarray(matrix, dtype=dtype), names)

        self.adjacency_matrix_ = frame(learned.adjacency, np.int64)
        self.weights_ = frame(learned.weights, np.float64)
        self.cpdag_ = frame(learned.cpdag, np.int64)
        order = learned.order
        self.causal_order_ = order if names is None or order is None else [names[node] for node in order]


def threshold_to_dag(weights: FloatArray, threshold: float) -> Learned:
    """Keep weights of absolute value at least ``threshold``, then drop the smallest until no cycle is left.

    The repair that the paper applies to NOTEARS and GOLEM (section 5): with |w_1| <= |w_2| <= ... the weights
    that are kept, drops w_1, ..., w_m for the smallest m that leaves a DAG.
    """
    kept = np.where(np.abs(weights) >= threshold, weights, 0.0)
    np.fill_diagonal(kept, 0.0)
    rising = np.flatnonzero(kept)  # of the flattened matrix
    rising = rising[np.argsort(np.abs(kept.flat[rising]), kind="stable")]

    def without(count: int) -> BoolArray:
        edges: BoolArray = kept != 0
        edges.flat[rising[:count]] = False
        return edges

    # Dropping more edges never closes a cycle, so bisection finds the fewest.
    fewest, enough = 0, rising.size
    while fewest < enough:
        middle = (fewest + enough) // 2
        if find_cycle(without(middle)) is None:
            enough = middle
        else:
            fewest = middle + 1
    edges = without(fewest)
    return Learned(edges.astype(np.int64), np.where(edges, kept, 0.0))
