"""Registry of file formats other than text, which needs none: a dialect is found out for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from daguerreotype._lib.registry import Registry
from daguerreotype.data.json_tables import read_json
from daguerreotype.data.parquet import parquet_batches, parquet_bytes, read_parquet


@dataclass(frozen=True)
class FormatEntry:
    """A format of table files.

    Attributes
    ----------
    endings : tuple of str
        How the names of such files end.
    start : bytes or None
        What such files begin with, so that one is known whatever it is called; None if only the name tells.
    read : callable
        From all bytes of a file, and its name for messages, to a DataFrame.
    batches : callable or None
        From a path and a number of rows to an iterator over chunks of at most so many: arrays, DataFrames or
        pyarrow batches. None for files that are read as a whole alone.
    unpacked : callable, optional
        From all bytes of a file to those of its cells, where they may be far more: a file that says too many is
        refused.
    """

    endings: tuple[str, ...]
    start: bytes | None
    read: Callable[[bytes, str], pd.DataFrame]
    batches: Callable[[Path, int], Iterator[Any]] | None
    unpacked: Callable[[bytes], int] | None = None


FORMATS: Registry[FormatEntry] = Registry(
    "file formats",
    {
        "parquet": FormatEntry((".parquet", ".pq"), b"PAR1", read_parquet, parquet_batches, parquet_bytes),
        "json": FormatEntry((".json", ".jsonl", ".ndjson"), None, read_json, None),
    },
)


def in_batches(ending: str) -> Callable[[Path, int], Iterator[Any]] | None:
    """How files whose names end so are read in chunks; None for text and for what is not known."""
    return next((entry.batches for entry in FORMATS.values() if ending in entry.endings), None)


def format_of(data: bytes, ending: str) -> FormatEntry | None:
    """The format of a file that begins with these bytes, or whose name ends so; None for text."""
    for entry in FORMATS.values():
        if ending in entry.endings if entry.start is None else data.startswith(entry.start):
            return entry
    return None
