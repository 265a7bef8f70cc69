"""Parquet files, read by pyarrow: whole, or some rows at a time."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from daguerreotype._lib.optional import require


def read_parquet(data: bytes, name: str) -> pd.DataFrame:
    """The cells of a file, from all its bytes."""
    require("pyarrow", f"{name} is a Parquet file, and pyarrow reads those.", extra="parquet")
    try:
        return pd.read_parquet(io.BytesIO(data), engine="pyarrow").rename(columns=str)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {name} as Parquet: {error}") from None


def parquet_bytes(data: bytes) -> int:
    """Bytes that the cells of a file take as numbers: equal ones take next to nothing in the file."""
    parquet = require("pyarrow.parquet", "pyarrow reads Parquet files.", extra="parquet")
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
