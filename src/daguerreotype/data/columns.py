"""Columns of tables of any library as numbers, with what they were before and the levels of their codes."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import FloatArray, IntArray

NOISE = 1e-10  # of arithmetic with doubles, relative to the largest value
RESOLVED = 100.0  # a step is this many times what noise can move a value by
REPEATED = 3  # rows per different value that tell a grid from duplicated rows
TIES_OF_NORMAL = 0.19  # pairs of n normal values in one cell of width w: this times n^2 w / interquartile range


def distinct(ordered: FloatArray, noise: float = NOISE) -> tuple[FloatArray, IntArray]:
    """Different values (m,) of a sorted column (n,), and how often each is there; what noise tells apart is one.

    >>> values, counts = distinct(np.array([0.3, 0.1 + 0.2, 0.5]))
    >>> values, counts
    (array([0.3, 0.5]), array([2, 1]))
    """
    tolerance = noise * max(abs(ordered[0]), abs(ordered[-1]))
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > tolerance]))
    return ordered[first], np.diff(np.append(first, ordered.size))


def grid_step(values: FloatArray, counts: IntArray, noise: float = NOISE) -> float:
    """Distance of neighbours on the grid that a column with ties is on, in its units; 0 if there is none.

    The greatest common divisor of the differences of ``values``, by Euclid's algorithm on all of them at once.
    Duplicated rows of a smooth column and an atom in it have no such divisor, or one so small that rounding to it
    would make no ties.

    Parameters
    ----------
    values, counts : arrays of shape (m,)
        Different values, ascending, and how often each is there.
    noise : float
        What arithmetic may have moved values by, relative to the largest.

    >>> grid_step(np.array([0.0, 0.25, 1.0, 1.75]), np.array([9, 5, 16, 8]))
    0.25
    """
    if values.size < 2 or values.size == counts.sum():
        return 0.0
    gaps = np.diff(values)
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    least = _least_step(values, counts)
    if largest < 2**53 and np.array_equal(values, np.rint(values)):
        step = float(np.gcd.reduce(gaps.astype(np.int64)))
        return step if step >= least else 0.0
    tolerance = noise * largest
    least = max(least, RESOLVED * tolerance)
    step = float(gaps.min())
    while least <= step < np.inf:
        multiples = np.rint(gaps / step)
        # One gap is known to the noise of two values, all together to the same divided by the sum of multiples.
        closer = (values[-1] - values[0]) / multiples.sum()
        if np.abs(gaps - multiples * closer).max() <= tolerance:
            return float(f"{closer:.12g}")
        rest = np.abs(gaps - multiples * step)
        step = float(rest[rest > tolerance].min(initial=np.inf))
    return 0.0


def _least_step(values: FloatArray, counts: IntArray) -> float:
    """The step at which one tie is to be expected, leaving out the most frequent value, which may be an atom."""
    without_atom = counts.copy()
    without_atom[np.argmax(counts)] = 0
    n = max(int(without_atom.sum()), 1)
    if n >= REPEATED * (values.size - 1):  # no resample of smooth values repeats them so often
        return 0.0
    reached = np.cumsum(without_atom) / n
    low, high = (min(int(np.searchsorted(reached, share)), values.size - 1) for share in (0.25, 0.75))
    return float(values[high] - values[low]) / (TIES_OF_NORMAL * n**2)


DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}([ T].*)?|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d\d)([ T].*)?")
# Columns of objects whose values pandas finds to be ...
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")
DATES = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period")


@dataclass(frozen=True)
class Origin:
    """What a column was before it became numbers.

    Attributes
    ----------
    what : {"numbers", "bool", "text", "category", "ordered category", "dates"}
        What it held.
    levels : tuple
        What codes 0, 1, 2, ... stand for in columns of text and categories: those that occur, ordered.
    dtype : str
        What pandas calls its type.
    noise : float
        What arithmetic may have moved numbers by, relative to the largest.
    """

    what: str = "numbers"
    levels: tuple[Any, ...] = ()
    dtype: str = "float64"
    noise: float = NOISE

    @property
    def has_codes(self) -> bool:
        """Whether its numbers are codes of levels."""
        return self.what not in ("numbers", "bool")


@dataclass(frozen=True)
class Rows:
    """A table as numbers.

    Attributes
    ----------
    table : array or DataFrame of shape (n, d)
        Numbers, and codes of columns that held something else; nan where a value is missing. A table of numbers is
        what the user gave.
    origins : tuple of Origin
        What the columns were; empty if all held numbers.
    named : bool
        Whether the columns have names.
    """

    table: Any
    origins: tuple[Origin, ...]
    named: bool


def read_columns(X: Any) -> Rows:
    """The columns of a pandas or polars DataFrame, a pyarrow Table, an array or a list of rows as numbers."""
    X = to_pandas(X)
    check_table_like(X)
    if isinstance(X, pd.DataFrame):
        return _read_frame(X)
    frame = _frame_of_objects(X)
    if frame is None:
        short = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and X.dtype.itemsize < 8
        origin = Origin(dtype=str(X.dtype), noise=_noise(X.dtype)) if short else Origin()
        return Rows(X, (origin,) * X.shape[1] if short else (), named=False)
    read = _read_frame(frame)
    return Rows(np.asarray(read.table, dtype=np.float64), read.origins, named=False)


def check_table_like(X: Any) -> None:
    """Refuse what has no rows and columns."""
    if issparse(X):
        raise TypeError("X is a sparse matrix, which is not supported: give X.toarray(), if it fits in memory.")
    listed = isinstance(X, list | tuple)
    if not (listed or isinstance(X, pd.DataFrame) or hasattr(X, "__array__")):
        raise TypeError(f"X is a {type(X).__name__}: expected a DataFrame, or an array or a list of rows.")
    if getattr(X, "ndim", 2) != 2 or (listed and (len(X) == 0 or np.ndim(X[0]) == 0)):
        raise ValueError(f"X is {shown(X)}: expected a table, with rows and columns. One row is [[1.0, 2.0]].")


def to_pandas(X: Any) -> Any:
    """A table of polars, pyarrow or another library with named columns as a DataFrame; anything else as it is."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, which is not supported: give X.astype(float).filled(np.nan).")
    if isinstance(X, pd.DataFrame | pd.Series):
        return X
    foreign = hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")
    return pd.api.interchange.from_dataframe(X) if foreign else X


