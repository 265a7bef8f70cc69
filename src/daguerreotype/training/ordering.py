"""Which operator turns scores into orderings, at which temperature, from which start?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import numpy as np

from daguerreotype._lib.checks import check_positive_int, check_temperature
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators import OrderDistribution, Precedence, sparsemap, top_k_sparsemax
from daguerreotype.training.bilevel import Operator
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.learn import order_to_theta

UNTRAINED = ("fixed", "random")


@dataclass
class Sparsemax:
    """Top-k sparsemax with a fixed k."""

    k: int
    precedence: Precedence | None = None

    def __call__(self, theta: FloatArray, tau: float) -> OrderDistribution:
        """Distribution over the k best rankings, of those that obey."""
        return top_k_sparsemax(theta, self.k, tau=tau, precedence=self.precedence)


@dataclass
class SparseMap:
    """SparseMAP by active set with a fixed number of iterations, or by its closed form."""

    max_iter: int
    precedence: Precedence | None = None
    method: Literal["active-set", "peel"] = "active-set"

    def __call__(self, theta: FloatArray, tau: float) -> OrderDistribution:
        """Distribution whose mean ranking is the projection, on the hull of those that obey."""
        return sparsemap(theta, self.max_iter, tau=tau, method=self.method, precedence=self.precedence)


@dataclass
class Watched:
    """A user's operator under knowledge: it gets scores that obey, and its rankings must."""

    operator: Operator
    precedence: Precedence
    names: Sequence[str]

    def __post_init__(self) -> None:
        try:
            self.asks = "precedence" in signature(self.operator).parameters
        except (TypeError, ValueError):  # it does not tell
            self.asks = False

    def __call__(self, theta: FloatArray, tau: float) -> OrderDistribution:
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


def make_operator(operator: Any, k: int, constraints: Constraints = FREE) -> Operator | None:
    """The operator behind a short name or a callable (theta, tau) -> OrderDistribution; None for no training."""
    k, precedence = check_positive_int(k, "k"), constraints.precedence
    if operator == "sparsemax":
        return Sparsemax(k, precedence)
    if operator == "sparsemap":
        return SparseMap(k, precedence)
    if operator == "sparsemap-peel":
        return SparseMap(k, precedence, "peel")
    if isinstance(operator, str) and operator in UNTRAINED:
        return None
    if callable(operator) and not isinstance(operator, type):
        return operator if precedence is None else Watched(operator, precedence, constraints.names)
    raise ValueError(
        "operator must be 'sparsemax', 'sparsemap', 'sparsemap-peel', 'fixed', 'random', or a callable "
        f"(theta, tau) -> OrderDistribution, got {operator!r}."
    )


def make_temperature(tau: Any, max_iter: int) -> Callable[[int], float]:
    """Temperature by iteration: a constant, a pair (first, last) annealed geometrically, or a callable."""
    if callable(tau):
        return lambda iteration: check_temperature(tau(iteration))
    if isinstance(tau, Sequence) and not isinstance(tau, str):
        if len(tau) != 2:
            raise ValueError(f"tau must be a number, a pair (first, last) or a callable, got {tau!r}.")
        first, last = map(check_temperature, tau)
        steps = max(max_iter - 1, 1)
        return lambda iteration: float(first * (last / first) ** (min(iteration, steps) / steps))
    constant = check_temperature(tau)
    return lambda iteration: constant


def make_start(
    init: Any,
    *,
    names: Sequence[str],
    variances: FloatArray,
    tau: float,
    rng: np.random.Generator,
    operator: Any,
    columns: IntArray | None = None,
) -> FloatArray:
    """Scores (d,) to start from, one per column; a random order is drawn from ``columns`` as they are listed."""
    d = len(names)
    if isinstance(operator, str) and operator == "random":
        return order_to_theta(rng.permutation(np.arange(d) if columns is None else columns), tau)
    if isinstance(init, str):
        if isinstance(operator, str) and operator == "fixed":
            raise ValueError(f"operator='fixed' needs the order: init=[...] with all columns, got init={init!r}.")
        if init == "zeros":
            return np.zeros(d)
        if init == "variances":
            centred: FloatArray = variances - np.median(variances)
            return centred
        raise ValueError(f"init must be 'zeros', 'variances', an order or an array of scores, got {init!r}.")
    listed = list(init)
    if len(listed) != d:
        raise ValueError(f"init has {len(listed)} entries, but the table has {d} columns.")
    order = _as_order(listed, names)
    if order is not None:
        return order_to_theta(order, tau)
    scores = np.asarray(listed, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("init holds scores that are not finite.")
    return scores


def make_obeying(theta: FloatArray, constraints: Constraints, operator: Any, tau: float) -> FloatArray:
    """The start moved to scores that obey: projected, or a random order of those that do."""
    if constraints.precedence is not None and isinstance(operator, str) and operator == "random":
        return order_to_theta(constraints.precedence.extension(theta), tau)
    return constraints.project(theta)


def _as_order(listed: list[Any], names: Sequence[str]) -> IntArray | None:
    """Positions of an order given by names or by all whole numbers 0 to d - 1; None if it is neither."""
    if any(isinstance(entry, str) for entry in listed):
        unknown = [entry for entry in listed if entry not in names]
        if unknown or len(set(listed)) < len(listed):
            raise ValueError(
                f"init must name each column once; {unknown[:3] if unknown else 'some names'} "
                f"{'are no columns' if unknown else 'occur twice'}."
            )
        return np.array([names.index(entry) for entry in listed], dtype=np.int64)
    whole = all(isinstance(entry, int | np.integer) for entry in listed)
    if whole and sorted(listed) == list(range(len(listed))):
        return np.array(listed, dtype=np.int64)
    return None
