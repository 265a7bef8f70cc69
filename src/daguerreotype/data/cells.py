"""What is in a file that a user names? Cells and names of columns, from CSV, Parquet or a pipe, as they are."""

import gzip
import importlib.util
import io
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from daguerreotype.data.dialect import Dialect, detect

PIPE = Path("-")
GZIP, PARQUET, ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
# Beside what pandas takes for an empty cell.
EMPTY = ("?", ".", "-", "--", "n.a.", "#DIV/0!", "#REF!", "#VALUE!", "#NUM!", "#NAME?")


@dataclass(frozen=True)
class Cells:
    """The cells of a file.

    Attributes
    ----------
    frame : DataFrame
        Its columns are called as in the file, "" where the file has no name for them, or 0, 1, ... if there are
        no names at all.
    dialect : Dialect or None
        How it is written, if it is text.
    """

    frame: pd.DataFrame
    dialect: Dialect | None = None

    @property
    def named(self) -> bool:
        """Whether the file names its columns."""
        return self.dialect is None or self.dialect.header


def called(path: Path) -> str:
    """What messages call a file."""
    return "standard input" if path == PIPE else str(path)


def read_cells(
    path: Path, *, delimiter: str | None = None, header: bool | None = None, words: bool = False
) -> Cells:
    """The cells of a file of any kind that is understood; ``-`` is standard input.

    With ``words`` the cells of text files stay as they are written: a node may be called NA or 007.
    """
    data = _read_bytes(path)
    if data.startswith(PARQUET):
        return _read_parquet(data, called(path))
    if data.startswith(ZIP):
        raise ValueError(
            f"{called(path)} is a zip archive or an Excel workbook; expected CSV or Parquet. Save a sheet as CSV."
        )
    try:
        dialect = detect(data, delimiter, header)
    except ValueError as error:
        raise ValueError(f"cannot read {called(path)} as text: {error}.") from None
    return Cells(_read_text(data, dialect, called(path), words), dialect)


def _read_bytes(path: Path) -> bytes:
    """All bytes of a file, unpacked."""
    try:
        data = sys.stdin.buffer.read() if path == PIPE else path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP) else data
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}. Check its name and folder.") from None
    except (OSError, EOFError) as error:
        raise ValueError(f"cannot read {called(path)}: {getattr(error, 'strerror', None) or error}.") from None


def _read_parquet(data: bytes, name: str) -> Cells:
    """A Parquet file."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError(f"{name} is a Parquet file, and pyarrow reads those. Run: pip install pyarrow")
    try:
        frame = pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {name} as Parquet: {error}") from None
    return Cells(frame.rename(columns=str))


def _read_text(data: bytes, dialect: Dialect, name: str, words: bool) -> pd.DataFrame:
    """A text file, or an error that says what is wrong with it."""
    names = ["", *dialect.first] if dialect.row_names else list(dialect.first)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(data),
                encoding=dialect.encoding,
                sep=r"\s+" if dialect.delimiter == " " else dialect.delimiter,
                header=0 if dialect.header else None,
                names=range(len(names)) if dialect.row_names else None,
                # The first column is never an index: where lines are too long, that would shift all names by one.
                index_col=False,
                skiprows=dialect.skipped,
                skipinitialspace=True,
                dtype="str" if words else None,
                na_values=() if words else EMPTY,
                keep_default_na=not words,
                low_memory=False,  # or one column may be half numbers, half text
            )
    except pd.errors.ParserWarning:
        raise ValueError(
            f"the lines of {name} have more fields than its first line has names. Name every column."
        ) from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty.") from None
    except ValueError as error:  # lines of uneven length, quotes without end
        uneven = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        why = "line {1} has {2} fields, {0} were expected".format(*uneven.groups()) if uneven else error
        raise ValueError(f"cannot read {name} as {dialect.kind}: {why}.") from None
    if dialect.header and frame.shape[1] == len(names):
        frame.columns = pd.Index(names)
    return frame
