r"""Scales of single columns: as measured, logarithms, logits, inverse hyperbolic sines, Yeo-Johnson powers.

Effects may add up on a scale that is not the one a column was measured on: on that of its logarithm, say, if they
multiply. Each scale is a *form*, a monotone function h with up to three parameters, and
:math:`\log h'(x)` makes likelihoods on different scales comparable.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import boxcox1p

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.data.transforms import centre_and_spread, likeliest_powers

LEAST = float(np.finfo(np.float64).tiny)
BEYOND = (0.02, 0.1)  # standard deviations beyond its ends at which a column's logarithm may begin
ENOUGH = 100_000  # rows to choose a power by
STRAIGHT = (0.2, 1.0)  # standard deviations from the middle to where an inverse hyperbolic sine turns logarithmic
POWERS = (0.0, 0.5, 2.0)  # of Yeo-Johnson transforms


@dataclass(frozen=True)
class Form:
    """A monotone function with parameters (3,), of which it uses the first few.

    Attributes
    ----------
    apply : callable
        From values (m,) and parameters to values.
    log_slope : callable
        From the same to the logarithm of the derivative (m,).
    words : callable
        From parameters to what users read.
    n_parameters : int
        How many of its parameters were chosen to fit the data.
    """

    apply: Callable[[FloatArray, FloatArray], FloatArray]
    log_slope: Callable[[FloatArray, FloatArray], FloatArray]
    words: Callable[[FloatArray], str]
    n_parameters: int


def _log(x: FloatArray, p: FloatArray) -> FloatArray:
    logarithms: FloatArray = np.log(np.maximum(x + p[0], LEAST))  # unseen smaller values: the smallest there is
    return logarithms


def _mirrored_log(x: FloatArray, p: FloatArray) -> FloatArray:
    logarithms: FloatArray = -np.log(np.maximum(p[0] - x, LEAST))
    return logarithms


def _logit(x: FloatArray, p: FloatArray) -> FloatArray:
    return _log(x, -p) + _mirrored_log(x, p[1:])


def _logit_slope(x: FloatArray, p: FloatArray) -> FloatArray:
    slopes: FloatArray = np.log(p[1] - p[0]) - _log(x, -p) + _mirrored_log(x, p[1:])
    return slopes


def _power(x: FloatArray, p: FloatArray) -> FloatArray:
    """Yeo-Johnson of (x - p[1]) / p[2] to the power p[0]."""
    z = (x - p[1]) / p[2]
    powers: FloatArray = np.where(z >= 0.0, boxcox1p(np.abs(z), p[0]), -boxcox1p(np.abs(z), 2.0 - p[0]))
    return powers


def _power_slope(x: FloatArray, p: FloatArray) -> FloatArray:
    z = (x - p[1]) / p[2]
    slopes: FloatArray = (p[0] - 1.0) * np.sign(z) * np.log1p(np.abs(z)) - np.log(p[2])
    return slopes


def _asinh(x: FloatArray, p: FloatArray) -> FloatArray:
    """Inverse hyperbolic sine of (x - p[0]) / p[1]: a logarithm in either direction, straight in between."""
    values: FloatArray = np.arcsinh((x - p[0]) / p[1])
    return values


def _asinh_slope(x: FloatArray, p: FloatArray) -> FloatArray:
    slopes: FloatArray = -0.5 * np.log((x - p[0]) ** 2 + p[1] ** 2)
    return slopes


def _shift(p: float) -> str:
    return f" {'+' if p > 0 else '-'} {abs(p):.3g}" if p else ""


FORMS = {
    "none": Form(lambda x, p: x, lambda x, p: np.zeros(x.shape), lambda p: "none", 0),
    "log": Form(_log, lambda x, p: -_log(x, p), lambda p: f"log(x{_shift(p[0])})" if p[0] else "log", 0),
    "shifted log": Form(_log, lambda x, p: -_log(x, p), lambda p: f"log(x{_shift(p[0])})", 1),
    "mirrored log": Form(_mirrored_log, _mirrored_log, lambda p: f"-log({p[0]:.3g} - x)", 1),
    "logit": Form(_logit, _logit_slope, lambda p: f"logit({p[0]:.3g}, {p[1]:.3g})", 2),
    "asinh": Form(_asinh, _asinh_slope, lambda p: f"asinh((x{_shift(-p[0])}) / {p[1]:.3g})", 2),
    "yeo-johnson": Form(_power, _power_slope, lambda p: f"yeo-johnson({p[0]:.3g})", 1),
}


@dataclass(frozen=True)
class ColumnScales:
    """A scale of its own for every column.

    Attributes
    ----------
    forms : tuple of d str
        Names of `FORMS`.
    parameters : array of shape (d, 3)
        Of the forms, zero where they have fewer.
    """

    forms: tuple[str, ...]
    parameters: FloatArray

    @classmethod
    def as_measured(cls, d: int) -> "ColumnScales":
        """Columns as they came."""
        return cls(("none",) * d, np.zeros((d, 3)))

    @property
    def name(self) -> str:
        """One word, where one describes all columns."""
        forms = {self.form(column) for column in range(len(self.forms))}
        return forms.pop() if len(forms) == 1 else "per column"

    def form(self, column: int) -> str:
        """The form of one column, whether its logarithm is shifted or not."""
        return self.forms[column].removeprefix("shifted ")

    @property
    def n_parameters(self) -> int:
        """Those of all columns."""
        return sum(FORMS[form].n_parameters for form in self.forms)

    @property
    def surprise(self) -> FloatArray:
        """How unusual the scales (d,) are: 0 as measured, 1 a plain logarithm, 2 a scale fitted to the column."""
        return np.array([float(form != "none") + float(FORMS[form].n_parameters > 0) for form in self.forms])

    @property
    def words(self) -> tuple[str, ...]:
        """What users read of each column's scale."""
        return tuple(FORMS[form].words(p) for form, p in zip(self.forms, self.parameters, strict=True))

    def apply(self, values: FloatArray) -> FloatArray:
        """Columns (n, d) on their scales."""
        return self._each(values, lambda form: form.apply)

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Logarithm of the derivative for every value (n, d)."""
        return self._each(values, lambda form: form.log_slope)

    def _each(self, values: FloatArray, part: Callable[[Form], Callable[..., FloatArray]]) -> FloatArray:
        found = np.empty(values.shape)
        for j, (form, p) in enumerate(zip(self.forms, self.parameters, strict=True)):
            found[:, j] = part(FORMS[form])(values[:, j], p)
        return found

    def replaced(self, columns: Sequence[int] | IntArray, others: "ColumnScales") -> "ColumnScales":
        """The same with the scales ``others`` of some columns."""
        forms, parameters = list(self.forms), self.parameters.copy()
        for place, column in enumerate(columns):
            forms[column], parameters[column] = others.forms[place], others.parameters[place]
        return ColumnScales(tuple(forms), parameters)

    def same_as(self, others: "ColumnScales") -> bool:
        """Whether all columns have the same scales."""
        return not self.unlike(others).size

    def unlike(self, others: "ColumnScales") -> IntArray:
        """Columns that have another scale there."""
        same_forms = np.array(self.forms) == np.array(others.forms)
        unlike: IntArray = np.flatnonzero(~same_forms | np.any(self.parameters != others.parameters, axis=1))
        return unlike

    def take(self, places: Sequence[int] | IntArray) -> "ColumnScales":
        """Those of some columns."""
        return ColumnScales(tuple(self.forms[i] for i in places), self.parameters[np.asarray(places, dtype=int)])


def fit_logarithms(values: FloatArray, intervened: BoolArray | None = None) -> ColumnScales:
    """Logarithms of all columns (n, d); of one that is not positive throughout, from 1 % of its range below it."""
    low, spread = values.min(axis=0), np.ptp(values, axis=0)
    parameters = np.zeros((values.shape[1], 3))
    parameters[:, 0] = np.where(low > 0.0, 0.0, 0.01 * spread - low)
    return ColumnScales(("log",) * len(parameters), parameters)


def fit_powers(values: FloatArray, intervened: BoolArray | None = None) -> ColumnScales:
    """Powers that make columns (n, d) look most Gaussian, but for values intervened on (n, d)."""
    centre, spread = centre_and_spread(values, intervened)
    standard = (values - centre) / spread
    # The rows of long columns say the same over and over: those that are looked at fix the power to 0.01.
    step = 1 + len(standard) // ENOUGH
    counted = None if intervened is None else ~intervened[::step]
    powers = likeliest_powers(standard[::step], counted)
    return ColumnScales(("yeo-johnson",) * powers.size, np.column_stack([powers, centre, spread]))


def family(values: FloatArray) -> ColumnScales:
    """The scales that one column (n,) may have beside the one it came on, one after the other.

    Logarithms, plain where all values are positive, and from a little below the least value; the same from a
    little above the largest; between both ends, and from the middle in either direction; and powers of the
    standardized column.
    """
    low, high, centre, spread = (float(f(values)) for f in (np.min, np.max, np.mean, np.std))
    found: list[tuple[str, tuple[float, float, float]]] = []
    if low > 0.0:
        found.append(("log", (0.0, 0.0, 0.0)))
    found += [("shifted log", (share * spread - low, 0.0, 0.0)) for share in BEYOND]
    found += [("mirrored log", (high + share * spread, 0.0, 0.0)) for share in BEYOND]
    found += [("logit", (low - share * spread, high + share * spread, 0.0)) for share in BEYOND]
    found += [("asinh", (float(np.median(values)), share * spread, 0.0)) for share in STRAIGHT]
    found += [("yeo-johnson", (power, centre, spread)) for power in POWERS]
    return ColumnScales(tuple(form for form, _ in found), np.array([p for _, p in found]))


def in_words(scales: Mapping[Any, str], kinds: Mapping[Any, Kind]) -> str:
    """The scales of continuous columns for a reader, those of several columns once.

    >>> number = Kind("continuous", "")
    >>> in_words({"age": "none", "dose": "log", "rate": "log"}, dict.fromkeys(["age", "dose", "rate"], number))
    'log (dose, rate), as measured (age)'
    """
    columns: dict[str, list[str]] = {}
    for label, words in scales.items():
        if not kinds[label].discrete:
            columns.setdefault("as measured" if words == "none" else words, []).append(str(label))
    if len(columns) < 2:
        return next(iter(columns), "as measured")
    ordered = sorted(columns.items(), key=lambda each: each[0] == "as measured")
    return ", ".join(f"{words} ({', '.join(labels)})" for words, labels in ordered)