def _frame_of_objects(X: Any) -> pd.DataFrame | None:
    """The columns of rows that are not all numbers; None where they are, or where they are nothing known."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "OUS" or X.ndim != 2:
            return None
    elif not isinstance(X, list | tuple):
        return None
    try:
        np.asarray(X, dtype=np.float64)
        return None
    except (TypeError, ValueError):
        pass
    try:
        frame = pd.DataFrame(X)
    except (TypeError, ValueError):
        return None
    understood = frame.map(
        lambda cell: cell is None or cell is pd.NA or isinstance(cell, str | int | float | np.generic)
    )
    if frame.empty or not understood.to_numpy().all():
        return None
    return frame.apply(_numbers_if_all_are)


def _numbers_if_all_are(column: pd.Series) -> pd.Series:
    """A column of objects as numbers if every cell can be one: in an array of text, numbers are text too."""
    try:
        return pd.to_numeric(column)
    except (TypeError, ValueError):
        return column.infer_objects()


def _read_frame(frame: pd.DataFrame) -> Rows:
    """A DataFrame as numbers; as it is if it has no column of anything else."""
    plain = [dtype for dtype in frame.dtypes if isinstance(dtype, np.dtype) and dtype.kind in "fiu"]
    if len(plain) == frame.shape[1] and all(dtype.itemsize >= 8 or dtype.kind != "f" for dtype in plain):
        return Rows(frame, (), named=True)
    if any(isinstance(dtype, np.dtype) and dtype.kind == "c" for dtype in frame.dtypes):
        return Rows(frame, (), named=True)  # complex numbers, which are refused in words of their own
    read = [_read_column(frame.iloc[:, j]) for j in range(frame.shape[1])]
    values = np.column_stack([numbers for numbers, _ in read]) if read else np.zeros((len(frame), 0))
    table = pd.DataFrame(values, columns=frame.columns, index=frame.index)
    return Rows(table, tuple(origin for _, origin in read), named=True)


def _read_column(column: pd.Series) -> tuple[FloatArray, Origin]:
    """Numbers or codes (n,) of a column, nan where a value is missing, and what it was."""
    kinds, dtype = pd.api.types, column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        used = column.cat.remove_unused_categories()
        what = "ordered category" if used.cat.ordered else "category"
        return _codes(used.cat.codes.to_numpy()), Origin(what, tuple(used.cat.categories.tolist()), "category")
    inferred = ""
    if not kinds.is_numeric_dtype(dtype):
        if kinds.is_datetime64_any_dtype(dtype) or dtype.kind == "m" or isinstance(dtype, pd.PeriodDtype):
            inferred = "date"
        else:
            inferred = kinds.infer_dtype(column, skipna=True)
    if kinds.is_bool_dtype(dtype) or inferred == "boolean":
        word = "bool" if inferred else str(dtype)
        return _floats(column), Origin("bool", dtype=word)
    if not inferred or inferred in NUMBERS:
        return _floats(column), Origin("numbers", dtype=str(dtype), noise=_noise(dtype))
    if inferred in DATES:
        return np.where(column.isna(), np.nan, 0.0), Origin("dates", dtype=str(dtype))
    try:
        codes, words = pd.factorize(column.astype(object))
    except TypeError as error:
        raise ValueError(
            f"column {column.name!r} holds values that are neither numbers nor text ({error}). Encode it as "
            "numbers, or leave it out."
        ) from None
    levels = sort_levels(words.tolist())
    place = {level: number for number, level in enumerate(levels)}
    ranks = np.array([*(place[level] for level in words.tolist()), -1])  # the last for what is missing
    return _codes(ranks[codes]), Origin("text", levels, str(dtype))


def _noise(dtype: Any) -> float:
    """What arithmetic may have moved numbers of a type by: short floats tell fewer digits apart."""
    short = isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8
    return 8.0 * float(np.finfo(dtype).eps) if short else NOISE


def _floats(column: pd.Series) -> FloatArray:
    """Numbers (n,), nan where one is missing."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _codes(codes: Any) -> FloatArray:
    """Codes (n,) as floats, nan in place of -1."""
    return np.where(codes < 0, np.nan, codes).astype(np.float64)


def sort_levels(levels: Sequence[Any]) -> tuple[Any, ...]:
    """Levels in order: as numbers if all are, or read as such; else as text.

    >>> sort_levels(["10", "9", "2"]), sort_levels(["mild", "strong", "grave"])
    (('2', '9', '10'), ('grave', 'mild', 'strong'))
    """
    numbers = {level: number for level in levels if (number := as_number(level)) is not None}
    if len(numbers) == len(levels):
        return tuple(sorted(levels, key=lambda level: numbers[level]))
    return tuple(sorted(levels, key=lambda level: (not isinstance(level, str), str(level))))


def as_number(level: Any) -> float | None:
    """The number that a level is or reads as; None if it is none."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def look_like_dates(levels: Sequence[Any]) -> bool:
    """Whether all levels are text that is written like dates.

    >>> look_like_dates(["2024-01-31", "2024-02-01 12:00"]), look_like_dates(["31.1.24"]), look_like_dates(["1.5"])
    (True, True, False)
    """
    return bool(levels) and all(isinstance(level, str) and DATE.fullmatch(level.strip()) for level in levels)
