"""Validation of tables: finite numbers in enough rows, and no column that is constant, a copy or collinear."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from daguerreotype._lib.labels import listed, plural
from daguerreotype._lib.typing import FloatArray

CORRELATED = 1e-12  # 1 - |correlation| below which two columns are the same up to scale
SPANNED = 1e-10  # share of a column's variance left by the others, below which they determine it


def column_names(X: Any, d: int) -> tuple[str, ...]:
    """Names for messages and results: the DataFrame's, or x0, x1, ..."""
    if isinstance(X, pd.DataFrame):
        return tuple(map(str, X.columns))
    return tuple(f"x{i}" for i in range(d))


def validate_table(estimator: Any, X: Any) -> tuple[FloatArray, tuple[str, ...]]:
    """Values (n, d) and column names of a table to fit ``estimator`` on: finite, and of a size to learn from."""
    check_frame(X)
    values = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    names = column_names(X, values.shape[1])
    check_size(values)
    check_finite(values, names)
    return values, names


def check_frame(X: Any) -> None:
    """Refuse what only a DataFrame can have: duplicate names and columns that hold no numbers."""
    if not isinstance(X, pd.DataFrame):
        return
    repeated = X.columns[X.columns.duplicated()].unique()
    if len(repeated):
        raise ValueError(
            f"column names must be unique, but {listed(repeated)} occur{'s' if len(repeated) == 1 else ''} more "
            "than once. Rename them, for example with X.columns = [...]."
        )
    text = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name].dtype)]
    if text:
        it, s = ("it", "s") if len(text) == 1 else ("them", "")
        raise ValueError(
            f"could not convert to numbers: column{plural(len(text))} {listed(text)} hold{s} {X[text[0]].dtype} "
            f"values. Encode {it} as numbers or drop {it}, for example with X.select_dtypes('number')."
        )


def check_finite(values: FloatArray, names: Sequence[str]) -> None:
    """Refuse missing and infinite values, and say how many are where."""
    for kind, test, advice in (
        ("NaN", np.isnan, "Missing values must be imputed, or their rows dropped, before: X.dropna()."),
        ("infinite", np.isinf, "Replace them, or drop their rows, before."),
    ):
        counts = test(values).sum(axis=0)
        if counts.any():
            bad = np.flatnonzero(counts)
            where = listed([f"{names[j]!r} ({counts[j]})" for j in bad], more="more columns", quote=False)
            row = int(np.flatnonzero(test(values[:, bad[0]]))[0])
            raise ValueError(
                f"X has {counts.sum()} {kind} value{plural(counts.sum())}: {where}; the first is in row {row}. "
                f"{advice}"
            )


def check_size(values: FloatArray) -> None:
    """Refuse fewer than 3 rows or 2 columns."""
    n, d = values.shape
    if n < 3:
        raise ValueError(f"X has n_samples = {n} row{plural(n)}; at least 3 are needed, and many more to learn.")
    if d < 2:
        raise ValueError(f"X has n_features = {d} column, 1 feature(s); at least 2 are needed for a graph.")


def check_columns(values: FloatArray, names: Sequence[str]) -> None:
    """Refuse columns that are constant, copies of each other, or determined exactly by others."""
    check_spread(values.min(axis=0), values.max(axis=0), names)
    centred = values - values.mean(axis=0)
    check_covariance(centred.T @ centred / len(values), len(values), names)


def check_spread(low: FloatArray, high: FloatArray, names: Sequence[str]) -> None:
    """Refuse columns whose least (d,) and largest values (d,) are the same."""
    largest = np.maximum(np.abs(low), np.abs(high))
    constant = [names[int(j)] for j in np.flatnonzero(high - low <= 1e-14 * largest)]
    if constant:
        it, are = ("it", "is") if len(constant) == 1 else ("them", "are")
        raise ValueError(
            f"column{plural(len(constant))} {listed(constant)} {are} constant: nothing can be learned about {it}. "
            f"Drop {it}."
        )


def check_covariance(covariance: FloatArray, n: int, names: Sequence[str]) -> None:
    """Refuse columns that are copies of each other or, in n > d rows, determined exactly by others."""
    d = len(names)
    odd = np.flatnonzero(~(np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0)))
    if odd.size:
        raise ValueError(
            f"the variance of column {names[int(odd[0])]!r} is {covariance[odd[0], odd[0]]:g}: its values are too "
            "large or too close together for floats. Give it in other units."
        )
    scale = np.sqrt(np.diag(covariance))
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
        _check_collinear(correlation + np.eye(d), names)


def _check_collinear(correlation: FloatArray, names: Sequence[str]) -> None:
    """Refuse a column that the others determine exactly, and name those that take part."""
    eigenvalues, vectors = np.linalg.eigh(correlation)
    if eigenvalues[0] > SPANNED:
        return
    target = int(np.argmax(np.abs(vectors[:, 0])))
    others = np.delete(np.arange(len(names)), target)
    inner, cross = correlation[np.ix_(others, others)], correlation[others, target]
    weights, *_ = np.linalg.lstsq(inner, cross, rcond=1e-12)
    if 1.0 - cross @ weights < SPANNED:
        part = others[np.abs(weights) > 1e-6]
        raise ValueError(
            f"column {names[target]!r} is an exact linear combination of {listed([names[j] for j in part])}: "
            "their places in a graph cannot be told apart. Drop one of these columns."
        )
