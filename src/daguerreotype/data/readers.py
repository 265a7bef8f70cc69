"""Tables from files: CSV in any usual dialect and number format, compressed or not, Parquet, and standard input.

`read_table` is for Python, `read_file` for the command line, which shows notes and has options with other names;
`read_chunks` reads text some rows at a time. What a text file looks like is found out in one way for all of them.
"""

import bz2
import gzip
import io
import logging
import lzma
import os
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.files import LEAST, RATIO, Bounded, TooLongError, is_device, most_bytes, size_of
from daguerreotype._lib.labels import listed, plural, row_called
from daguerreotype.data.columns import Origin, read_columns
from daguerreotype.data.dialect import DECIMAL, ROWS, START, THOUSANDS, Dialect, detect, is_number, parse_numbers
from daguerreotype.data.formats import format_of
from daguerreotype.data.kinds import WITH_LEVELS, check_usable, unusable
from daguerreotype.data.missing import check_missing

logger = logging.getLogger("daguerreotype")

PIPE = Path("-")
NEARLY_ALL, MOST = 0.9, 0.5  # cells of a column that are numbers
ZIP = b"PK\x03\x04"
# Beside what pandas takes for an empty cell.
EMPTY = ("?", ".", "-", "--", "n.a.", "#DIV/0!", "#REF!", "#VALUE!", "#NUM!", "#NAME?")
# What messages call the options of a reading, with the column in question.
PYTHON = {"drop": "drop=[{!r}]", "missing": "missing={!r}"}


@dataclass(frozen=True)
class Reading:
    """How a user wants a file to be read.

    Attributes
    ----------
    drop : sequence of str
        Columns to leave out.
    missing : {"auto", "drop", "error"}
        Keep rows with empty cells, leave them out, or refuse them.
    delimiter, header : str, bool or None
        How the file is written; None to find out.
    interventions : str or None
        The column that says which others were intervened on, row by row.
    kinds : mapping
        Kinds of columns that the user gives, by name.
    numbers_alone : bool
        Refuse columns of text, which are levels otherwise.
    words : mapping
        What messages call ``drop`` and ``missing``.
    """

    drop: Sequence[str] = ()
    missing: str = "auto"
    delimiter: str | None = None
    header: bool | None = None
    interventions: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    numbers_alone: bool = False
    words: Mapping[str, str] = field(default_factory=lambda: PYTHON)


@dataclass(frozen=True)
class Input:
    """A table to learn from.

    Attributes
    ----------
    name : str
        What the output calls it.
    table : DataFrame of shape (n, d)
        The observations.
    graph : DataFrame of shape (d, d) or None
        The graph behind them, where it ships with the data.
    notes : tuple of str
        What the user had better know about the file.
    interventions : list of n entries, or None
        The columns that were intervened on in each row.
    """

    name: str
    table: pd.DataFrame
    graph: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    interventions: list[Any] | None = None


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    drop: str | Sequence[str] = (),
    missing: Literal["auto", "drop", "error"] = "auto",
) -> pd.DataFrame:
    r"""Read a table of numbers and text from a file, whatever program wrote it.

    What ``daguerreotype fit`` reads from a file, this reads too, and refuses in the same words. Encoding,
    delimiter, header, decimal commas and separators of thousands are found out. A first column that only names or
    numbers the rows, and empty rows and columns around the table, are left out. Columns of text are levels; text
    that names the rows and dates are refused, and so is a column of numbers with a few cells of text. All such
    decisions are logged to ``logging.getLogger("daguerreotype")`` at level INFO.

    Parameters
    ----------
    path : str or path
        A text file (CSV and kin; also packed by gzip, bzip2 or xz), a Parquet file, or a JSON file with a
        list of records; "-" is standard input.
    delimiter : str, optional
        The character between cells. Give it where it is found out wrongly.
    header : bool, optional
        Whether the first line names the columns. Give it where names look like numbers.
    drop : str or sequence of str
        Columns to leave out.
    missing : {"auto", "drop", "error"}
        Keep empty cells, which are missing values; leave out rows that have any; or refuse them.

    Returns
    -------
    DataFrame of shape (n, d)
        Numbers and text under the names of the file, or under x0, x1, ... if it has none.

    Raises
    ------
    ValueError
        If there is no such file, or it holds no table. The message names the column and the remedy.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from daguerreotype.data import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "plots.csv")
    ...     _ = path.write_text("plot;rain;yield\nA1;12,5;3,25\nA2;8,0;2,75\n")
    ...     read_table(path, drop="plot")
       rain  yield
    0  12.5   3.25
    1   8.0   2.75
    """
    check_missing(missing)
    dropped = [drop] if isinstance(drop, str) else list(drop)
    read = read_file(check_path(path, "path"), Reading(dropped, missing, delimiter, header))
    for note in read.notes:
        logger.info("%s", note)
    return read.table


