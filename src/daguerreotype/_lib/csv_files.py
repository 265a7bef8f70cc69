"""CSV files that spreadsheets take for text and numbers alone, never for formulas.

A spreadsheet runs a cell that begins with =, +, -, @ or a control character. Such names get an apostrophe in
front, which spreadsheets do not show, and so do those that begin with apostrophes before one of these: then
nothing is lost, and `as_written` takes one off again. Numbers, such as -1, are left alone.
"""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daguerreotype._lib.replacement import replaced

if TYPE_CHECKING:
    import pandas as pd

FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # and their wide forms, which some spreadsheets take for the same
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write_csv(path: Path, frame: "pd.DataFrame", *, index: bool = True) -> None:
    """Replace the file by one with the cells of ``frame``, which spreadsheets can open safely."""
    import pandas as pd

    written = frame.rename(columns=as_text, index=as_text if index else None)
    texts = [*map(str, written.columns), *(map(str, written.index) if index else ())]
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            written.isetitem(place, frame.iloc[:, place].map(as_text).to_numpy())
            texts += map(str, written.iloc[:, place])
    # By itself the writer leaves a carriage return bare, which readers take for the end of a line.
    bare = any("\r" in text for text in texts)
    with replaced(path) as file:
        written.to_csv(file, index=index, quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL)


def as_text(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    >>> as_text("=A1"), as_text("'=A1"), as_text("-1"), as_text("rain")
    ("'=A1", "''=A1", '-1', 'rain')
    """
    dangerous = isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if dangerous else cell


def as_written(cell: str) -> str:
    """The name that `as_text` was given."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
