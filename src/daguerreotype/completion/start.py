"""First draws of missing values, before any graph is known: those of normal columns that have the seen margins."""

import numpy as np
from scipy.special import ndtr, ndtri

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.gaussian_em import GappyRows, fit_normal
from daguerreotype.data.table import Table

STEPS = 12  # of EM: a start need not be exact
TOLERANCE = 1e-3


def first_draws(table: Table, copies: int, rng: np.random.Generator) -> FloatArray:
    """Completed tables (m, n, d) of a table with gaps, each drawn from a normal copula.

    Columns are replaced by the normal scores of their ranks, levels without an order by one indicator for each
    level. What is drawn goes back by the quantiles of what was seen, so that no draw is beyond that.
    """
    values, n = table.values, len(table.values)
    levels = [kind.name == "categorical" for kind in table.kinds] or [False] * table.n_columns
    layout: list[tuple[int, FloatArray | None]] = []  # column, and the levels that indicators stand for
    parts: list[FloatArray] = []
    for j in range(table.n_columns):
        seen = ~np.isnan(values[:, j])
        if levels[j]:
            known = np.unique(values[seen, j])
            part = np.where(seen[:, None], (values[:, j, None] == known).astype(np.float64), np.nan)
            layout.append((j, known))
            parts.append(part)
        else:
            layout.append((j, None))
            parts.append(_scores(values[:, j])[:, None])
    laid = np.column_stack(parts)
    found = fit_normal(laid, STEPS, TOLERANCE)
    rows = GappyRows(laid)
    draws = np.empty((copies, n, table.n_columns))
    for each in draws:
        drawn, first = rows.draw(found.mean, found.precision, rng), 0
        for (j, known), part in zip(layout, parts, strict=True):
            block = drawn[:, first : first + part.shape[1]]
            each[:, j] = (
                known[np.argmax(block, axis=1)] if known is not None else _values(block[:, 0], values[:, j])
            )
            first += part.shape[1]
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
