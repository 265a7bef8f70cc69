"""Which table does a user's file hold? Numbers under names; what is left out of it is noted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype.data.cells import PIPE, called, read_cells
from daguerreotype.data.number_formats import respell

SHOWN = 5


@dataclass(frozen=True)
class Reading:
    """How a user wants a file to be read.

    Attributes
    ----------
    drop : sequence of str
        Columns to leave out.
    drop_non_numeric, drop_missing : bool
        Leave out columns that hold no numbers, rows with empty cells.
    delimiter, header : str, bool or None
        How the file is written; None to find out.
    interventions : str or None
        The column that says which others were set from outside, row by row.
    """

    drop: Sequence[str] = ()
    drop_non_numeric: bool = False
    drop_missing: bool = False
    delimiter: str | None = None
    header: bool | None = None
    interventions: str | None = None


@dataclass(frozen=True)
class Input:
    """A table to learn from.

    Attributes
    ----------
    name : str
        What the output calls it.
    table : DataFrame of shape (n, d)
        The observations.
    known : DataFrame of shape (d, d) or None
        The graph behind them, where it ships with the data.
    notes : tuple of str
        What the user had better know about the file.
    interventions : list of n entries, or None
        The columns that were set from outside in each row.
    """

    name: str
    table: pd.DataFrame
    known: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    interventions: list[Any] | None = None


def read_input(path: Path | None, reading: Reading | None = None) -> Input:
    """The table at ``path``, or the Sachs data with their consensus graph."""
    reading = reading or Reading()
    if path is None:
        return _sachs(reading.interventions)
    cells = read_cells(path, delimiter=reading.delimiter, header=reading.header)
    table, name = cells.frame, called(path)
    notes: list[str] = []
    if not cells.named:
        table.columns = pd.Index([f"x{j}" for j in range(table.shape[1])])
        why = f"the first line of {name} holds numbers, so " if reading.header is None else ""
        notes.append(f"{why}the columns are called x0, x1, ...")
    if cells.dialect is not None and cells.dialect.encoding == "cp1252":
        notes.append(f"{name} is not UTF-8; its letters are read as Windows-1252.")
    table = _without_blanks(table, notes)
    if table.empty:
        raise ValueError(f"{name} has no rows below the names of its columns.")
    _check_names(table, name)
    table = _without_row_names(table, name, notes)
    table, targets = _take_interventions(table, reading.interventions, name)
    table = _drop(table, reading.drop, name)
    table = _to_numbers(table, reading, name, cells.dialect is None or cells.dialect.delimiter != ",", notes)
    complete = table.notna().all(axis=1)
    table = _without_missing(table, reading, name, notes)
    if targets is not None:
        targets = [entry for entry, kept in zip(targets, complete, strict=True) if kept]
    return Input(name if path == PIPE else path.name, table, None, tuple(notes), targets)


def quoted(names: Sequence[object]) -> str:
    """The first few names, in quotes."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(str(name)) for name in names[:SHOWN]) + more


def _sachs(interventions: str | None) -> Input:
    """The table that ships with the package: of all conditions if one asks for what they acted on."""
    from daguerreotype.datasets import load_sachs

    sachs = load_sachs(interventional=interventions is not None)
    targets = None
    if interventions is not None:
        assert sachs.interventions is not None
        if interventions != sachs.interventions.name:
            raise ValueError(
                f"the Sachs table has no column {interventions!r} of interventions: it is called "
                f"{sachs.interventions.name!r}."
            )
        targets = sachs.interventions.tolist()
    name = "Sachs et al. (2005), proteins and lipids in T cells"
    return Input(name, sachs.X, sachs.adjacency, (), targets)


def _take_interventions(
    table: pd.DataFrame, column: str | None, name: str
) -> tuple[pd.DataFrame, list[Any] | None]:
    """The table without the column that names others, and what it names, row by row."""
    if column is None:
        return table, None
    if column not in table.columns:
        raise ValueError(
            f"{name} has no column {column!r} of interventions: its columns are {quoted(list(table.columns))}."
        )
    cells = [None if pd.isna(cell) else cell for cell in table[column]]
    several = ([part.strip() for part in cell.split(";")] if isinstance(cell, str) else cell for cell in cells)
    return table.drop(columns=column), list(several)


