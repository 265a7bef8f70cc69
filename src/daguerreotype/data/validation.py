"""Validation of tables: finite numbers in enough rows, and no column that is constant, a copy or collinear."""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.labels import check_writable, listed, plural, row_called, shown
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.columns import check_table_like

LEAST_ROWS = 3  # that a table needs, and two columns that are seen together, and a column's own fit
LEAST_SPREAD, MOST_SPREAD = 1e-75, 1e75  # standard deviations whose fourth power is a float
CORRELATED = 1e-12  # 1 - |correlation| below which two columns are the same up to scale
ASYMMETRY = 1e-8  # of a given covariance, relative to its variances
NEARLY = 0.999  # correlation in a table with gaps from where on two columns may be copies
SPANNED = 1e-10  # share of a column's variance left by the others, below which they determine it


def column_names(X: Any, d: int) -> tuple[str, ...]:
    """Names for messages: the DataFrame's as text, or x0, x1, ..."""
    if isinstance(X, pd.DataFrame):
        return tuple(map(str, X.columns))
    return tuple(f"x{i}" for i in range(d))


def validate_table(estimator: Any, X: Any) -> tuple[FloatArray, tuple[str, ...]]:
    """Values (n, d) and column names of a table of numbers to fit ``estimator`` on: finite, and large enough."""
    from sklearn.utils.validation import validate_data

    check_table_like(X)
    check_frame(X)
    try:
        values = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    except OverflowError as error:
        raise ValueError(f"X has whole numbers that are too large for floats: {error}.") from None
    names = column_names(X, values.shape[1])
    check_table(values, names)
    return values, names


def check_table(values: FloatArray, names: Sequence[str]) -> None:
    """Refuse rows (n, d) that are too few or not finite, and columns that are constant, copies or collinear."""
    check_size(*values.shape)
    check_finite(values, names)
    check_ranges(values.min(axis=0), values.max(axis=0), len(values), names)
    centred = values - values.mean(axis=0)
    check_covariance(centred.T @ centred / len(values), len(values), names)


def check_frame(X: Any) -> None:
    """Refuse what only a DataFrame can have: duplicate names and columns that hold no numbers."""
    if not isinstance(X, pd.DataFrame):
        return
    check_column_names(X.columns)
    text = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name].dtype)]
    if text:
        it, s = ("it", "s") if len(text) == 1 else ("them", "")
        raise ValueError(
            f"could not convert to numbers: column{plural(len(text))} {listed(text)} hold{s} {X[text[0]].dtype} "
            f"values. Encode {it} as numbers or drop {it}, for example with X.select_dtypes('number')."
        )


def check_column_names(names: Collection[Hashable]) -> None:
    """Refuse names that are missing, that several columns have, or of which some are text and some are not."""
    missing = [place for place, name in enumerate(names) if name is None or name is pd.NaT or name != name]
    if missing:
        raise ValueError(
            f"column {missing[0] + 1} of {len(names)} has no name. Name all columns, for example with "
            "X.columns = [...]."
        )
    check_writable(names, "column")
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if repeated:
        raise ValueError(
            f"column names must be unique, but {listed(repeated)} occur{'s' if len(repeated) == 1 else ''} more "
            "than once. Rename them, for example with X.columns = [...]."
        )
    other = [name for name in names if not isinstance(name, str)]
    if other and len(other) < len(names):
        text = next(name for name in names if isinstance(name, str))
        raise TypeError(
            f"some column names are text, as {text!r}, and some are not, as {other[0]!r}. Make all of them text: "
            "X.columns = X.columns.map(str)."
        )


IMPUTE = "Missing values must be imputed, or their rows dropped, before: X.dropna()."


def check_finite(values: FloatArray, names: Sequence[str], missing: str = IMPUTE) -> None:
    """Refuse infinite values, and say how many are where; missing ones too, unless ``missing`` advice is empty."""
    for kind, test, advice in (
        ("NaN", np.isnan, missing),
        ("infinite", np.isinf, "Replace them, or drop their rows, before."),
    ):
        if not advice:
            continue
        counts = test(values).sum(axis=0)
        if counts.any():
            bad = np.flatnonzero(counts)
            where = listed([f"{names[j]!r} ({counts[j]})" for j in bad], more="more columns", quote=False)
            row = int(np.flatnonzero(test(values[:, bad[0]]))[0])
            raise ValueError(
                f"X has {counts.sum()} {kind} value{plural(counts.sum())}: {where}; the first is in "
                f"{row_called(row)}. {advice}"
            )


