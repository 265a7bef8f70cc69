"""What must an edge estimator offer? The plug-in contract between orderings and regressions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from daguerreotype.arrays import BoolArray, FloatArray, IntArray
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
    """

    values: FloatArray
    names: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Number of observations n."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of variables d."""
        return int(self.values.shape[1])

    @cached_property
    def moments(self) -> FloatArray:
        """Second-moment matrix X'X / n of shape (d, d); all that a linear estimator needs of X."""
        moments: FloatArray = self.values.T @ self.values / self.n_rows
        return moments


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
        """Residuals of ``fit`` on the training rows, shape (n,)."""
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
