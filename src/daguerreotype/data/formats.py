"""Registry of file formats other than text, which needs none: a dialect is found out for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from daguerreotype._lib.registry import Registry
from daguerreotype.data.parquet import parquet_batches, read_parquet


@dataclass(frozen=True)
class FormatEntry:
    """A format of table files.

    Attributes
    ----------
    endings : tuple of str
        How the names of such files end.
    start : bytes
        What such files begin with, so that one is known whatever it is called.
    read : callable
        From all bytes of a file, and its name for messages, to a DataFrame.
    batches : callable
        From a path and a number of rows to an iterator over chunks of at most so many: arrays, DataFrames or
        pyarrow batches.
    """

    endings: tuple[str, ...]
    start: bytes
    read: Callable[[bytes, str], pd.DataFrame]
    batches: Callable[[Path, int], Iterator[Any]]


FORMATS: Registry[FormatEntry] = Registry(
    "file formats", {"parquet": FormatEntry((".parquet", ".pq"), b"PAR1", read_parquet, parquet_batches)}
)


def format_by_ending(ending: str) -> FormatEntry | None:
    """The format of files whose names end so; None for text and for what is not known."""
    return next((entry for entry in FORMATS.values() if ending in entry.endings), None)


def format_by_start(data: bytes) -> FormatEntry | None:
    """The format of a file that begins with these bytes; None for text and for what is not known."""
    return next((entry for entry in FORMATS.values() if data.startswith(entry.start)), None)
