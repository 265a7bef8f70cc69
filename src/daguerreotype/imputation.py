"""Imputations: completed tables as users know them, with the spread of the draws that they are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.columns import to_pandas
from daguerreotype.data.kinds import Kind


@dataclass(frozen=True)
class Imputation:
    """A table whose missing values were filled in.

    Attributes
    ----------
    table : DataFrame or array of shape (m, d)
        The rows, completed; a DataFrame if they came as a table with names.
    spread : DataFrame or array of shape (m, d)
        How uncertain each value is: the standard deviation of its draws, or the share of draws with another level.
        0 where a value was seen.
    draws : list of DataFrame or array
        The completed tables that these summarise: for whatever is to be computed from complete rows, compute it
        from each of them, and the spread of the results is what the gaps make uncertain.
    """

    table: Any
    spread: Any
    draws: list[Any]


def make_imputation(X: Any, values: FloatArray, draws: FloatArray, kinds: Sequence[Kind]) -> Imputation:
    """From values (m, d) with nan, and draws (k, m, d) of them, as codes of levels, to tables like ``X``."""
    gaps = np.isnan(values)
    middle, spread = values.copy(), np.zeros(values.shape)
    for j, kind in enumerate(kinds):
        rows = np.flatnonzero(gaps[:, j])
        drawn = draws[:, rows, j]  # (k, r)
        if kind.levels and rows.size:
            votes = np.stack([(drawn == code).sum(axis=0) for code in range(len(kind.levels))])
            middle[rows, j] = np.argmax(votes, axis=0)
            spread[rows, j] = 1.0 - votes.max(axis=0) / len(draws)
        elif rows.size:
            whole = kind.name == "count" or kind.step > 0.0
            middle[rows, j] = (
                np.quantile(drawn, 0.5, axis=0, method="closest_observation") if whole else drawn.mean(0)
            )
            spread[rows, j] = drawn.std(axis=0, ddof=1) if len(draws) > 1 else 0.0
    like = to_pandas(X)
    if not isinstance(like, pd.DataFrame):
        tables = [_plain(each, kinds) for each in (middle, *draws)]
        return Imputation(tables[0], spread, tables[1:])
    frames = [_frame(like, each, gaps, kinds) for each in (middle, *draws)]
    return Imputation(frames[0], pd.DataFrame(spread, columns=like.columns, index=like.index), frames[1:])


def _plain(values: FloatArray, kinds: Sequence[Kind]) -> Any:
    """An array of numbers; of objects where levels are none."""
    columns = [_levels(values[:, j], kind) for j, kind in enumerate(kinds)]
    numbers = all(column.dtype != object for column in columns)
    return np.column_stack(columns) if numbers else np.array(columns, dtype=object).T


def _levels(codes: FloatArray, kind: Kind) -> Any:
    """What codes (m,) stand for."""
    if not kind.levels:
        return codes
    text = any(isinstance(level, str) for level in kind.levels)
    return np.array(kind.levels, dtype=object if text else np.float64)[codes.astype(np.int64)]


def _frame(like: pd.DataFrame, values: FloatArray, gaps: Any, kinds: Sequence[Kind]) -> pd.DataFrame:
    """The DataFrame with its gaps filled, its columns of the types that they have."""
    filled = like.copy()
    for j, kind in enumerate(kinds):
        rows = np.flatnonzero(gaps[:, j])
        if rows.size:
            column = like.iloc[:, j]
            new = list(_levels(values[rows, j], kind))
            if not kind.levels and pd.api.types.is_integer_dtype(column.dtype):
                new = [round(each) for each in new]
            if column.dtype == bool or set(kind.levels) == {False, True}:
                new = [bool(each) for each in new]
            column = column.copy()
            column.iloc[rows] = new
            filled.isetitem(j, column.array)
    return filled
