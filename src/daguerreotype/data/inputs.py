"""Inputs of a fit: rows of any library, chunks of rows, or moments, checked and made into a table."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.accumulators import Both
from daguerreotype.data.columns import read_columns
from daguerreotype.data.gap_patterns import CompleteRows, GapPatterns, SplitRows
from daguerreotype.data.interventions import check_counted, read_interventions
from daguerreotype.data.kinds import Kind, check_usable, encode, find_kinds, read_given
from daguerreotype.data.missing import Gaps, check_missing, check_seen, check_together
from daguerreotype.data.moments import Moments
from daguerreotype.data.quantiles import QuantileSketch
from daguerreotype.data.streams import Source
from daguerreotype.data.table import StreamedTable, Summary, Table
from daguerreotype.data.ties import FirstRows, untie
from daguerreotype.data.validation import (
    check_column_names,
    check_covariance,
    check_finite,
    check_gappy,
    check_given,
    check_moments,
    check_ranges,
    check_renamed,
    check_size,
    check_sizes,
    check_spread,
    column_names,
    own_names,
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
    rows = read_columns(X)
    if rows.named:
        check_column_names(rows.table.columns)
    values = validate_data(estimator, rows.table, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    names, own = column_names(rows.table, values.shape[1]), own_names(rows.called)
    check_size(values)
    given = read_given(kinds, own or names, numbered=not rows.named)
    if rows.origins:
        check_usable(names, rows.origins, len(values))
    check_finite(values, names, REFUSED if missing == "error" else "")
    intervened = read_interventions(interventions, len(values), own or names, numbered=not rows.named)
    gaps: Gaps | None = None
    n_dropped = 0
    if np.isnan(values).any():
        check_seen(np.isnan(values), names)
        levels = [origin.what in ("text", "category") for origin in rows.origins] or [False] * len(names)
        gaps = Gaps.of(values, np.array(levels))
        # A row of which nothing is seen says nothing.
        kept = ~(np.isnan(values).any(axis=1) if missing == "drop" else np.isnan(values).all(axis=1))
        if kept.sum() < 3:
            raise ValueError(
                f"only {kept.sum()} of {len(values)} rows have no gap, too few for missing='drop': learn from all "
                "of them with missing='auto'."
            )
        n_dropped = int((~kept).sum()) if missing == "drop" else 0
        values = values[kept]
        intervened = None if intervened is None or not intervened[kept].any() else intervened[kept]
    check_sizes(values, names)
    found = find_kinds(values, names, rows.origins, given, numbers_alone=numbers_alone)
    values = encode(values, names, rows.origins, found)
    discrete, unordered = (np.array([getattr(k, what) for k in found]) for what in ("discrete", "unordered"))
    told = found if any(kind.discrete or kind.step > 0 for kind in found) else ()
    table = Table(values, names, None, intervened, named=rows.named, own_names=own, kinds=told)
    if np.isnan(values).any():
        table = replace(table, gaps=np.isnan(values))
        check_spread(np.nanmin(values, axis=0), np.nanmax(values, axis=0), names)  # before EM divides by it
        check_gappy(values, table.summary.covariance, names, discrete, unordered)
    else:
        check_moments(Moments().update(values), names, discrete, unordered)
    if unordered.sum() > 1:
        some = np.flatnonzero(unordered)
        seen = values[:, some][~np.isnan(values[:, some]).any(axis=1)]
        check_renamed(seen, [len(found[j].levels) for j in some], [names[j] for j in some])
    if intervened is not None:
        check_counted(values, intervened, names)
    return ReadTable(table, found, gaps, n_dropped)


def rows_of(estimator: Any, X: Any, kinds: Mapping[Any, Kind]) -> tuple[FloatArray, tuple[Hashable, ...], bool]:
    """Values (m, d) of rows to ask a fitted estimator about, by the kinds of its columns; names; whether named.

    Where one is missing it is nan.
    """
    rows = read_columns(X)
    if rows.named:
        check_column_names(rows.table.columns)
    values = validate_data(estimator, rows.table, dtype=np.float64, ensure_all_finite=False, reset=False)
    names, own = column_names(rows.table, values.shape[1]), own_names(rows.called)
    # Names that are text were compared by scikit-learn.
    if own and own != tuple(kinds) and not any(isinstance(name, str) for name in kinds):
        odd, name = next((new, old) for new, old in zip(own, kinds, strict=True) if new != old)
        raise ValueError(
            f"X has a column {odd!r} where the fitted table has {name!r}: give the same columns in the same "
            "sequence."
        )
    check_finite(values, names, "")
    return encode(values, names, rows.origins, list(kinds.values())), own or names, rows.named


def table_of_chunks(
    source: Source, *, quantiles: bool, on_rows: Callable[[int], None] | None, missing: str = "error"
) -> ReadTable:
    """The table of a source after one pass over its rows, which keeps a sketch of quantiles if asked.

    Rows with gaps are summed up by what is seen of them, from which EM finds all moments; where quantiles are
    asked for, more than moments is, and they are refused.
    """
    check_missing(missing)
    if missing == "drop":
        source = CompleteRows(source)
    empty = _moments_rows_and_sketch if quantiles else _moments_and_rows
    gathered: Any = source.gather(partial(_split, empty) if missing == "auto" else empty, on_rows)
    gaps = gathered.gaps if missing == "auto" else None
    inner = gathered.inner if missing == "auto" else gathered
    sketch = inner.second if quantiles else None
    both = inner.first if quantiles else inner
    seen, rows = both.first, both.second
    if seen.n_chunks == 0 or seen.n_rows + (0 if gaps is None else gaps.n_rows) == 0:
        raise ValueError("the source has no rows: at least 3 are needed, and many more to learn.")
    found = None
    if gaps is None or not gaps.n_rows:
        table = table_of_moments(seen)
    elif quantiles:
        raise ValueError(
            f"{gaps.n_rows} rows have missing values, which curves cannot be learned around chunk by chunk: "
            "choose edges='bic', leave such rows out with missing='drop', or call fit."
        )
    else:
        table, found = _table_of_patterns(seen, gaps)
    spread = untie(rows.values, np.arange(table.n_columns)) if rows.n_rows else None
    steps = None if spread is None or not spread[1].any() else spread[1]
    table = replace(table, source=source, sketch=sketch, on_rows=on_rows, steps=steps)
    kinds = (Kind("continuous", "rows are not in memory"),) * table.n_columns
    dropped = source.n_left_out if isinstance(source, CompleteRows) else 0
    if isinstance(source, CompleteRows) and dropped:
        found = Gaps.counted(seen.n_rows + dropped, source.counts, seen.n_rows)
    return ReadTable(table, kinds, found, dropped)


def _table_of_patterns(complete: Moments, gaps: GapPatterns) -> tuple[StreamedTable, Gaps]:
    """The table behind complete rows and rows with gaps, by EM, and how many gaps there are."""
    names, n = complete.names, complete.n_rows + gaps.n_rows
    check_together(gaps.seen_together(complete.n_rows), names)
    low, high = gaps.low, gaps.high
    if complete.n_rows:
        low, high = np.minimum(low, complete.low), np.maximum(high, complete.high)
    check_size(np.broadcast_to(0.0, (n, len(names))))
    check_spread(low, high, names)
    check_ranges(low, high, n, names)
    skewness: FloatArray = complete.skewness if complete.n_rows else np.zeros(len(names))
    found = gaps.fit_normal(complete)
    check_covariance(found.covariance, n, names)
    summary = Summary(n, found.mean, found.covariance, skewness, low, high)
    table = StreamedTable(
        names=names,
        named=complete.named,
        own_names=own_names(complete.called),
        seen=summary,
        columns=np.arange(len(names)),
        gappy=True,
    )
    return table, Gaps.counted(n, gaps.counts, complete.n_rows)


def table_of_moments(
    covariance: Any, n_rows: int | None = None, names: Any = None, means: Any = None
) -> StreamedTable:
    """The table behind :class:`Moments`, or behind a covariance; without means they count as zero."""
    if isinstance(covariance, Moments):
        seen = check_moments(covariance, covariance.names)
        summary, called, named = Summary.of(seen), seen.called, seen.named
    else:
        matrix, n, given, mean = check_given(covariance, n_rows, names, means)
        d = len(matrix)
        zero = np.zeros(d)
        summary = Summary(n, zero if mean is None else mean, matrix, zero, zero, zero)
        called, named = given or tuple(f"x{i}" for i in range(d)), given is not None
    return StreamedTable(
        names=tuple(map(str, called)),
        named=named,
        own_names=own_names(called),
        seen=summary,
        columns=np.arange(len(called)),
    )


# What follows are functions of a module, so that they can be sent to a cluster.


def _split(empty: Callable[[], Any]) -> SplitRows[Any]:
    return SplitRows(empty(), GapPatterns())


def _moments_and_rows() -> Both[Moments, FirstRows]:
    return Both(Moments(), FirstRows())


def _moments_rows_and_sketch() -> Both[Both[Moments, FirstRows], QuantileSketch]:
    return Both(_moments_and_rows(), QuantileSketch())