def check_size(n: int, d: int) -> None:
    """Refuse fewer than 3 rows or 2 columns."""
    if n < LEAST_ROWS:
        raise ValueError(
            f"X has n_samples = {n} row{plural(n)}; at least {LEAST_ROWS} are needed, and many more to learn."
        )
    if d < 2:
        raise ValueError(f"X has n_features = {d} column, 1 feature(s); at least 2 are needed for a graph.")


def check_ranges(low: FloatArray, high: FloatArray, n: int, names: Sequence[str]) -> None:
    """Refuse columns of n rows that are constant, or whose squares no float holds, by their ends (d,).

    No standard deviation is above half the range, and none below the range divided by the root of 2 n.
    """
    half = high / 2.0 - low / 2.0  # the range itself may overflow
    large = half / np.sqrt(0.5 * n) > MOST_SPREAD
    odd = np.flatnonzero(large | ((half > 0) & (half < LEAST_SPREAD)))
    if odd.size:
        j = odd[0]
        raise _wrong_unit(names[j], f"its values go from {low[j]:g} to {high[j]:g}")
    constant = [names[j] for j in np.flatnonzero(are_constant(low, high))]
    if constant:
        it, are = ("it", "is") if len(constant) == 1 else ("them", "are")
        raise ValueError(
            f"column{plural(len(constant))} {listed(constant)} {are} constant: nothing can be learned about {it}. "
            f"Drop {it}."
        )


