"""The plug-in contract of edge estimators, and the records that fits are exchanged in.

Three classes to derive from: an :class:`EdgeEstimator` needs ``prepare``, the :class:`LocalModels` that it returns
need ``fit``, and :class:`SearchableModels` are for searches. What more they can do is said by their
:class:`Capabilities`.

Scores of many fits at once are in *excess*: the negative log-likelihood per row beyond that of a standard normal
variable, ``nll - STANDARD_ENTROPY``. Orders that tie differ in the last digits, which the constant would cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.noise.base import Mass
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, variance_of_nll

LEFT_OUT: Any = None  # norms that are the absolute weights


@saved
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
    scale : int
        Which of the other scales of the table the node is on; -1 for that of the table.
    """

    parents: Annotated[IntArray, Shape("p", least=0, below="d")]
    weights: Annotated[FloatArray, Shape("p", finite=True)]
    nll: float
    dof: float
    norms: Annotated[FloatArray, Shape("p", finite=True)] = field(default=LEFT_OUT, kw_only=True)
    scale: int = field(default=-1, kw_only=True)

    def __post_init__(self) -> None:
        if self.norms is LEFT_OUT:
            object.__setattr__(self, "norms", np.abs(self.weights))

    def notes(self, names: Sequence[str]) -> list[str]:
        """What a reader should know of the node beside its parents; ``names`` are those of all columns."""
        return []

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

    With ``rest`` the m = d - 1 remaining nodes in order, position q of the moved node is before
    ``rest[q]``; q = m is the end.

    Attributes
    ----------
    own : array of shape (m + 1, 2)
        Excess and dof of the moved node when it stands at position q.
    before : array of shape (m, 2)
        Excess and dof of ``rest[i]`` when the moved node is not among its predecessors.
    after : array of shape (m, 2)
        The same when it is.
    """

    own: FloatArray
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class Draws:
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


@dataclass(frozen=True)
class Capabilities:
    """What an edge estimator takes, and what the local models that it prepares can do beside single fits.

    Attributes
    ----------
    from_moments : bool
        The estimator needs second moments of the columns, and no rows.
    from_passes : bool
        It needs passes over the rows, but none of them in memory.
    kinds : bool
        It takes columns of any kind, and not numbers alone. Its models then have masses of discrete columns.
    scales : bool
        Its models, which are searchable, judge a node on the likeliest of several scales.
    copies : bool
        It takes tables in which every row is there several times (``Table.copies``).
    rules : bool
        ``prepare`` takes rules, and keeps the parents that these require.
    max_parents : bool
        It heeds ``rules.max_parents`` too. Of others, fits with too many parents are made again on the strongest.
    joint : bool
        Its models fit nodes with parameters that were trained elsewhere, for all nodes together.
    search : bool
        Its models are :class:`SearchableModels`.
    batches : bool
        They fit many nodes together faster than one by one.
    residuals : bool
        They have residuals of fits, which noise of other than Gaussian shape needs.
    untied : bool
        These are of values with ties spread, and divided by the spread that parents give them.
    predictions : bool
        They predict rows that they have not seen, which scoring and imputing them needs.
    curves : bool
        Fits are sums of curves, one for each parent.
    processes : bool
        Fits spend their time in Python, so that threads would wait for each other: with ``n_jobs`` above one they
        are made in other processes, on copies of the models, and must not leave anything behind in them.
    """

    from_moments: bool = False
    from_passes: bool = False
    kinds: bool = False
    scales: bool = False
    copies: bool = False
    rules: bool = False
    max_parents: bool = False
    joint: bool = False
    search: bool = False
    batches: bool = False
    residuals: bool = False
    untied: bool = False
    predictions: bool = False
    curves: bool = False
    processes: bool = False


class LocalModels:
    """An estimator that has met its data and fits one node at a time; subclasses need ``fit``.

    What else they have of the methods below they say in ``can``.
    """

    can: Capabilities = Capabilities()

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Choose parents of ``node`` among ``predecessors`` (ascending node indices, possibly empty)."""
        raise _missing(self, "fit(node, predecessors)")

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each (node, predecessors), whatever else is asked for with it."""
        return [self.fit(node, predecessors) for node, predecessors in requests]

    def fit_from(self, node: int, parents: IntArray, parameters: Mapping[str, FloatArray]) -> LocalFit:
        """The fit of ``node`` on the parents whose gates are open, with parameters of joint training by name."""
        raise _missing(self, "fit_from(node, parents, parameters)")

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,); of long tables, of as many first rows as tell.

        All nodes must leave out the same rows.
        """
        raise _missing(self, "residuals(node, fit)")

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table.

        Of a discrete node, its linear predictors (m, q), or (m,) if there is one.
        """
        raise _missing(self, "predict(node, fit, values)")

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component (m,) of ``parent`` at values ``grid`` (m,) of its column, on the scale of the table."""
        raise _missing(self, "curve(node, fit, parent, grid)")

    def mass(self, node: int, fit: LocalFit) -> Mass:
        """The distribution of a discrete ``node`` given its linear predictors, which ``predict`` returns."""
        raise _missing(self, "mass(node, fit)")

    def weighs(self, node: int) -> bool:
        """Whether likelihoods of ``node`` count the shape of its noise already."""
        return False

    def predictor(self) -> "LocalModels":
        """What predicts without the table, which a file can hold if its class is one that files may hold.

        An own estimator whose ``predict`` is linear in the weights returns ``LinearPredictor()``.
        """
        return self


