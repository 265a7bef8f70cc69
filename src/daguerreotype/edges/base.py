"""The plug-in contract of edge estimators: every protocol, and the records that fits are exchanged in.

An estimator needs ``prepare``, and what it prepares needs ``fit``. All else is optional: a protocol here for each
capability, known by its methods. Ask for one with :func:`offered`.

Scores of many fits at once are in *excess*: the negative log-likelihood per row beyond that of a standard normal
variable, ``nll - STANDARD_ENTROPY``. Orders that tie differ in the last digits, which the constant would cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.noise.base import Mass
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, variance_of_nll

Capability = TypeVar("Capability")
LEFT_OUT: Any = None  # norms that are the absolute weights


@dataclass(frozen=True, slots=True)
class LocalFit:
    """One node regressed on the parents that were chosen among its predecessors.

    Attributes
    ----------
    parents : array of shape (p,)
        The chosen parents, ascending.
    weights : array of shape (p,)
        Slope of each parent's effect, with its sign: the coefficient of a line, the average slope of a curve; the
        norm of an effect that has no direction.
    nll : float
        Negative log-likelihood per training row of the node given its parents, in nats on the scale of the table.
    dof : float
        Effective number of free parameters spent on the parents.
    norms : array of shape (p,), optional
        Size of each parent's effect, whatever its shape: the standard deviation of its component over the
        training rows. The absolute weights, if left out.
    """

    parents: IntArray
    weights: FloatArray
    nll: float
    dof: float
    norms: FloatArray = field(default=LEFT_OUT, kw_only=True)

    def __post_init__(self) -> None:
        if self.norms is LEFT_OUT:
            object.__setattr__(self, "norms", np.abs(self.weights))

    @classmethod
    def gaussian(
        cls,
        parents: IntArray,
        weights: FloatArray,
        variance: float,
        dof: float,
        *more: Any,
        norms: FloatArray = LEFT_OUT,
    ) -> Self:
        """A fit by least squares, whose mean squared residual is ``variance``.

        >>> round(LocalFit.gaussian(np.array([0]), np.array([2.0]), 1.0, 1.0).nll, 4)
        1.4189
        """
        nll = 0.5 * float(np.log(variance)) + STANDARD_ENTROPY if variance > 0 else -np.inf
        return cls(parents, weights, nll, dof, *more, norms=norms)

    @property
    def excess(self) -> float:
        """The negative log-likelihood beyond that of a standard normal variable."""
        return self.nll - STANDARD_ENTROPY

    @property
    def variance(self) -> float:
        """The variance of Gaussian noise that is as likely."""
        return float(variance_of_nll(self.nll))


@dataclass(frozen=True, slots=True)
class Moves:
    """Local fits of every way to move one node through an order of the others.

    With ``others`` the m = d - 1 remaining nodes in order, position q of the moved node is before
    ``others[q]``; q = m is the end.

    Attributes
    ----------
    own : array of shape (m + 1, 2)
        Excess and dof of the moved node when it stands at position q.
    before : array of shape (m, 2)
        Excess and dof of ``others[i]`` when the moved node is not among its predecessors.
    after : array of shape (m, 2)
        The same when it is.
    """

    own: FloatArray
    before: FloatArray
    after: FloatArray


class Draws(NamedTuple):
    """Chance, for a sweep in which variables go to places with probability proportional to exp(-n_rows * loss).

    Attributes
    ----------
    n_rows : float
        Rows that losses are evidence of.
    turns : array of shape (m,)
        Variables, in the order of their turns.
    numbers : array of shape (m,)
        A number between 0 and 1 for each turn.
    """

    n_rows: float
    turns: IntArray
    numbers: FloatArray


@dataclass(frozen=True)
class EdgeRules:
    """What is known about single edges.

    Attributes
    ----------
    allowed : array of shape (d, d)
        Whether i may be a parent of j.
    required : array of shape (d, d)
        Whether i must be a parent of j. It is then among the predecessors of j in every order.
    max_parents : array of shape (d,), optional
        How many parents each node may have; never fewer than are required. None: any number.
    """

    allowed: BoolArray
    required: BoolArray
    max_parents: IntArray | None = None

    @property
    def anything_required(self) -> bool:
        """Whether there is a required edge at all."""
        return bool(self.required.any())

    def required_parents(self, node: int) -> IntArray:
        """The required parents of ``node``, ascending."""
        return np.flatnonzero(self.required[:, node])

    def most_parents(self, node: int) -> int:
        """How many parents ``node`` may have."""
        return len(self.allowed) if self.max_parents is None else int(self.max_parents[node])


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
        for positions that leave a required parent behind its child. An estimator with an attribute
        ``limits_parents = True`` heeds ``rules.max_parents`` too; of others, the fits with too many parents are
        made again on the strongest of them, and ``fit_moves`` is not asked where parents are limited.
        """
        ...


