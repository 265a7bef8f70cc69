"""Missing values: where they are, what cannot be learned around them, and what they depend on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr

from daguerreotype._lib.checks import check_choice
from daguerreotype._lib.labels import listed, plural
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

MISSING = ("auto", "error", "drop")
TOGETHER = 3  # rows that two columns must have in common, as many as a table needs
BLOCKS = 48  # of rows that the map of gaps tells apart
LEAST = 10  # gaps, and values, that tell what gaps depend on
CHANCE = 1e-3  # of one false sign in a table


@dataclass(frozen=True)
class Gaps:
    """Where values of a table are missing, and which columns say something about that.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    counts : array of shape (d,)
        Gaps of each column.
    n_complete : int
        Rows without any.
    shares : array of shape (b, d)
        A map: the share of missing values in blocks of successive rows.
    depends : array of shape (d, d)
        Whether values of column j are missing more often, or less, depending on what column i is.
    """

    n_rows: int
    counts: IntArray
    n_complete: int
    shares: FloatArray
    depends: BoolArray

    @classmethod
    def of(cls, values: FloatArray, unordered: BoolArray) -> "Gaps | None":
        """Of rows (n, d) with nan where a value is missing, codes in no order told apart; None without any."""
        missing = np.isnan(values)
        if not missing.any():
            return None
        n = len(values)
        blocks = min(n, BLOCKS)
        ends = np.arange(blocks + 1) * n // blocks
        shares = np.add.reduceat(missing, ends[:-1], axis=0, dtype=np.float64) / np.diff(ends)[:, None]
        n_complete = int((~missing.any(axis=1)).sum())
        return cls(n, missing.sum(axis=0), n_complete, shares, _dependence(values, missing, unordered))

    @classmethod
    def counted(cls, n_rows: int, counts: IntArray, n_complete: int) -> "Gaps":
        """Of rows that were not looked at one by one: without a map, and without what gaps depend on."""
        d = counts.size
        return cls(n_rows, counts, n_complete, np.zeros((0, d)), np.zeros((d, d), dtype=np.bool_))


def check_missing(missing: object) -> None:
    """Refuse what is no way to deal with gaps."""
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
    check_together(seen.T @ seen, names)


def check_together(together: FloatArray, names: Sequence[str]) -> None:
    """Refuse two columns that are seen together in too few rows (d, d)."""
    i, j = divmod(int(np.argmin(together)), together.shape[1])
    if together[i, j] < TOGETHER:
        rows = int(together[i, j])
        what = "in no row" if rows == 0 else f"in only {rows} row{plural(rows)}"
        raise ValueError(
            f"columns {names[i]!r} and {names[j]!r} are seen together {what}: nothing tells how they belong "
            f"together. At least {TOGETHER} such rows are needed, and many more to learn. Drop one of the columns."
        )


def _dependence(values: FloatArray, missing: BoolArray, unordered: BoolArray) -> BoolArray:
    """Whether gaps of column j depend on column i (d, d): on its rank, or on its level.

    A rank sum compares what column i is where j is missing with what it is elsewhere; of levels without an order,
    Pearson's chi squared. Thresholds are such that a table without any dependence has a false sign once in a
    thousand times.
    """
    n, d = values.shape
    depends = np.zeros((d, d), dtype=np.bool_)
    some = [j for j in range(d) if LEAST <= missing[:, j].sum() <= n - LEAST]
    least = CHANCE / max(len(some) * (d - 1), 1)
    for i in range(d):
        there = ~missing[:, i]
        gaps = missing[there][:, some].astype(np.float64)  # (m, s)
        column, m = values[there, i], int(there.sum())
        inside = gaps.sum(axis=0)
        enough = np.minimum(inside, m - inside) >= LEAST
        if unordered[i]:
            codes = np.unique(column, return_inverse=True)[1]
            by_level = np.eye(codes.max() + 1)[codes]  # (m, levels)
            sizes, share = by_level.sum(axis=0), inside / m
            expected = np.outer(share, sizes)
            with np.errstate(divide="ignore", invalid="ignore"):
                off = (gaps.T @ by_level - expected) ** 2 / (expected * (1.0 - share[:, None]))
            chance = chdtrc(max(sizes.size - 1, 1), np.nan_to_num(off).sum(axis=1))
        else:
            _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
            ranks = (np.cumsum(counts) - 0.5 * (counts + 1.0))[place]
            ranks = ranks - ranks.mean()
            with np.errstate(divide="ignore", invalid="ignore"):
                spread = np.sqrt(inside * (m - inside) / m * ranks.var())
                chance = 2.0 * ndtr(-np.abs(gaps.T @ ranks) / spread)
        signs = enough & (chance < least)
        depends[i, np.array(some, dtype=np.int64)[signs]] = True
    np.fill_diagonal(depends, False)
    return depends
