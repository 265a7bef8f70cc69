"""Values as JSON and named arrays, and back; of objects, only records and registered parts come to life."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.interpolate import BSpline

from daguerreotype._lib.archive import NUMBERS, Arrays
from daguerreotype._lib.records import Unsaved, declared, is_label, shape_of
from daguerreotype._lib.registry import RECORDS
from daguerreotype.edges.registry import EDGES
from daguerreotype.operators import sparse_map, sparsemax  # noqa: F401 (records of theirs may be in files)


class Writer:
    """Takes values apart into JSON and named arrays; an array that occurs twice is kept once."""

    def __init__(self) -> None:
        self.arrays = cast(Arrays, {})
        self._names: dict[int, str] = {}

    def put(self, name: str, value: Any) -> Any:
        """JSON for ``value``; its arrays are kept under names that begin with ``name``."""
        if hasattr(value, "as_saved") and class_of(type(value)):
            value = value.as_saved()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic) and isinstance(value.item(), bool | int | float | str):
            return value.item()
        if isinstance(value, np.ndarray):
            return self._put_array(name, value)
        if isinstance(value, pd.Timestamp):
            return {"time": value.isoformat()}
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if isinstance(value, BSpline):
            return {"spline": [self.put(f"{name}.{part}", getattr(value, part)) for part in "tck"]}
        if isinstance(value, Unsaved):
            return {"unsaved": value.what}
        if record := class_of(type(value)):
            return self._put_record(name, value, record)
        if isinstance(value, list | tuple):
            return {type(value).__name__: self._put_items(name, value)}
        if isinstance(value, Mapping):
            items = [[self.put(name, key), self.put(f"{name}.{key}", item)] for key, item in value.items()]
            return {"dict": items}
        return {"unsaved": Unsaved.of(value).what}

    def _put_array(self, name: str, array: npt.NDArray[Any]) -> Any:
        if array.dtype.kind == "U":
            return {"texts": array.tolist()}
        if array.dtype.kind not in NUMBERS:
            return {"unsaved": Unsaved.of(array).what}
        kept = self._names.setdefault(id(array), name)
        self.arrays[kept] = array
        return {"array": kept}

    def _put_record(self, name: str, value: Any, record: type) -> Any:
        parts = {part: self.put(f"{name}.{part}", _content(value, record, part)) for part in declared(record)}
        if name.startswith("parameters.") and not hasattr(value, "get_params") and "'unsaved'" in str(parts):
            return {"unsaved": Unsaved.of(value).what}  # it could not be made without them
        return {"record": record.__name__, "fields": parts}

    def _put_items(self, name: str, items: Sequence[Any]) -> Any:
        """One by one; records of one class field by field, so that many make few arrays."""
        records = {class_of(type(item)) for item in items}
        record = records.pop() if len(records) == 1 else None
        if record is None or not declared(record) or any(hasattr(item, "as_saved") for item in items):
            return [self.put(f"{name}.{place}", item) for place, item in enumerate(items)]
        columns = {
            part: self._put_column(f"{name}.{part}", [_content(item, record, part) for item in items])
            for part in declared(record)
        }
        return {"records": record.__name__, "fields": columns}

    def _put_column(self, name: str, values: list[Any]) -> Any:
        """Numbers as one array, arrays end to end."""
        kinds = {type(value) for value in values}
        if kinds in ({float}, {int}):
            return self.put(name, np.array(values))
        if kinds == {np.ndarray} and len({(value.dtype, value.ndim) for value in values}) == 1:
            self.arrays[name] = np.concatenate([value.ravel() for value in values])
            self.arrays[f"{name}.shapes"] = np.array([value.shape for value in values], dtype=np.int64)
            return {"pieces": name}
        return self._put_items(name, values)


class Reader:
    """Puts together what `Writer` took apart."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def take(self, saved: Any) -> Any:
        """The value behind JSON."""
        if not isinstance(saved, dict):
            return saved
        if "record" in saved:
            return find_class(saved["record"])(
                **{part: self.take(value) for part, value in saved["fields"].items()}
            )
        ((kind, content),) = saved.items()
        match kind:
            case "array":
                return self.arrays[content]
            case "texts":
                return np.array(content, dtype=np.str_)
            case "time":
                return pd.Timestamp(content)
            case "path":
                return Path(content)
            case "spline":
                return BSpline(*map(self.take, content))
            case "unsaved":
                return Unsaved(str(content))
            case "list":
                return self._take_items(content)
            case "tuple":
                return tuple(self._take_items(content))
            case "dict":
                return {self.take(key): self.take(value) for key, value in content}
        raise ValueError(f"{kind!r} in place of a value")

    def _take_items(self, saved: Any) -> list[Any]:
        if isinstance(saved, list):
            return [self.take(item) for item in saved]
        record = find_class(saved["records"])
        columns = {part: self._take_column(column) for part, column in saved["fields"].items()}
        return [
            record(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)
        ]

    def _take_column(self, saved: Any) -> list[Any]:
        if isinstance(saved, dict) and "array" in saved:
            return cast(list[Any], self.arrays[saved["array"]].tolist())
        if isinstance(saved, dict) and "pieces" in saved:
            shapes = self.arrays[f"{saved['pieces']}.shapes"]
            pieces = np.split(self.arrays[saved["pieces"]], np.cumsum(shapes.prod(axis=1))[:-1])
            return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
        return self._take_items(saved)


def _content(value: Any, record: type, part: str) -> Any:
    """A field of a record; names and levels that files do not hold, such as intervals, as text."""
    content, shape = getattr(value, part), shape_of(declared(record)[part])
    if shape is None or not shape.labels:
        return content
    return tuple(label if is_label(label) else str(label) for label in content)


def class_of(kind: type) -> type | None:
    """The nearest class that files may hold: its own, or one that it is derived from."""
    return next((parent for parent in kind.__mro__ if is_saved(parent)), None)


def is_saved(kind: type) -> bool:
    """Whether files may hold objects of a class: a record, or an edge estimator that is registered."""
    location = f"{kind.__module__}:{kind.__qualname__}"
    return RECORDS.get(kind.__name__) is kind or any(entry.location == location for entry in EDGES.values())


def find_class(name: str) -> Any:
    """The class of this name that files may hold."""
    entry = next((entry for entry in EDGES.values() if entry.class_name == name), None)
    if entry is None and name not in RECORDS:
        raise ValueError(f"{name!r}, which no file may hold. Import the package that brings it, and load again")
    return RECORDS[name] if entry is None else entry.load()


def check_saved(settings: Mapping[str, Any]) -> None:
    """Refuse to work with settings that did not come back from a file."""
    for name, value in settings.items():
        if isinstance(value, Unsaved):
            raise ValueError(
                f"{name} was {value.what}, which a file cannot hold, so the loaded learner does not have it. "
                f"Set it again before fitting: set_params({name}=...)."
            )
        record = class_of(type(value))
        if record is not None and hasattr(value, "get_params"):
            check_saved({f"{name}__{part}": getattr(value, part) for part in declared(record)})
