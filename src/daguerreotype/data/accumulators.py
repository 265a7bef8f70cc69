"""Chunks of rows as checked numbers, and combinators of accumulators that take them in."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from daguerreotype._lib.labels import chunk_called, listed, row_called
from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.columns import to_pandas
from daguerreotype.data.streams import Accumulator
from daguerreotype.data.validation import check_column_names, check_frame

ROWS = 4096  # mapped at a time: there may be many more functions than columns

A = TypeVar("A", bound=Accumulator)
B = TypeVar("B", bound=Accumulator)


class Mapped(Generic[A]):
    """Takes in features (m, p) of rows (m, d) in place of the rows."""

    def __init__(self, features: Callable[[FloatArray], FloatArray], inner: A) -> None:
        self.features, self.inner = features, inner

    @property
    def n_rows(self) -> int:
        """Rows taken in."""
        return self.inner.n_rows

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in the features of the rows of a chunk."""
        values = chunk_values(chunk, number or 0)
        for first in range(0, len(values), ROWS):
            self.inner.update(self.features(values[first : first + ROWS]), number)
        return self

    def merge(self, other: "Mapped[A]") -> Self:
        """Take in what another one of the same features did."""
        self.inner.merge(other.inner)
        return self


class Both(Generic[A, B]):
    """Two accumulators of the same rows; the first one checks them."""

    def __init__(self, first: A, second: B) -> None:
        self.first, self.second = first, second

    @property
    def n_rows(self) -> int:
        """Rows taken in."""
        return self.first.n_rows

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in a chunk twice."""
        self.first.update(chunk, number)
        self.second.update(chunk, number)
        return self

    def merge(self, other: "Both[A, B]") -> Self:
        """Take in what another two did."""
        self.first.merge(other.first)
        self.second.merge(other.second)
        return self


# ------------------------------------------------------------------ one chunk


def chunk_names(chunk: Any) -> tuple[Hashable, ...] | None:
    """Names of a DataFrame's or a pyarrow batch's columns; None for an array."""
    if _is_arrow(chunk):
        return tuple(chunk.schema.names)
    chunk = to_pandas(chunk)
    return tuple(chunk.columns.tolist()) if isinstance(chunk, pd.DataFrame) else None


def chunk_values(chunk: Any, number: int) -> FloatArray:
    """Values (m, d) of a chunk, which messages call by its number; floats are not copied."""
    if _is_arrow(chunk):
        return _arrow_values(chunk, number)
    chunk = to_pandas(chunk)
    if isinstance(chunk, pd.DataFrame):
        check_frame(chunk)
        chunk = chunk.to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        values = np.asarray(chunk)
        if values.dtype.kind not in "biuf":
            values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{chunk_called(number)} could not be converted to numbers: {error}") from error
    if values.ndim != 2:
        raise ValueError(
            f"{chunk_called(number)} is an array of shape {values.shape}, expected rows and columns, (m, d). "
            "Give rows[None, :] for a single row."
        )
    return values


def _is_arrow(chunk: Any) -> bool:
    """Whether it is a pyarrow RecordBatch or Table, without importing pyarrow."""
    return type(chunk).__module__.partition(".")[0] == "pyarrow" and hasattr(chunk, "schema")


def _arrow_values(batch: Any, number: int) -> FloatArray:
    """Columns side by side, nulls as NaN; short floats stay short."""
    import pyarrow as pa

    for field in batch.schema:
        kind = field.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(
                f"could not convert to numbers: column {field.name!r} of {chunk_called(number)} holds {kind} "
                "values. Encode it as numbers, or leave it out."
            )
    dtype = np.result_type(np.float32, *{field.type.to_pandas_dtype() for field in batch.schema})
    values = np.empty((batch.num_columns, batch.num_rows), dtype=dtype)
    for row, column in zip(values, batch.columns, strict=True):
        row[:] = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False)
    return values.T


def check_same_columns(
    known: tuple[Hashable, ...] | None, named: bool, given: tuple[Hashable, ...] | None, d: int, number: int
) -> tuple[tuple[Hashable, ...], bool]:
    """The names of all chunks so far, and whether they are the user's."""
    if known is None and given is not None:
        check_column_names(given)
    if known is None:
        return (tuple(f"x{i}" for i in range(d)), False) if given is None else (given, True)
    if d != len(known):
        raise ValueError(
            f"{chunk_called(number)} has {d} columns, but those before have {len(known)}: all must be alike."
        )
    if named and given is not None and list(map(str, given)) != list(map(str, known)):
        odd = next((new, old) for new, old in zip(given, known, strict=True) if str(new) != str(old))
        raise ValueError(
            f"{chunk_called(number)} has a column {odd[0]!r} where those before have {odd[1]!r}: all chunks must "
            "have the same columns in the same sequence."
        )
    return known, named


def refuse_not_finite(values: FloatArray, names: Sequence[str], number: int, first: int) -> None:
    """Say where values (m, d), which begin at row ``first`` of a chunk, are missing or infinite."""
    missing = np.isnan(values)
    kind, bad = ("NaN", missing) if missing.any() else ("infinite", np.isinf(values))
    columns = np.flatnonzero(bad.any(axis=0))
    row = int(np.flatnonzero(bad[:, columns[0]])[0]) + first
    advice = "Impute missing values, or drop" if kind == "NaN" else "Replace them, or drop"
    raise ValueError(
        f"there are {kind} values in {listed([names[j] for j in columns])}; the first is in "
        f"{row_called(row)} of {chunk_called(number)}. {advice} their rows, before."
    )
