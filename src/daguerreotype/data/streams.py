"""Sources of rows, read chunk by chunk: files, iterators, arrays, pyarrow datasets and dask DataFrames."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype.data.formats import FORMATS, in_batches
from daguerreotype.data.readers import read_chunks

ROWS = 2**16  # of a chunk that is cut here
WIDTH = 8  # accumulators of dask partitions that one task merges
TEXT, PACKED = (".csv", ".tsv"), (".gz", ".bz2", ".xz", ".zst")


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


class Source(Protocol):
    """Rows that can be taken in chunk by chunk."""

    @property
    def once(self) -> bool:
        """Whether the rows can be read only once."""
        ...

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """What an accumulator has after all rows; ``progress`` is told the rows of each chunk."""
        ...


@dataclass(frozen=True)
class Chunks:
    """Chunks that this process reads one after the other."""

    open: Callable[[], Iterable[Any]]
    once: bool = False

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """Read all chunks."""
        found = empty()
        with threadpool_limits(1):  # products of small blocks gain nothing by threads
            for number, chunk in enumerate(self.open()):
                found.update(chunk, number)
                if progress is not None:
                    progress(len(chunk))
        return found


@dataclass(frozen=True)
class DaskChunks:
    """Partitions of a dask DataFrame, each taken in on its own, then merged in a tree.

    Tasks are pure: a worker that dies costs time, not rows, since dask repeats what was lost with it.
    """

    frame: Any
    once: bool = False

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """What an accumulator has after all partitions, by whatever scheduler dask is set to."""
        from dask.base import compute
        from dask.delayed import delayed

        take_in, merge_all = delayed(_take_in, pure=False), delayed(_merge_all, pure=False)
        parts = [take_in(empty, part, number) for number, part in enumerate(self.frame.to_delayed())]
        while len(parts) > 1:
            parts = [merge_all(empty, parts[first : first + WIDTH]) for first in range(0, len(parts), WIDTH)]
        found: A = compute(parts[0])[0]  # type: ignore[no-untyped-call]
        if progress is not None:
            progress(found.n_rows)
        return found


def _take_in(empty: Callable[[], A], partition: Any, number: int) -> A:
    """One partition."""
    with threadpool_limits(1):
        return empty().update(partition, number)


def _merge_all(empty: Callable[[], A], parts: Sequence[A]) -> A:
    """Some accumulators as one; none of them is changed."""
    found = empty()
    for part in parts:
        found.merge(part)
    return found


def read_source(source: Any, *, any_size: bool = False) -> Source:
    """The rows behind ``source``, none of them read yet; packed files may be of ``any_size`` once unpacked.

    Parameters
    ----------
    source : path, list of paths, iterable of chunks, callable, pyarrow Dataset, dask DataFrame, array or DataFrame
        A file (.parquet, .pq, .csv, .tsv, the last two also compressed) or a folder of such files, text in any
        dialect that `read_table` understands; chunks (arrays, DataFrames, pyarrow batches) in a list or an
        iterator; a function that returns an iterator of chunks, for what is to be read more than once.
    """
    if isinstance(source, Chunks) or hasattr(source, "gather"):
        return source  # type: ignore[no-any-return]
    if isinstance(source, str | os.PathLike):
        return _files([source], any_size)
    if isinstance(source, np.ndarray | pd.DataFrame):
        return Chunks(lambda: _slices(source))
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):
        return DaskChunks(source)
    if hasattr(source, "to_batches"):  # a pyarrow Dataset or Table
        return Chunks(lambda: _batches(source))
    if isinstance(source, Sequence) and source:
        if all(isinstance(each, str | os.PathLike) for each in source):
            return _files(source, any_size)
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


def _files(paths: Sequence[str | os.PathLike[str]], any_size: bool) -> Chunks:
    """Chunks of all files, in the sequence of their names within a folder."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path} to read rows from.")
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if _kind_of(each) is not None)
            if not inside:
                raise FileNotFoundError(f"there is no {_known()} file in the folder {path}.")
            files += inside
        elif _kind_of(path) is None:
            raise ValueError(f"{path} ends in {path.suffix!r}: expected one of {_known()}.")
        else:
            files.append(path)
    return Chunks(lambda: (chunk for path in files for chunk in _read_file(path, any_size)))


def _known() -> str:
    return ", ".join([*(ending for entry in FORMATS.values() if entry.batches for ending in entry.endings), *TEXT])


def _kind_of(path: Path) -> str | None:
    """The ending that says how to read a file; None if it is not one of ours."""
    *before, kind = ["", *(suffix.lower() for suffix in path.suffixes)]
    if kind in PACKED:
        kind = before[-1] if before[-1] in TEXT else ""
    return kind if kind in TEXT or in_batches(kind) is not None else None


def _read_file(path: Path, any_size: bool) -> Iterator[Any]:
    """Chunks of one file."""
    read = in_batches(_kind_of(path) or "")
    return read_chunks(path, ROWS, any_size=any_size) if read is None else read(path, ROWS)
