"""Registry of operators from scores to orderings, and what the argument ``operator`` stands for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from daguerreotype._lib.labels import shown
from daguerreotype._lib.registry import Registry, load

if TYPE_CHECKING:  # the registry alone needs none of them
    from daguerreotype._lib.typing import FloatArray
    from daguerreotype.operators.distribution import Operator, OrderDistribution
    from daguerreotype.operators.precedence import Precedence


@dataclass(frozen=True)
class OperatorEntry:
    """An operator under its name.

    Attributes
    ----------
    make : str, callable or None
        From ``k`` and a precedence, or None where nothing is known, to the operator; as ``package.module:name`` it
        is imported when it is asked for. None: nothing is trained.
    help : str
        What it is for, in one line.
    order : {"learned", "given", "drawn"}
        Where the order comes from: training, the user's ``init``, or chance.
    """

    make: "str | Callable[[int, Precedence | None], Operator] | None"
    help: str
    order: Literal["learned", "given", "drawn"] = "learned"


OPERATORS: Registry[OperatorEntry] = Registry(
    "operator",
    {
        "sparsemax": OperatorEntry("daguerreotype.operators.sparsemax:Sparsemax", "mass on the k best orders"),
        "sparsemap": OperatorEntry(
            "daguerreotype.operators.sparse_map:SparseMap", "orders whose mean is the projection of the scores"
        ),
        "sparsemap-peel": OperatorEntry(
            "daguerreotype.operators.sparse_map:make_peeling",
            "the same in closed form: for edges that are slow to fit",
        ),
        "sparsemap-warm": OperatorEntry(
            "daguerreotype.operators.sparse_map:WarmSparseMap",
            "the same from the orders of the step before: most need no new fits",
        ),
        "fixed": OperatorEntry(None, "keeps the order given as init", "given"),
        "random": OperatorEntry(None, "draws one order", "drawn"),
    },
)


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
        known: dict[str, Any] = {"precedence": self.precedence} if self.asks else {}
        distribution = self.operator(theta, tau, **known)
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


def make_operator(
    operator: Any, k: int, precedence: "Precedence | None" = None, names: Sequence[str] = ()
) -> "Operator | None":
    """The operator behind a short name or a callable (theta, tau) -> OrderDistribution; None for no training."""
    from daguerreotype._lib.checks import check_positive_int

    k = check_positive_int(k, "k")
    check_operator(operator)
    if operator in OPERATORS:
        make = OPERATORS[operator].make
        made: Operator | None = None
        if make is not None:
            made = (load(make) if isinstance(make, str) else make)(k, precedence)
        return made
    return operator if precedence is None else Watched(operator, precedence, names)


def check_operator(operator: object) -> None:
    """Refuse what is neither the name of an operator nor a function."""
    if operator not in OPERATORS and (not callable(operator) or isinstance(operator, type)):
        raise ValueError(
            f"operator must be {OPERATORS.listed()}, or a callable (theta, tau) -> OrderDistribution, got "
            f"{shown(operator)}."
        )


def order_source(operator: Any) -> str:
    """Where the order comes from: "learned", "given" or "drawn"."""
    return OPERATORS[operator].order if operator in OPERATORS else "learned"
