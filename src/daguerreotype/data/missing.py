r"""Missing values: where they are, what they depend on, and the normal distribution behind rows with some.

Means and covariances of such rows come from the EM algorithm for normal columns. Given the precision matrix Q, the
missing values m of a row have conditional precision :math:`Q_{mm}` and mean
:math:`\mu_m - Q_{mm}^{-1} Q_{mo} (x_o - \mu_o)`: a row costs what its missing values cost, however many columns
there are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import chdtrc, ndtr

from daguerreotype._lib.checks import check_choice
from daguerreotype._lib.labels import listed, plural
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.parallel import one_thread
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.validation import LEAST_ROWS

MISSING = ("auto", "error", "drop")
LEAST = 10  # missing values, and seen ones, that tell what it depends on
CHANCE = 1e-3  # of one false sign in a table
TOLERANCE = 1e-7  # of correlations, from one step to the next
MOST_STEPS = 500
RIDGE = 1e-9  # share of its variance that each column is given beside, so that precisions exist


@saved
@dataclass(frozen=True)
class Gaps:
    """Where values of a table are missing, and which columns say something about that.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    counts : array of shape (d,)
        Missing values of each column.
    n_complete : int
        Rows without any.
    depends : array of shape (d, d)
        Whether values of column j are missing more often, or less, depending on what column i is.
    """

    n_rows: int
    counts: Annotated[IntArray, Shape("d")]
    n_complete: int
    depends: Annotated[BoolArray, Shape("d", "d")]

    @classmethod
    def of(cls, values: FloatArray, unordered: BoolArray) -> "Gaps":
        """Of rows (n, d) with nan where a value is missing, codes in no order told apart."""
        missing = np.isnan(values)
        n_complete = int((~missing.any(axis=1)).sum())
        return cls(len(values), missing.sum(axis=0), n_complete, _dependence(values, missing, unordered))

    @classmethod
    def counted(cls, n_rows: int, counts: IntArray, n_complete: int) -> "Gaps":
        """Of rows that were not looked at one by one: without what depends on what."""
        d = counts.size
        return cls(n_rows, counts, n_complete, np.zeros((d, d), dtype=np.bool_))


def check_missing(missing: object) -> None:
    """Refuse what is no way to deal with missing values."""
    check_choice(missing, "missing", MISSING)


def check_seen(missing: BoolArray, names: Sequence[str]) -> None:
    """Refuse columns (n, d) without any value, and two that are never seen together."""
    empty = [names[int(j)] for j in np.flatnonzero(missing.all(axis=0))]
    if empty:
        it, are = ("it", "is") if len(empty) == 1 else ("them", "are")
        raise ValueError(
            f"column{plural(len(empty))} {listed(empty)} {are} empty: nothing can be learned about {it}. "
            f"Drop {it}."
        )
    seen = (~missing).astype(np.float64)
    together = seen.T @ seen
    i, j = divmod(int(np.argmin(together)), together.shape[1])
    if together[i, j] < LEAST_ROWS:
        rows = int(together[i, j])
        what = "in no row" if rows == 0 else f"in only {rows} row{plural(rows)}"
        raise ValueError(
            f"columns {names[i]!r} and {names[j]!r} are seen together {what}: nothing tells how they belong "
            f"together. At least {LEAST_ROWS} such rows are needed, and many more to learn. Drop one of the "
            "columns."
        )


def _dependence(values: FloatArray, missing: BoolArray, unordered: BoolArray) -> BoolArray:
    """Whether missing values of column j depend on column i (d, d): on its rank, or on its level.

    A rank sum compares what column i is where j is missing with what it is elsewhere; of levels without an order,
    Pearson's chi squared. Thresholds are such that a table without any dependence has a false sign once in a
    thousand times.
    """
    n, d = values.shape
    depends = np.zeros((d, d), dtype=np.bool_)
    columns = [j for j in range(d) if LEAST <= missing[:, j].sum() <= n - LEAST]
    least = CHANCE / max(len(columns) * (d - 1), 1)
    for i in range(d):
        there = ~missing[:, i]
        absent = missing[there][:, columns].astype(np.float64)  # (m, s)
        column, m = values[there, i], int(there.sum())
        inside = absent.sum(axis=0)
        enough = np.minimum(inside, m - inside) >= LEAST
        if unordered[i]:
            codes = np.unique(column, return_inverse=True)[1]
            by_level = np.eye(codes.max() + 1)[codes]  # (m, levels)
            sizes, share = by_level.sum(axis=0), inside / m
            expected = np.outer(share, sizes)
            with np.errstate(divide="ignore", invalid="ignore"):
                off = (absent.T @ by_level - expected) ** 2 / (expected * (1.0 - share[:, None]))
            chance = chdtrc(max(sizes.size - 1, 1), np.nan_to_num(off).sum(axis=1))
        else:
            _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
            ranks = (np.cumsum(counts) - 0.5 * (counts + 1.0))[place]
            ranks = ranks - ranks.mean()
            with np.errstate(divide="ignore", invalid="ignore"):
                spread = np.sqrt(inside * (m - inside) / m * ranks.var())
                chance = 2.0 * ndtr(-np.abs(absent.T @ ranks) / spread)
        signs = enough & (chance < least)
        depends[i, np.array(columns, dtype=np.int64)[signs]] = True
    np.fill_diagonal(depends, False)
    return depends


# ------------------------------------------------------------------ EM of normal columns


@dataclass(frozen=True)
class NormalFit:
    """Maximum likelihood of a normal distribution for rows with missing values.

    Attributes
    ----------
    mean : array of shape (d,)
        Means.
    covariance : array of shape (d, d)
        Covariances.
    n_steps : int
        Steps that it took.
    """

    mean: FloatArray
    covariance: FloatArray
    n_steps: int = 0

    @property
    def precision(self) -> FloatArray:
        """The inverse of the covariance (d, d), of a little more than it."""
        inverse = np.linalg.inv(self.covariance + RIDGE * np.diag(np.diag(self.covariance)))
        symmetric: FloatArray = 0.5 * (inverse + inverse.T)
        return symmetric

    def on_scale(self, centre: FloatArray, scale: FloatArray) -> "NormalFit":
        """The distribution of columns that were centred and scaled so before."""
        return NormalFit(centre + scale * self.mean, self.covariance * scale[:, None] * scale, self.n_steps)


class IncompleteRows:
    """Rows (n, d) with nan where a value is missing, laid out for EM.

    Parameters
    ----------
    values : array of shape (n, d)
        The rows. Every column has a value somewhere.
    """

    def __init__(self, values: FloatArray) -> None:
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.missing: BoolArray = np.isnan(self.values)
        bits = np.packbits(self.missing, axis=1)
        # Rows that lack the same columns share their algebra: one after the other.
        self.order: IntArray = np.lexsort(bits.T[::-1]).astype(np.int64)
        self.order = self.order[self.missing[self.order].any(axis=1)]
        self.complete: FloatArray = self.values[~self.missing.any(axis=1)]

    def expected(self, mean: FloatArray, precision: FloatArray) -> NormalFit:
        """Means and covariances (divided by n) that are expected of all rows, the missing given the seen."""
        n, d = self.values.shape
        filled, spread = np.empty((self.order.size, d)), np.zeros((d, d))
        fill_rows(self.values, self.order, mean, precision, np.zeros((0, 0)), filled, spread)
        total = self.complete.sum(axis=0) + filled.sum(axis=0)
        new = total / n
        second = spread
        for part in (self.complete, filled):
            centred = part - new
            second = second + centred.T @ centred
        return NormalFit(new, second / n)

    def draw(self, mean: FloatArray, precision: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Rows (n, d) with draws of the missing values given those that are not missing."""
        drawn = self.values.copy()
        filled = np.empty((self.order.size, self.values.shape[1]))
        noise = rng.standard_normal(filled.shape)
        fill_rows(self.values, self.order, mean, precision, noise, filled, np.zeros((0, 0)))
        drawn[self.order] = filled
        return drawn


