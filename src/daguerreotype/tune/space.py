"""Which values may a setting take? Ranges and lists of choices, and those that each estimator is searched over."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

from daguerreotype.edges import BicEdges, GamEdges, LarsEdges, LassoEdges
from daguerreotype.edges.gradient.settings import GradientEdges

Spec: TypeAlias = tuple[Any, ...] | list[Any]
RATE = (1e-4, 1e-1, "log")
PRUNING = (1e-6, 1e-1, "log")
PENALTY = (0.5, 8.0, "log")
ALPHA = (1e-3, 1.0, "log")


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, whole ones if both are."""

    low: float
    high: float
    log: bool

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, trial: Any, name: str) -> float:
        """The value that a trial is to try."""
        ask = trial.suggest_int if self.whole else trial.suggest_float
        value: float = ask(name, self.low, self.high, log=self.log)
        return value

    def mean(self, values: Sequence[float]) -> float:
        """Mean of some values, rounded to one significant digit, within the range."""
        mean = round_to_one_digit(sum(values) / len(values))
        within = min(max(mean, self.low), self.high)
        return round(within) if self.whole else float(within)

    def value(self, label: Any) -> Any:
        """The value that a study calls ``label``: itself."""
        return label


@dataclass(frozen=True)
class Choice:
    """One of some values of any kind."""

    options: tuple[Any, ...]

    @property
    def labels(self) -> list[Any]:
        """What a study calls the options: plain values as they are, since a database can hold no others."""
        return [each if isinstance(each, str | bool | int | float | None) else repr(each) for each in self.options]

    def suggest(self, trial: Any, name: str) -> Any:
        """The value that a trial is to try."""
        return self.value(trial.suggest_categorical(name, self.labels))

    def mean(self, values: Sequence[Any]) -> Any:
        """The most frequent value; of equals the one listed first."""
        counts = Counter(map(repr, values))
        return max(self.options, key=lambda option: counts[repr(option)])

    def value(self, label: Any) -> Any:
        """The value that a study calls ``label``."""
        return self.options[[repr(each) for each in self.labels].index(repr(label))]


Space: TypeAlias = dict[str, Range | Choice]


def round_to_one_digit(value: float) -> float:
    """The nearest number with one significant digit.

    >>> round_to_one_digit(0.0347), round_to_one_digit(96.0)
    (0.03, 100.0)
    """
    return float(f"{value:.0e}")  # by way of text, so that it is the float that a reader would write


def read_space(space: Mapping[str, Spec]) -> Space:
    """What a user's words mean: (low, high), (low, high, "log" or "linear") or a list of choices, by name."""
    if not space:
        raise ValueError('space is empty: expected settings, such as {"penalty": (0.5, 8, "log")}.')
    return {name: _read_one(name, spec) for name, spec in space.items()}


def _read_one(name: str, spec: Any) -> Range | Choice:
    """One setting's values."""
    if isinstance(spec, list):
        if not spec:
            raise ValueError(f"space[{name!r}] is an empty list: expected at least one choice.")
        return Choice(tuple(spec))
    numbers = isinstance(spec, tuple) and len(spec) in (2, 3) and all(_is_number(each) for each in spec[:2])
    if not numbers or (len(spec) == 3 and spec[2] not in ("log", "linear")):
        raise ValueError(
            f"space[{name!r}] is {spec!r}: expected (low, high, 'log'), (low, high, 'linear') or a list of "
            "choices."
        )
    low, high, log = spec[0], spec[1], spec[2:] == ("log",)
    if not low < high:
        raise ValueError(f"space[{name!r}] goes from {low} to {high}: expected the lower number first.")
    if log and low <= 0:
        raise ValueError(
            f'space[{name!r}] begins at {low}: a "log" range needs numbers above 0. Raise it, or write "linear".'
        )
    return Range(low, high, log)


def _is_number(value: Any) -> bool:
    """Whether a value can be the end of a range."""
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)


def default_space(learner: Any) -> dict[str, Spec]:
    """What a learner is searched over if nothing else is said.

    Rates and the pruning strength have the ranges of the paper (appendix D); the penalty of "bic" and "gam" edges
    reaches from half the price of BIC to eight times that.

    Examples
    --------
    >>> from daguerreotype import Daguerreotype
    >>> default_space(Daguerreotype(edges="bic"))
    {'penalty': (0.5, 8.0, 'log')}
    """
    edges = getattr(learner, "edges", None)
    if edges in ("bic", "gam"):
        return {"penalty": PENALTY}
    if isinstance(edges, BicEdges | GamEdges):
        return {"edges.penalty": PENALTY}
    if edges == "lars" or isinstance(edges, LarsEdges):
        return {"learning_rate": RATE}
    if edges == "lasso" or isinstance(edges, LassoEdges):
        return {"learning_rate": RATE, "edges.alpha": ALPHA}
    if edges in ("linear", "mlp") or isinstance(edges, GradientEdges):
        return {"learning_rate": RATE, "edges.pruning": PRUNING, "edges.learning_rate": RATE}
    known = sorted(learner.get_params(deep=False))
    raise ValueError(
        f"there is no usual space for {learner!r}: give one, such as space={{{known[0]!r}: (low, high, 'log')}}. "
        f"Its settings are {', '.join(map(repr, known))}."
    )
