"""Cubic B-splines of a column, split into a straight line and orthonormal nonlinear basis columns (bends)."""

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import BSpline

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray

DEGREE = 3
NEGLIGIBLE = 1e-8  # share of the largest direction below which the data cannot tell a bend from a line


class SplineBasis:
    """Cubic B-splines of every column, side by side.

    Parameters
    ----------
    breaks : sequence of arrays
        Where the pieces of each column's splines meet, with the two ends, ascending; fewer than two give none.
    """

    def __init__(self, breaks: Sequence[FloatArray]) -> None:
        ends = np.repeat(1, DEGREE)
        self.knots = [
            np.concatenate([each[0] * ends, each, each[-1] * ends]) if each.size > 1 else np.zeros(0)
            for each in breaks
        ]
        widths = [max(each.size - DEGREE - 1, 0) for each in self.knots]
        stops = np.cumsum(widths)
        self.parts = [slice(int(stop) - width, int(stop)) for stop, width in zip(stops, widths, strict=True)]
        self.size = int(stops[-1])

    def __call__(self, values: FloatArray) -> FloatArray:
        """B-splines (m, size) at values (m, d) within the ends."""
        basis = np.zeros((self.size, len(values)))
        for column, knots, part in zip(values.T, self.knots, self.parts, strict=True):
            if knots.size:
                evaluate(np.ascontiguousarray(column), knots, basis[part])
        return basis.T

    def slopes(self, column: int) -> FloatArray:
        """The coefficients (b,) that give back the column itself: averages of three successive knots."""
        knots = self.knots[column]
        return np.array([knots[i + 1 : i + 1 + DEGREE].mean() for i in range(max(knots.size - DEGREE - 1, 0))])

    def bends(self, column: int, metric: FloatArray) -> BSpline | None:
        r"""Splines of one column that are orthonormal on it, and orthogonal to constants and the column.

        The span of the B-splines B holds 1 = B e and x = B g. The bends are  B T  with  T = P V / sqrt(lambda),
        P the projection that removes [e, g] in the metric M = B'B / n,  and P'MP = V lambda V'. So the linear
        model is nested in the spline.

        Parameters
        ----------
        column : int
            Which.
        metric : array of shape (b, b)
            Second moments of its B-splines.

        Returns
        -------
        BSpline or None
            Maps x to the bends; None when the column has too few values to bend on.
        """
        slopes = self.slopes(column)
        if not slopes.size:
            return None
        lines = np.column_stack([np.ones_like(slopes), slopes])  # (b, 2)
        onto_lines = np.linalg.lstsq(lines.T @ metric @ lines, lines.T @ metric, rcond=None)[0]
        projection = np.eye(slopes.size) - lines @ onto_lines
        sizes, directions = np.linalg.eigh(projection.T @ metric @ projection)
        kept = sizes > NEGLIGIBLE * np.trace(metric)
        if not kept.any():
            return None
        return BSpline(self.knots[column], projection @ directions[:, kept] / np.sqrt(sizes[kept]), DEGREE)


def fit_bends(values: FloatArray, n_knots: int) -> BSpline | None:
    """Bends of one column (n,) with knots at ``n_knots`` of its quantiles, the two ends counted."""
    basis = SplineBasis([np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_knots)))])
    columns = basis(values[:, None])  # (n, b)
    return basis.bends(0, columns.T @ columns / values.size)


@kernel
def evaluate(values: FloatArray, knots: FloatArray, basis: FloatArray) -> None:
    """Write the cubic B-splines (b, m) at values (m,) into zeros, by the recursion of Cox and de Boor."""
    last = knots.size - 5  # the knot before the last piece
    near = np.empty(4)
    for t in range(values.size):
        x = values[t]
        piece = 3
        while piece < last and x >= knots[piece + 1]:
            piece += 1
        near[0] = 1.0
        for degree in range(1, 4):
            carried = 0.0
            for r in range(degree):
                right, left = knots[piece + r + 1], knots[piece + r + 1 - degree]
                share = near[r] / (right - left)
                near[r] = carried + (right - x) * share
                carried = (x - left) * share
            near[degree] = carried
        for r in range(4):
            basis[piece - 3 + r, t] = near[r]


def change_basis(
    second: FloatArray, parts: Sequence[slice], blocks: Sequence[FloatArray], stride: int
) -> FloatArray:
    """Moments T'ST (d * stride,) * 2 of S (p, p): T has a block (b, width) for each of d parts of the columns.

    Needs no matrix beside these two, which matters for many columns; columns beyond a block's width are zero.
    """
    starts, widths = (np.array([(part.start, part.stop - part.start) for part in parts]).T).copy()
    padded = np.zeros((len(blocks), widths.max(), stride))
    for whole, block in zip(padded, blocks, strict=True):
        whole[: block.shape[0], : block.shape[1]] = block
    return transform_blocks(second, starts, widths, padded)


@kernel
def transform_blocks(second: FloatArray, starts: IntArray, widths: IntArray, blocks: FloatArray) -> FloatArray:
    """The same for blocks (d, b, stride) of parts that begin at ``starts`` and are ``widths`` columns wide."""
    d, size = starts.size, blocks.shape[2]
    moments = np.empty((d * size, d * size))
    half = np.empty((blocks.shape[1], size))  # S_ij T_j
    for i in range(d):
        for j in range(i, d):
            for a in range(widths[i]):
                for c in range(size):
                    half[a, c] = 0.0
                for b in range(widths[j]):
                    value = second[starts[i] + a, starts[j] + b]
                    for c in range(size):
                        half[a, c] += value * blocks[j, b, c]
            for r in range(size):
                for c in range(r if i == j else 0, size):
                    total = 0.0
                    for a in range(widths[i]):
                        total += blocks[i, a, r] * half[a, c]
                    moments[i * size + r, j * size + c] = total
                    moments[j * size + c, i * size + r] = total
    return moments


def bend(spline: BSpline, values: FloatArray) -> FloatArray:
    """Bends at any values, shape (m, bends); straight lines beyond the data they were fitted on."""
    inside = np.clip(values, spline.t[0], spline.t[-1])
    bends: FloatArray = spline(inside)
    beyond = values != inside
    if beyond.any():
        bends[beyond] += spline(inside[beyond], 1) * (values - inside)[beyond, None]
    return bends