def are_constant(low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether least (d,) and largest values (d,) of columns are the same."""
    constant: BoolArray = high / 2.0 - low / 2.0 <= 5e-15 * np.maximum(np.abs(low), np.abs(high))
    return constant


def _wrong_unit(name: str, what: str) -> ValueError:
    """The error of a column whose squares no float holds."""
    return ValueError(
        f"the variance of column {name!r} is too large or too small for floats: {what}. Give it in other units, "
        f"so that its standard deviation is between {LEAST_SPREAD:g} and {MOST_SPREAD:g}."
    )


def check_covariance(
    covariance: FloatArray,
    n: int,
    names: Sequence[str],
    discrete: BoolArray | None = None,
    unordered: BoolArray | None = None,
) -> None:
    """Refuse columns that are copies of each other or, in n > d rows, determined exactly by others.

    ``discrete`` columns (d,) may be determined: a level that holds if one of others does is an effect. Codes of
    ``unordered`` ones are combined with nothing: their sums mean nothing.
    """
    d = len(names)
    variances = np.diag(covariance)
    odd = np.flatnonzero(~((variances > LEAST_SPREAD**2) & (variances < MOST_SPREAD**2)))
    if odd.size:
        raise _wrong_unit(names[odd[0]], f"it is {variances[odd[0]]:g}")
    scale = np.sqrt(variances)
    correlation = covariance / (scale[:, None] * scale)
    np.fill_diagonal(correlation, 0.0)
    first, second = divmod(int(np.argmax(np.abs(correlation))), d)
    if 1.0 - abs(correlation[first, second]) < CORRELATED:
        copies = [names[j] for j in range(d) if j != first and 1 - abs(correlation[first, j]) < CORRELATED]
        raise ValueError(
            f"columns {listed([names[first], *copies])} are the same up to shift and scale: no data can tell "
            "their places in a graph apart. Keep one of them."
        )
    if n > d:
        ordered = np.arange(d) if unordered is None else np.flatnonzero(~unordered)
        may = np.zeros(d, dtype=np.bool_) if discrete is None else discrete
        if ordered.size:
            _check_collinear(
                (correlation + np.eye(d))[np.ix_(ordered, ordered)], [names[int(j)] for j in ordered], may[ordered]
            )


def _check_collinear(correlation: FloatArray, names: Sequence[str], may: BoolArray) -> None:
    """Refuse a column that others determine exactly, but for those that may be, and name those that take part."""
    eigenvalues, vectors = np.linalg.eigh(correlation)
    if eigenvalues[0] > SPANNED:
        return
    # Those that take most part first; if some may be determined, any of the others is looked at.
    targets = np.argsort(-np.abs(vectors[:, 0]), kind="stable")
    for target in targets[~may[targets]] if may.any() else targets[:1]:
        _check_determined(correlation, names, int(target))


def _check_determined(correlation: FloatArray, names: Sequence[str], target: int) -> None:
    """Refuse one column if the others determine it."""
    rest = np.delete(np.arange(len(names)), target)
    inner, cross = correlation[np.ix_(rest, rest)], correlation[rest, target]
    weights, *_ = np.linalg.lstsq(inner, cross, rcond=1e-12)
    if 1.0 - cross @ weights < SPANNED:
        part = rest[np.abs(weights) > 1e-6]
        raise ValueError(
            f"column {names[target]!r} is an exact linear combination of {listed([names[j] for j in part])}: "
            "their places in a graph cannot be told apart. Drop one of these columns."
        )


def check_copies(values: FloatArray, covariance: FloatArray, names: Sequence[str]) -> None:
    """Refuse columns of rows (n, d) with gaps that are copies where both are seen."""
    scale = np.sqrt(np.diag(covariance))
    close = np.triu(np.abs(covariance) / (scale[:, None] * scale) > NEARLY, 1)
    for i, j in np.argwhere(close).tolist():
        both = values[~np.isnan(values[:, [i, j]]).any(axis=1)][:, [i, j]]
        if np.ptp(both, axis=0).min() > 0.0:
            check_covariance(np.cov(both.T), 0, [names[i], names[j]])


def check_renamed(codes: FloatArray, n_levels: Sequence[int], names: Sequence[str]) -> None:
    """Refuse columns of codes (n, c) without an order whose levels are those of another under other names."""
    sizes = [
        np.bincount(column.astype(np.int64), minlength=k) for column, k in zip(codes.T, n_levels, strict=True)
    ]
    seen: dict[tuple[int, ...], list[int]] = {}
    for j, size in enumerate(sizes):
        for i in seen.setdefault(tuple(sorted(size.tolist())), []):
            pairs = np.unique(codes[:, i] * n_levels[j] + codes[:, j])
            if pairs.size == np.count_nonzero(size):
                raise ValueError(
                    f"columns {listed([names[i], names[j]])} have the same levels under two names: no data can "
                    "tell their places in a graph apart. Keep one of them."
                )
        seen[tuple(sorted(size.tolist()))].append(j)


def check_given(
    covariance: Any, n_rows: Any, names: Any, means: Any
) -> tuple[FloatArray, int, tuple[Hashable, ...] | None, FloatArray | None]:
    """A covariance that the user gives, its number of rows, names and means, or a refusal."""
    if names is None and isinstance(covariance, pd.DataFrame):
        names = covariance.columns.tolist()
    if names is not None:
        names = tuple(names)
        check_column_names(names)
    matrix = np.array(covariance, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(f"covariance has shape {matrix.shape}: expected (d, d) with at least 2 columns.")
    d = len(matrix)
    labels = tuple(f"x{i}" for i in range(d)) if names is None else tuple(map(str, names))
    if len(labels) != d:
        raise ValueError(f"names are {labels}: expected {d} different ones, one for each column of covariance.")
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < LEAST_ROWS:
        raise ValueError(
            f"n_rows is {shown(n_rows)}: expected the number of rows behind the covariance, at least {LEAST_ROWS}."
        )
    variances = np.diag(matrix)
    wrong = np.flatnonzero(~(np.isfinite(matrix).all(axis=0) & (variances > 0)))
    if wrong.size:
        raise ValueError(
            f"the covariance of {labels[wrong[0]]!r} is not finite, or its variance is not positive. Drop it if "
            "it is constant."
        )
    scale = np.sqrt(variances)
    skewed = np.abs(matrix - matrix.T) / (scale[:, None] * scale)
    if skewed.max() > ASYMMETRY:
        i, j = (labels[k] for k in divmod(int(np.argmax(skewed)), d))
        raise ValueError(f"covariance is not symmetric: its entries for {i!r} and {j!r} differ.")
    matrix = 0.5 * (matrix + matrix.T)
    least = float(np.linalg.eigvalsh(matrix / (scale[:, None] * scale))[0])
    if least < -ASYMMETRY:
        raise ValueError(
            f"covariance is no covariance of any rows: a combination of columns would have variance {least:.2g} "
            "(of 1). Were its entries computed from different rows?"
        )
    mean = None if means is None else np.array(means, dtype=np.float64)
    if mean is not None and (mean.shape != (d,) or not np.isfinite(mean).all()):
        raise ValueError(f"means have shape {mean.shape}, or are not finite: expected {d} numbers.")
    return matrix, int(n_rows), names, mean
