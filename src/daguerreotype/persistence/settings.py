"""Settings of a learner as JSON values, and what stands for one that cannot be."""

import inspect
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype.data.kinds import KINDS, Kind
from daguerreotype.edges.registry import EDGES, entry_of
from daguerreotype.knowledge import Knowledge
from daguerreotype.noise import NOISE

SHOWN = 200  # characters of a setting that could not be saved


@dataclass(frozen=True)
class Unsaved:
    """Stands for an object or a function that a file cannot hold without being able to run code."""

    what: str

    def __repr__(self) -> str:
        return f"<not saved: {self.what}>"


def check_saved(settings: Mapping[str, Any]) -> None:
    """Refuse to work with settings that did not come back from a file."""
    for name, value in settings.items():
        if isinstance(value, Unsaved):
            raise ValueError(
                f"{name} was {value.what}, which a file cannot hold, so the loaded learner does not have it. "
                f"Set it again before fitting: set_params({name}=...)."
            )


def encode_setting(value: Any) -> Any:
    """JSON values for ``value``; objects and functions of the user's are only named."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, list):
        return [encode_setting(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [encode_setting(each) for each in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode_setting(each) for key, each in value.items()}}
    if isinstance(value, dict):
        return {"pairs": [[encode_setting(key), encode_setting(each)] for key, each in value.items()]}
    if isinstance(value, pd.Timestamp):
        return {"time": value.isoformat()}
    if isinstance(value, Kind):
        return {"kind": encode_kind(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, PurePath):
        return {"path": str(value)}
    return _encode_object(value)


def decode_setting(saved: Any) -> Any:
    """The setting that `encode_setting` wrote; `Unsaved` for one that was only named."""
    if isinstance(saved, list):
        return [decode_setting(each) for each in saved]
    if not isinstance(saved, dict):
        return saved
    if "tuple" in saved:
        return tuple(decode_setting(each) for each in saved["tuple"])
    if "dict" in saved:
        return {key: decode_setting(each) for key, each in saved["dict"].items()}
    if "pairs" in saved:
        return {decode_setting(key): decode_setting(each) for key, each in saved["pairs"]}
    if "time" in saved:
        return pd.Timestamp(saved["time"])
    if "kind" in saved:
        return decode_kind(saved["kind"])
    if "array" in saved:
        dtype = np.dtype(str(saved["dtype"]))
        if dtype.kind not in "biufU":
            raise ValueError(f"an array of {dtype}")
        # Text is as wide as it is, whatever the file says.
        return np.array(saved["array"], dtype=np.str_ if dtype.kind == "U" else dtype)
    if "path" in saved:
        return Path(saved["path"])
    if "knowledge" in saved:
        return Knowledge.from_dict(decode_setting(saved["knowledge"]))
    if "settings" in saved:
        settings = {name: decode_setting(each) for name, each in saved["settings"].items()}
        if "noise" in saved:
            return NOISE[saved["noise"]].make(**settings)
        return {each.class_name: each for each in EDGES.values()}[saved["edges"]].make(**settings)
    return Unsaved(saved["unsaved"])


def encode_names(names: Sequence[Hashable]) -> Any:
    """JSON values for names of columns: text, numbers, times and tuples of them; others are written as text."""

    def known(name: Any) -> bool:
        parts = name if isinstance(name, tuple) else (name,)
        return all(isinstance(part, str | bool | int | float | np.generic | pd.Timestamp) for part in parts)

    return encode_setting(tuple(name if known(name) else str(name) for name in names))


def encode_kind(kind: Kind) -> dict[str, Any]:
    """JSON values for the kind of a column; levels that are no text, number or truth value are written as text."""
    levels = [each.item() if isinstance(each, np.generic) else each for each in kind.levels]
    plain = [each if isinstance(each, bool | int | float | str) else str(each) for each in levels]
    return {"name": kind.name, "reason": kind.reason, "levels": plain, "step": kind.step}


def decode_kind(saved: Mapping[str, Any]) -> Kind:
    """The kind that `encode_kind` wrote."""
    if saved["name"] not in KINDS:
        raise ValueError(f"{saved['name']!r} in place of a kind")
    return Kind(saved["name"], str(saved["reason"]), tuple(saved["levels"]), float(saved["step"]))


def _encode_object(value: Any) -> Any:
    """Knowledge, registered estimators and noise models by what makes them again; the name of anything else."""
    if isinstance(value, Knowledge):
        return {"knowledge": encode_setting(value.to_dict())}
    entry = entry_of(value)
    noise = next((name for name, each in NOISE.items() if each.make is type(value)), None)
    if entry is not None or noise is not None:
        parameters = inspect.signature(type(value)).parameters
        settings = {each: encode_setting(getattr(value, each)) for each in parameters}
        if not any(isinstance(each, dict) for each in settings.values()):
            known = {"noise": noise} if entry is None else {"edges": entry.class_name}
            return known | {"settings": settings}
    return {"unsaved": name_of(value)}


def name_of(value: Any) -> str:
    """What messages call an object that was not saved."""
    if isinstance(value, Unsaved):
        return value.what
    return str(getattr(value, "__qualname__", None) or repr(value))[:SHOWN]
