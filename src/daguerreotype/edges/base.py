"""What must an edge estimator offer? The plug-in contract between orderings and regressions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.accumulators import Mapped
from daguerreotype.data.moments import Moments
from daguerreotype.data.quantiles import between, ranks_around
from daguerreotype.result import LocalFit, Moves


@dataclass(frozen=True)
class Table:
    """Clean numeric data: checked, transformed and centred (and scaled, if asked) by the learner.

    Attributes
    ----------
    values : array of shape (n, d)
        Columns with mean zero.
    names : tuple of str
        Column names, for messages.
    known_moments : array of shape (d, d), optional
        X'X / n where it is known to more digits than the values would give it.
    excluded : array of shape (n, d), optional
        Rows that do not count for a column's own fit: those in which it was set from outside. Estimators never
        see them: they are given tables of rows that count.
    """

    values: FloatArray
    names: tuple[str, ...]
    known_moments: FloatArray | None = None
    excluded: BoolArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of observations n."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of variables d."""
        return int(self.values.shape[1])

    @cached_property
    def counted(self) -> IntArray | None:
        """How many rows count for each column (d,); None where all do."""
        return None if self.excluded is None else self.n_rows - self.excluded.sum(axis=0)

    @cached_property
    def moments(self) -> FloatArray:
        """Second-moment matrix X'X / n of shape (d, d); all that a linear estimator needs of X."""
        if self.known_moments is not None:
            return self.known_moments
        moments: FloatArray = self.values.T @ self.values / self.n_rows
        return moments

    def quantiles(self, probs: FloatArray) -> FloatArray:
        """Values (q, d) that shares ``probs`` (q,) of each column do not exceed, interpolated between rows."""
        ranks, share = ranks_around(probs, self.n_rows)
        sorted_there = (np.partition(column, np.unique(ranks))[ranks] for column in self.values.T)
        first, second = np.stack(list(sorted_there), axis=-1)  # (2, q, d)
        return between(first, second, share)

    def moments_of(self, features: Callable[[FloatArray], FloatArray], *, exact: bool = True) -> FloatArray:
        """Second moments F'F / n of shape (p, p) of functions of the rows: (m, d) to F (m, p).

        Exact ones do not depend on the sequence of the rows; others are faster.
        """
        found = Mapped(features, Moments(exact=exact)).update(self.values)
        return found.inner.second


@dataclass(frozen=True)
class EdgeRules:
    """What is known about single edges.

    Attributes
    ----------
    allowed : array of shape (d, d)
        Whether i may be a parent of j.
    required : array of shape (d, d)
        Whether i must be a parent of j. It is then among the predecessors of j in every order.
    """

    allowed: BoolArray
    required: BoolArray

    @property
    def anything_required(self) -> bool:
        """Whether there is a required edge at all."""
        return bool(self.required.any())

    def required_parents(self, node: int) -> IntArray:
        """The required parents of ``node``, ascending."""
        return np.flatnonzero(self.required[:, node])


@runtime_checkable
class LocalModels(Protocol):
    """An estimator that has met its data and fits one node at a time."""

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Choose parents of ``node`` among ``predecessors`` (ascending node indices, possibly empty)."""
        ...


@runtime_checkable
class EdgeEstimator(Protocol):
    """Chooses each node's parents among the nodes before it; the plug-in point of the library."""

    def prepare(self, table: Table) -> LocalModels:
        """Do once per data set what every local fit shares (second moments, bases, tensors)."""
        ...


@runtime_checkable
class KeepsRequired(Protocol):
    """An estimator that can keep parents whatever the data say; required edges need it."""

    def prepare_with(self, table: Table, rules: EdgeRules) -> LocalModels:
        """As ``prepare``, for fits whose parents include all that ``rules.required`` names.

        ``fit`` is asked about allowed predecessors alone, the required ones always among them. ``fit_moves``,
        where there is one, is asked about all: it must heed ``rules.allowed`` itself, and may return anything
        for positions that leave a required parent behind its child.
        """
        ...


@runtime_checkable
class HasBatchFits(Protocol):
    """Local models that fit many nodes together faster than one by one."""

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each (node, predecessors), whatever else is asked for with it."""
        ...


@runtime_checkable
class HasResiduals(Protocol):
    """Local models that can say what a fit leaves unexplained; needed by non-Gaussian losses."""

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,); of long tables, of as many first rows as tell.

        All nodes must leave out the same rows.
        """
        ...


@runtime_checkable
class HasPredictions(Protocol):
    """Local models that can be asked about rows they have not seen; held-out likelihood needs it."""

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table."""
        ...


@runtime_checkable
class HasPredictor(Protocol):
    """Local models whose fits predict without the table; a saved learner can score rows only with them.

    An own estimator whose ``predict`` is linear in the weights returns ``LinearPredictor()``.
    """

    def predictor(self) -> HasPredictions:
        """What predicts without the table: one of the classes of ``edges.predictors``."""
        ...


@runtime_checkable
class HasCurves(Protocol):
    """Local models whose fits are sums of curves, one per parent."""

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component (m,) of ``parent`` at values ``grid`` (m,) of its column, on the scale of the table."""
        ...


@runtime_checkable
class HasMoves(Protocol):
    """Local models with a fast way to score all positions of one node; refine uses it when there."""

    def fit_moves(self, node: int, others: IntArray) -> Moves:
        """Variance and dof of all nodes for every position of ``node`` among ``others`` (in order)."""
        ...


@runtime_checkable
class CanFork(Protocol):
    """Local models that can be had once per thread; restarts of refine then run side by side."""

    def fork(self) -> LocalModels:
        """Models of the same data, with the same results, that may be used while these are.

        The data is shared. What a search has found so far is copied, and what either finds later is its own.
        """
        ...


@runtime_checkable
class NeedsProcesses(Protocol):
    """Local models whose fits spend their time in Python, so that threads would wait for each other.

    With ``n_jobs`` above one, ``fit`` and ``residuals`` run in other processes, on copies of the models: they must
    not leave anything behind in them. Models without this mark are fitted in threads.
    """

    needs_processes: bool
