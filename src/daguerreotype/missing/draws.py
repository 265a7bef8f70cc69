"""Draws of what is missing: first ones, those of a fitted graph, and what they say of single rows.

Before any graph is known draws are those of normal columns that have the seen margins. Fitted mechanisms draw
missing values anew, complete rows, and integrate out what is missing of rows that are scored.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.checks import check_positive_int, check_seed
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.missing import IncompleteRows, NormalFit, fit_normal
from daguerreotype.data.moments import Summary
from daguerreotype.data.table import Table, mean_sum
from daguerreotype.missing.mechanisms import Mechanisms
from daguerreotype.missing.sampler import MissingSampler
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.noise.gaussian import GaussianDensity

# Completed tables that are drawn together, and those that are learned from together; likelihoods of levels and
# counts take each row in every step, so that fewer must do.
AT_ONCE, KEPT = 2, 4
AT_ONCE_DISCRETE, KEPT_DISCRETE = 1, 3
FIRST_SWEEPS = 4  # from values that causes alone drew
SEED = 577_215  # of no stream that a simulated column is likely to come from
START_STEPS, START_TOLERANCE = 12, 1e-3  # of EM: a start need not be exact
PARTICLES = 32  # draws by which what is missing is integrated out
WARM_UP, APART = 10, 3  # sweeps before the first draw, and from one to the next
ROWS_SEED = 141_421


class Completer:
    """A table with missing values, its rows and columns in canonical order, and the latest draws of what it lacks.

    Parameters
    ----------
    table : Table
        With missing values.
    several : bool
        Whether several completed tables can be learned from together.
    """

    def __init__(self, table: Table, several: bool) -> None:
        self.table, self._missing = table, np.isnan(table.values)
        at_once, kept = (AT_ONCE_DISCRETE, KEPT_DISCRETE) if table.discrete.any() else (AT_ONCE, KEPT)
        self._kept = int(np.clip(MAX_ROWS // table.n_rows, 1, kept)) if several else 1
        self._at_once = min(at_once, self._kept)
        self._rng = np.random.default_rng(SEED)
        self._incomplete = np.flatnonzero(self._missing.any(axis=1))
        self._draws: list[FloatArray] = []  # completed tables (m, n, d), the latest last

    @property
    def n_kept(self) -> int:
        """How many completed tables there are."""
        return sum(map(len, self._draws))

    @property
    def n_redraws(self) -> int:
        """How many rounds make all completed tables that are kept."""
        return max(self._kept // self._at_once, 1)

    def start(self) -> None:
        """Draw before any graph is known."""
        self._draws = [first_draws(self.table, self._at_once, self._rng)]

    def forget(self) -> None:
        """Forget all draws."""
        self._draws = []

    def start_normal(self, moments: Summary) -> None:
        """Draw from the normal distribution that has these moments."""
        normal = NormalFit(moments.mean, moments.covariance)
        self._draws = [self._rows.draw(normal.mean, normal.precision, self._rng)[None]]
        self._at_once = 1

    def expected(self, mechanisms: Mechanisms, before: Summary) -> Summary:
        r"""Moments that are expected of the rows if their columns come from linear mechanisms.

        With W the weights and D the noise variances, the precision is :math:`(I - W) D^{-1} (I - W)'`.
        """
        scaled, d = mechanisms.scaled, len(mechanisms.fits)
        weights, variances = np.eye(d), np.empty(d)
        for node, (fit, noise) in enumerate(zip(mechanisms.fits, mechanisms.densities, strict=True)):
            assert isinstance(noise, GaussianDensity)
            weights[fit.parents, node] = -fit.weights
            variances[node] = noise.variance
        weights = weights / scaled.spread[:, None]  # columns as they came
        expected = self._rows.expected(scaled.centre, (weights / variances) @ weights.T)
        return replace(before, mean=expected.mean, covariance=expected.covariance)

    @cached_property
    def _rows(self) -> IncompleteRows:
        """The rows, laid out for moments that are expected of them."""
        return IncompleteRows(self.table.values)

    def latest(self) -> Table:
        """The table with its latest draws."""
        return self.table.completed(self._draws[-1])

    def all(self) -> Table:
        """The table with the draws of the last rounds."""
        return self.table.completed(np.concatenate(self._draws))

    def redraw(self, mechanisms: Mechanisms, n_sweeps: int | None = None) -> None:
        """Draw all missing values anew from fitted mechanisms, and forget draws that are older than enough.

        One sweep goes on from the draws before; without any it takes some to forget where they began.
        """
        rows = self._incomplete
        missing = np.tile(self._missing[rows], (self._at_once, 1))
        intervened = self.table.intervened
        if intervened is not None:
            intervened = np.tile(intervened[rows], (self._at_once, 1))
        fresh = not self._draws
        before = np.tile(self.table.values, (self._at_once, 1, 1)) if fresh else self._draws[-1]
        sampler = MissingSampler(mechanisms, before[:, rows].reshape(missing.shape), missing, intervened)
        if fresh:
            sampler.fill_forwards(self._rng)
        for _ in range(n_sweeps or (FIRST_SWEEPS if fresh else 1)):
            sampler.sweep(self._rng)
        drawn = before.copy()
        drawn[:, rows] = sampler.values.reshape(self._at_once, rows.size, -1)
        self._take(drawn)

    def _take(self, drawn: FloatArray) -> None:
        self._draws = [*self._draws, drawn][-self.n_redraws :]

    # ------------------------------------------------------------------ what a checkpoint holds

    def state(self) -> tuple[Arrays, Header]:
        """The latest draws of what is missing, and where the stream of random numbers stands."""
        return {"draws": self._draws[-1][:, self._missing]}, {"random": self._rng.bit_generator.state}

    def restore(self, arrays: Arrays, header: Header) -> None:
        """Take draws that were made before for the latest."""
        drawn = np.tile(self.table.values, (len(arrays["draws"]), 1, 1))
        drawn[:, self._missing] = arrays["draws"]
        self._take(drawn)
        self._rng.bit_generator.state = header["random"]


def first_draws(table: Table, copies: int, rng: np.random.Generator) -> FloatArray:
    """Completed tables (m, n, d) of a table with missing values, each drawn from a normal copula.

    Columns are replaced by the normal scores of their ranks, levels without an order by one indicator for each
    level. What is drawn goes back by the quantiles of what was seen, so that no draw is beyond that.
    """
    values, n = table.values, len(table.values)
    nominal = [kind.nominal for kind in table.kinds] or [False] * table.n_columns
    levels: list[FloatArray | None] = []  # that indicators stand for
    parts: list[FloatArray] = []
    for j in range(table.n_columns):
        seen = ~np.isnan(values[:, j])
        levels.append(np.unique(values[seen, j]) if nominal[j] else None)
        if nominal[j]:
            parts.append(np.where(seen[:, None], (values[:, j, None] == levels[j]).astype(np.float64), np.nan))
        else:
            parts.append(_scores(values[:, j])[:, None])
    laid = np.column_stack(parts)
    normal = fit_normal(laid, START_STEPS, START_TOLERANCE)
    rows, ends = IncompleteRows(laid), np.cumsum([part.shape[1] for part in parts])[:-1]
    draws = np.empty((copies, n, table.n_columns))
    for draw in draws:
        blocks = np.split(rows.draw(normal.mean, normal.precision, rng), ends, axis=1)
        for j, (block, own) in enumerate(zip(blocks, levels, strict=True)):
            draw[:, j] = _values(block[:, 0], values[:, j]) if own is None else own[np.argmax(block, axis=1)]
    return draws


def _scores(column: FloatArray) -> FloatArray:
    """Normal scores (n,) of a column's ranks, equal values with their mean rank; nan where it is missing."""
    seen = ~np.isnan(column)
    _, place, counts = np.unique(column[seen], return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    scores = np.full(column.size, np.nan)
    scores[seen] = ndtri(((below + 0.5 * counts) / seen.sum())[place])
    return scores


def _values(scores: FloatArray, column: FloatArray) -> FloatArray:
    """The quantiles of what was seen of a column at normal scores (n,): values that it has."""
    seen = np.sort(column[~np.isnan(column)])
    places = np.minimum((ndtr(scores) * seen.size).astype(np.int64), seen.size - 1)
    quantiles: FloatArray = seen[places]
    return quantiles


def integrated(
    mechanisms: Mechanisms, values: FloatArray, missing: BoolArray, intervened: BoolArray | None = None
) -> FloatArray:
    """Log-likelihood (m,) of what is seen of rows (m, d), what is missing being integrated out by draws."""
    rng = np.random.default_rng(ROWS_SEED)
    sampler = MissingSampler(mechanisms, values, missing, intervened)
    particles = np.stack([sampler.log_likelihood(rng) for _ in range(PARTICLES)])
    means: FloatArray = np.logaddexp.reduce(particles) - np.log(PARTICLES)
    return means


def mean_log_likelihood(mechanisms: Mechanisms, values: FloatArray, intervened: BoolArray | None = None) -> float:
    """Mean log-likelihood per row of any values (m, d), but for those that were intervened on.

    What is missing of a row, nan, is integrated out.
    """
    missing = np.isnan(values)
    incomplete = missing.any(axis=1)
    out = np.zeros(missing.shape, dtype=np.bool_) if intervened is None else intervened
    complete, total = values[~incomplete], 0.0
    if len(complete):
        causes = mechanisms.scaled.apply(complete)
        density = np.column_stack(
            [
                mechanisms.log_mass(node, complete[:, node], mechanisms.predictors(node, causes))
                for node in range(values.shape[1])
            ]
        )
        total += mean_sum(density, out[~incomplete]) * len(complete)
    if incomplete.any():
        _check_support(mechanisms)
        total += float(integrated(mechanisms, values[incomplete], missing[incomplete], out[incomplete]).sum())
    return total / len(values)


def _check_support(mechanisms: Mechanisms) -> None:
    """Refuse to draw without knowing what values columns have."""
    if not mechanisms.support.seen.size:
        raise ValueError(
            "this learner was fitted without rows: it does not know what values columns have, so it cannot "
            "tell what is missing. Fit it again, on rows."
        )


def completions(
    mechanisms: Mechanisms,
    values: FloatArray,
    n_draws: int,
    random_state: int,
    intervened: BoolArray | None = None,
) -> FloatArray:
    """Completed rows (n_draws, m, d) of rows (m, d), nan where a value is missing."""
    check_positive_int(n_draws, "n_draws")
    rng = np.random.default_rng(check_seed(random_state))
    _check_support(mechanisms)
    missing = np.isnan(values)
    rows = missing.any(axis=1)
    drawn = np.repeat(values[None], n_draws, axis=0)
    if not rows.any():
        return drawn
    out = None if intervened is None else intervened[rows]
    sampler = MissingSampler(mechanisms, values[rows], missing[rows], out)
    sampler.fill_forwards(rng)
    for number, table in enumerate(drawn):
        for _ in range(WARM_UP if number == 0 else APART):
            sampler.sweep(rng)
        table[rows] = sampler.values
    return drawn
