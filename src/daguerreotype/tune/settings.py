"""How does a learner take on settings, also those of the estimator within it?"""

import copy
import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from daguerreotype.edges import make_estimator


def check_learner(learner: Any) -> None:
    """Refuse what cannot be given settings and fitted."""
    if isinstance(learner, type):
        raise TypeError(
            f"learner is the class {learner.__name__}: expected an object. Write {learner.__name__}()."
        )
    for method in ("fit", "get_params", "set_params"):
        if not callable(getattr(learner, method, None)):
            raise TypeError(
                f"learner is a {type(learner).__name__} without {method}: expected a scikit-learn estimator whose "
                "fit leaves adjacency_matrix_, such as Daguerreotype() or one of the baselines."
            )


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
