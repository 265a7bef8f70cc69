"""Which rows had which columns set from outside? What the user says about experiments, as one mask."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

SHOWN = 5
LEAST = 3  # rows that a column's own fit needs, as many as a table does
EXPECTED = (
    "give a list with one entry per row (None, a column, or several columns), or a boolean table with a row per "
    "row of X and a column per column"
)


def read_interventions(
    interventions: Any, n_rows: int, names: Sequence[str], *, numbered: bool
) -> BoolArray | None:
    """Whether each column was set from outside in each row (n, d); None if none ever was.

    Parameters
    ----------
    interventions : None, sequence of n entries, or boolean table of shape (n, d)
        An entry is None, NaN or "" where nothing was set, a column, or a collection of columns. The columns of a
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
        columns = _Columns(names, numbered)
        mask = np.zeros((n_rows, len(names)), dtype=np.bool_)
        for row, entry in enumerate(interventions):
            mask[row, columns.of(entry, row)] = True
    return mask if mask.any() else None


def check_counted(values: FloatArray, excluded: BoolArray, names: Sequence[str]) -> None:
    """Refuse columns about whose causes the rows that are left for them say nothing."""
    for j in np.flatnonzero(excluded.any(axis=0)):
        kept = values[~excluded[:, j]]
        name, n = names[j], len(values)
        if len(kept) < LEAST:
            left = "in all" if not len(kept) else f"in all but {len(kept)} of"
            raise ValueError(
                f"column {name!r} was set from outside {left} {n} rows, so nothing tells what causes it; at "
                f"least {LEAST} other rows are needed, and many more to learn. Add rows in which it was not set, "
                "or drop the column."
            )
        constant = np.flatnonzero(np.ptp(kept, axis=0) <= 1e-14 * np.abs(kept).max(axis=0))
        if constant.size:
            one = int(j) if j in constant else int(constant[0])
            advice = "Add rows in which it varies, or drop the column."
            if one == j:
                raise ValueError(
                    f"column {name!r} is constant in the {len(kept)} rows in which it was not set from outside, "
                    f"so nothing tells what causes it. {advice}"
                )
            raise ValueError(
                f"column {names[one]!r} is constant in the {len(kept)} rows in which {name!r} was not set from "
                f"outside, so nothing tells whether it causes {name!r}. {advice}"
            )


def count_set(excluded_rows: IntArray, labels: Sequence[Any]) -> dict[Any, int]:
    """In how many rows each column was set, by its label; only columns that were."""
    return {label: int(count) for label, count in zip(labels, excluded_rows, strict=True) if count}


def _read_table(table: Any, names: Sequence[str], numbered: bool) -> BoolArray:
    """A boolean table (n, d), its columns in the order of ``names``."""
    if isinstance(table, pd.DataFrame) and not numbered:
        given = [str(name) for name in table.columns]
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"interventions has a column {unknown[0]!r}, which X has not; {_hint(unknown[0], names)}"
            )
        if len(set(given)) < len(given):
            raise ValueError("interventions has several columns of the same name: give each column of X once.")
        table = table.set_axis(given, axis=1).reindex(columns=list(names), fill_value=False)
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
            f"interventions is a table that holds {odd!r}: expected True (or 1) where a column was set from "
            "outside, and False (or 0) elsewhere."
        )
    mask: BoolArray = values.astype(np.bool_)
    return mask


class _Columns:
    """Positions of the columns that an entry names."""

    def __init__(self, names: Sequence[str], numbered: bool) -> None:
        self.names, self.numbered = list(names), numbered
        self.place = {name: j for j, name in enumerate(self.names)}

    def of(self, entry: Any, row: int) -> list[int]:
        """All of one entry."""
        if _is_nothing(entry):
            return []
        several = isinstance(entry, Collection | np.ndarray) and not isinstance(entry, str | bytes)
        if several and str(entry) not in self.place:  # a tuple may itself be the name of a column
            return [self.one(each, row) for each in entry if not _is_nothing(each)]
        return [self.one(entry, row)]

    def one(self, column: Any, row: int) -> int:
        """The position of one column."""
        if isinstance(column, bool | np.bool_):
            raise ValueError(
                f"interventions holds {column!r} in row {row}, which does not say which column was set: "
                f"{EXPECTED}."
            )
        if isinstance(column, float | np.floating) and float(column).is_integer():
            column = int(column)  # a missing entry makes all whole numbers of a Series floats
        if self.numbered and isinstance(column, int | np.integer):
            if not 0 <= column < len(self.names):
                raise ValueError(
                    f"interventions names column {column} in row {row}, but the columns go from 0 to "
                    f"{len(self.names) - 1}."
                )
            return int(column)
        if str(column) not in self.place:
            raise ValueError(
                f"interventions names {str(column)!r} in row {row}, which is no column; "
                f"{_hint(str(column), self.names)}"
            )
        return self.place[str(column)]


def _is_nothing(entry: Any) -> bool:
    """Whether an entry says that nothing was set: None, NaN, NA or an empty text."""
    if entry is None or entry is pd.NA or (isinstance(entry, str) and not entry.strip()):
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))


def _hint(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"the columns are {', '.join(map(repr, names[:SHOWN]))}{more}."
