"""By what is a run known again, in another process and on another day?"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from daguerreotype.bootstrap.resample import Draws, Learner

WITHOUT_EFFECT = {"n_jobs", "verbose", "random_state"}  # of a learner: each resample seeds its own
DEPTH = 12  # levels of objects within objects that are looked at


def describe_run(learner: "Learner", X: Any, fit_params: Mapping[str, Any], draws: "Draws") -> dict[str, Any]:
    """What a resample depends on, by name: settings as they are, data as digests."""
    settings = {
        name: plain_setting(value)
        for name, value in learner.get_params(deep=False).items()
        if name not in WITHOUT_EFFECT
    }
    return {
        "version": version("daguerreotype"),
        "learner": type(learner).__name__,
        **{f"learner.{name}": value for name, value in settings.items()},
        **{f"fit parameter {name}": plain_setting(value) for name, value in fit_params.items()},
        **asdict(draws),
        "columns": [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else X.shape[1],
        "digest of the data": digest_table(pd.DataFrame(X)),
    }


def plain_setting(value: Any, depth: int = DEPTH) -> Any:
    """A parameter as JSON that is the same in every process: no addresses, tables by their digest."""
    if isinstance(value, float) and np.isnan(value):
        return "NaN"  # which equals itself
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | pd.DataFrame | pd.Series):
        return digest_table(pd.DataFrame(value))
    if isinstance(value, type) or depth == 0:
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, Mapping):
        return {str(key): plain_setting(each, depth - 1) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [plain_setting(each, depth - 1) for each in value]
    if isinstance(value, FunctionType):
        return [value.__qualname__, _code(value), *(plain_setting(part, depth - 1) for part in _bound(value))]
    # Of anything else, what pickle would make it from: its class, arguments and state.
    try:
        parts = value.__reduce_ex__(2)
    except TypeError:  # a lock, a ufunc: known by name at best
        parts = getattr(value, "__name__", type(value).__qualname__)
    return parts if isinstance(parts, str) else [type(value).__qualname__, *plain_setting(parts[1:3], depth - 1)]


def _code(function: FunctionType) -> str:
    """Digest of what a function does, apart from the values that it was made with."""
    code = function.__code__
    constants = [each for each in code.co_consts if not hasattr(each, "co_code")]
    return hashlib.sha256(code.co_code + repr((constants, code.co_names)).encode()).hexdigest()[:12]


def _bound(function: FunctionType) -> tuple[Any, Any]:
    """Defaults and closure of a function."""
    return function.__defaults__, [cell.cell_contents for cell in function.__closure__ or ()]


def digest_table(frame: pd.DataFrame) -> str:
    """SHA-256 of the shape and of all values, whatever they are and however they lie in memory."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashlib.sha256(str(frame.shape).encode() + rows.tobytes()).hexdigest()