def read_file(path: Path, reading: Reading | None = None) -> Input:
    """The table at ``path``, and what is to be said about it."""
    reading = reading or Reading()
    cells, dialect = read_cells(path, delimiter=reading.delimiter, header=reading.header)
    cleaner = _Cleaner(called(path), reading, dialect)
    table = cleaner.without_blank_rows(cells)
    if table.empty:
        raise ValueError(f"{called(path)} has no rows below the names of its columns.")
    table = _take(table, cleaner.data_columns(table))
    table, targets = cleaner.take_interventions(table)
    table = cleaner.to_numbers(cleaner.without_dropped(table))
    complete = table.notna().all(axis=1).to_numpy()
    table = cleaner.without_gaps(table)
    if targets is not None and len(table) < len(targets):
        targets = list(compress(targets, complete))
    return Input("standard input" if path == PIPE else path.name, table, None, tuple(cleaner.notes), targets)


def read_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    """Rows of a text file, at most ``n_rows`` at a time, as `read_table` would read them.

    Its first lines decide on names, columns and number formats. What turns up later and does not fit stays text,
    or missing, for the one who takes in the chunks to refuse.
    """
    if not path.is_file():
        raise ValueError(f"{path} is a device or a pipe, which cannot be read more than once; expected a file.")
    with _open(path) as file:
        start = file.read(START)
    dialect = _detect(start, path, cut=True)
    options = _csv_options(dialect)
    cleaner = _Cleaner(called(path), Reading(), dialect)
    with _open(path) as file, _explained(path, dialect):
        head = pd.read_csv(file, nrows=ROWS, **options)
    head = _with_names(head, dialect).dropna(how="all")
    if head.empty:
        return
    columns = cleaner.data_columns(head)
    numbers, number_format = cleaner.parse_text(_take(head, columns))
    for note in cleaner.notes:
        logger.info("%s", note)
    # These two take time that plain files are spared: text among their numbers is refused anyway.
    options |= {"low_memory": not numbers, "skipinitialspace": f"{dialect.delimiter} ".encode() in start}
    if numbers and number_format == DECIMAL:  # faster, and 1.234 stays text, to be parsed as 1234
        options["decimal"] = ","
    with _open(path) as file:
        with _explained(path, dialect):
            chunks = pd.read_csv(file, chunksize=n_rows, **options)
        while True:
            with _explained(path, dialect):
                chunk = next(chunks, None)
            if chunk is None:
                return
            chunk = _take(chunk, columns).dropna(how="all")
            if numbers:
                chunk = chunk.assign(**cleaner.parse_text(chunk, (number_format,))[0])
            yield chunk


# ------------------------------------------------------------------ files to cells


def called(path: Path) -> str:
    """What messages call a file."""
    return "standard input" if path == PIPE else str(path)


