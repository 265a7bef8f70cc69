"""Trainings of a learner: bilevel and joint descent, as objects with their settings and under short names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from daguerreotype._lib.checks import check_count, check_flag, check_positive, check_positive_int
from daguerreotype._lib.labels import shown
from daguerreotype._lib.registry import saved
from daguerreotype._lib.settings import Parameters
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
        What an order loses. "bic": Gaussian likelihood less a penalty per parameter. "entropy": the same for
        noise of any shape, by the entropy of the residuals. "auto": "bic", and from there on "entropy" where
        residuals turn out clearly non-Gaussian. "nll_ev": the paper's, equal noise variances; only for columns on
        one natural scale. A callable takes (variance, dof, n_rows) of one node.

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
