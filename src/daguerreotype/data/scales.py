r"""Scales of measurement: as measured, logarithms, logits, inverse hyperbolic sines, powers of Yeo and
Johnson (2000) and of John and Draper (1980).

Effects may add up on a scale that is not the one a column was measured on: on that of its logarithm, say, if
they multiply. A scale is a monotone function h of one column, with a few parameters. For  y = h(x)  the
density of x is that of y times :math:`h'(x)`, so likelihoods on different scales are compared after adding the
mean of :math:`\log h'(x)` (per row of data, summed over columns).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import boxcox1p, ndtr

from daguerreotype._lib.labels import shown
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.registry import Registry
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind

LEAST = float(np.finfo(np.float64).tiny)
BEYOND = (0.02, 0.1)  # standard deviations beyond its ends at which a column's logarithm may begin
STRAIGHT = (0.2, 1.0)  # standard deviations from the middle to where an inverse hyperbolic sine turns logarithmic
# Exponents of modulus scales, and standard deviations from the middle to where they begin to bend: roots of the
# distance, nearly plain ones and ones that are straight near the middle, and powers that draw out ends.
MODULI = ((2.0 / 3.0, 0.05), (0.5, 0.5), (2.0, 1.0), (3.0, 1.0))
POWERS = (0.0, 0.5, 2.0)  # of Yeo-Johnson scales that columns may have
# Normal scores of the quantiles that the knots of a column are at, and standard deviations that they are apart.
NORMAL, NARROWEST = np.linspace(-2.0, 2.0, 9), 1e-3
POWER_ROWS = 100_000  # rows by which a power is fitted: they fix it to 0.01
LEAST_POWER, MOST_POWER = -3.0, 5.0
UNUSUAL = 2.5  # standard deviations of what chance does to moments, beyond which columns may not be Gaussian
CLOSE = 0.1  # share of the least value below which a plain logarithm goes on otherwise
ROUNDED = 1e-9  # share of a distance that rounding may take
LEAST_EXPONENT = 1e-6  # by which a power is told from a logarithm

# Nats per row by which a column alone is likelier as a Gaussian on another scale, where parents are searched for
# then; and where nothing explains it, it is on that of its logarithm as a cause.
FAR = 0.05
CHANCE = 0.1  # ridge of correlations for as many columns as there are rows

Fit = Callable[[FloatArray, BoolArray | None], FloatArray]


@dataclass(frozen=True)
class Scale:
    """A monotone function with a few parameters.

    Attributes
    ----------
    help : str
        What it is for, in one line.
    apply : callable
        From columns (m, d) and their parameters (p, d), of which it uses the first few, to columns.
    log_slope : callable
        From the same to logarithms of the derivatives (m, d).
    fit : callable, optional
        From columns (n, d), and where they were intervened on (n, d) or None, to their parameters (d, 3). Without
        it users cannot ask for the scale by name: only "auto" tries it.
    from_ends : bool
        Whether the least and largest values of every column are enough to fit it, so that rows may be streamed.
    words : callable, optional
        From parameters to what users read; by default the name.
    n_parameters : int
        How many of its parameters were chosen to fit the data.
    """

    help: str
    apply: Callable[[FloatArray, FloatArray], FloatArray]
    log_slope: Callable[[FloatArray, FloatArray], FloatArray]
    fit: Fit | None = None
    from_ends: bool = False
    words: Callable[[FloatArray], str] | None = None
    n_parameters: int = 0


def _near_and_beyond(distances: FloatArray, least: FloatArray) -> tuple[FloatArray, FloatArray | float]:
    """Distances (m, d) from where logarithms begin, the ``least`` (d,) seen at least, and 1 + how much they lack.

    Without a least one, 0, unseen smaller distances are the smallest number there is.
    """
    near = np.maximum(distances, np.maximum(least, LEAST))
    lacking = near - distances
    if not (lacking > ROUNDED * near).any():  # as in all rows that a scale was fitted to
        return near, 1.0
    return near, np.where(least > 0.0, 1.0 + lacking / near, 1.0)


def _log_distance(distances: FloatArray, least: FloatArray) -> FloatArray:
    """Logarithms of distances t (m, d): below the least one seen, l, they go on as  log l - log(1 + (l - t) / l).

    That has the same slope at l, and is there for any t: fresh values beyond what was seen have a density too.
    """
    near, more = _near_and_beyond(distances, least)
    return np.asarray(np.log(near / more))


def _steepness(distances: FloatArray, least: FloatArray) -> FloatArray:
    """One over the slope of that."""
    near, more = _near_and_beyond(distances, least)
    return np.asarray(near * more)


def _log_slope_of_logit(x: FloatArray, p: FloatArray) -> FloatArray:
    below, above = _steepness(x - p[0], p[2]), _steepness(p[1] - x, p[2])
    return np.asarray(np.log(below + above) - np.log(below) - np.log(above))


def _power(x: FloatArray, p: FloatArray) -> FloatArray:
    """Yeo-Johnson of (x - p[1]) / p[2] to the power p[0]."""
    z = (x - p[1]) / p[2]
    powers: FloatArray = np.where(z >= 0.0, boxcox1p(np.abs(z), p[0]), -boxcox1p(np.abs(z), 2.0 - p[0]))
    return powers


def _modulus(x: FloatArray, p: FloatArray) -> FloatArray:
    """One more than distances (x - p[0]) / p[1] from the middle, to the power p[2], in either direction."""
    z = (x - p[0]) / p[1]
    powers: FloatArray = np.sign(z) * boxcox1p(np.abs(z), p[2])
    return powers


def _pieces(x: FloatArray, knots: FloatArray) -> tuple[IntArray, FloatArray]:
    """The piece between two of the knots (k, d) that each value (m, d) is in or nearest to, and how wide it is."""
    pairs = zip(x.T, knots[1:-1].T, strict=True)
    pieces = np.column_stack([np.searchsorted(inner, column, side="right") for column, inner in pairs])
    return pieces, np.take_along_axis(np.diff(knots, axis=0), pieces, axis=0)


def _normal_scores(x: FloatArray, p: FloatArray) -> FloatArray:
    """Those of the knots p, and straight lines between and beyond them."""
    pieces, widths = _pieces(x, p)
    scores: FloatArray = NORMAL[pieces] + np.ptp(NORMAL[:2]) * (x - np.take_along_axis(p, pieces, axis=0)) / widths
    return scores


def _shift(p: float) -> str:
    return f" {'+' if p > 0 else '-'} {abs(p):.3g}" if p else ""


def _least_of_logarithms(values: FloatArray, intervened: BoolArray | None = None) -> FloatArray:
    """Shifts of columns (n, d): none, or for one that is not positive throughout 1 % of its range below it."""
    low, spread = values.min(axis=0), np.ptp(values, axis=0)
    parameters = np.zeros((values.shape[1], 3))
    parameters[:, 0] = np.where(low > 0.0, 0.0, 0.01 * spread - low)
    return parameters


def _fitted_powers(values: FloatArray, intervened: BoolArray | None = None) -> FloatArray:
    """Powers that make columns (n, d) look most Gaussian, but for values intervened on (n, d)."""
    centre, spread = centre_and_spread(values, intervened)
    standard = (values - centre) / spread
    step = 1 + len(standard) // POWER_ROWS  # the rows of long columns say the same over and over
    columns = counted_columns(standard[::step], None if intervened is None else intervened[::step])
    return np.column_stack([[likeliest_power(column) for column in columns], centre, spread])


SCALES: Registry[Scale] = Registry(
    "scales",
    {
        "none": Scale(
            "columns as they are",
            lambda x, p: x,
            lambda x, p: np.zeros(x.shape),
            lambda values, intervened: np.zeros((values.shape[1], 3)),
            from_ends=True,
        ),
        "log": Scale(
            "logarithms, shifted where a column is not positive",
            lambda x, p: _log_distance(x + p[0], p[1]),
            lambda x, p: -np.log(_steepness(x + p[0], p[1])),
            _least_of_logarithms,
            from_ends=True,
            words=lambda p: f"log(x{_shift(p[0])})" if p[0] else "log",
        ),
        "yeo-johnson": Scale(
            "powers that make each column look most Gaussian",
            _power,
            lambda x, p: (p[0] - 1.0) * np.sign(x - p[1]) * np.log1p(np.abs((x - p[1]) / p[2])) - np.log(p[2]),
            _fitted_powers,
            words=lambda p: f"yeo-johnson({p[0]:.3g})",
            n_parameters=1,
        ),
        "shifted log": Scale(
            "logarithms from a little below the least value",
            lambda x, p: _log_distance(x + p[0], p[1]),
            lambda x, p: -np.log(_steepness(x + p[0], p[1])),
            words=lambda p: f"log(x{_shift(p[0])})",
            n_parameters=1,
        ),
        "mirrored log": Scale(
            "logarithms of the distance to a little above the largest value",
            lambda x, p: -_log_distance(p[0] - x, p[1]),
            lambda x, p: -np.log(_steepness(p[0] - x, p[1])),
            words=lambda p: f"-log({p[0]:.3g} - x)",
            n_parameters=1,
        ),
        "logit": Scale(
            "logits between two ends",
            lambda x, p: _log_distance(x - p[0], p[2]) - _log_distance(p[1] - x, p[2]),
            _log_slope_of_logit,
            words=lambda p: f"logit({p[0]:.3g}, {p[1]:.3g})",
            n_parameters=2,
        ),
        "asinh": Scale(
            "inverse hyperbolic sines: logarithms in either direction from the middle, straight in between",
            lambda x, p: np.arcsinh((x - p[0]) / p[1]),
            lambda x, p: -0.5 * np.log((x - p[0]) ** 2 + p[1] ** 2),
            words=lambda p: f"asinh((x{_shift(-p[0])}) / {p[1]:.3g})",
            n_parameters=2,
        ),
        "quantiles": Scale(
            "normal scores: those on which the column alone is Gaussian",
            _normal_scores,
            lambda x, p: np.log(np.ptp(NORMAL[:2]) / _pieces(x, p)[1]),
            n_parameters=NORMAL.size - 2,
        ),
        "modulus": Scale(
            "powers of the distance from the middle, in either direction",
            _modulus,
            lambda x, p: (p[2] - 1.0) * np.log1p(np.abs((x - p[0]) / p[1])) - np.log(p[1]),
            words=lambda p: f"modulus({p[2]:.3g}, (x{_shift(-p[0])}) / {p[1]:.3g})",
            n_parameters=2,
        ),
    },
)


def check_scale(name: object) -> None:
    """Refuse what is no name of a scale."""
    names = [name for name, scale in SCALES.items() if scale.fit is not None]
    if not (isinstance(name, str) and (name == "auto" or name in names)):
        raise ValueError(f"scales must be {', '.join(map(repr, names))} or 'auto', got {shown(name)}.")


@saved
@dataclass(frozen=True)
class ColumnScales:
    """A scale of its own for every column.

    Attributes
    ----------
    names : tuple of d str
        Names of `SCALES`.
    parameters : array of shape (d, p)
        Of the scales, zero where they have fewer.
    """

    names: Annotated[tuple[str, ...], Shape("d")]
    parameters: Annotated[FloatArray, Shape("d", "p")]

    def check_saved(self) -> None:
        """Refuse scales that nobody registered."""
        if unknown := set(self.names) - set(SCALES):
            raise ValueError(f"the scale {unknown.pop()!r}. Import the package that registers it, and load again")

    @classmethod
    def as_measured(cls, d: int) -> "ColumnScales":
        """Columns as they came."""
        return cls(("none",) * d, np.zeros((d, 3)))

    @classmethod
    def fit(cls, name: str, values: FloatArray, intervened: BoolArray | None = None) -> "ColumnScales":
        """The scale of a name for columns (n, d); values intervened on (n, d) have no say."""
        fit = SCALES[name].fit
        assert fit is not None
        return cls((name,) * values.shape[1], fit(values, intervened))

    @property
    def measured(self) -> bool:
        """Whether all columns are as they came."""
        return set(self.names) <= {"none"}

    @property
    def name(self) -> str:
        """One word, where one describes all columns."""
        names = {self.plain_name(column) for column in range(len(self.names))}
        return names.pop() if len(names) == 1 else "per column"

    def plain_name(self, column: int) -> str:
        """The name of one column's scale, whether its logarithm is shifted or not."""
        return self.names[column].removeprefix("shifted ")

    @property
    def n_parameters(self) -> IntArray:
        """How many parameters (d,) were chosen to fit each column."""
        return np.array([SCALES[name].n_parameters for name in self.names], dtype=np.int64)

    @property
    def changed(self) -> BoolArray:
        """Which columns (d,) are not as they came."""
        return np.array([name != "none" for name in self.names], dtype=np.bool_)

    def beside(self, name: str) -> "ColumnScales":
        """Of the scales of one column, which is on that of a name, those that are left: the measured one first."""
        if name == "none":
            return self
        rest = self.take([place for place, own in enumerate(self.names) if own != name])
        return ColumnScales(("none", *rest.names), np.insert(rest.parameters, 0, 0.0, axis=0))

    def named(self, name: str) -> "ColumnScales":
        """Of scales of one column the one of a name."""
        return self.take([self.names.index(name)])

    @property
    def words(self) -> tuple[str, ...]:
        """What users read of each column's scale."""
        all_words = ((name, SCALES[name].words, p) for name, p in zip(self.names, self.parameters, strict=True))
        return tuple(name if words is None else words(p) for name, words, p in all_words)

    def apply(self, values: FloatArray) -> FloatArray:
        """Columns (n, d) on their scales."""
        return values if self.measured else self._by_column(values, lambda scale: scale.apply)

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Logarithm of the derivative for every value (n, d)."""
        return self._by_column(values, lambda scale: scale.log_slope)

    def _by_column(self, values: FloatArray, part: Callable[[Scale], Callable[..., FloatArray]]) -> FloatArray:
        columns, names = np.empty(values.shape, order="F"), np.array(self.names)
        for name in dict.fromkeys(self.names):
            own = np.flatnonzero(names == name)
            columns[:, own] = part(SCALES[name])(values[:, own], self.parameters[own].T)
        return columns

    def replaced(self, columns: Sequence[int] | IntArray, new: "ColumnScales") -> "ColumnScales":
        """The same with the ``new`` scales of some columns."""
        names, used = list(self.names), new.parameters.shape[1]
        parameters = np.pad(self.parameters, ((0, 0), (0, max(used - self.parameters.shape[1], 0))))
        for place, column in enumerate(columns):
            names[column], parameters[column] = new.names[place], 0.0
            parameters[column, :used] = new.parameters[place]
        return ColumnScales(tuple(names), parameters)

    def take(self, places: Sequence[int] | IntArray) -> "ColumnScales":
        """Those of some columns."""
        return ColumnScales(tuple(self.names[i] for i in places), self.parameters[np.asarray(places, dtype=int)])


def look_gaussian(columns: FloatArray, n_rows: int) -> BoolArray:
    """Whether skewness, kurtosis and mean distance of columns (n, d) are those of Gaussians but for chance (d,).

    Chance is that of ``n_rows``, each of which may be there several times.
    """
    z = columns - columns.mean(axis=0)
    z /= np.maximum(z.std(axis=0), LEAST)
    squares, near = z * z, np.sqrt(2.0 / np.pi)
    moments = np.mean(squares * z, axis=0), np.mean(squares * squares, axis=0) - 3.0, np.abs(z).mean(axis=0) - near
    variances = 6.0, 24.0, 1.0 - near**2
    usual = [np.abs(m) <= UNUSUAL * np.sqrt(v / n_rows) for m, v in zip(moments, variances, strict=True)]
    all_usual: BoolArray = np.logical_and.reduce(usual)
    return all_usual


def family(values: FloatArray) -> ColumnScales:
    """The scales that one column (n,) may have beside the one it came on, one after the other.

    Logarithms, plain where all values are positive, and from a little below the least value; the same from a
    little above the largest; between both ends, and from the middle in either direction; powers of the distance
    from there, and of the standardized column; normal scores, unless values are too few for that. Without these a
    column without causes, whose shape is free, would gain by what no other scale describes.
    """
    low, high, middle = (float(f(values)) for f in (np.min, np.max, np.median))
    centre, spread = float(np.mean(values)), float(np.std(values))
    scales: list[tuple[str, tuple[float, ...]]] = []
    if low > 0.0:
        scales.append(("log", (0.0, CLOSE * low, 0.0)))
    beyond = [share * spread for share in BEYOND]
    scales += [("shifted log", (most - low, most, 0.0)) for most in beyond]
    scales += [("mirrored log", (high + most, most, 0.0)) for most in beyond]
    scales += [("logit", (low - most, high + most, most)) for most in beyond]
    scales += [("asinh", (middle, share * spread, 0.0)) for share in STRAIGHT]
    scales += [("modulus", (middle, share * spread, power)) for power, share in MODULI]
    scales += [("yeo-johnson", (power, centre, spread)) for power in POWERS]
    knots = np.quantile(values, ndtr(NORMAL))
    if np.diff(knots).min() > NARROWEST * spread:
        scales.append(("quantiles", tuple(knots.tolist())))
    parameters = np.array([np.pad(p, (0, NORMAL.size - len(p))) for _, p in scales])
    return ColumnScales(tuple(name for name, _ in scales), parameters)


def straighter_logs(values: FloatArray, positive: BoolArray, n_rows: int, price: float, doubt: float) -> BoolArray:
    r"""Which positive columns (d,) lines on the other ones explain better on the scale of their logarithms.

    With r and s the shares of the variances of  x  and  log x  that least squares leaves,
    :math:`\tfrac12 \log(r / s)` nats per row speak for the logarithm, and must be more than ``price`` and
    ``doubt``. The other columns of the rows (n, d) are there on both of their scales at first, then on the one
    that was chosen. What a column looks like alone counts only where they explain no more than chance does, and a
    line for its ``price``: then it is on its logarithm if that is far more Gaussian.
    """
    d = positive.size
    owners = np.append(np.arange(d), np.flatnonzero(positive))
    columns = np.hstack([values, np.log(values[:, positive])])
    means, spreads = columns.mean(axis=0), columns.std(axis=0)
    spreads[spreads == 0.0] = 1.0  # rounding leaves no logarithms of what is large and varies little
    columns = (columns - means) / spreads
    correlations = columns.T @ columns / len(columns)
    used: IntArray = np.arange(owners.size)
    chosen = np.zeros(d, dtype=np.bool_)
    for _ in range(2):
        chance = used.size / n_rows
        inverse = np.linalg.inv(correlations[np.ix_(used, used)] + CHANCE * chance * np.eye(used.size))
        for log in range(d, owners.size):
            column = owners[log]
            own, shared = owners[used] == column, correlations[np.ix_(used, [column, log])]
            shared[own] = 0.0
            slopes = inverse @ shared
            # The inverse for the others alone lacks what goes by way of the column itself.
            by_own = slopes[own].T @ np.linalg.solve(inverse[np.ix_(own, own)], slopes[own])
            as_measured, as_log = 1.0 - np.diag(shared.T @ slopes - by_own)
            unrelated = -0.5 * np.log(min(as_measured, as_log)) < 0.5 * chance + price
            alone = np.log(spreads[column] / spreads[log]) - means[log]
            chosen[column] = alone > FAR if unrelated else 0.5 * np.log(as_measured / as_log) > price + doubt
        used = np.flatnonzero((np.arange(owners.size) >= d) == chosen[owners])
    return chosen


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
    ordered = sorted(columns.items(), key=lambda group: group[0] == "as measured")
    return ", ".join(f"{words} ({', '.join(labels)})" for words, labels in ordered)


def likeliest_power(column: FloatArray) -> float:
    r"""Power of the Yeo-Johnson scale that makes a column (n,) look most Gaussian.

    With k the power for x >= 0 and 2 less the power below, y = sign (e^{k log(1 + |x|)} - 1) / k, and the mean
    log-likelihood  -log(var y) / 2 + (power - 1) mean(sign log(1 + |x|))  is concave where its slope is zero.
    """
    positive, logs = column >= 0.0, np.log1p(np.abs(column))
    jacobian = float(np.mean(np.where(positive, logs, -logs)))

    def slope(power: float) -> float:
        k = np.where(positive, power, 2.0 - power)
        k = np.where(np.abs(k) < LEAST_EXPONENT, LEAST_EXPONENT, k)  # of 0 it is a logarithm
        grown = np.expm1(k * logs)
        change = ((grown + 1.0) * logs - grown / k) / k
        y = np.where(positive, grown, -grown) / k
        y -= y.mean()
        return jacobian - float(y @ change) / float(y @ y)

    if slope(LEAST_POWER) <= 0.0:
        return LEAST_POWER
    if slope(MOST_POWER) >= 0.0:
        return MOST_POWER
    return float(brentq(slope, LEAST_POWER, MOST_POWER, xtol=1e-12))


def centre_and_spread(values: FloatArray, intervened: BoolArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations (d,) of columns, but for values intervened on (n, d)."""
    if intervened is None:
        return values.mean(axis=0), values.std(axis=0)
    columns = counted_columns(values, intervened)
    return np.array([column.mean() for column in columns]), np.array([column.std() for column in columns])


def counted_columns(values: FloatArray, intervened: BoolArray | None) -> list[FloatArray]:
    """Columns of rows (n, d), each without the values that were intervened on."""
    if intervened is None:
        return list(values.T)
    return [column[~out] for column, out in zip(values.T, intervened.T, strict=True)]