def read_cells(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    words: bool = False,
) -> tuple[pd.DataFrame, Dialect | None]:
    """The cells of a file of any kind that is understood, under its names, and how it is written if it is text.

    Columns are called "" where the file has no name for them, or x0, x1, ... if it has no names at all. With
    ``words`` the cells of text files stay as they are written: a node may be called NA or 007.
    """
    with _open(path) as file:
        data = file.read()
    entry = format_of(data, path.suffix.lower())
    if entry is not None:
        limit = max(LEAST, RATIO * len(data))
        if entry.unpacked is not None and entry.unpacked(data, called(path)) > limit:
            raise _too_long(path, f"it says that its cells take more than {size_of(limit)}")
        return entry.read(data, called(path)), None
    dialect = _detect(data, path, delimiter, header)
    options = _csv_options(dialect)
    if words:
        options |= {"dtype": "str", "na_values": (), "keep_default_na": False}
    with _explained(path, dialect):
        frame = pd.read_csv(io.BytesIO(data), **options)
    return _with_names(frame, dialect), dialect


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if need be, and no more than such a file should hold."""
    try:
        with ExitStack() as stack:
            packed = sys.stdin.buffer if path == PIPE else stack.enter_context(path.open("rb"))
            if is_device(packed):
                raise ValueError(f"{called(path)} is a device, whose bytes may have no end; expected a file.")
            limit = most_bytes(packed)
            if path == PIPE or not packed.seekable():  # a pipe cannot be rewound
                packed = io.BytesIO(_bounded(packed, limit).read())
            magic = packed.read(6)
            packed.seek(0)
            unpack = next((unpack for start, unpack in UNPACK.items() if magic.startswith(start)), None)
            yield packed if unpack is None else _bounded(stack.enter_context(unpack(packed)), limit)
    except TooLongError as error:
        raise _too_long(path, str(error)) from None
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}. Check its name and folder.") from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"cannot read {called(path)}: {getattr(error, 'strerror', None) or error}.") from None


def _bounded(stream: IO[bytes], limit: int) -> IO[bytes]:
    """A stream that gives no more bytes than it may."""
    return io.BufferedReader(Bounded(stream, limit), 2**20)


def _too_long(path: Path, why: str) -> ValueError:
    """The error of a file that holds more than one of its size should."""
    return ValueError(
        f"cannot read {called(path)}: {why}, more than a table in a file of its size has. If you trust it, unpack "
        "it, or write it as CSV, and read that."
    )


UNPACK: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}


def _detect(
    data: bytes, path: Path, delimiter: str | None = None, header: bool | None = None, *, cut: bool = False
) -> Dialect:
    """How a file is written that begins with these bytes, or that it is no text."""
    if data.startswith(ZIP):
        raise ValueError(
            f"{called(path)} is a zip archive or an Excel workbook; expected CSV or Parquet. Save a sheet as CSV."
        )
    try:
        return detect(data, delimiter, header, cut=cut and len(data) == START)
    except ValueError as error:
        raise ValueError(f"cannot read {called(path)} as text: {error}.") from None


def _csv_options(dialect: Dialect) -> dict[str, Any]:
    """Arguments with which pandas reads such a text file."""
    return {
        "encoding": dialect.encoding,
        "sep": r"\s+" if dialect.delimiter == " " else dialect.delimiter,
        "header": 0 if dialect.header else None,
        "names": range(len(dialect.first) + dialect.row_names) if dialect.header else None,
        # The first column is never an index: where lines are too long, that would shift all names by one.
        "index_col": False,
        "skiprows": dialect.skipped,
        "skipinitialspace": True,
        "na_values": EMPTY,
        "low_memory": False,  # or one column may be half numbers, half text
    }


def _with_names(frame: pd.DataFrame, dialect: Dialect) -> pd.DataFrame:
    """The frame under the names in the first line of its file, or under x0, x1, ..."""
    names = [""] * dialect.row_names + list(dialect.first)
    return frame.set_axis(names if dialect.header else [f"x{j}" for j in range(frame.shape[1])], axis=1)


@contextmanager
def _explained(path: Path, dialect: Dialect) -> Iterator[None]:
    """Let errors of pandas say what is wrong with a text file."""
    name = called(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except pd.errors.ParserWarning:
        raise ValueError(
            f"the lines of {name} have more fields than its first line has names. Name every column."
        ) from None
    except TooLongError:
        raise
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty.") from None
    except ValueError as error:  # lines of uneven length, quotes without end
        uneven = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        why = "line {1} has {2} fields, {0} were expected".format(*uneven.groups()) if uneven else error
        raise ValueError(f"cannot read {name} as {dialect.kind}: {why}.") from None


# ------------------------------------------------------------------ cells to numbers


def _take(table: pd.DataFrame, columns: Mapping[int, str]) -> pd.DataFrame:
    """The columns at some places, under their names; not a copy if these are all."""
    taken = table if len(columns) == table.shape[1] else table.iloc[:, list(columns)]
    return taken.set_axis(list(columns.values()), axis=1)


@dataclass
class _Cleaner:
    """Makes numbers of the cells of one file as the user wants it, and notes what was left out."""

    name: str
    reading: Reading
    dialect: Dialect | None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.dialect is not None and not self.dialect.header:
            why = f"the first line of {self.name} holds numbers, so " if self.reading.header is None else ""
            self.notes.append(f"{why}the columns are called x0, x1, ...")
        if self.dialect is not None and self.dialect.encoding == "cp1252":
            self.notes.append(f"{self.name} is not UTF-8; its letters are read as Windows-1252.")

    def without_blank_rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without the rows of empty cells that a spreadsheet leaves below it."""
        blank = table.isna().all(axis=1).to_numpy()
        if blank.any():
            self.notes.append(f"left out {blank.sum()} row{plural(blank.sum())} of empty cells.")
        return table.loc[~blank].reset_index(drop=True)

    def data_columns(self, table: pd.DataFrame) -> dict[int, str]:
        """Places and names of the columns, less empty ones without a name and a first one that names the rows."""
        columns = {
            place: name
            for place, name in enumerate(table.columns)
            if name != "" or table.iloc[:, place].notna().any()
        }
        names = pd.Index(list(columns.values()))
        repeated = list(names[names.duplicated()].unique())
        if repeated:
            what = (
                "several columns without a name" if "" in repeated else f"more than one column {listed(repeated)}"
            )
            raise ValueError(f"{self.name} has {what}. Give every column a name of its own.")
        place, first = next(iter(columns.items()))
        if first not in ("", "Unnamed: 0"):
            return columns
        if len(columns) > 1 and _tells_rows_apart(table.iloc[:, place]):  # as pandas and R write it
            self.notes.append(
                f"left out the first column of {self.name}, which has no name and tells the rows apart."
            )
            del columns[place]
            return columns
        self.notes.append(
            f"the first column of {self.name} has no name; it is called 'column 1' and learned like any other."
        )
        return columns | {place: "column 1"}

    def take_interventions(self, table: pd.DataFrame) -> tuple[pd.DataFrame, list[Any] | None]:
        """The table without the column of interventions, and what that names, row by row."""
        column = self.reading.interventions
        if column is None:
            return table, None
        if column not in table.columns:
            raise ValueError(
                f"{self.name} has no column {column!r} of interventions: its columns are {listed(table.columns)}."
            )
        cells = [None if pd.isna(cell) else cell for cell in table[column]]
        targets = [[part.strip() for part in cell.split(";")] if isinstance(cell, str) else cell for cell in cells]
        return table.drop(columns=column), targets

    def without_dropped(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without the columns that the user does not want."""
        unknown = [column for column in self.reading.drop if column not in table.columns]
        if unknown:
            raise ValueError(
                f"cannot drop {listed(unknown)}: the columns of {self.name} are {listed(table.columns)}."
            )
        return table.drop(columns=list(self.reading.drop))

    def parse_text(
        self, table: pd.DataFrame, formats: Sequence[str] | None = None
    ) -> tuple[dict[str, pd.Series], str]:
        """Numbers of the text columns that hold some in one of these formats, by name, and that format.

        By default the format is found out, of a table in which pandas took points for decimal marks.
        """
        text = _not_numeric(table)
        words = (table[name] for name in text if pd.api.types.infer_dtype(table[name], skipna=True) == "string")
        if formats is not None:
            return parse_numbers(words, formats)
        # Commas that do not separate cells are more likely decimal marks.
        between_cells = self.dialect is not None and self.dialect.delimiter == ","
        numbers, chosen = parse_numbers(words, (THOUSANDS, DECIMAL) if between_cells else (DECIMAL, THOUSANDS))
        if chosen == DECIMAL and numbers:
            self._check_points(table.drop(columns=text), list(numbers))
        return numbers, chosen

    def to_numbers(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table in numbers, and in text where columns hold levels; the rest refused, or left out if asked."""
        numbers, chosen = self.parse_text(table)
        if numbers:
            table = table.assign(**numbers)
            self.notes.append(f"read {chosen} in {listed(numbers)}.")
        bad = _not_numeric(table)
        if self.reading.numbers_alone:
            self._refuse(table, bad)
        given = self.reading.kinds
        text = table[[name for name in bad if given.get(name) not in WITH_LEVELS]]
        origins = dict(zip(text.columns, read_columns(text).origins, strict=True))
        broken = [name for name, origin in origins.items() if _is_broken(text[name], origin)]
        self._refuse(table, broken)
        drop = partial(leave_out, self.reading.words["drop"])
        check_usable(list(origins), list(origins.values()), len(table), drop, f" of {self.name}")
        return table

    def _refuse(self, table: pd.DataFrame, columns: list[str]) -> None:
        """Refuse columns that should hold numbers and do not throughout."""
        if not columns:
            return
        examples = listed([f"{column!r} ({_example(table[column])})" for column in columns], quote=False)
        it, s = ("it", "s") if len(columns) == 1 else ("them", "")
        raise ValueError(
            f"column{plural(len(columns))} {examples} of {self.name} hold{s} values other than numbers. "
            f"Encode {it} as numbers, or leave {it} out with {leave_out(self.reading.words['drop'], columns)}."
        )

    def _check_points(self, table: pd.DataFrame, with_commas: list[str]) -> None:
        """Refuse points beside decimal commas: they may separate thousands."""
        pointed = [name for name in table if table[name].dtype.kind == "f" and (table[name] % 1 > 0).any()]
        if pointed:
            raise ValueError(
                f"{self.name} has decimal commas in {listed(with_commas)}, but points in {listed(pointed)}: these "
                "may be decimal marks, or separate thousands. Write all numbers alike."
            )

    def without_gaps(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without rows with empty cells, or with them, or refused, whatever was asked for."""
        missing = table.isna()
        counts = missing.sum()
        bad = [column for column in table.columns if counts[column]]
        if not bad:
            return table
        if self.reading.missing == "auto":
            return table
        rows = missing.any(axis=1).to_numpy()
        drop, learn = (self.reading.words["missing"].format(word) for word in ("drop", "auto"))
        if self.reading.missing == "error":
            where = listed([f"{column!r} ({counts[column]})" for column in bad], more="more columns", quote=False)
            raise ValueError(
                f"{self.name} has empty cells in {where}; the first is in {row_called(int(np.argmax(rows)))}. "
                f"Learn from them with {learn}, or leave out the {rows.sum()} rows that have any with {drop}."
            )
        if rows.all():
            raise ValueError(f"every row of {self.name} has an empty cell: {drop} would leave nothing.")
        self.notes.append(f"left out {rows.sum()} of {len(table)} rows, which have empty cells.")
        return table.loc[~rows].reset_index(drop=True)


def _not_numeric(table: pd.DataFrame) -> list[str]:
    """Names of the columns that pandas did not find to be numbers."""
    return [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name].dtype)]


def leave_out(word: str, columns: Sequence[str]) -> str:
    """How to leave out columns, in the words for one.

    >>> leave_out("drop=[{!r}]", ["id", "day"]), leave_out("--drop {!r}", ["id", "day"])
    ("drop=['id', 'day']", "--drop 'id' --drop 'day'")
    """
    if "[{!r}]" in word:
        return word.replace("[{!r}]", repr(list(columns)))
    return " ".join(word.format(column) for column in columns)


def _is_broken(column: pd.Series, origin: Origin) -> bool:
    """Whether a column of text should be numbers: nearly all are, or most and the rest are no levels."""
    if origin.what != "text":
        return False
    share = column.dropna().astype("str").map(is_number).mean()
    return bool(share >= NEARLY_ALL or (share >= MOST and unusable(origin, len(column))))


def _tells_rows_apart(values: pd.Series) -> bool:
    """Whether a column counts the rows, from whatever number, or holds a different text in each."""
    if pd.api.types.is_integer_dtype(values.dtype):
        return np.array_equal(values, values.iloc[0] + np.arange(len(values)))
    return not pd.api.types.is_numeric_dtype(values.dtype) and values.is_unique


def _example(column: pd.Series) -> str:
    """The first value of a column that is not a number, and where."""
    strange = column.notna() & pd.to_numeric(column.astype("str"), errors="coerce").isna()
    if not strange.any():
        return str(column.dtype)
    row = int(np.argmax(strange.to_numpy()))
    return f"{str(column.iloc[row])[:30]!r} in {row_called(row)}"
