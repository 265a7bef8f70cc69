"""Fingerprints of settings and data: the same in every process and on every day."""

import hashlib
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

DEPTH = 12  # levels of objects within objects that are looked at
DIGEST = "digest of "  # begins the name of an entry whose value means nothing to a reader


def digest(*arrays: npt.NDArray[Any]) -> str:
    """SHA-256 of shapes, types and bytes."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.shape}{array.dtype}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def digest_table(frame: pd.DataFrame) -> str:
    """SHA-256 of the shape and of all values, whatever they are and however they lie in memory."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashlib.sha256(str(frame.shape).encode() + rows.tobytes()).hexdigest()


def differences(saved: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """How two runs differ, in words, from what they depend on by name; "" if they do not.

    >>> differences({"k": 10, "digest of data": "a1"}, {"k": 20, "digest of data": "b2"})
    'k was 10 and is now 20; data differ'
    """
    names = [name for name in {**saved, **given} if saved.get(name) != given.get(name)]
    return "; ".join(
        f"{name.removeprefix(DIGEST)} differ"
        if name.startswith(DIGEST)
        else f"{name} was {saved.get(name)!r} and is now {given.get(name)!r}"
        for name in names
    )


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
