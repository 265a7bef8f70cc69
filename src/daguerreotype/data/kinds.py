"""Kinds of columns: continuous, count, binary, ordinal and categorical.

A kind says how a column is measured, and with that which noise models may describe it. A table holds numbers
whatever its kinds: levels are held as their codes 0, 1, 2, ..., counts and continuous columns as they are.

:func:`find_kinds` tells kinds from types and values, :func:`encode` makes the table's numbers of them.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln, ndtr, xlogy

from daguerreotype._lib.labels import ColumnPlaces, listed, plural, row_called, shown, suggest
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.columns import (
    NOISE,
    Origin,
    as_number,
    distinct,
    grid_step,
    look_like_dates,
    read_columns,
    sort_levels,
)

# Each kind with the name of the noise model that its columns have by default; "" for the learner's own choice.
KINDS = {
    "continuous": "",  # a number that could take any value in between
    "count": "counts",  # how often something happened: 0, 1, 2, ...
    "binary": "bernoulli",  # one of two levels
    "ordinal": "ordinal",  # one of a few levels that have an order
    "categorical": "categorical",  # one of a few levels without an order
}
WITH_LEVELS = ("binary", "ordinal", "categorical")

FEW = 7  # different values of a column that is ordinal whatever they are, if they are on a grid
SCALE = 11  # places of the longest scale of whole numbers from 0 or 1 on: 0 to 10
LOOSE_ENDS = (
    4.0  # penalty on the ends of a uniform variable on no scale: counts of two rates look a little like one
)
LARGE = 100.0  # mean of whole numbers from which on they are no counts
LEAST_LEVELS = 3  # that a column may have, however few rows there are
ROWS_PER_LEVEL = 10
SAMPLE = 20_000  # rows that tell whether a column has ties


@saved
@dataclass(frozen=True)
class Kind:
    """The kind of one column, and why it is that.

    Attributes
    ----------
    name : str
        One of ``KINDS``.
    reason : str
        What told: "given", "dtype bool", "whole numbers from 0 to 17".
    levels : tuple
        What the codes 0, 1, 2, ... stand for, in the user's words. Empty for counts and for continuous columns,
        but for two levels that an estimator which takes numbers alone is given as 0 and 1.
    step : float
        Distance of neighbouring values of a column on a grid, such as rounded or whole numbers; 0 without one.
    """

    name: str = "continuous"
    reason: str = ""
    levels: Annotated[tuple[Any, ...], Shape("k", labels=True)] = ()
    step: float = 0.0

    def check_saved(self) -> None:
        """Refuse a kind that there is not."""
        if self.name not in KINDS:
            raise ValueError(f"{self.name!r} in place of a kind")

    @property
    def discrete(self) -> bool:
        """Whether its likelihood is a probability mass of codes or counts, and not a density."""
        return self.name != "continuous"

    @property
    def noise(self) -> str:
        """Name of the noise model that discrete columns of this kind have by default; empty for others."""
        return KINDS[self.name]

    @property
    def nominal(self) -> bool:
        """Whether its levels are in no order."""
        return self.name == "categorical"

    @property
    def unordered(self) -> bool:
        """Whether its codes are in no order: two are in any."""
        return self.nominal and len(self.levels) > 2

    @property
    def counts(self) -> bool:
        """Whether its values are counts."""
        return self.name == "count"

    @property
    def on_grid(self) -> bool:
        """Whether its numbers are on a grid: counts, and rounded ones."""
        return self.counts or self.step > 0.0

    def show(self, values: FloatArray) -> npt.NDArray[Any]:
        """What values (m,) stand for: levels in place of their codes, numbers as they are."""
        if not self.levels:
            return values
        text = any(isinstance(level, str) for level in self.levels)
        return np.array(self.levels, dtype=object if text else np.float64)[values.astype(np.int64)]

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


Given = Mapping[int, "str | Kind"]


def read_given(kinds: Any, names: Sequence[Hashable], *, numbered: bool) -> Given:
    """The kinds that the user gives, by the position of the column.

    Parameters
    ----------
    kinds : "auto" or dict
        From columns to names of kinds, or to kinds of another fit.
    names : sequence
        All columns.
    numbered : bool
        Whether columns are known by their position too.
    """
    if isinstance(kinds, str) and kinds == "auto":
        return {}
    if not isinstance(kinds, Mapping):
        raise TypeError(
            f"kinds is {shown(kinds)}: expected 'auto', or a dict from columns to kinds such as "
            "{'age': 'count'}."
        )
    given: dict[int, str | Kind] = {}
    places = ColumnPlaces(names, numbered=numbered)
    for column, kind in kinds.items():
        place = places.find(column)
        if place is None and numbered and isinstance(column, int | np.integer):
            raise ValueError(f"kinds names column {column}, but the columns go from 0 to {len(names) - 1}.")
        if place is None:
            near = suggest(str(column), list(map(str, names)))
            raise ValueError(f"kinds names {column!r}, which is no column; {near}")
        given[place] = kind
    check_names({names[place]: kind for place, kind in given.items()})
    return given


def check_names(kinds: Mapping[Any, Any]) -> None:
    """Refuse what is no kind."""
    for column, kind in kinds.items():
        if not isinstance(kind, Kind) and kind not in KINDS:
            raise ValueError(
                f"kinds says that {column!r} is {shown(kind)}, which is no kind; "
                f"{suggest(str(kind), list(KINDS), 'kinds')}"
            )


def in_words(kinds: Mapping[Any, Kind]) -> str:
    """How many columns are of which kind, and which are not continuous.

    >>> in_words({"age": Kind(), "sex": Kind("binary"), "dose": Kind()})
    '2 continuous, 1 binary (sex)'
    """
    parts = []
    for name in KINDS:
        columns = [str(column) for column, kind in kinds.items() if kind.name == name]
        if columns:
            which = "" if name == "continuous" else f" ({', '.join(columns)})"
            parts.append(f"{len(columns)} {name}{which}")
    return ", ".join(parts)


def find_kinds(
    values: FloatArray,
    names: Sequence[str],
    origins: Sequence[Origin] = (),
    given: Given | None = None,
    *,
    numbers_alone: str = "",
) -> tuple[Kind, ...]:
    """The kind of every column, by what is given, by its type, or by its values.

    Parameters
    ----------
    values : array of shape (n, d)
        Numbers, and codes of columns that held something else; nan where one is missing.
    names : sequence of str
        Columns, for messages.
    origins : sequence of Origin
        What the columns were; empty if all held numbers.
    given : dict
        Kinds by position, see :func:`read_given`.
    numbers_alone : str
        The setting that takes continuous columns alone, such as "edges='lars'"; empty if none does.

    >>> values = np.array([[0.5, 1.0], [1.5, 0.0], [0.7, 1.0]])
    >>> [str(kind) for kind in find_kinds(values, ["a", "b"])]
    ['continuous (numbers)', 'binary (two different values)']
    """
    d = values.shape[1]
    given = given or {}
    origins = origins or (Origin(),) * d
    if numbers_alone:
        return tuple(_as_number(origins[j], names[j], given.get(j), numbers_alone) for j in range(d))
    tied = _have_ties(values)
    missing = np.isnan(values)
    columns = [values[:, j] if not missing[:, j].any() else values[~missing[:, j], j] for j in range(d)]
    return tuple(
        _given_kind(columns[j], names[j], origins[j], given[j])
        if j in given
        else _kind_of(columns[j], origins[j])
        if tied[j] or origins[j].what != "numbers"
        else Kind("continuous", "numbers")
        for j in range(d)
    )


def encode(
    values: FloatArray, names: Sequence[str], origins: Sequence[Origin], kinds: Sequence[Kind]
) -> FloatArray:
    """Rows (m, d) with the levels of ``kinds`` as their codes; nan stays. Other levels are refused."""
    origins = origins or (Origin(),) * len(kinds)
    encoded = values
    for j, (kind, origin) in enumerate(zip(kinds, origins, strict=True)):
        if kind.levels:
            column = _encode_column(values[:, j], names[j], origin, kind)
        elif origin.has_codes:
            raise ValueError(
                f"could not convert to numbers: column {names[j]!r} holds {origin.dtype} values, but was "
                f"{kind.name} in the table that was learned from."
            )
        else:
            continue
        encoded = values.copy() if encoded is values else encoded
        encoded[:, j] = column
    return encoded


def encode_values(values: Any, name: str, kind: Kind) -> FloatArray:
    """Values (m,) of one column as numbers: levels as their codes.

    >>> encode_values(["high", "low"], "dose", Kind("ordinal", "given", ("low", "middle", "high")))
    array([2., 0.])
    """
    if not kind.levels:
        return np.asarray(values, dtype=np.float64)
    rows = read_columns(pd.DataFrame({name: pd.Series(values)}))
    numbers = np.asarray(rows.table, dtype=np.float64)
    return encode(numbers, [name], rows.origins, [kind])[:, 0]


def _encode_column(values: FloatArray, name: str, origin: Origin, kind: Kind) -> FloatArray:
    """Codes (m,) of a column by the levels of its kind."""
    there = ~np.isnan(values)
    if origin.has_codes:
        codes_of = {level: place for place, level in enumerate(kind.levels)}
        # A saved kind may know levels of other types as text.
        places = np.array([*(codes_of.get(level, codes_of.get(str(level), -1)) for level in origin.levels), -1])
        codes = places[np.where(there, values, -1).astype(np.int64)]
    else:
        codes = _nearest(values, kind.levels, max(origin.noise, NOISE))
    unknown = np.flatnonzero(there & (codes < 0))
    if unknown.size:
        first = int(unknown[0])
        seen = origin.levels[int(values[first])] if origin.has_codes else _plain(values[first])
        raise ValueError(
            f"column {name!r} has the level {seen!r} in {row_called(first)}, which the table that was "
            f"learned from had not: its levels are {listed([repr(level) for level in kind.levels], quote=False)}. "
            "Leave such rows out."
        )
    return np.where(there, codes, np.nan)


def _nearest(values: FloatArray, levels: Sequence[Any], noise: float) -> IntArray:
    """Places (m,) of numbers among levels, but for noise; -1 where there is none."""
    numbers = np.array([np.nan if (number := as_number(level)) is None else number for level in levels])
    codes = np.full(values.shape, -1, dtype=np.int64)
    for place in np.flatnonzero(~np.isnan(numbers)).tolist():
        codes[np.abs(values - numbers[place]) <= noise * np.nanmax(np.abs(numbers))] = place
    return codes


# ------------------------------------------------------------------ what is refused


def most_levels(n_rows: int) -> int:
    """How many levels a column may have, so that there is something to learn about each."""
    return max(LEAST_LEVELS, n_rows // ROWS_PER_LEVEL)


def unusable(origin: Origin, n_rows: int, n_levels: int | None = None) -> str:
    """Why nothing can be learned from a column, "dates", "names rows" or "levels"; empty if something can."""
    if origin.what == "dates":
        return "dates"
    levels = len(origin.levels) if n_levels is None else n_levels
    if levels <= most_levels(n_rows) and levels < max(n_rows, 2):
        return ""
    if look_like_dates(origin.levels):
        return "dates"
    return "names rows" if levels == n_rows and origin.what == "text" else "levels"


def check_usable(
    names: Sequence[str],
    origins: Sequence[Origin],
    n_rows: int,
    drop: Callable[[list[str]], str] = "X.drop(columns={})".format,
    of: str = "",
) -> None:
    """Refuse columns ``of`` a file that nothing can be learned from; ``drop`` says how to leave them out."""
    why = {name: unusable(origin, n_rows) for name, origin in zip(names, origins, strict=True)}
    bad = [name for name in names if why[name]]
    if not bad:
        return
    levels = {name: len(origin.levels) for name, origin in zip(names, origins, strict=True)}
    words = {
        "dates": "holds dates",
        "names rows": "names rows: a different text in each",
        "levels": f"has {{}} levels in {n_rows} rows",
    }
    what = listed([f"{name!r} ({words[why[name]].format(levels[name])})" for name in bad], quote=False)
    remedies = []
    if "dates" in why.values():
        remedies.append("Turn dates into numbers, such as days since the first.")
    if "levels" in why.values():
        remedies.append(f"Merge rare levels until there are at most {most_levels(n_rows)}.")
    it = "it" if len(bad) == 1 else "them"
    out = f"{'Or leave' if remedies else 'Leave'} {it} out: {drop(bad)}."
    raise ValueError(
        f"nothing can be learned from column{plural(len(bad))} {what}{of}. {' '.join([*remedies, out])}"
    )


# ------------------------------------------------------------------ given kinds


def _given_kind(values: FloatArray, name: str, origin: Origin, given: "str | Kind") -> Kind:
    """The kind that the user gives, if the column can be of it."""
    kind = given.name if isinstance(given, Kind) else given
    reason = given.reason if isinstance(given, Kind) and given.reason else "given"
    if kind in ("continuous", "count"):
        if origin.has_codes and not (isinstance(given, Kind) and given.levels):
            raise ValueError(_not_a_number(name, kind, origin))
        if kind == "count":
            _check_count(values, name)
            return Kind("count", reason)
        if isinstance(given, Kind):
            return Kind("continuous", reason, given.levels, given.step)
        step = grid_step(*distinct(np.sort(values), origin.noise), origin.noise)
        return Kind("continuous", reason, step=step)
    levels = given.levels if isinstance(given, Kind) and given.levels else _levels_of(values, origin)
    seen = listed([repr(level) for level in levels], quote=False)
    if kind == "binary" and len(levels) > 2:
        raise ValueError(
            f"kinds says that {name!r} is binary, but it has {len(levels)} levels: {seen}. Let it be 'ordinal' or "
            "'categorical', or merge levels."
        )
    ordered = origin.what != "text" and origin.what != "category"
    if kind == "ordinal" and not isinstance(given, Kind):
        if not ordered and any(as_number(level) is None for level in levels):
            raise ValueError(
                f"kinds says that {name!r} is ordinal, but its levels {seen} do not say in which order. Make it "
                "an ordered category: pd.Categorical(column, categories=[...], ordered=True)."
            )
        levels = levels if ordered else sort_levels(levels)
    if not isinstance(given, Kind) and unusable(origin, values.size, len(levels)):
        raise ValueError(
            f"kinds says that {name!r} is {kind}, but it has {len(levels)} levels in {values.size} rows. Merge "
            f"rare levels until there are at most {most_levels(values.size)}, or let numbers be 'continuous' or "
            "'count'."
        )
    return Kind(kind, reason, levels)


def _check_count(values: FloatArray, name: str) -> None:
    """Refuse what is no count."""
    for wrong, what in ((values < 0, "negative"), (values != np.rint(values), "no whole number")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"kinds says that {name!r} is a count, but it is {values[row]:g} in {row_called(row)}, which is "
                f"{what}. Let it be 'continuous'."
            )


def _as_number(origin: Origin, name: str, given: "str | Kind | None", numbers_alone: str) -> Kind:
    """A column for an estimator that takes continuous ones alone: a number, two levels as 0 and 1, or refused."""
    reason = f"{numbers_alone} takes numbers alone"
    levels = origin.levels
    if isinstance(given, Kind) and given.reason != "given":  # what another fit told by types and values
        levels = given.levels if origin.has_codes else ()
        given = None
    kind = given.name if isinstance(given, Kind) else given
    if kind is None and len(levels) > 2:
        kind = "ordinal" if origin.what == "ordered category" else "categorical"
    if kind not in (None, "continuous"):
        raise ValueError(
            f"{numbers_alone} takes continuous columns alone, but {name!r} is {kind}: use edges='gam' or 'bic' "
            "with the loss 'auto', 'bic' or 'entropy', or leave the column out."
        )
    if kind and origin.has_codes:
        raise ValueError(_not_a_number(name, kind, origin))
    return Kind("continuous", "given" if kind else reason, levels)


def _not_a_number(name: str, kind: str, origin: Origin) -> str:
    """What is wrong with a kind of numbers for a column of something else."""
    seen = listed([repr(level) for level in origin.levels], quote=False)
    return (
        f"kinds says that {name!r} is {kind}, but it holds {origin.dtype} values ({seen}). Encode it as numbers, "
        "or let it be categorical."
    )


# ------------------------------------------------------------------ kinds by type and values


def _have_ties(values: FloatArray) -> BoolArray:
    """Which columns (d,) of (n, d) hold some value twice, by some of their rows if there are many."""
    ordered = np.sort(values[:: 1 + len(values) // SAMPLE].T, axis=1)  # (d, m)
    close = 4.0 * np.finfo(np.float64).eps * np.nanmax(np.abs(ordered), axis=1, initial=0.0)  # nan sorts last
    ties: BoolArray = (np.diff(ordered, axis=1) <= close[:, None]).any(axis=1)
    return ties


def _kind_of(values: FloatArray, origin: Origin) -> Kind:
    """The kind of a column that has ties, or is not a column of numbers."""
    if origin.what == "bool":
        return Kind("binary", f"dtype {origin.dtype}", (False, True))
    if origin.has_codes:
        count = len(origin.levels)
        ordered = origin.what == "ordered category"
        name = "binary" if count <= 2 else "ordinal" if ordered else "categorical"
        reason = f"{count} level{plural(count)} of text" if origin.what == "text" else f"dtype {origin.what}"
        return Kind(name, reason, origin.levels)
    levels, counts = distinct(np.sort(values), origin.noise)
    if levels.size == 1:
        return Kind("continuous", "constant")
    if levels.size == 2:
        return Kind("binary", "two different values", _plain_levels(levels))
    step = grid_step(levels, counts, origin.noise)
    if np.array_equal(levels, np.rint(levels)):
        name = _kind_of_whole(levels, counts, step)
        reason = f"whole numbers from {levels[0]:.15g} to {levels[-1]:.15g}"
    else:
        name = "ordinal" if step > 0 and levels.size <= FEW and _repeat(counts) else "continuous"
        reason = f"{levels.size} different values" if name == "ordinal" else f"numbers on a grid of {step:g}"
    if name == "ordinal":
        return Kind(name, reason, _plain_levels(levels))
    return Kind(name, reason if step or name == "count" else "numbers", step=step if name == "continuous" else 0.0)


def _repeat(counts: IntArray) -> bool:
    """Whether few values come back often enough to be levels and not chance."""
    return int(counts.sum()) >= 3 * counts.size


def _kind_of_whole(values: FloatArray, counts: IntArray, step: float) -> str:
    """Ordinal, count or continuous: what makes the column shortest to write down, among what it may be.

    Short scales of whole numbers that begin at 0 or 1 or stay within 0 to 10, and few values, are never
    continuous: what is written down shortest as rounded numbers is ordinal there.
    """
    places = (values[-1] - values[0]) / step + 1 if step else np.inf
    few = values.size <= FEW and (places <= SCALE or _repeat(counts))
    if values[0] < 0:
        return "ordinal" if few else "continuous"
    scale = places <= SCALE and (values[0] <= 1 or values[-1] < SCALE)
    on_grid = length_on_grid(values, counts, step or 1.0, 2.0 if scale else LOOSE_ENDS)
    lengths = {"continuous": on_grid}
    if few or places <= SCALE:
        lengths["ordinal"] = length_as_levels(counts)
        if few or scale:
            lengths = {"ordinal": min(lengths["ordinal"], on_grid)}
    if _may_count(values, counts):
        lengths["count"] = length_as_counts(values, counts)
    return min(lengths, key=lambda name: lengths[name])


def _may_count(values: FloatArray, counts: IntArray) -> bool:
    """Whether whole numbers from 0 on are small and reach down, or vary as those of a Poisson variable do."""
    n = int(counts.sum())
    mean = float(counts @ values) / n
    if mean > LARGE:
        return False
    variance = float(counts @ (values - mean) ** 2) / n
    return bool(values[0] <= mean / 3.0 or abs(variance / mean - 1.0) <= max(0.3, 2.0 * np.sqrt(2.0 / n)))


def _levels_of(values: FloatArray, origin: Origin) -> tuple[Any, ...]:
    """The levels of a column that is given as one of them."""
    if origin.what == "bool":
        return (False, True)
    return origin.levels if origin.has_codes else _plain_levels(distinct(np.sort(values), origin.noise)[0])


def _plain_levels(values: FloatArray) -> tuple[Any, ...]:
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> int | float:
    """A number as one writes it: whole ones without a point, others without the noise of arithmetic."""
    number = float(f"{float(value):.12g}")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


# ------------------------------------------------------------------ code lengths
# Nats for all rows, of the maximum likelihood plus half the logarithm of the rows for every parameter. All are
# probability masses of the values as they came, so that they compare.


SHAPES = np.exp(np.linspace(-2.4, 2.4, 25))  # times the shape that the moments tell
LEAST_MASS = 1e-300


def length_as_counts(values: FloatArray, counts: IntArray) -> float:
    """A Poisson, a negative binomial or a zero-inflated Poisson variable, the shortest, of whole numbers.

    >>> length_as_counts(np.array([0.0, 1.0]), np.array([1, 1])) > 0
    True
    """
    n = int(counts.sum())
    mean = float(counts @ values) / n
    variance = float(counts @ (values - mean) ** 2) / n
    constant = float(counts @ gammaln(values + 1.0))
    lengths = [n * mean - float(xlogy(n * mean, mean)) + constant + 0.5 * np.log(n)]
    if variance > mean:
        shape = SHAPES[:, None] * mean**2 / (variance - mean)  # (s, 1)
        mass = gammaln(values + shape) - gammaln(shape) - shape * np.log1p(mean / shape)
        mass += xlogy(values, mean / (mean + shape))  # (s, m)
        lengths.append(constant - float((mass @ counts).max()) + np.log(n))
        zeros = int(counts[0]) if values[0] == 0 else 0
        if zeros:
            lengths.append(_zero_inflated(n, zeros, n * mean, constant) + np.log(n))
    return float(min(lengths))


def _zero_inflated(n: int, zeros: int, total: float, constant: float) -> float:
    """Minus the log-likelihood of zeros, and of a Poisson variable above 0 for all else."""
    positive = n - zeros
    mean = rate = total / positive
    for _ in range(50):  # mean = rate / (1 - exp(-rate))
        rate = mean * -np.expm1(-rate)
    share = zeros / n
    above = positive * (np.log1p(-share) - np.log(np.expm1(rate))) + total * np.log(rate) - constant
    return -float(zeros * np.log(share) + above)


def length_as_levels(counts: IntArray) -> float:
    """A probability for every level, all but one of them free.

    >>> round(length_as_levels(np.array([2, 2])), 4)
    3.4657
    """
    n = int(counts.sum())
    return float(-(counts @ np.log(counts / n)) + 0.5 * (counts.size - 1) * np.log(n))


def length_on_grid(values: FloatArray, counts: IntArray, step: float, ends: float = 2.0) -> float:
    """A Gaussian or a uniform variable that was rounded to a grid, whichever is shorter.

    Each of the ``ends`` of a uniform variable is known to one part in n, and so costs the logarithm of n, twice
    what other parameters do. Ends that nothing but the column speaks for had better cost more than two would.
    """
    n = int(counts.sum())
    mean = float(counts @ values) / n
    # Rounding has added the variance of a uniform variable (Sheppard's correction).
    variance = float(counts @ (values - mean) ** 2) / n
    sd = np.sqrt(max(variance - step**2 / 12.0, 0.05 * step**2))
    distance = np.abs(values - mean)  # in the lower tail the difference is taken among small numbers
    mass = np.maximum(ndtr((0.5 * step - distance) / sd) - ndtr((-0.5 * step - distance) / sd), LEAST_MASS)
    gaussian = -float(counts @ np.log(mass)) + np.log(n)
    uniform = n * np.log((values[-1] - values[0]) / step + 1.0) + ends * np.log(n)
    return float(min(gaussian, uniform))
