"""Checks of parameters: counts, positive numbers, shares, truth values, choices, seeds; and tables of them.

A class says what its parameters may be in a table, from their names to checks, and hands it to `check_parameters`
before any work. A check is a function of a value and its name, which refuses in a sentence with that name.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import RandomState

Check: TypeAlias = Callable[[Any, str], object]
LEAST_TRUST = 10.0
FILE_NAME = re.compile(r"\w[\w .,()+-]{0,99}")


def check_parameters(values: Mapping[str, Any], checks: Mapping[str, Check]) -> None:
    """Refuse the first of ``values`` that its check does.

    >>> check_parameters({"k": 3, "refine": True}, {"k": check_positive_int, "refine": check_flag})
    """
    for name, check in checks.items():
        check(values[name], name)


def optional(check: Check) -> Check:
    """The same check, which lets None pass."""
    return lambda value, name: value is None or check(value, name)


def one_of(*choices: str) -> Check:
    """The check of a name among these."""
    return partial(check_choice, choices=choices)


def check_choice(value: object, name: str, choices: Collection[str]) -> str:
    """``value`` as one of these names."""
    if not isinstance(value, str) or value not in choices:
        *most, last = map(repr, choices)
        raise ValueError(f"{name} must be {', '.join(most)}{' or ' if most else ''}{last}, got {shown(value)}.")
    return value


def check_flag(value: object, name: str) -> bool:
    """``value`` as a truth value; words and numbers are none."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def check_text(value: object, name: str) -> str:
    """``value`` as a text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {shown(value)}.")
    return value


def check_callable(value: object, name: str) -> object:
    """``value`` as a function."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {shown(value)}.")
    return value


def check_verbosity(value: object, name: str) -> int:
    """``value`` as a whole number from 0 on, or a truth value."""
    return int(value) if isinstance(value, bool | np.bool_) else check_count(value, name)


def check_seed(value: object, name: str = "random_state") -> int:
    """``value`` as a seed; a generator is none, whose draws differ from call to call."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        raise TypeError(
            f"{name} is a {type(value).__name__}, which draws otherwise each time: give a whole number, such as "
            "one that it drew, so that the result can be had again."
        )
    return check_count(value, name)


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


def refuse_complex(values: object, name: str) -> None:
    """Refuse complex numbers, of which numpy would drop half with a warning."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise ValueError(f"{name} must be real numbers, but they are complex.")


def check_path(value: object, name: str) -> Path:
    """``value`` as the path of a file."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file, got {shown(value)}.")
    try:
        possible = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ValueError(f"{name} must be the path of a file, but no file can be called {shown(value)}.")
    return Path(value)


def check_count(value: object, name: str, least: int = 0) -> int:
    """``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shown(value)}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def check_positive_int(value: object, name: str) -> int:
    """``value`` as an int of at least 1."""
    return check_count(value, name, 1)


def check_positive(value: object, name: str, *, zero: bool = False) -> float:
    """``value`` as a finite float above 0, or from 0 on."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {shown(value)}.")
    if value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be {'at least' if zero else 'above'} 0, got {value}.")
    return float(value)


def check_trust(value: object, name: str) -> float:
    """``value`` as a finite float from 10 on: with fewer rows of evidence no parameter would cost anything."""
    trust = check_positive(value, name)
    if trust < LEAST_TRUST:
        raise ValueError(f"{name} must be at least {LEAST_TRUST:.0f} rows, or None for all of them, got {value}.")
    return trust


def check_share(value: object, name: str) -> float:
    """``value`` as a float from 0 on and below 1."""
    share = check_positive(value, name, zero=True)
    if share >= 1.0:
        raise ValueError(f"{name} must be a share, from 0 on and below 1, got {shown(value)}.")
    return share


def check_frequency(value: object, name: str) -> float:
    """``value`` as a float above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) <= 1.0:
        raise ValueError(f"{name} must be above 0 and at most 1, got {shown(value)}.")
    return float(value)


def check_temperature(tau: float) -> float:
    """``tau`` as a positive finite float."""
    try:
        if isinstance(tau, bool):
            raise TypeError
        value = float(tau)
    except (TypeError, ValueError):
        raise ValueError(f"tau must be a positive number, got {shown(tau)}.") from None
    if not 0.0 < value < np.inf:
        raise ValueError(
            f"tau must be positive and finite, got {value}. Towards 0 all mass moves to the sorted order; "
            "for the sorted order itself use k_best_rankings(theta, 1)."
        )
    return value


def check_file_name(name: object, what: str) -> str:
    """A name without folders; ``what`` is what it is called in the error.

    >>> check_file_name("graph-2", "figure")
    'graph-2'
    """
    if not isinstance(name, str) or not FILE_NAME.fullmatch(name):
        raise ValueError(
            f"{what} is {shown(name)}; expected the name of a file without a folder: it begins with a letter or "
            "digit and has at most 100 letters, digits, blanks and any of . , ( ) + - _"
        )
    return name


def as_generator(random_state: RandomState) -> np.random.Generator:
    """The generator itself, or one seeded with the integer (with fresh entropy for None)."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(as_seed(random_state))


def as_seed(random_state: object) -> int:
    """The integer itself, or a new one: drawn from the generator, or fresh entropy for None."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(
            f"random_state is of type {type(random_state).__name__}: "
            "give an integer, a numpy.random.Generator or None."
        )
    if random_state < 0:
        raise ValueError(f"random_state={random_state} is negative: give an integer from 0 up.")
    return int(random_state)