def fit_normal(values: FloatArray, max_steps: int = MOST_STEPS, tolerance: float = TOLERANCE) -> NormalFit:
    """The likeliest normal distribution of rows (n, d) with nan where a value is missing.

    EM from the observed means and variances, on standardized columns, until correlations settle.
    """
    centre, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varies = scale > 0.0
    if not varies.all():  # a function of a column may be constant where that column is seen
        mean, covariance = centre.copy(), np.zeros((centre.size, centre.size))
        if varies.any():
            part = fit_normal(values[:, varies], max_steps, tolerance)
            mean[varies], covariance[np.ix_(varies, varies)] = part.mean, part.covariance
        return NormalFit(mean, covariance)
    rows = IncompleteRows((values - centre) / scale)
    return iterate(rows.expected, max_steps, tolerance, centre.size).on_scale(centre, scale)


def iterate(
    expect: Callable[[FloatArray, FloatArray], NormalFit], max_steps: int, tolerance: float, d: int
) -> NormalFit:
    """Where steps of EM end, from a mean and a precision to what is expected; uncorrelated columns come first."""
    fit = NormalFit(np.zeros(d), np.eye(d))
    with one_thread:  # inverses of small matrices, many times
        for step in range(1, max_steps + 1):
            new = expect(fit.mean, fit.precision)
            change = max(np.abs(new.covariance - fit.covariance).max(), np.abs(new.mean - fit.mean).max())
            fit = NormalFit(new.mean, new.covariance, step)
            if change < tolerance:
                break
    return fit