@runtime_checkable
class HasBatchFits(Protocol):
    """Local models that fit many nodes together faster than one by one."""

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each (node, predecessors), whatever else is asked for with it."""
        ...


@runtime_checkable
class FitsFromParameters(Protocol):
    """Local models of edges that are trained by gradient, for all nodes together elsewhere."""

    def fit_from(self, node: int, parents: IntArray, parameters: Mapping[str, FloatArray]) -> LocalFit:
        """The fit of ``node`` on the parents whose gates are open, with parameters of joint training by name."""
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
class HasMasses(Protocol):
    """Local models of discrete columns, which have probability masses and no residuals."""

    def mass(self, node: int, fit: LocalFit) -> Mass:
        """The distribution of a discrete ``node`` given its linear predictors, which ``predict`` returns."""
        ...


@runtime_checkable
class HasPredictions(Protocol):
    """Local models that can be asked about rows they have not seen; held-out likelihood needs it."""

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table.

        Of a discrete node, its linear predictors (m, q).
        """
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
        """Excess and dof for every position of ``node`` among ``others`` (in order)."""
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


@runtime_checkable
class HasSweeps(Protocol):
    """Local models with a fast way to move every variable of an order to its best place, one after the other."""

    def sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  excess + penalty_per_dof * dof.

        ``before`` (d, d) tells whom each variable must come before; it is empty if nobody must.
        """
        ...


@runtime_checkable
class DrawsSweeps(Protocol):
    """Local models with a fast way to draw a place in an order for one variable after the other."""

    def draw_sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray, draws: Draws) -> IntArray:
        """The order after each turn of ``draws``; losses are those of :meth:`HasSweeps.sweep`."""
        ...


@runtime_checkable
class HasQuickScores(Protocol):
    """Local models that score many fits faster than they make them."""

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        ...


@runtime_checkable
class JudgesParents(Protocol):
    """Local models that can judge any set of parents; posteriors then know of edges that nearly pay."""

    def fit_parents(self, node: int, parents: IntArray) -> LocalFit:
        """``node`` on exactly these parents, ascending; all of them allowed, the required ones among them."""
        ...

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of such fits on each of ``sets`` (m, d) of parents."""
        ...

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) would cost less than ``nats`` in the whole table beside each of ``sets``, about."""
        ...

    def parents_in(self, order: IntArray) -> BoolArray:
        """Who is a parent of whom (d, d) in an order: what ``fit`` chooses, without making the fits."""
        ...

    def choose(self, node: int, predecessors: IntArray) -> IntArray:
        """The parents that ``fit`` chooses among predecessors, ascending."""
        ...


@runtime_checkable
class HasScales(Protocol):
    """Local models that judge a node on the likeliest of several scales: the table's, or one of its other columns.

    A scale is known by its place among the other columns, -1 for the table's own.
    """

    def fit_on(self, scale: int, node: int, predecessors: IntArray) -> LocalFit:
        """What ``fit`` would give were this the only scale."""
        ...

    def score_on(self, scale: int, node: int, predecessors: IntArray) -> tuple[float, float]:
        """Excess and dof of such a fit."""
        ...

    def regressors(self, node: int, fit: LocalFit, n_rows: int) -> FloatArray:
        """Columns (m, p) that ``fit`` regresses ``node`` on, in the first rows that count for it."""
        ...

    def residuals_on(self, scale: int, node: int, fit: LocalFit) -> FloatArray:
        """Residuals (n,) of such a fit."""
        ...


@runtime_checkable
class PricesLines(LocalModels, Protocol):
    """Local models with straight and bent edges, whose price of a straight one depends on how many bend."""

    @property
    def learns_bent_share(self) -> bool:
        """Whether that share is to be learned."""
        ...

    @property
    def bent_share(self) -> float:
        """The share of bent edges that lines are priced by."""
        ...

    def share_of_bends(self, fits: Sequence[LocalFit]) -> float:
        """The share of the edges of ``fits`` that bend, of those that could."""
        ...

    def with_bent_share(self, bent_share: float) -> Self | None:
        """Models of the same data with the price that belongs to this share; None if it is what they have."""
        ...


class Basis(Protocol):
    """Functions of one column, centred and uncorrelated with variance one over the training rows."""

    @property
    def width(self) -> int:
        """How many there are."""
        ...

    @property
    def line(self) -> int:
        """How many of them, the first ones, the column has at least as a parent."""
        ...

    @property
    def slope(self) -> float:
        """Slope of the first of them, per unit of the column or its logarithm; 0 for levels without an order."""
        ...

    def columns(self, values: FloatArray) -> FloatArray:
        """The functions (m, width) at values (m,) of the column."""
        ...


@runtime_checkable
class Composite(Protocol):
    """Local models that consist of others, and offer what all of these do."""

    @property
    def parts(self) -> Sequence[LocalModels]:
        """The others."""
        ...


def offered(models: object, what: type[Capability]) -> Capability | None:
    """``models`` seen as ``what``, one of the protocols above; None where they do not offer it.

    >>> offered(object(), HasCurves) is None
    True
    """
    if not isinstance(models, what):
        return None
    if isinstance(models, Composite) and any(offered(part, what) is None for part in models.parts):
        return None
    return models
