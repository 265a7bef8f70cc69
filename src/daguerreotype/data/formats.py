"""Registry of file formats other than text, which needs none: Parquet, read by pyarrow, and JSON."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from daguerreotype._lib.imports import require
from daguerreotype._lib.registry import Registry


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
        From all bytes of a file, and its name for messages, to the bytes of its cells, where they may be far more:
        a file that says too many is refused.
    """

    endings: tuple[str, ...]
    start: bytes | None
    read: Callable[[bytes, str], pd.DataFrame]
    batches: Callable[[Path, int], Iterator[Any]] | None
    unpacked: Callable[[bytes, str], int] | None = None


def read_parquet(data: bytes, name: str) -> pd.DataFrame:
    """The cells of a file, from all its bytes."""
    try:
        return pd.read_parquet(io.BytesIO(data), engine="pyarrow").rename(columns=str)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {name} as Parquet: {error}") from None


def parquet_bytes(data: bytes, name: str) -> int:
    """Bytes that the cells of a file take as numbers: equal ones take next to nothing in the file."""
    require("pyarrow", f"{name} is a Parquet file, and pyarrow reads those.", extra="parquet")
    from pyarrow import parquet

    try:
        facts = parquet.read_metadata(io.BytesIO(data))
    except (OSError, ValueError):  # reading it says why
        return 0
    return 8 * int(facts.num_rows) * int(facts.num_columns)


def parquet_batches(path: Path, n_rows: int) -> Iterator[Any]:
    """Batches of at most ``n_rows`` rows of a file."""
    parquet = require("pyarrow.parquet", f"reading {path.name} needs pyarrow.", extra="parquet")
    # Without a buffer a whole row group would be read at once, however long.
    with parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
        columns = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
        yield from file.iter_batches(batch_size=n_rows, columns=columns)


def read_json(data: bytes, name: str) -> pd.DataFrame:
    """The cells of a file, from all its bytes: a list of records, lists by column, or a record in every line."""
    try:
        text = data.decode("utf-8-sig")
        lines = [line for line in text.splitlines() if line.strip()]
        content = json.loads(text) if name.lower().endswith(".json") else [json.loads(line) for line in lines]
        return pd.DataFrame(content).rename(columns=str)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"cannot read {name} as a table of JSON: {error}. Expected a list of records, [{{...}}, {{...}}], "
            "or an object with a list for every column; in a file .jsonl a record in every line."
        ) from None


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
