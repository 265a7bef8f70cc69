"""Operators of a learner: how scores become orderings, as objects with their settings and under short names.

What takes long to import is imported where it is needed: the command line lists the names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from daguerreotype._lib.labels import shown
from daguerreotype._lib.registry import Registry, saved
from daguerreotype._lib.settings import Parameters

if TYPE_CHECKING:  # the registry alone needs none of them
    from daguerreotype._lib.typing import FloatArray
    from daguerreotype.operators.distribution import Operator, OrderDistribution
    from daguerreotype.operators.precedence import Precedence


@saved
@dataclass(eq=False, repr=False)
class Sparsemax(Parameters):
    """Sparse distribution over the ``k`` best orders: :func:`~daguerreotype.operators.top_k_sparsemax`.

    Parameters
    ----------
    k : int
        How many orders may carry mass. 100 explores well; 10 is faster.
    tau : float
        Temperature. Smaller values concentrate the distribution on the mode.

    Examples
    --------
    >>> from daguerreotype import Daguerreotype
    >>> from daguerreotype.operators import Sparsemax
    >>> Daguerreotype(operator=Sparsemax(k=10))
    Daguerreotype(operator=Sparsemax(k=10))
    """

    k: int = 100
    tau: float = 1.0

    def check(self) -> None:
        """Refuse values that cannot be used."""
        from daguerreotype._lib.checks import check_positive_int, check_temperature

        check_positive_int(self.k, "k")
        check_temperature(self.tau)

    def __call__(
        self, theta: "FloatArray", tau: float, precedence: "Precedence | None" = None
    ) -> "OrderDistribution":
        """The distribution at scores (d,), over orders that obey."""
        from daguerreotype.operators.sparsemax import top_k_sparsemax

        return top_k_sparsemax(theta, self.k, tau=tau, precedence=precedence)


@saved
@dataclass(eq=False, repr=False)
class SparseMAP(Parameters):
    """Sparse distribution over orders whose mean is the projection of the scores: SparseMAP.

    :func:`~daguerreotype.operators.sparsemap` says what it solves.

    Parameters
    ----------
    max_iter : int
        Most iterations of the active set, and so most orders. 100 are exact up to 100 columns; fewer are faster.
    tau : float
        Temperature, as of :class:`Sparsemax`.
    method : {"active-set", "peel"}
        "active-set" is the paper's. "peel" finds other orders of the same mean that share most of their local
        fits: for edges that are slow to fit, such as "mlp".
    """

    max_iter: int = 100
    tau: float = 1.0
    method: Literal["active-set", "peel"] = "active-set"

    def check(self) -> None:
        """Refuse values that cannot be used."""
        from daguerreotype._lib.checks import check_choice, check_positive_int, check_temperature

        check_positive_int(self.max_iter, "max_iter")
        check_temperature(self.tau)
        check_choice(self.method, "method", ("active-set", "peel"))

    def __call__(
        self, theta: "FloatArray", tau: float, precedence: "Precedence | None" = None
    ) -> "OrderDistribution":
        """The distribution at scores (d,), over orders that obey."""
        from daguerreotype.operators.sparse_map import sparsemap

        return sparsemap(theta, self.max_iter, tau=tau, method=self.method, precedence=precedence)


@saved
@dataclass(eq=False, repr=False)
class FixedOrder(Parameters):
    """Keeps an order that is known: only the edges along it are learned.

    Parameters
    ----------
    order : list
        All columns, causes first, by name or by position.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype import Daguerreotype
    >>> from daguerreotype.operators import FixedOrder
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[:, 0] += X[:, 1]
    >>> Daguerreotype(operator=FixedOrder([0, 1])).fit(X).causal_order_
    array([0, 1])
    """

    order: Any


@saved
@dataclass(eq=False, repr=False)
class RandomOrder(Parameters):
    """Draws one order, by the learner's ``random_state``: what a learned order is compared with."""


@dataclass(frozen=True)
class OperatorEntry:
    """An operator under its name.

    Attributes
    ----------
    make : callable
        Without arguments, to the operator: a callable (theta, tau) -> OrderDistribution.
    help : str
        What it is for, in one line.
    """

    make: Callable[[], Any]
    help: str


OPERATORS: Registry[OperatorEntry] = Registry(
    "operator",
    {
        "sparsemax": OperatorEntry(Sparsemax, "mass on the k best orders"),
        "sparsemap": OperatorEntry(SparseMAP, "orders whose mean is the projection of the scores"),
        "random": OperatorEntry(RandomOrder, "draws one order"),
    },
)


def read_operator(operator: Any) -> Any:
    """The operator that a name stands for, or the object itself, its settings checked."""
    if operator in OPERATORS:
        operator = OPERATORS[operator].make()
    if isinstance(operator, FixedOrder | RandomOrder | Sparsemax | SparseMAP):
        operator.check()
    elif not callable(operator) or isinstance(operator, type):
        raise ValueError(
            f"operator must be {OPERATORS.listed()}, Sparsemax(...), SparseMAP(...), FixedOrder(...) "
            f"or a callable (theta, tau) -> OrderDistribution, got {shown(operator)}."
        )
    return operator


def bind_operator(
    operator: Any, precedence: "Precedence | None" = None, names: Sequence[str] = ()
) -> "Operator | None":
    """The operator as training calls it, under what is known; None where nothing is trained."""
    if isinstance(operator, FixedOrder | RandomOrder):
        return None
    bound: Operator = operator
    if precedence is not None:
        own = isinstance(operator, Sparsemax | SparseMAP)
        bound = partial(operator, precedence=precedence) if own else Watched(operator, precedence, names)
    return bound


@dataclass
class Watched:
    """A user's operator under knowledge: it gets scores that obey, and its rankings must."""

    operator: "Operator"
    precedence: "Precedence"
    names: Sequence[str]

    def __post_init__(self) -> None:
        try:
            self.asks = "precedence" in signature(self.operator).parameters
        except (TypeError, ValueError):  # it does not tell
            self.asks = False

    def __call__(self, theta: "FloatArray", tau: float) -> "OrderDistribution":
        """What the operator returns, checked; it is told the precedence if it has a parameter of that name."""
        asked: dict[str, Any] = {"precedence": self.precedence} if self.asks else {}
        distribution = self.operator(theta, tau, **asked)
        for ranks in distribution.ranks:
            broken = self.precedence.broken_by(ranks)
            if broken is not None:
                first, second = (self.names[node] for node in broken)
                raise ValueError(
                    f"the operator returned a ranking with {second!r} before {first!r}, but knowledge says that "
                    f"{first!r} comes first. Give it a parameter precedence, which it will be passed, and return "
                    "rankings that obey, as those of k_best_rankings(theta, k, precedence=precedence) do."
                )
        return distribution
