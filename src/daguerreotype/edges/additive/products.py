r"""Products of two causes that may have an effect on a number beside their curves.

A product is one of a column of each basis: of the two lines, or of the smoothest bend of one or both, which
together are a coarse surface. A little beyond the outer knots of a column it changes no more: else a few rows far
out would decide on it. Every product p is screened for every number y once, by its *partial covariance* given
the smooth curves Z of both,

.. math:: gain = -n \log (1 - \rho^2), \qquad \rho^2 = cov(y, p \mid Z)^2 / var(p \mid Z) / var(y \mid Z) .

The variance of y is taken given the better of the two curves, which is no less.

Searches then treat products that promise enough as further columns, which cost what they are: see `grow_shrink`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.grow_shrink.problem import Products
from daguerreotype.noise.newton import solve_in_place

# Rows that pairs are screened on, and pairs times rows: more find weaker products, and take longer.
SCREENED_ROWS, SCREENED_CELLS = 2**11, 2**25
MOST_COLUMNS = 200  # of a table whose pairs are screened: their number grows with the square
ALIKE = 0.95  # correlation from which on the product of two columns is a bend of either
BENDS = 2  # columns of a basis that products are made of
PER_TARGET, PER_COLUMN = 12, 4  # products of one number at most, and of all numbers for each column
CHUNK = 2**14  # rows whose columns are laid out at a time


class PairGains(NamedTuple):
    """Products that promise something: for which numbers (k,), the two variables and the column of the basis of
    each (k, 4), and what they gain (k,).
    """

    targets: IntArray
    pairs: IntArray
    gains: FloatArray


@kernel
def gains_of_pairs(
    blocks: FloatArray,
    curves: IntArray,
    i: int,
    with_first: FloatArray,
    with_second: FloatArray,
    with_lines: FloatArray,
    rests: FloatArray,
    gains: FloatArray,
) -> int:
    """Write what the products of column i and later ones gain of every number to ``gains`` (m, d, p).

    ``with_first`` and ``with_second`` (m, p, w) are covariances of the p products of each of these m pairs with
    the curves of i and of the other one, ``with_lines`` (m, p, d + 1) with all lines, and last their variances.
    ``blocks`` (d, w, d, w) are second moments, of which ``curves`` (d,) are used; ``rests`` (d, d) is what the
    curve of the first leaves of the second. Gains are of log variance, per row.
    """
    d = curves.size
    for k in range(gains.shape[0]):
        other = i + 1 + k
        w, m = curves[i], curves[i] + curves[other]
        shared = blocks[i, 0, other, 0]
        alike = shared * shared > ALIKE * ALIKE * blocks[i, 0, i, 0] * blocks[other, 0, other, 0]
        gram, side, room = np.empty((m, m)), np.empty(m), np.empty((m, m))
        for a in range(m):
            for b in range(a + 1):
                first, second = (i if a < w else other), (i if b < w else other)
                gram[a, b] = blocks[first, a if a < w else a - w, second, b if b < w else b - w]
            gram[a, a] *= 1.0 + 1e-6
        for p in range(gains.shape[2]):
            for a in range(m):
                side[a] = with_first[k, p, a] if a < w else with_second[k, p, a - w]
                for b in range(a + 1):
                    room[a, b] = gram[a, b]
            variance = with_lines[k, p, d]
            rest = variance - solve_in_place(room, side, m)  # side: coefficients
            for target in range(d):
                gains[k, target, p] = 0.0
                if target in (i, other) or rest <= 1e-6 * variance or alike:
                    continue
                shared = with_lines[k, p, target]
                for a in range(m):
                    line = blocks[i, a, target, 0] if a < w else blocks[other, a - w, target, 0]
                    shared -= side[a] * line
                own_rest = max(min(rests[i, target], rests[other, target]), 1e-12)
                explained = min(shared * shared / (rest * own_rest), 1.0 - 1e-12)
                gains[k, target, p] = -np.log1p(-explained)
    return 0


def screen_pairs(
    columns: FloatArray,
    within: FloatArray,
    curves: IntArray,
    linear: BoolArray,
    numbers: BoolArray,
    allowed: BoolArray,
    least: float,
) -> PairGains:
    """The products of two ``linear`` columns that gain more than ``least``, in half nats, of one of the numbers.

    ``columns`` (n, d * stride) are rows, the line of each variable first, of which a smooth curve has ``curves``
    (d,); products are of ``within``; ``allowed`` (d, d) says who may be a parent of whom.
    """
    n, d, width = len(columns), curves.size, int(curves.max())
    columns = columns.reshape(n, d, -1)[:, :, :width].reshape(n, -1)
    columns = columns - columns.mean(axis=0)
    moments = columns.T @ columns / n  # of these rows: what a product leaves must be uncorrelated with the curves
    blocks = moments.reshape(d, width, d, width)
    rests = np.empty((d, d))
    for i in range(d):
        own, onto = blocks[i, : curves[i], i, : curves[i]], blocks[i, : curves[i], :, 0]  # (w, w), (w, d)
        ridge = 1e-9 * np.diag(np.diag(own)) + 1e-300 * np.eye(len(own))
        rests[i] = np.diag(moments)[::width] - np.sum(onto * np.linalg.solve(own + ridge, onto), axis=0)
    rows = np.ascontiguousarray(columns.T.astype(np.float32)).reshape(d, width, n)  # enough to screen by
    lines, bends = np.ascontiguousarray(rows[:, 0].T), min(BENDS, width)
    within = within.reshape(n, d, -1)[:, :, :bends].transpose(1, 2, 0).astype(np.float32)  # (d, bends, n)
    targets, pairs, gains = [], [], []
    for i in np.flatnonzero(linear[:-1]).tolist():
        drawn = within[i, :, None] * within[i + 1 :, None]  # (m, bends, bends, n)
        drawn = drawn.reshape(len(drawn), bends * bends, n)
        drawn -= drawn.mean(axis=2, keepdims=True)
        variances = np.einsum("kpn,kpn->kp", drawn, drawn)
        flat = drawn.reshape(-1, n)
        with_lines = np.concatenate([(flat @ lines).reshape(*drawn.shape[:2], d), variances[:, :, None]], axis=2)
        with_first = (flat @ rows[i].T).reshape(*drawn.shape[:2], width)
        with_second = drawn @ rows[i + 1 :].transpose(0, 2, 1)
        gained = np.empty((len(drawn), d, bends * bends))
        first, second, every = (moment.astype(np.float64) / n for moment in (with_first, with_second, with_lines))
        gains_of_pairs(blocks, curves, i, first, second, every, rests, gained)
        of_first, of_second = np.divmod(np.arange(bends * bends), bends)
        gained[~linear[i + 1 :]] = 0.0
        gained[:, ~numbers | ~allowed[i]] = 0.0
        gained[~allowed[i + 1 :]] = 0.0
        gained[:, :, of_first >= curves[i]] = 0.0
        gained.transpose(0, 2, 1)[of_second >= curves[i + 1 :, None]] = 0.0
        later, of, place = np.nonzero(n * gained > least)
        targets.append(of)
        pairs.append(np.column_stack([np.full(of.size, i), i + 1 + later, of_first[place], of_second[place]]))
        gains.append(n * gained[later, of, place])
    if not targets:
        return PairGains(np.zeros(0, dtype=np.int64), np.zeros((0, 4), dtype=np.int64), np.zeros(0))
    return PairGains(np.concatenate(targets), np.concatenate(pairs), np.concatenate(gains))


def strongest(promising: PairGains, d: int) -> PairGains:
    """The few of each number that gain most, and of all numbers, number by number."""
    by_gain = np.argsort(-promising.gains, kind="stable")
    kept: list[int] = []
    counts = np.zeros(d, dtype=np.int64)
    for place in by_gain.tolist():
        target = promising.targets[place]
        if counts[target] < PER_TARGET and len(kept) < PER_COLUMN * d:
            counts[target] += 1
            kept.append(place)
    chosen = np.array(kept, dtype=np.int64)
    chosen = chosen[np.lexsort([chosen, promising.targets[chosen]])]
    return PairGains(promising.targets[chosen], promising.pairs[chosen], promising.gains[chosen])


def lay_out(
    promising: PairGains,
    table: Table,
    n_rows: int,
    d: int,
    columns: Callable[[FloatArray], FloatArray],
    within: Callable[[FloatArray], FloatArray],
) -> tuple[Products, FloatArray]:
    """The moments of products in the first rows, and their means (p,) there.

    ``columns`` gives the basis columns (m, d * stride) of rows (m, d), ``within`` those that products are made of.
    """
    rescaled = None if table.rescaled is None else table.rescaled.values[:n_rows]
    s, p = 0 if rescaled is None else rescaled.shape[1], len(promising.pairs)
    sums: FloatArray = np.zeros((0, p))
    means = np.zeros(p)
    for first in range(0, n_rows, CHUNK):
        part = slice(first, min(first + CHUNK, n_rows))
        features = columns(table.values[part])
        drawn = products_of(promising.pairs, within(table.values[part]), d)
        parts = [features, np.zeros((len(features), 0)) if rescaled is None else rescaled[part], drawn]
        sums = sums + np.hstack(parts).T @ drawn if sums.size else np.hstack(parts).T @ drawn
        means += drawn.sum(axis=0)
    means /= n_rows
    second = sums / n_rows
    c = len(second) - s - p
    if rescaled is not None:
        second[c : c + s] -= np.outer(rescaled.mean(axis=0), means)
    starts = np.searchsorted(promising.targets, np.arange(d + 1))
    moments = second[c + s :] - np.outer(means, means)
    return Products(
        promising.pairs[:, :2], starts, second[:c], 0.5 * (moments + moments.T), second[c : c + s]
    ), means


def products_of(pairs: IntArray, features: FloatArray, d: int) -> FloatArray:
    """Products (m, p) of pairs (p, 4) in rows of all columns (m, d * stride)."""
    places = pairs[:, :2] * (features.shape[1] // d) + pairs[:, 2:]
    drawn: FloatArray = features[:, places[:, 0]] * features[:, places[:, 1]]
    return drawn
