"""Inputs of a fit: rows of any library, chunks of rows, or moments, checked and made into a table."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.columns import Rows, read_columns
from daguerreotype.data.interventions import check_counted, read_interventions
from daguerreotype.data.kinds import Kind, check_usable, encode, find_kinds, read_given
from daguerreotype.data.missing import Gaps, check_missing, check_seen
from daguerreotype.data.moments import Moments, Summary
from daguerreotype.data.quantiles import QuantileSketch, Support
from daguerreotype.data.streams import Source, complete_rows, read_chunk
from daguerreotype.data.table import StreamedTable, Table
from daguerreotype.data.ties import LOOKED_AT, untie
from daguerreotype.data.validation import (
    LEAST_ROWS,
    check_column_names,
    check_copies,
    check_covariance,
    check_finite,
    check_given,
    check_ranges,
    check_renamed,
    check_size,
    column_names,
)

REFUSED = "Learn from them with missing='auto', or leave their rows out with missing='drop'."


@dataclass(frozen=True)
class ReadTable:
    """What was read of a user's rows.

    Attributes
    ----------
    table : Table
        To learn from. It holds kinds only where some column is discrete or on a grid.
    kinds : tuple of Kind
        Those of all columns.
    gaps : Gaps, optional
        Where values were missing; None if none was.
    n_dropped : int
        Rows that were left out because of that.
    """

    table: Table
    kinds: tuple[Kind, ...]
    gaps: Gaps | None = None
    n_dropped: int = 0


def table_of_rows(
    estimator: Any,
    X: Any,
    interventions: Any = None,
    kinds: Any = "auto",
    *,
    numbers_alone: str = "",
    missing: str = "error",
) -> ReadTable:
    """The table to fit ``estimator`` on, after all checks of its rows, columns and interventions.

    ``numbers_alone`` names the setting that takes continuous columns alone, if one does. Rows with ``missing``
    values are learned from ("auto"), left out ("drop") or refused ("error").
    """
    check_missing(missing)
    rows, values, names, labels = _read(estimator, X, reset=True)
    check_size(*values.shape)
    given = read_given(kinds, labels, numbered=not rows.named)
    if rows.origins:
        check_usable(names, rows.origins, len(values))
    check_finite(values, names, REFUSED if missing == "error" else "")
    intervened = read_interventions(interventions, len(values), labels, numbered=not rows.named)
    gaps: Gaps | None = None
    n_dropped = 0
    empty = np.isnan(values)
    if empty.any():
        check_seen(empty, names)
        levels = [origin.what in ("text", "category") for origin in rows.origins] or [False] * len(names)
        gaps = Gaps.of(values, np.array(levels))
        # A row of which nothing is seen says nothing.
        kept = ~(empty.any(axis=1) if missing == "drop" else empty.all(axis=1))
        if kept.sum() < LEAST_ROWS:
            raise ValueError(
                f"only {kept.sum()} of {len(values)} rows have no gap, too few for missing='drop': learn from all "
                "of them with missing='auto'."
            )
        n_dropped = int((~kept).sum()) if missing == "drop" else 0
        values = values[kept]
        intervened = None if intervened is None or not intervened[kept].any() else intervened[kept]
    check_ranges(np.nanmin(values, axis=0), np.nanmax(values, axis=0), len(values), names)
    column_kinds = find_kinds(values, names, rows.origins, given, numbers_alone=numbers_alone)
    values = encode(values, names, rows.origins, column_kinds)
    unordered = np.array([kind.unordered for kind in column_kinds])
    table_kinds = column_kinds if any(kind.discrete or kind.step > 0 for kind in column_kinds) else ()
    table = Table(values, labels, None, intervened, named=rows.named, kinds=table_kinds)
    if table.missing is not None:
        check_copies(values, table.summary.covariance, names)
    check_covariance(table.summary.covariance, len(values), names, table.discrete, unordered)
    if unordered.sum() > 1:
        places = np.flatnonzero(unordered)
        complete = values[:, places][~np.isnan(values[:, places]).any(axis=1)]
        check_renamed(complete, [len(column_kinds[j].levels) for j in places], [names[j] for j in places])
    if intervened is not None:
        check_counted(values, intervened, names)
    return ReadTable(table, column_kinds, gaps, n_dropped)


def _read(
    estimator: Any, X: Any, *, reset: bool
) -> tuple[Rows, FloatArray, tuple[str, ...], tuple[Hashable, ...]]:
    """Columns of a table as numbers, their values (n, d), their names for messages, and the user's names."""
    rows = read_columns(X)
    if rows.named:
        check_column_names(rows.table.columns)
    least = 0 if reset else 1  # of a table to learn from we say ourselves that it has no rows
    options = {"dtype": np.float64, "ensure_all_finite": False, "ensure_min_samples": least}
    values = validate_data(estimator, rows.table, reset=reset, **options)
    names = column_names(rows.table, values.shape[1])
    return rows, values, names, tuple(rows.table.columns.tolist()) if rows.named else names


