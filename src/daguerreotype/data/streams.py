"""Sources of rows, read chunk by chunk: files, iterators, arrays, pyarrow datasets and dask DataFrames."""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype._lib.labels import chunk_called, listed, row_called
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.columns import to_pandas
from daguerreotype.data.formats import FORMATS, in_batches
from daguerreotype.data.readers import read_chunks
from daguerreotype.data.validation import check_column_names, check_frame

ROWS = 2**16  # of a chunk that is cut here
WIDTH = 8  # accumulators of dask partitions that one task merges
TEXT, PACKED = (".csv", ".tsv"), (".gz", ".bz2", ".xz")


class Accumulator(Protocol):
    """Takes in rows chunk by chunk, and what another one took in."""

    @property
    def n_rows(self) -> int:
        """Rows taken in."""
        ...

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in the rows of a chunk, which messages call by its number."""
        ...

    def merge(self, other: Any) -> Self:
        """Take in what another one did, and leave it as it is."""
        ...


A = TypeVar("A", bound=Accumulator)


@dataclass(frozen=True)
class Chunks:
    """Chunks that this process reads one after the other.

    Attributes
    ----------
    open : callable
        Begins a pass over the chunks.
    once : bool
        Whether the rows can be read only once.
    complete : bool
        Whether rows with missing values are left out.
    """

    open: Callable[[], Iterable[Any]]
    once: bool = False
    complete: bool = False

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """What an accumulator has after all rows; ``progress`` is told the rows of each chunk."""
        gathered = empty()
        with threadpool_limits(1):  # products of small blocks gain nothing by threads
            for number, chunk in enumerate(self.open()):
                gathered.update(complete_rows(chunk, number)[0] if self.complete else chunk, number)
                if progress is not None:
                    progress(len(chunk))
        return gathered


@dataclass(frozen=True)
class DaskChunks:
    """Partitions of a dask DataFrame, each taken in on its own, then merged in a tree.

    Tasks are pure: a worker that dies costs time, not rows, since dask repeats what was lost with it.
    """

    frame: Any
    once: bool = False
    complete: bool = False

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """What an accumulator has after all partitions, by whatever scheduler dask is set to."""
        from dask.base import compute
        from dask.delayed import delayed

        take_in, merge_all = delayed(_take_in, pure=False), delayed(_merge_all, pure=False)
        partitions = enumerate(self.frame.to_delayed())
        parts = [take_in(empty, partition, number, self.complete) for number, partition in partitions]
        while len(parts) > 1:
            parts = [merge_all(empty, parts[first : first + WIDTH]) for first in range(0, len(parts), WIDTH)]
        gathered: A = compute(parts[0])[0]  # type: ignore[no-untyped-call]
        if progress is not None:
            progress(gathered.n_rows)
        return gathered


Source = Chunks | DaskChunks


def _take_in(empty: Callable[[], A], partition: Any, number: int, complete: bool) -> A:
    """One partition."""
    with threadpool_limits(1):
        return empty().update(complete_rows(partition, number)[0] if complete else partition, number)


def _merge_all(empty: Callable[[], A], parts: Sequence[A]) -> A:
    """Some accumulators as one; none of them is changed."""
    merged = empty()
    for part in parts:
        merged.merge(part)
    return merged


def read_source(source: Any) -> Source:
    """The rows behind ``source``, none of them read yet.

    Parameters
    ----------
    source : path, list of paths, iterable of chunks, callable, pyarrow Dataset, dask DataFrame, array or DataFrame
        A file (.parquet, .pq, .csv, .tsv, the last two also compressed) or a folder of such files, text in any
        dialect that `read_table` understands; chunks (arrays, DataFrames, pyarrow batches) in a list or an
        iterator; a function that returns an iterator of chunks, for what is to be read more than once.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return _files([source])
    if isinstance(source, np.ndarray | pd.DataFrame):
        return Chunks(lambda: _slices(source))
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):
        return DaskChunks(source)
    if hasattr(source, "to_batches"):  # a pyarrow Dataset or Table
        return Chunks(lambda: _batches(source))
    if isinstance(source, Sequence) and source:
        if all(isinstance(path, str | os.PathLike) for path in source):
            return _files(source)
        return Chunks(lambda: source)
    if callable(source):
        return Chunks(source)
    if isinstance(source, Iterable) and not isinstance(source, Sequence):
        return Chunks(lambda: source, once=isinstance(source, Iterator))
    raise TypeError(
        f"cannot read rows from {'an empty' if isinstance(source, Sequence) else 'a'} {type(source).__name__}: "
        "expected a path to Parquet or CSV files, chunks in a list or iterator, a function that returns an "
        "iterator of chunks, a pyarrow Dataset or a dask DataFrame."
    )


