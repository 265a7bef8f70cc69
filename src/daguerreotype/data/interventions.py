"""Interventions: which columns were intervened on in which rows, as users say it and as a boolean mask."""

import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.labels import ColumnPlaces, row_called, suggest
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.validation import LEAST_ROWS, are_constant

EXPECTED = (
    "give a list with one entry per row (None, a column, or several columns), or a boolean table with a row per "
    "row of X and a column per column"
)


def read_interventions(
    interventions: Any, n_rows: int, names: Sequence[Hashable], *, numbered: bool
) -> BoolArray | None:
    """Whether each column was intervened on in each row (n, d); None if none ever was.

    Parameters
    ----------
    interventions : None, sequence of n entries, or boolean table of shape (n, d)
        An entry is None, NaN or "" where nothing was done, a column, or a collection of columns. The columns of a
        DataFrame are matched by name if X has names.
    n_rows, names
        Rows and column names of X.
    numbered : bool
        Whether X has no names of its own, so that columns are known by their position too.
    """
    if interventions is None:
        return None
    if isinstance(interventions, str | bytes | Mapping) or not hasattr(interventions, "__len__"):
        raise TypeError(f"interventions is of type {type(interventions).__name__}: {EXPECTED}.")
    if len(interventions) != n_rows:
        raise ValueError(f"interventions has {len(interventions)} entries, but X has {n_rows} rows: {EXPECTED}.")
    if getattr(interventions, "ndim", 1) == 2:
        mask = _read_table(interventions, names, numbered)
    else:
        targets = Targets(names, numbered=numbered)
        mask = np.zeros((n_rows, len(names)), dtype=np.bool_)
        for row, entry in enumerate(interventions):
            mask[row, list(targets.of(entry, row))] = True
    return mask if mask.any() else None


def check_counted(values: FloatArray, intervened: BoolArray, names: Sequence[str]) -> None:
    """Refuse columns about whose causes the rows that are left for them say nothing."""
    for j in np.flatnonzero(intervened.any(axis=0)):
        kept = values[~intervened[:, j]]
        kept = kept[~np.isnan(kept[:, j])]
        name, n = names[j], len(values)
        if len(kept) < LEAST_ROWS:
            where = "in all" if not len(kept) else f"in all but {len(kept)} of"
            raise ValueError(
                f"column {name!r} was intervened on {where} {n} rows, so nothing tells what causes it; at least "
                f"{LEAST_ROWS} other rows are needed, and many more to learn. Add rows in which it was not, or "
                "drop the column."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column that is missing wherever this one is seen
            constant = np.flatnonzero(are_constant(np.nanmin(kept, axis=0), np.nanmax(kept, axis=0)))
        if constant.size:
            one = int(j) if j in constant else int(constant[0])
            advice = "Add rows in which it varies, or drop the column."
            if one == j:
                raise ValueError(
                    f"column {name!r} is constant in the {len(kept)} rows in which it was not intervened on, so "
                    f"nothing tells what causes it. {advice}"
                )
            raise ValueError(
                f"column {names[one]!r} is constant in the {len(kept)} rows in which {name!r} was not intervened "
                f"on, so nothing tells whether it causes {name!r}. {advice}"
            )


def _read_table(table: Any, names: Sequence[Hashable], numbered: bool) -> BoolArray:
    """A boolean table (n, d), its columns in the order of ``names``."""
    if isinstance(table, pd.DataFrame) and not numbered:
        places = ColumnPlaces(names)
        given = [places.find(name) for name in table.columns]
        if None in given:
            unknown = str(table.columns[given.index(None)])
            near = suggest(unknown, list(map(str, names)))
            raise ValueError(f"interventions has a column {unknown!r}, which X has not; {near}")
        if len(set(given)) < len(given):
            raise ValueError("interventions has several columns of the same name: give each column of X once.")
        table = table.set_axis(given, axis=1).reindex(columns=range(len(names)), fill_value=False)
    values = np.asarray(table)
    if values.dtype == object:  # pandas' own booleans, whose missing value cannot be compared
        values = pd.DataFrame(table).to_numpy(dtype=object, na_value=np.nan)
    if values.shape[1] != len(names):
        raise ValueError(
            f"interventions has {values.shape[1]} columns, but X has {len(names)}: give a boolean for each."
        )
    if values.dtype != np.bool_ and not np.isin(values, (0, 1)).all():
        odd = values[~np.isin(values, (0, 1))][0]
        raise ValueError(
            f"interventions is a table that holds {odd!r}: expected True (or 1) where a column was "
            "intervened on, and False (or 0) elsewhere."
        )
    mask: BoolArray = values.astype(np.bool_)
    return mask


class Targets:
    """The columns that entries of interventions name.

    Parameters
    ----------
    names : sequence
        Names of all columns; entries name them, or what prints like them.
    numbered : bool
        Whether whole numbers are positions instead.
    """

    def __init__(self, names: Sequence[Hashable], *, numbered: bool = False) -> None:
        self.names, self.numbered = [str(name) for name in names], numbered
        self._places = ColumnPlaces(names, numbered=numbered)

    def of(self, entry: Any, row: int | None = None) -> dict[int, Any]:
        """Positions of the columns that an entry names, each with the value that it is set to, or None.

        An entry is nothing, a column, a collection of columns, or a mapping from columns to values. It stands for
        one row, or for all of them.
        """
        if _is_nothing(entry):
            return {}
        if isinstance(entry, Mapping):
            return {self._find(column, row): value for column, value in entry.items()}
        several = isinstance(entry, Collection | np.ndarray) and not isinstance(entry, str | bytes)
        if several and self._places.find(entry) is None:  # a tuple may itself be the name of a column
            return {self._find(column, row): None for column in entry if not _is_nothing(column)}
        return {self._find(entry, row): None}

    def _find(self, column: Any, row: int | None) -> int:
        """The position of one column."""
        where = "" if row is None else f" in {row_called(row)}"
        if isinstance(column, bool | np.bool_):
            raise ValueError(
                f"interventions holds {column!r}{where}, which does not say which column was intervened on: "
                f"{EXPECTED}."
            )
        if isinstance(column, float | np.floating) and float(column).is_integer():
            column = int(column)  # a missing entry makes all whole numbers of a Series floats
        place = self._places.find(column)
        if place is None and self.numbered and isinstance(column, int | np.integer):
            raise ValueError(
                f"interventions names column {column}{where}, but the columns go from 0 to {len(self.names) - 1}."
            )
        if place is None:
            name = str(column)
            raise ValueError(
                f"interventions names {name!r}{where}, which is no column; {suggest(name, self.names)}"
            )
        return place


def _is_nothing(entry: Any) -> bool:
    """Whether an entry says that nothing was done: None, NaN, NA or an empty text."""
    if entry is None or entry is pd.NA or (isinstance(entry, str) and not entry.strip()):
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))
