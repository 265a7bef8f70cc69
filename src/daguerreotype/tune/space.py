"""Search space: ranges and choices of settings, the usual ones of each estimator, and learners with them."""

import copy
import dataclasses
import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

from sklearn.base import clone

from daguerreotype._lib.checks import check_learner
from daguerreotype._lib.labels import shown
from daguerreotype.edges import make_estimator
from daguerreotype.edges.registry import entry_of

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


def space_for(learner: Any, space: Mapping[str, Spec] | None) -> Space:
    """The space in which to search for settings of ``learner``: the user's or the usual one, checked."""
    check_learner(learner)
    found = read_space(default_space(learner) if space is None else space)
    check_names(learner, found)
    return found


def read_space(space: Mapping[str, Spec]) -> Space:
    """What a user's words mean: (low, high), (low, high, "log" or "linear") or a list of choices, by name."""
    if not isinstance(space, Mapping):
        raise TypeError(f'space is {shown(space)}: expected a dict, such as {{"penalty": (0.5, 8, "log")}}.')
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
    """What a learner is searched over if nothing else is said.

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
    known = sorted(learner.get_params(deep=False))
    raise ValueError(
        f"there is no usual space for {learner!r}: give one, such as space={{{known[0]!r}: (low, high, 'log')}}. "
        f"Its settings are {', '.join(map(repr, known))}."
    )


def clone_with(learner: Any, **settings: Any) -> Any:
    """An unfitted copy of ``learner`` with those of the settings that it has."""
    copied = clone(learner)
    known = copied.get_params(deep=False)
    copied.set_params(**{name: value for name, value in settings.items() if name in known})
    return copied


def with_settings(learner: Any, settings: Mapping[str, Any]) -> Any:
    """An unfitted copy of ``learner`` with some settings; "edges.pruning" is the pruning of its edges."""
    changed = clone(learner)
    own = {name: value for name, value in settings.items() if "." not in name}
    changed.set_params(**own)  # first: an estimator known by its short name is made with the penalty, say
    for name in settings.keys() - own.keys():
        changed = _replace(changed, name, settings[name])
    return changed


def check_names(learner: Any, names: Iterable[str]) -> None:
    """Refuse settings that the learner, or the estimator within it, does not have."""
    for name in names:
        owner = learner
        for part in name.split("."):
            known = sorted(_settings_of(owner))
            if part not in known:
                where = "the learner" if owner is learner else type(owner).__name__
                raise ValueError(
                    f"space has {name!r}, but {where} has no setting {part!r}; it has "
                    f"{', '.join(map(repr, known)) or 'none'}."
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
    if name == "edges" and isinstance(value, str):
        penalty = getattr(owner, "penalty", None)
        return make_estimator(
            value,
            penalty=1.0 if penalty is None else penalty,
            gamma=1.0 if penalty is None else 0.0,
            min_gain=getattr(owner, "min_gain", 0.0),
            seed=getattr(owner, "random_state", None) or 0,
        )
    return value


def _settings_of(owner: Any) -> list[str]:
    """Names of what can be set about an object."""
    if callable(getattr(owner, "get_params", None)):
        return list(owner.get_params(deep=False))
    if dataclasses.is_dataclass(owner):
        return [field.name for field in dataclasses.fields(owner)]
    try:
        names = list(inspect.signature(type(owner)).parameters)
    except ValueError:  # a number, say
        return []
    return [name for name in names if hasattr(owner, name)]
