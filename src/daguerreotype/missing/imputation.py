"""What users are told of missing values: where they were, what a fit did, and imputations with their spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.labels import plural
from daguerreotype._lib.records import saved
from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.columns import to_pandas
from daguerreotype.data.kinds import Kind
from daguerreotype.data.missing import Gaps

SETTLED = 1  # edge that comes and goes with the draws
CALM = 0.01  # nats per column and row by which they move the loss


@saved
@dataclass(frozen=True)
class Completion:
    """How a table with missing values was completed.

    Attributes
    ----------
    n_completions : int
        Completed tables that were learned from together; 0 where expected moments were enough.
    n_rounds : int
        Rounds of drawing and learning.
    n_changed : int
        Pairs of columns that the last two graphs connect differently, but for directions that linear edges leave
        open.
    loss_change : float
        By how much the last round moved the loss, in nats per column and row.
    """

    n_completions: int
    n_rounds: int
    n_changed: int
    loss_change: float = 0.0


@dataclass(frozen=True)
class MissingValues:
    """Where values of a table were missing, and what a fit did about it.

    Attributes
    ----------
    counts : dict
        How many values are missing of each column; only columns that lack any.
    n_rows, n_complete : int
        Rows of the table, and those that are complete.
    n_dropped : int
        Rows that were left out, with ``missing="drop"``.
    n_completions : int
        Completed tables that were learned from together. 0 where none was needed: rows were dropped, or linear
        edges had the moments that EM expects.
    n_rounds : int
        Rounds of completing the table and learning again.
    n_changed : int
        Pairs of columns that the last two graphs connect differently, but for directions that linear edges leave
        open.
    loss_change : float
        By how much the last round moved the loss, in nats per column and row.
    depends_on : dict
        Columns whose missing values depend on others, and on which: they are not missing completely at random.
        That is taken care of, but such a column may hide that they depend on itself.
    """

    counts: dict[Any, int]
    n_rows: int
    n_complete: int
    n_dropped: int
    n_completions: int
    n_rounds: int
    n_changed: int
    loss_change: float
    depends_on: dict[Any, list[Any]]

    @classmethod
    def of(
        cls, labels: Sequence[Any], gaps: Gaps, n_dropped: int, completion: Completion | None
    ) -> "MissingValues":
        """Of a table with these columns; without a completion rows were dropped."""
        done = completion or Completion(0, 0, 0)
        depends = [[labels[i] for i in np.flatnonzero(column)] for column in gaps.depends.T]
        return cls(
            counts={label: int(n) for label, n in zip(labels, gaps.counts, strict=True) if n},
            n_rows=gaps.n_rows,
            n_complete=gaps.n_complete,
            n_dropped=n_dropped,
            **vars(done),
            depends_on={label: causes for label, causes in zip(labels, depends, strict=True) if causes},
        )

    @property
    def settled(self) -> bool:
        """Whether the last round changed next to nothing: draws alone make an edge come and go."""
        return self.n_changed <= SETTLED and self.loss_change < CALM

    def __str__(self) -> str:
        total, d = sum(self.counts.values()), len(self.counts)
        where = f"{total} missing value{plural(total)} in {d} column{plural(d)}"
        if self.n_dropped:
            return f"{where}: left out {self.n_dropped} of {self.n_rows} rows"
        n = self.n_completions
        how = f"{n} completed table{plural(n)}" if n else "expected moments"
        moved = f"the last changed {self.n_changed} edges, and the loss of a column by {self.loss_change:.2g}"
        ended = "settled" if self.settled else f"not settled, {moved}"
        return f"{where}: {how}, {self.n_rounds} round{plural(self.n_rounds)}, {ended}"


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
        from each of them, and the spread of the results is what the missing values make uncertain.
    """

    table: Any
    spread: Any
    draws: list[Any]


def make_imputation(X: Any, values: FloatArray, draws: FloatArray, kinds: Sequence[Kind]) -> Imputation:
    """From values (m, d) with nan, and draws (k, m, d) of them, as codes of levels, to tables like ``X``."""
    missing = np.isnan(values)
    middle, spread = values.copy(), np.zeros(values.shape)
    for j, kind in enumerate(kinds):
        rows = np.flatnonzero(missing[:, j])
        drawn = draws[:, rows, j]  # (k, r)
        if kind.levels and rows.size:
            votes = np.stack([(drawn == code).sum(axis=0) for code in range(len(kind.levels))])
            middle[rows, j] = np.argmax(votes, axis=0)
            spread[rows, j] = 1.0 - votes.max(axis=0) / len(draws)
        elif rows.size:
            middle[rows, j] = (
                np.quantile(drawn, 0.5, axis=0, method="closest_observation") if kind.on_grid else drawn.mean(0)
            )
            spread[rows, j] = drawn.std(axis=0, ddof=1) if len(draws) > 1 else 0.0
    like = to_pandas(X)
    if not isinstance(like, pd.DataFrame):
        tables = [_plain(table, kinds) for table in (middle, *draws)]
        return Imputation(tables[0], spread, tables[1:])
    frames = [_frame(like, table, missing, kinds) for table in (middle, *draws)]
    return Imputation(frames[0], pd.DataFrame(spread, columns=like.columns, index=like.index), frames[1:])


def _plain(values: FloatArray, kinds: Sequence[Kind]) -> Any:
    """An array of numbers; of objects where levels are none."""
    columns = [kind.show(values[:, j]) for j, kind in enumerate(kinds)]
    numbers = all(column.dtype != object for column in columns)
    return np.column_stack(columns) if numbers else np.array(columns, dtype=object).T


def _frame(like: pd.DataFrame, values: FloatArray, missing: Any, kinds: Sequence[Kind]) -> pd.DataFrame:
    """The DataFrame with what it lacks filled in, its columns of the types that they have."""
    filled = like.copy()
    for j, kind in enumerate(kinds):
        rows = np.flatnonzero(missing[:, j])
        if rows.size:
            column = like.iloc[:, j]
            new = list(kind.show(values[rows, j]))
            if not kind.levels and pd.api.types.is_integer_dtype(column.dtype):
                new = [round(value) for value in new]
            if column.dtype == bool or set(kind.levels) == {False, True}:
                new = [bool(value) for value in new]
            column = column.copy()
            column.iloc[rows] = new
            filled.isetitem(j, column.array)
    return filled