class SearchableModels(LocalModels):
    """Local models with fast ways to score places in an order, whole orders, and any set of parents.

    A scale is known by its place among the other columns of the table, -1 for the table's own. What a search finds
    is kept, so that these models grow; threads take forks of them.
    """

    def fork(self) -> "SearchableModels":
        """Models of the same data, with the same results, that may be used while these are."""
        raise _missing(self, "fork()")

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        raise _missing(self, "score_many(ranks, rows, nodes)")

    def fit_moves(self, node: int, rest: IntArray) -> Moves:
        """Excess and dof for every position of ``node`` among ``rest``, all other nodes in order.

        Asked so: scores heed rules, but for positions that leave a required parent behind its child,
        for which anything may be returned.
        """
        m = rest.size
        places, positions = np.arange(m), np.arange(m + 1)
        ranks = np.empty((m + 1, m + 1), dtype=np.int64)  # row q: the node stands before rest[q]
        ranks[:, rest] = places + (places >= positions[:, None])
        ranks[:, node] = positions
        rows = np.concatenate([positions, np.full(m, m), np.zeros(m, dtype=np.int64)])
        nodes = np.concatenate([np.full(m + 1, node), rest, rest])
        own, before, after = np.split(self.score_many(ranks, rows, nodes), [m + 1, 2 * m + 1])
        return Moves(own, before, after)

    def sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  excess + penalty_per_dof * dof.

        ``before`` (d, d) tells whom each variable must come before; it is empty if nobody must.
        """
        raise _missing(self, "sweep(order, penalty_per_dof, before)")

    def draw_sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray, draws: Draws) -> IntArray:
        """The order after each turn of ``draws``; losses are those of :meth:`sweep`."""
        raise _missing(self, "draw_sweep(order, penalty_per_dof, before, draws)")

    def fit_parents(self, node: int, parents: IntArray) -> LocalFit:
        """``node`` on exactly these parents, ascending; all of them allowed, the required ones among them."""
        raise _missing(self, "fit_parents(node, parents)")

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of such fits on each of ``sets`` (m, d) of parents."""
        raise _missing(self, "score_parents(node, sets)")

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) would cost less than ``nats`` in the whole table beside each of ``sets``, about."""
        raise _missing(self, "near_parents(node, sets, nats)")

    def parents_in(self, order: IntArray) -> BoolArray:
        """Who is a parent of whom (d, d) in an order: what ``fit`` chooses, without making the fits."""
        raise _missing(self, "parents_in(order)")

    def choose(self, node: int, predecessors: IntArray) -> IntArray:
        """The parents that ``fit`` chooses among predecessors, ascending."""
        raise _missing(self, "choose(node, predecessors)")


class EdgeEstimator:
    """Chooses each node's parents among the nodes before it; the plug-in point of the library.

    Subclasses need ``prepare``, which takes rules only where ``can.rules`` says so.
    """

    can: ClassVar[Capabilities] = Capabilities()

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> LocalModels:
        """Do once per data set what every local fit shares (second moments, bases, tensors).

        Under rules, fits keep all parents that ``rules.required`` names: ``fit`` is asked about allowed
        predecessors alone, the required ones always among them.
        """
        raise _missing(self, "prepare(table)")


def searchable(models: LocalModels) -> SearchableModels | None:
    """The same models where they are searchable; None for others."""
    return models if isinstance(models, SearchableModels) and models.can.search else None


def _missing(thing: object, method: str) -> TypeError:
    """What a class lacks that it says it can do."""
    return TypeError(f"{type(thing).__name__} has no {method}: give it one, or leave it out of can.")
