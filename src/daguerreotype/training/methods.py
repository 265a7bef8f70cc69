"""Trainings of a learner: bilevel and joint descent, as objects with their settings, and where they start."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from daguerreotype._lib.checks import check_count, check_flag, check_positive, check_positive_int
from daguerreotype._lib.labels import ColumnPlaces, shown
from daguerreotype._lib.registry import saved
from daguerreotype._lib.settings import Parameters
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeEstimator
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.registry import EDGES
from daguerreotype.noise import NoiseModel
from daguerreotype.operators.registry import FixedOrder, RandomOrder
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.objective import Smooth, make_objective


@saved
@dataclass(eq=False, repr=False)
class Bilevel(Parameters):
    """Fits the edges of every order on their own, and the scores theta by the losses of the orders.

    Parameters
    ----------
    learning_rate : float
        Of Adam on theta. 0.1 suits standardized columns; smaller values take more steps.
    l2 : float
        Weight of the squared norm of theta. Leave it small: it only keeps theta from growing for ever.
    max_iter : int
        Most training steps.
    tol, patience : float, int
        Training stops when ``patience`` steps have not improved the objective by ``tol`` (relative).
    start : {"zeros", "variances"}, an order, or scores
        Where theta starts: all tied; at the columns' variances less their median; at an order, a list of all
        columns, causes first, by name or by position; or at scores, a float for each column, smaller ones first.
        Whole numbers are an order, and refused if they are none. An order that is nearly right saves steps.
    n_restarts : int
        How often refining starts again from a shaken order. More find better orders of many columns.
    refine : bool
        Move single columns to their best place in the order until nothing improves, then train on around the
        new mode. Gradient steps alone get stuck when there are many columns.
    loss : {"auto", "bic", "nll_ev", "nll_nv", "mse", "entropy"} or callable
        What an order loses. "bic": Gaussian likelihood less a penalty per parameter. "entropy": the same for noise
        of any shape, by the entropy of the residuals. "auto": the same as far as a shape gains more than chance
        does; "bic" for linear edges, and where rows are not in memory. "nll_ev": the paper's, equal noise
        variances; only for columns on one natural scale. A callable takes (variance, dof, n_rows) of one node.

    Examples
    --------
    >>> from daguerreotype import Daguerreotype
    >>> from daguerreotype.training import Bilevel
    >>> Daguerreotype(training=Bilevel(max_iter=200, n_restarts=20))
    Daguerreotype(training=Bilevel(max_iter=200, n_restarts=20))
    """

    learning_rate: float = 0.1
    l2: float = 0.0005
    max_iter: int = 1000
    tol: float = 1e-4
    patience: int = 20
    start: Any = "zeros"
    n_restarts: int = 8
    refine: bool = True
    loss: Any = "auto"

    joint: ClassVar[bool] = False

    def check(self) -> None:
        """Refuse values that cannot be used."""
        check_positive(self.learning_rate, "learning_rate")
        check_positive(self.l2, "l2", zero=True)
        check_positive_int(self.max_iter, "max_iter")
        check_positive(self.tol, "tol", zero=True)
        check_positive_int(self.patience, "patience")
        check_count(self.n_restarts, "n_restarts")
        check_flag(self.refine, "refine")
        make_objective(self.loss, 1.0)


@saved
@dataclass(eq=False, repr=False)
class Joint(Parameters):
    """Trains theta and one set of edges for all orders together, for "linear" and "mlp" edges only.

    Faster than :class:`Bilevel` for these edges, and less exact.

    Parameters
    ----------
    learning_rate, l2, max_iter, tol, patience, start
        As of :class:`Bilevel`; the rate is that of theta, edges have their own.
    loss : {"nll_ev", "nll_nv", "mse"} or an object with derivatives
        What an order loses, as of :class:`Bilevel`.
    """

    learning_rate: float = 0.1
    l2: float = 0.0005
    max_iter: int = 1000
    tol: float = 1e-4
    patience: int = 20
    start: Any = "zeros"
    loss: Any = "nll_ev"

    joint: ClassVar[bool] = True
    refine: ClassVar[bool] = True
    n_restarts: ClassVar[int] = 8

    def check(self) -> None:
        """Refuse values that cannot be used."""
        Bilevel(self.learning_rate, self.l2, self.max_iter, self.tol, self.patience).check()
        # Gates pay for edges, not the loss.
        penalized = isinstance(self.loss, str) and self.loss in ("auto", "bic", "entropy")
        if penalized or not isinstance(make_objective(self.loss, 0.0), Smooth):
            raise ValueError(f"Joint takes loss 'nll_ev', 'nll_nv' or 'mse', got {shown(self.loss)}.")

    def check_edges(self, edges: Any, estimator: EdgeEstimator) -> None:
        """Refuse edges that cannot be trained jointly."""
        if not isinstance(estimator, GradientEdges):
            names = " or ".join(f"edges={name!r}" for name, entry in EDGES.items() if entry.by_gradient)
            raise ValueError(
                f"training='joint' needs edges that are trained by gradient: {names}, got {edges!r}. "
                "Other edges are trained with training='bilevel'."
            )

    def check_noise(self, noise: Any, models: Sequence[NoiseModel]) -> None:
        """Refuse noise that looks at residuals."""
        if any(model.needs_residuals for model in models):
            raise ValueError(f"training='joint' takes Gaussian noise, got noise={shown(noise)}.")


TRAININGS: Mapping[str, type[Bilevel] | type[Joint]] = {"bilevel": Bilevel, "joint": Joint}


def read_training(training: Any) -> Bilevel | Joint:
    """The training that a name stands for, or the object itself, its settings checked."""
    if isinstance(training, str) and training in TRAININGS:
        training = TRAININGS[training]()
    if not isinstance(training, Bilevel | Joint):
        raise ValueError(
            f"training must be 'bilevel', 'joint', Bilevel(...) or Joint(...), got {shown(training)}."
        )
    training.check()
    return training


# ------------------------------------------------------------------ where theta starts

EXPECTED = "'zeros', 'variances', an order of all columns, or a float for each, its score"
GAP = 0.1  # score gap, in units of tau, between neighbours of an order that theta is made from


def order_to_theta(order: IntArray, tau: float) -> FloatArray:
    """Scores that sort into ``order``, close enough for the distribution to reach its neighbours."""
    theta = np.empty(order.size)
    theta[order] = GAP * tau * (np.arange(order.size) - 0.5 * (order.size - 1))
    return theta


def make_start(
    start: Any,
    operator: Any,
    table: Table,
    *,
    tau: float,
    rng: np.random.Generator,
    columns: IntArray,
) -> FloatArray:
    """Scores (d,) to start from, one per column: of the operator's order, or of the training's ``start``.

    A random order is drawn from ``columns`` as they are listed.
    """
    names, numbered = table.names, not table.named
    if isinstance(operator, RandomOrder):
        return order_to_theta(rng.permutation(columns), tau)
    if isinstance(operator, FixedOrder):
        expected = "an order of all columns"
        listed = _as_list(operator.order, "order", expected, len(names))
        return order_to_theta(_as_order(listed, "order", names, numbered), tau)
    if isinstance(start, str):
        if start == "zeros":
            return np.zeros(len(names))
        if start == "variances":
            variances = np.diag(table.summary.covariance)
            centred: FloatArray = variances - np.median(variances)
            return centred
        raise ValueError(f"start must be {EXPECTED}, got {shown(start)}.")
    listed = _as_list(start, "start", EXPECTED, len(names))
    # Whole numbers alone are never scores: a broken order would pass for them.
    if any(isinstance(entry, float | np.floating) for entry in listed) and not isinstance(
        names[0], float | np.floating
    ):
        return _as_scores(listed)
    rule = "; scores are floats, as 0.5 or 1.0"
    return order_to_theta(_as_order(listed, "start", names, numbered, rule), tau)


def make_obeying(theta: FloatArray, constraints: Constraints, operator: Any, tau: float) -> FloatArray:
    """The start moved to scores that obey: projected, or a random order of those that do."""
    if constraints.precedence is not None and isinstance(operator, RandomOrder):
        return order_to_theta(constraints.precedence.extension(theta), tau)
    return constraints.project(theta)


def _as_list(given: Any, what: str, expected: str, d: int) -> list[Any]:
    """The entries of an order or of scores, one per column."""
    plain = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    if not plain or getattr(given, "ndim", 1) != 1:
        raise TypeError(f"{what} must be {expected}, got {shown(given)}.")
    listed = list(given)
    if len(listed) != d:
        raise ValueError(f"{what} has {len(listed)} entries, but the table has {d} columns.")
    return listed


def _as_scores(listed: list[Any]) -> FloatArray:
    """Scores that a user gave as an array; refused unless all are finite numbers."""
    try:
        scores = np.asarray(listed, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"start must be {EXPECTED}, got {shown(listed)}.") from None
    if not np.isfinite(scores).all():
        raise ValueError("start holds scores that are not finite.")
    return scores


def _as_order(listed: list[Any], what: str, names: Sequence[Hashable], numbered: bool, rule: str = "") -> IntArray:
    """Positions of an order given by names, or by position unless names are whole numbers themselves."""
    whole = (int, np.integer)
    by_position = numbered or not any(isinstance(name, whole) for name in names)
    places, positions = ColumnPlaces(names, numbered=numbered), ColumnPlaces(range(len(names)))
    order = [
        positions.find(entry) if by_position and isinstance(entry, whole) else places.find(entry)
        for entry in listed
    ]
    rule = f"an order has each of the {len(names)} columns once, causes first, by name or by position{rule}"
    if None in order:
        raise ValueError(f"{what} holds {listed[order.index(None)]!r}, which is no column: {rule}.")
    twice = [entry for entry, place in zip(listed, order, strict=True) if order.count(place) > 1]
    if twice:
        raise ValueError(f"{what} holds {twice[0]!r} more than once: {rule}.")
    return np.array(order, dtype=np.int64)
