"""Dialect of a delimited text file: encoding, delimiter, header, names of rows and numbers."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}  # the earlier of equals wins
SAMPLE = 65_536  # characters that are looked at
START = 4 * SAMPLE  # bytes that hold at least so many
ROWS = 100
UNLIKE_FIRST = 0.4  # what a delimiter keeps of its score if the first line has another number of cells
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    encoding : str
        As Python calls it.
    delimiter : str
        What separates cells; a space stands for any number of them.
    header : bool
        Whether the first line holds names.
    first : tuple of str
        Cells of the first line.
    skipped : int
        Lines before it: comments, or the line by which a spreadsheet tells its separator.
    row_names : bool
        Whether all other lines have one more cell, in front, for a name or the number of the row; so writes R.
    """

    encoding: str
    delimiter: str
    header: bool
    first: tuple[str, ...]
    skipped: int
    row_names: bool

    @property
    def kind(self) -> str:
        """What a message calls such a file."""
        return f"{DELIMITERS.get(self.delimiter, repr(self.delimiter))}-separated text"


def detect(data: bytes, delimiter: str | None = None, header: bool | None = None, *, cut: bool = False) -> Dialect:
    """Find out how ``data`` is written; what is given is taken as it is.

    Of all delimiters the one wins under which most cells after the first line are numbers, in lines of one
    width. The first line holds names unless all its cells are numbers, and even then if they count the columns.
    Data that are ``cut`` are the start of a file.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter is {delimiter!r}: expected one character, such as ';' or '\\t'")
    encoding = _encoding(data, cut)
    text = data[:START].decode(encoding, errors="ignore")[:SAMPLE]
    lines = text.splitlines(keepends=True)
    if cut or len(data) > START or len(text) == SAMPLE:
        lines = lines[:-1] or lines  # the last one may be cut
    skipped = 0
    while lines and (lines[0].startswith("#") or not lines[0].strip()):
        skipped, lines = skipped + 1, lines[1:]
    if lines and (named := re.fullmatch(r'"?sep=(.)"?\s*', lines[0], re.IGNORECASE)):  # by spreadsheets
        delimiter = delimiter or named[1]
        skipped, lines = skipped + 1, lines[1:]
    sample = "".join(lines)
    if delimiter is None:
        likely = [sign for sign in DELIMITERS if sign in sample or (sign == " " and "\t" in sample)]
        delimiter = max(likely, key=lambda sign: _fit(_cells(sample, sign)), default=",")
    rows = _cells(sample, delimiter)
    first = rows[0] if rows else []
    if header is None:
        header = not all(map(is_number, filter(None, first))) or _counts_columns(first)
    row_names = header and _has_row_names(len(first), rows[1:])
    return Dialect(encoding, delimiter, header, tuple(first), skipped, row_names)


def is_number(text: str) -> bool:
    """Whether a cell is a number, be its decimal mark a point or a comma."""
    for written in (text, text.replace(",", ".", 1)):
        try:
            float(written)
        except ValueError:
            continue
        return True
    return False


def _encoding(data: bytes, cut: bool) -> str:
    """The encoding that a byte order mark tells, else UTF-8, else that of old Windows programs."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return encoding
    for encoding in ("utf-8", "cp1252"):
        try:
            # The last character of data that are cut may be incomplete.
            codecs.getincrementaldecoder(encoding)().decode(data, final=not cut)
        except UnicodeDecodeError:
            continue
        if b"\0" not in data:
            return encoding
    raise ValueError("it holds bytes that are no text")


def _cells(text: str, delimiter: str) -> list[list[str]]:
    """The first rows of cells, without blank lines."""
    if delimiter == " ":
        text = re.sub(r"[ \t]+(?=\r?\n|$)|(?<=\n)[ \t]+", "", text.replace("\t", " "))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
            if len(rows) == ROWS:
                break
    except csv.Error:  # a cell without end: not with this delimiter
        return rows
    return rows


def _counts_columns(first: list[str]) -> bool:
    """Whether a first line of numbers holds names after all: 0, 1, 2, ..., as pandas writes for want of others."""
    names = first[1:] if first[:1] == [""] else first
    return len(first) > 2 and names == [str(j) for j in range(len(names))]


def _has_row_names(n_names: int, rows: list[list[str]]) -> bool:
    """Whether rows have one more cell than names, and the first cell counts them or differs in all of them."""
    if not rows or any(len(row) != n_names + 1 for row in rows) or not any(row[-1] for row in rows):
        return False
    first = [row[0] for row in rows]
    if first[0].isdecimal():
        return first == [str(int(first[0]) + i) for i in range(len(rows))]
    return len(set(first)) == len(first) and not any(map(is_number, first))


def _fit(rows: list[list[str]]) -> float:
    """Score of a delimiter: the share of numbers below the first line, times that of lines as wide as most."""
    below = rows[1:] or rows
    if not below:
        return -1.0
    width, count = Counter(map(len, below)).most_common(1)[0]
    if width < 2:
        return -1.0
    cells = [cell for row in below if len(row) == width for cell in row]
    evenness = count / len(below) * (1.0 if len(rows[0]) == width else UNLIKE_FIRST)
    return evenness * sum(not cell or is_number(cell) for cell in cells) / len(cells)


# ------------------------------------------------------------------ numbers in text columns


GROUP = "[ '\u2019\u00a0\u202f]"  # between thousands, everywhere
EXPONENT = r"(?:[eE][+-]?\d+)?"
THOUSANDS, DECIMAL = "commas between thousands", "decimal commas"
NUMBER_FORMATS = {
    THOUSANDS: rf"[+-]?(?:\d{{1,3}}(?:(?:,|{GROUP})\d{{3}})+|\d+)?(?:\.\d*)?{EXPONENT}",
    DECIMAL: rf"[+-]?(?:\d{{1,3}}(?:(?:\.|{GROUP})\d{{3}})+|\d+)?(?:,\d*)?{EXPONENT}",
}


def parse_numbers(columns: Iterable[pd.Series], formats: Sequence[str]) -> tuple[dict[str, pd.Series], str]:
    """Numbers of the text columns in which every cell is one, by name, and the format that they have.

    A cell such as 1,234 can be read in two ways. The format that more columns have is taken for the whole table,
    of equals the one that comes first.
    """
    # Objects: as text, older versions of pandas would call an empty cell "nan".
    words = {str(column.name): column.astype("object").str.strip() for column in columns}
    fits = {
        written: [name for name, cells in words.items() if _all_match(cells, NUMBER_FORMATS[written])]
        for written in formats
    }
    chosen = max(formats, key=lambda name: len(fits[name]))
    return {name: _to_floats(words[name], chosen) for name in fits[chosen]}, chosen


def _all_match(cells: pd.Series, pattern: str) -> bool:
    """Whether every cell that is not empty has this format, and at least one digit."""
    filled = cells.dropna()
    matches = filled.str.fullmatch(pattern) & filled.str.contains(r"\d")
    return not filled.empty and bool(matches.all())


def _to_floats(cells: pd.Series, chosen: str) -> pd.Series:
    """Cells of this format as floats."""
    grouped = "[.]" if chosen == DECIMAL else ","
    plain = cells.str.replace(rf"{GROUP}|{grouped}", "", regex=True)
    return pd.to_numeric(plain.str.replace(",", ".")).astype("float64")