def _slices(table: Any) -> Iterator[Any]:
    """Rows of an array or a DataFrame, some at a time."""
    rows = table if isinstance(table, np.ndarray) else table.iloc
    return (rows[first : first + ROWS] for first in range(0, len(table), ROWS))


def _batches(dataset: Any) -> Iterator[Any]:
    """Batches of a pyarrow Dataset, read through small buffers, or of a Table."""
    if not hasattr(dataset, "scanner"):
        return iter(dataset.to_batches(max_chunksize=ROWS))
    options: dict[str, Any] = {}
    if type(getattr(dataset, "format", None)).__name__ == "ParquetFileFormat":
        from pyarrow.dataset import ParquetFragmentScanOptions

        options["fragment_scan_options"] = ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    return iter(dataset.to_batches(batch_size=ROWS, batch_readahead=1, fragment_readahead=1, **options))


def _files(paths: Sequence[str | os.PathLike[str]]) -> Chunks:
    """Chunks of all files, in the sequence of their names within a folder."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path} to read rows from.")
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if _kind_of(file) is not None)
            if not inside:
                raise FileNotFoundError(f"there is no {_known()} file in the folder {path}.")
            files += inside
        elif _kind_of(path) is None:
            raise ValueError(f"{path} ends in {path.suffix!r}: expected one of {_known()}.")
        else:
            files.append(path)
    return Chunks(lambda: (chunk for path in files for chunk in _read_file(path)))


def _known() -> str:
    return ", ".join([*(ending for entry in FORMATS.values() if entry.batches for ending in entry.endings), *TEXT])


def _kind_of(path: Path) -> str | None:
    """The ending that says how to read a file; None if it is not one of ours."""
    *before, kind = ["", *(suffix.lower() for suffix in path.suffixes)]
    if kind in PACKED:
        kind = before[-1] if before[-1] in TEXT else ""
    return kind if kind in TEXT or in_batches(kind) is not None else None


def _read_file(path: Path) -> Iterator[Any]:
    """Chunks of one file."""
    read = in_batches(_kind_of(path) or "")
    return read_chunks(path, ROWS) if read is None else read(path, ROWS)


# ------------------------------------------------------------------ chunks as checked numbers


def read_chunk(chunk: Any, number: int) -> tuple[FloatArray, tuple[Hashable, ...] | None]:
    """Values (m, d) of a chunk, which messages call by its number, and its names; None for those of an array.

    Floats are not copied.
    """
    chunk, names = to_pandas(chunk), None
    if isinstance(chunk, pd.DataFrame):
        check_frame(chunk)
        names = tuple(chunk.columns.tolist())
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
    return values, names


def complete_rows(chunk: Any, number: int) -> tuple[Any, BoolArray]:
    """The rows of a chunk without missing values, under its names if it has any, and what is missing (m, d)."""
    values, names = read_chunk(chunk, number)
    missing = np.isnan(values)
    complete = ~missing.any(axis=1)
    if complete.all():
        return chunk, missing
    return values[complete] if names is None else pd.DataFrame(values[complete], columns=list(names)), missing


def check_same_columns(
    before: tuple[Hashable, ...] | None, named: bool, given: tuple[Hashable, ...] | None, d: int, number: int
) -> tuple[tuple[Hashable, ...], bool]:
    """The names of all chunks so far, and whether they are the user's."""
    if before is None and given is not None:
        check_column_names(given)
    if before is None:
        return (tuple(f"x{i}" for i in range(d)), False) if given is None else (given, True)
    if d != len(before):
        raise ValueError(
            f"{chunk_called(number)} has {d} columns, but those before have {len(before)}: all must be alike."
        )
    if named and given is not None and list(map(str, given)) != list(map(str, before)):
        odd = next((new, old) for new, old in zip(given, before, strict=True) if str(new) != str(old))
        raise ValueError(
            f"{chunk_called(number)} has a column {odd[0]!r} where those before have {odd[1]!r}: all chunks must "
            "have the same columns in the same sequence."
        )
    return before, named


def refuse_not_finite(values: FloatArray, names: Sequence[Hashable], number: int, first: int) -> None:
    """Say where values (m, d), which begin at row ``first`` of a chunk, are missing or infinite."""
    missing = np.isnan(values)
    kind, bad = ("NaN", missing) if missing.any() else ("infinite", np.isinf(values))
    columns = np.flatnonzero(bad.any(axis=0))
    row = int(np.flatnonzero(bad[:, columns[0]])[0]) + first
    advice = (
        "Leave out such rows with missing='drop', or learn from all rows in memory with fit."
        if kind == "NaN"
        else "Replace these values or drop their rows first."
    )
    raise ValueError(
        f"there are {kind} values in {listed([names[j] for j in columns])}; the first is in "
        f"{row_called(row)} of {chunk_called(number)}. {advice}"
    )
