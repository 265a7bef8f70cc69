"""Search space: ranges and choices of settings, the usual ones of every estimator, and learners with them."""

import copy
import dataclasses
import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

from sklearn.base import clone

from daguerreotype._lib.checks import check_learner
from daguerreotype._lib.labels import shown
from daguerreotype.edges import make_estimator
from daguerreotype.edges.registry import entry_of
from daguerreotype.operators.registry import read_operator
from daguerreotype.training.methods import read_training

Spec: TypeAlias = tuple[Any, ...] | list[Any]


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
        """Mean of the values, rounded to one significant digit, within the range."""
        mean = float(f"{sum(values) / len(values):.0e}")
        within = min(max(mean, self.low), self.high)
        return round(within) if self.whole else float(within)


@dataclass(frozen=True)
class Choice:
    """One of several values of any kind."""

    options: tuple[Any, ...]

    def suggest(self, trial: Any, name: str) -> Any:
        """The value that a trial is to try; Optuna knows it by its place, since it may be any object."""
        return self.options[trial.suggest_categorical(name, range(len(self.options)))]

    def mean(self, values: Sequence[Any]) -> Any:
        """The most frequent value; of equals the one listed first."""
        counts = Counter(map(repr, values))
        return max(self.options, key=lambda option: counts[repr(option)])


Space: TypeAlias = dict[str, Range | Choice]


def space_for(learner: Any, space: Mapping[str, Spec] | None) -> Space:
    """The space in which to search for settings of ``learner``: the user's or the usual one, checked."""
    check_learner(learner)
    values = read_space(default_space(learner) if space is None else space)
    for name in values:
        _check_name(learner, name)
    return values


def read_space(space: Mapping[str, Spec]) -> Space:
    """What a user's words mean: (low, high), (low, high, "log" or "linear") or a list of choices, by name."""
    if not isinstance(space, Mapping):
        raise TypeError(f'space is {shown(space)}: expected a dict, such as {{"penalty": (0.5, 8, "log")}}.')
    if not space:
        raise ValueError('space is empty: expected settings, such as {"penalty": (0.5, 8, "log")}.')
    return {name: _read_values(name, spec) for name, spec in space.items()}


def _read_values(name: str, spec: Any) -> Range | Choice:
    """The values of one setting."""
    if isinstance(spec, list):
        if not spec:
            raise ValueError(f"space[{name!r}] is an empty list: expected at least one choice.")
        return Choice(tuple(spec))
    numbers = isinstance(spec, tuple) and len(spec) in (2, 3) and all(_is_number(end) for end in spec[:2])
    if not numbers or (len(spec) == 3 and spec[2] not in ("log", "linear")):
        raise ValueError(
            f"space[{name!r}] is {shown(spec)}: expected (low, high, 'log'), (low, high, 'linear') or a list of "
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
    """What a learner is searched over if no space is given.

    Rates and the pruning strength have the ranges of the paper (appendix D); the penalty of "bic" and "gam" edges
    reaches from half the penalty of BIC to eight times that.

    Examples
    --------
    >>> from daguerreotype import Daguerreotype
    >>> default_space(Daguerreotype(edges="bic"))
    {'penalty': (0.5, 8.0, 'log')}
    """
    check_learner(learner)
    edges = getattr(learner, "edges", None)
    entry = None if edges is None else entry_of(edges)
    if entry is not None and entry.space:
        # A setting that the learner passes on to an estimator known by its name is the learner's own.
        passed_on = {f"edges.{own}": word for own, word in entry.shared.items()} if isinstance(edges, str) else {}
        return {passed_on.get(name, name): spec for name, spec in entry.space.items()}
    names = sorted(learner.get_params(deep=False))
    raise ValueError(
        f"there is no usual space for {learner!r}: give one, such as space={{{names[0]!r}: (low, high, 'log')}}. "
        f"Its settings are {', '.join(map(repr, names))}."
    )


def with_settings(learner: Any, settings: Mapping[str, Any]) -> Any:
    """An unfitted copy of ``learner`` with these settings; "edges.pruning" is the pruning of its edges."""
    changed = clone(learner)
    # Those of the learner come first: an estimator known by its short name is made with the penalty, say.
    for name in sorted(settings, key=lambda name: "." in name):
        changed = _replace(changed, name, settings[name])
    return changed


def _check_name(learner: Any, name: str) -> None:
    """Refuse a setting that the learner, or the estimator within it, does not have."""
    owner = learner
    for part in name.split("."):
        names = sorted(_names_of(owner))
        if part not in names:
            where = "the learner" if owner is learner else type(owner).__name__
            raise ValueError(
                f"space has {name!r}, but {where} has no setting {part!r}; it has "
                f"{', '.join(map(repr, names)) or 'none'}."
            )
        owner = _part(owner, part)


def _replace(owner: Any, name: str, value: Any) -> Any:
    """``owner``, or a copy, with the setting of this dotted name."""
    first, _, rest = name.partition(".")
    if rest:
        value = _replace(_part(owner, first), rest, value)
    if callable(getattr(owner, "set_params", None)):
        return clone(owner).set_params(**{first: value})
    if dataclasses.is_dataclass(owner):
        return dataclasses.replace(owner, **{first: value})  # type: ignore[type-var]
    changed = copy.copy(owner)
    setattr(changed, first, value)
    return changed


def _part(owner: Any, name: str) -> Any:
    """A setting of ``owner``; the estimator itself where the learner only has its short name."""
    value = getattr(owner, name)
    if name == "training":
        return read_training(value)
    if name == "operator":
        return read_operator(value)
    if name == "edges" and isinstance(value, str):
        penalty = getattr(owner, "penalty", None)
        return make_estimator(
            value,
            penalty=1.0 if penalty is None else penalty,
            gamma=1.0 if penalty is None else 0.0,
            trust=getattr(owner, "trust", None),
            seed=getattr(owner, "random_state", None) or 0,
        )
    return value


def _names_of(owner: Any) -> list[str]:
    """Names of what can be set about an object."""
    if callable(getattr(owner, "get_params", None)):
        return list(owner.get_params(deep=False))
    try:
        names = list(inspect.signature(type(owner)).parameters)
    except ValueError:  # a number, say
        return []
    return [name for name in names if hasattr(owner, name)]
