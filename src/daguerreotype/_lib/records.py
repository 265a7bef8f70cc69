"""Records that files may hold: classes known by name, whose fields declare what they hold, and the check of that.

A file may come from anyone. What passes :func:`check_record` can be asked for anything without an index out of
range: some of it goes to compiled kernels, which do not look.
"""

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from inspect import signature
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from daguerreotype._lib.registry import RECORDS
from daguerreotype._lib.registry import saved as saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

SHOWN = 200  # characters of what could not be saved
PLAIN = (bool, int, float, str)
# Kinds of arrays that stand for those of a declared one. What typing makes of these names is numpy's business.
ARRAYS = ((FloatArray, "f"), (IntArray, "iu"), (BoolArray, "b"))


class Shape:
    """What the array or sequence in a field of a record holds.

    Parameters
    ----------
    sizes : str or int
        Along each axis. A letter is the same number wherever it stands in a record, and in the records within it;
        "k+1" is one more.
    order : bool
        Whether each row has every number from 0 to its length once.
    finite : bool
        Whether there is no nan and no infinity.
    least : float, optional
        The least value.
    below : str or int, optional
        What values stay below, as a size.
    filled : bool
        Whether there must be a value.
    empty : bool
        Whether there may be none, whatever the sizes.
    labels : bool
        Whether they are names or levels of the user's; what is no text, number or time is saved as text.
    """

    def __init__(
        self,
        *sizes: str | int,
        order: bool = False,
        finite: bool = False,
        least: float | None = None,
        below: str | int | None = None,
        filled: bool = False,
        empty: bool = False,
        labels: bool = False,
    ) -> None:
        self.sizes, self.order, self.finite, self.least, self.below = sizes, order, finite, least, below
        self.filled, self.empty, self.labels = filled, empty, labels

    def fits(self, value: Any, lengths: dict[str, int]) -> bool:
        """Whether a value is of this shape; letters that are new are added to the lengths by letter."""
        if isinstance(value, list | tuple):
            shape: tuple[int, ...] = (len(value),)
        else:
            value = np.asarray(value)
            shape = value.shape
        if 0 in shape and (self.empty or self.filled):
            return self.empty
        if len(shape) != len(self.sizes) or (self.labels and not all(map(is_label, value))):
            return False
        if any(_size(size, lengths, length) != length for size, length in zip(self.sizes, shape, strict=True)):
            return False
        if not isinstance(value, np.ndarray) or not value.size:
            return True
        return (
            (not self.order or bool((np.sort(value, axis=-1) == np.arange(shape[-1])).all()))
            and (not self.finite or bool(np.isfinite(value).all()))
            and (self.least is None or bool(value.min() >= self.least))
            and (self.below is None or bool(value.max() < _size(self.below, lengths)))
        )


def is_label(value: Any) -> bool:
    """Whether a name or a level of the user's is text, a number, a time, or some of these together."""
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, (*PLAIN, np.generic, datetime)) for part in parts)


def _size(size: str | int, lengths: dict[str, int], length: int = -1) -> int:
    """The number that a size stands for; a letter that is new stands for ``length``."""
    if isinstance(size, int):
        return size
    letter, _, more = size.partition("+")
    return lengths.setdefault(letter, length - int(more or 0)) + int(more or 0)


@dataclass(frozen=True)
class Unsaved:
    """Stands for an object or a function that a file cannot hold without being able to run code."""

    what: str

    def __repr__(self) -> str:
        return f"<not saved: {self.what}>"

    def refuse(self, *_: object) -> Any:
        """Say why it cannot do what it is asked for."""
        raise ValueError(
            f"{self.what} was not saved, because its class is not one that files may hold: a loaded learner can "
            "neither predict nor score rows with it. Fit it again."
        )

    __call__ = predict = log_density = log_mass = apply = log_slopes = refuse

    @classmethod
    def of(cls, value: Any) -> "Unsaved":
        """What stands for an object: its name, or what it says of itself."""
        if isinstance(value, cls):
            return value
        name = getattr(value, "__qualname__", None) or repr(value)
        return cls(type(value).__name__ if " object at 0x" in name else name[:SHOWN])


@cache
def declared(record: Any) -> Mapping[str, Any]:
    """The fields of a class of records, with their types and shapes."""
    constructor: Any = vars(record).get("__init__", object.__init__)
    hints = get_type_hints(record, include_extras=True) | get_type_hints(constructor, include_extras=True)
    return {name: hints.get(name, Any) for name in signature(record).parameters}


def shape_of(hint: Any) -> Shape | None:
    """What a declared type says beside the type."""
    return next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Shape)), None)


def check_record(record: Any, lengths: Mapping[str, int]) -> None:
    """Refuse a record that holds other than its class declares; letters among ``lengths`` stand for these."""
    sizes, kind = dict(lengths), cast(type, type(record))
    values = {name: getattr(record, name) for name in declared(kind)}
    for name, hint in declared(kind).items():
        shape = shape_of(hint)
        if not is_of(values[name], hint):
            raise ValueError(f"a {type(values[name]).__name__} as {name} of a {kind.__name__}")
        if shape is not None and values[name] is not None and not shape.fits(values[name], sizes):
            raise ValueError(f"{name} that no {kind.__name__} has")
    for value in values.values():
        for inner in _records_in(value):
            check_record(inner, sizes)
    if hasattr(record, "check_saved"):
        record.check_saved()


def _records_in(value: Any) -> Iterator[Any]:
    """The records that a field holds."""
    if type(value) in RECORDS.values():
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _records_in(item)


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; what stands for an unsaved object is of any but plain ones."""
    if hint is Any:
        return True
    for array, kinds in ARRAYS:
        if hint == array:
            return isinstance(value, np.ndarray) and value.dtype.kind in kinds
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return is_of(value, arguments[0])
    if origin in (Union, types.UnionType):
        return any(is_of(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    if hint in PLAIN:
        return type(value) is hint or (hint is float and type(value) is int)
    if origin in (tuple, list, Sequence):
        return isinstance(value, list | tuple) and all(is_of(item, arguments[0]) for item in value)
    if isinstance(hint, type) and origin is None:
        return isinstance(value, Unsaved) or (
            type(value) in RECORDS.values() if getattr(hint, "_is_protocol", False) else isinstance(value, hint)
        )
    return type(value) in RECORDS.values() or isinstance(value, Unsaved)