def _without_blanks(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The table without what a spreadsheet leaves around it: rows, and columns without names, of empty cells."""
    blank_columns = table.isna().all(axis=0).to_numpy() & (table.columns == "") & (len(table) > 0)
    blank_rows = table.isna().all(axis=1).to_numpy()
    if blank_rows.any():
        notes.append(f"left out {blank_rows.sum()} row{'s' if blank_rows.sum() > 1 else ''} of empty cells.")
    return table.loc[~blank_rows, ~blank_columns].reset_index(drop=True)


def _check_names(table: pd.DataFrame, name: str) -> None:
    """Refuse names that occur twice."""
    repeated = table.columns[table.columns.duplicated()].unique()
    if len(repeated):
        what = (
            "several columns without a name"
            if "" in repeated
            else f"more than one column {quoted(list(repeated))}"
        )
        raise ValueError(f"{name} has {what}. Give every column a name of its own.")


def _without_row_names(table: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    """The table without a first column that only names or numbers the rows, as pandas and R write it."""
    first = table.columns[0]
    if first not in ("", "Unnamed: 0"):
        return table
    values = table[first]
    if pd.api.types.is_numeric_dtype(values.dtype):
        found = any(np.array_equal(values, np.arange(start, start + len(values))) for start in (0, 1))
    else:
        found = values.is_unique
    if found and table.shape[1] > 1:
        notes.append(f"left out the first column of {name}, which has no name and tells the rows apart.")
        return table.drop(columns=first)
    notes.append(f"the first column of {name} has no name; it is called 'column 1' and learned like any other.")
    return table.rename(columns={first: "column 1"})


def _drop(table: pd.DataFrame, names: Sequence[str], name: str) -> pd.DataFrame:
    """The table without the columns that the user does not want."""
    unknown = [column for column in names if column not in table.columns]
    if unknown:
        raise ValueError(
            f"cannot drop {quoted(unknown)}: the columns of {name} are {quoted(list(table.columns))}."
        )
    return table.drop(columns=list(names))


def _to_numbers(
    table: pd.DataFrame, reading: Reading, name: str, decimal_first: bool, notes: list[str]
) -> pd.DataFrame:
    """The table in numbers. Columns that hold none are refused, or left out if asked."""
    table = table.copy()
    text = [column for column in table.columns if not pd.api.types.is_numeric_dtype(table[column].dtype)]
    words = [column for column in text if pd.api.types.infer_dtype(table[column], skipna=True) == "string"]
    numbers, spelling = respell((table[column] for column in words), decimal_first=decimal_first)
    if numbers and spelling == "decimal commas":
        _check_points(table.drop(columns=text), list(numbers), name)
    for column, values in numbers.items():
        table[column] = values
    if numbers:
        notes.append(f"read {spelling} in {quoted(list(numbers))}.")
    bad = [column for column in text if column not in numbers]
    if not bad:
        return table
    if reading.drop_non_numeric:
        notes.append(f"left out what holds no numbers: {quoted(bad)}.")
        return table.drop(columns=bad)
    examples = ", ".join(f"{column!r} ({_example(table[column])})" for column in bad[:SHOWN])
    more = f" and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    one = len(bad) == 1
    it = "it" if one else "them"
    raise ValueError(
        f"column{'' if one else 's'} {examples}{more} of {name} hold{'s' if one else ''} values other than "
        f"numbers. Encode {it} as numbers, or leave {it} out with --drop-non-numeric."
    )


def _check_points(table: pd.DataFrame, with_commas: list[str], name: str) -> None:
    """Refuse points beside decimal commas: they may separate thousands."""
    pointed = [column for column in table if table[column].dtype.kind == "f" and (table[column] % 1 > 0).any()]
    if pointed:
        raise ValueError(
            f"{name} has decimal commas in {quoted(with_commas)}, but points in {quoted(pointed)}: these may be "
            "decimal marks, or separate thousands. Write all numbers alike."
        )


def _example(column: pd.Series) -> str:
    """The first value of a column that is not a number, and where."""
    strange = column.notna() & pd.to_numeric(column.astype("str"), errors="coerce").isna()
    if not strange.any():
        return str(column.dtype)
    row = int(np.argmax(strange.to_numpy()))
    return f"{str(column.iloc[row])[:30]!r} in row {row + 1}"


def _without_missing(table: pd.DataFrame, reading: Reading, name: str, notes: list[str]) -> pd.DataFrame:
    """The table without empty cells: they are refused, or their rows left out if asked."""
    missing = table.isna()
    counts = missing.sum()
    bad = [column for column in table.columns if counts[column]]
    if not bad:
        return table
    empty = [column for column in bad if counts[column] == len(table)]
    if empty:
        raise ValueError(f"column {quoted(empty)} of {name} is empty. Leave it out with --drop {empty[0]!r}.")
    rows = missing.any(axis=1).to_numpy()
    if not reading.drop_missing:
        where = ", ".join(f"{column!r} ({counts[column]})" for column in bad[:SHOWN])
        raise ValueError(
            f"{name} has empty cells in {where}{f' and {len(bad) - SHOWN} more columns' * (len(bad) > SHOWN)}; "
            f"the first is in row {int(np.argmax(rows)) + 1}. Fill them, or leave out the {rows.sum()} rows that "
            "have any with --drop-missing."
        )
    if rows.all():
        raise ValueError(f"every row of {name} has an empty cell: --drop-missing would leave nothing.")
    notes.append(f"left out {rows.sum()} of {len(table)} rows, which have empty cells.")
    return table.loc[~rows].reset_index(drop=True)