def rows_of(
    estimator: Any, X: Any, kinds: Mapping[Any, Kind], interventions: Any = None
) -> tuple[FloatArray, BoolArray | None]:
    """Rows to ask a fitted estimator about: values (m, d) by the kinds of its columns, and what was intervened on.

    Missing values are nan.
    """
    rows, values, names, labels = _read(estimator, X, reset=False)
    if rows.named and labels != tuple(kinds):  # names that are text were compared by scikit-learn
        odd, name = next((new, old) for new, old in zip(labels, kinds, strict=True) if new != old)
        raise ValueError(
            f"X has a column {odd!r} where the fitted table has {name!r}: give the same columns in the same "
            "sequence."
        )
    check_finite(values, names, "")
    intervened = read_interventions(interventions, len(values), labels, numbered=not rows.named)
    return encode(values, names, rows.origins, list(kinds.values())), intervened


def table_of_chunks(
    source: Source, *, quantiles: bool, on_rows: Callable[[int], None] | None, missing: str = "error"
) -> ReadTable:
    """The table of a source after one pass over its rows, which keeps a sketch of quantiles if asked.

    Rows with ``missing`` values are left out ("drop") or refused: chunk by chunk nothing is learned from them.
    """
    check_missing(missing)
    drop = missing == "drop"
    first = source.gather(partial(FirstPass, quantiles=quantiles, drop=drop), on_rows)
    if first.n_rows == 0:
        raise ValueError("the source has no rows: at least 3 are needed, and many more to learn.")
    table = table_of_moments(first.moments)
    untied = untie(np.concatenate(first.rows), np.arange(table.n_columns))
    steps = None if untied is None or not untied[1].any() else untied[1]
    table = replace(
        table, source=replace(source, complete=drop), sketch=first.sketch, on_rows=on_rows, steps=steps
    )
    kinds = (Kind("continuous", "rows are not in memory"),) * table.n_columns
    gaps: Gaps | None = None
    if first.n_dropped:
        gaps = Gaps.counted(first.n_rows + first.n_dropped, first.missing, first.n_rows)
    return ReadTable(table, kinds, gaps, first.n_dropped)


class FirstPass:
    """Accumulator of all that the first pass over a source keeps.

    Parameters
    ----------
    quantiles : bool
        Whether to keep a sketch of them.
    drop : bool
        Whether rows with missing values are left out.

    Attributes
    ----------
    moments : Moments
        Of the rows that were taken in.
    sketch : QuantileSketch or None
        What was kept to find quantiles by.
    rows : list of arrays of shape (m, d)
        The first rows, by which grids are known.
    n_dropped : int
        Rows that were left out.
    missing : array of shape (d,)
        Missing values of each column; a single 0 before the first chunk.
    """

    def __init__(self, *, quantiles: bool, drop: bool) -> None:
        self.moments, self.sketch = Moments(), QuantileSketch() if quantiles else None
        self.rows: list[FloatArray] = []
        self.drop, self.n_dropped = drop, 0
        self.missing: IntArray = np.zeros(1, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Rows taken in."""
        return self.moments.n_rows

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in a chunk, of which the moments check the rest."""
        number = number or 0
        complete, missing = complete_rows(chunk, number) if self.drop else (chunk, None)
        self.moments.update(complete, number)
        values, _ = read_chunk(complete, number)
        self._keep(values)
        if self.sketch is not None:
            self.sketch.update(values)
        if missing is not None:
            self.n_dropped += int(missing.any(axis=1).sum())
            self.missing = self.missing + missing.sum(axis=0)
        return self

    def merge(self, other: "FirstPass") -> Self:
        """Take in what another one did."""
        self.moments.merge(other.moments)
        for rows in other.rows:
            self._keep(rows)
        if self.sketch is not None and other.sketch is not None:
            self.sketch.merge(other.sketch)
        self.n_dropped += other.n_dropped
        self.missing = self.missing + other.missing
        return self

    def _keep(self, values: FloatArray) -> None:
        """Keep as many rows (m, d) as are still looked at."""
        room = LOOKED_AT - sum(map(len, self.rows))
        if room > 0:
            self.rows.append(np.array(values[:room], dtype=np.float64))


def table_of_moments(
    covariance: Any, n_rows: int | None = None, names: Any = None, means: Any = None
) -> StreamedTable:
    """The table behind :class:`Moments`, or behind a covariance; without means they count as zero."""
    if isinstance(covariance, Moments):
        n, columns, named = covariance.n_rows, covariance.names, covariance.named
        check_size(n, len(columns))
        summary = covariance.summary()
        check_ranges(summary.low, summary.high, n, tuple(map(str, columns)))
    else:
        matrix, n, given, mean = check_given(covariance, n_rows, names, means)
        d = len(matrix)
        zero = np.zeros(d)
        summary = Summary(n, zero if mean is None else mean, matrix, zero, zero, zero)
        columns, named = given or tuple(f"x{i}" for i in range(d)), given is not None
    check_covariance(summary.covariance, summary.n_rows, tuple(map(str, columns)))
    places = np.arange(len(columns))
    return StreamedTable(
        names=columns, named=named, columns=places, known_summary=summary, known_support=Support()
    )
