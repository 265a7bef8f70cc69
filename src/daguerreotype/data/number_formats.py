"""Which columns of text are numbers in another spelling: 1,5 or 1.234,56 or 1,234.56 or 1'234.56?"""

from collections.abc import Iterable

import pandas as pd

GROUP = "[ '\u2019\u00a0\u202f]"  # between thousands, everywhere
EXPONENT = r"(?:[eE][+-]?\d+)?"
SPELLINGS = {
    "commas between thousands": rf"[+-]?(?:\d{{1,3}}(?:(?:,|{GROUP})\d{{3}})+|\d+)?(?:\.\d*)?{EXPONENT}",
    "decimal commas": rf"[+-]?(?:\d{{1,3}}(?:(?:\.|{GROUP})\d{{3}})+|\d+)?(?:,\d*)?{EXPONENT}",
}


def respell(columns: Iterable[pd.Series], *, decimal_first: bool) -> tuple[dict[str, pd.Series], str]:
    """Numbers of the text columns in which every cell is one, by name, and the spelling that they have.

    A cell such as 1,234 can be read in two ways. The spelling that more columns have is taken for the whole
    table, of equals the decimal one if ``decimal_first``: commas that do not separate cells are decimal marks.
    """
    words = {str(column.name): column.astype("str").str.strip() for column in columns}
    preferred = sorted(SPELLINGS, key=lambda spelling: (spelling == "decimal commas") != decimal_first)
    fits = {
        spelling: [name for name, cells in words.items() if _all_match(cells, SPELLINGS[spelling])]
        for spelling in preferred
    }
    chosen = max(preferred, key=lambda spelling: len(fits[spelling]))
    return {name: _numbers(words[name], chosen) for name in fits[chosen]}, chosen


def _all_match(cells: pd.Series, spelling: str) -> bool:
    """Whether every cell that is not empty has this spelling, and at least one digit."""
    filled = cells.dropna()
    matches = filled.str.fullmatch(spelling) & filled.str.contains(r"\d")
    return not filled.empty and bool(matches.all())


def _numbers(cells: pd.Series, spelling: str) -> pd.Series:
    """Cells of this spelling as numbers."""
    grouped = "[.]" if spelling == "decimal commas" else ","
    plain = cells.str.replace(rf"{GROUP}|{grouped}", "", regex=True)
    return pd.to_numeric(plain.str.replace(",", ".")).astype("float64")