@kernel
def fill_rows(
    values: FloatArray,
    order: IntArray,
    mean: FloatArray,
    precision: FloatArray,
    noise: FloatArray,
    filled: FloatArray,
    spread: FloatArray,
) -> None:
    """Fill what is missing (m) of rows, given what is seen (o): by conditional means, and noise if any.

    x_m = mean_m - Q_mm^-1 Q_mo (x_o - mean_o) + L'^-1 noise,  with Q_mm = L L' the precision of what is missing.

    ``values`` (n, d) are all rows, nan where a value is missing, and ``order`` (k,) those to fill, of which one
    that lacks the same columns as the one before uses its factor again. ``mean`` (d,) and ``precision`` (d, d) are
    those of all columns. ``noise`` (k, d), of variance one, is empty for conditional means. ``filled`` (k, d) is
    written to, and ``spread`` (d, d), unless it is empty, gains the conditional covariances Q_mm^-1.
    """
    d = values.shape[1]
    missing, n_missing = np.empty(d, dtype=np.int64), 0
    factor, inverse, right = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for place in range(order.size):
        row = order[place]
        same = place > 0
        count = 0
        for j in range(d):
            if np.isnan(values[row, j]):
                if same and not (count < n_missing and missing[count] == j):
                    same = False
                missing[count] = j
                count += 1
        same = same and count == n_missing
        n_missing = count
        if not same:
            for a in range(count):  # Cholesky: Q_mm = L L'
                for b in range(a + 1):
                    total = precision[missing[a], missing[b]]
                    for k in range(b):
                        total -= factor[a, k] * factor[b, k]
                    if a == b:
                        factor[a, a] = np.sqrt(max(total, 1e-300))
                    else:
                        factor[a, b] = total / factor[b, b]
            if spread.size:
                for b in range(count):  # the inverse of L, column by column
                    for a in range(b, count):
                        total = 1.0 if a == b else 0.0
                        for k in range(b, a):
                            total -= factor[a, k] * inverse[k, b]
                        inverse[a, b] = total / factor[a, a]
        for j in range(d):
            filled[place, j] = values[row, j]
        for a in range(count):
            total = 0.0
            for j in range(d):
                if not np.isnan(values[row, j]):
                    total -= precision[missing[a], j] * (values[row, j] - mean[j])
            right[a] = total
        for a in range(count):  # L y = right
            total = right[a]
            for k in range(a):
                total -= factor[a, k] * right[k]
            right[a] = total / factor[a, a]
        if noise.size:
            for a in range(count):
                right[a] += noise[place, a]
        for a in range(count - 1, -1, -1):  # L' x = y
            total = right[a]
            for k in range(a + 1, count):
                total -= factor[k, a] * right[k]
            right[a] = total / factor[a, a]
        for a in range(count):
            filled[place, missing[a]] = mean[missing[a]] + right[a]
        if spread.size:
            for a in range(count):
                for b in range(a + 1):
                    total = 0.0
                    for k in range(a, count):
                        total += inverse[k, a] * inverse[k, b]
                    spread[missing[a], missing[b]] += total
                    if a != b:
                        spread[missing[b], missing[a]] += total
