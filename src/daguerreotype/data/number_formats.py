"""Number formats of text columns: 1,5 and 1.234,56 with decimal commas, 1,234.56 and 1'234.56 with points."""

from collections.abc import Iterable, Sequence

import pandas as pd

GROUP = "[ '\u2019\u00a0\u202f]"  # between thousands, everywhere
EXPONENT = r"(?:[eE][+-]?\d+)?"
THOUSANDS, DECIMAL = "commas between thousands", "decimal commas"
FORMATS = {
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
    fits = {each: [name for name, cells in words.items() if _all_match(cells, FORMATS[each])] for each in formats}
    chosen = max(formats, key=lambda each: len(fits[each]))
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
