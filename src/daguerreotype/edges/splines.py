"""Which curves may a parent's effect take? Cubic splines, split into a straight line and its bends."""

import numpy as np
from scipy.interpolate import BSpline

from daguerreotype.arrays import FloatArray

DEGREE = 3
NEGLIGIBLE = 1e-8  # share of the largest direction below which the data cannot tell a bend from a line


def fit_bends(values: FloatArray, n_knots: int) -> BSpline | None:
    r"""Cubic splines of one column that are orthonormal on it, and orthogonal to constants and the column.

    With B the B-splines on ``n_knots`` quantiles of x, whose span holds 1 = B e and x = B g (g: averages of
    three successive knots), the bends are  B T  with  T = P V / sqrt(lambda),  P the projection that removes
    [e, g] in the metric M = B'B / n,  and P'MP = V lambda V'. So the linear model is nested in the spline.

    Parameters
    ----------
    values : array of shape (n,)
        The column.
    n_knots : int
        Knots with the two ends, at least 2. Repeated quantiles count once.

    Returns
    -------
    BSpline or None
        Maps x to at most ``n_knots`` bends; None when the column has too few values to bend on.
    """
    breaks = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_knots)))
    if breaks.size < 2:
        return None
    knots = np.concatenate([np.repeat(breaks[0], DEGREE), breaks, np.repeat(breaks[-1], DEGREE)])
    basis = BSpline.design_matrix(values, knots, DEGREE).toarray()  # (n, b)
    metric = basis.T @ basis / values.size
    slopes = np.array([knots[i + 1 : i + 1 + DEGREE].mean() for i in range(basis.shape[1])])
    lines = np.column_stack([np.ones_like(slopes), slopes])  # (b, 2)
    onto_lines = np.linalg.lstsq(lines.T @ metric @ lines, lines.T @ metric, rcond=None)[0]
    projection = np.eye(slopes.size) - lines @ onto_lines
    sizes, directions = np.linalg.eigh(projection.T @ metric @ projection)
    kept = sizes > NEGLIGIBLE * np.trace(metric)
    if not kept.any():
        return None
    return BSpline(knots, projection @ directions[:, kept] / np.sqrt(sizes[kept]), DEGREE)


def bend(spline: BSpline, values: FloatArray) -> FloatArray:
    """Bends at any values, shape (m, bends); straight lines beyond the data they were fitted on."""
    inside = np.clip(values, spline.t[0], spline.t[-1])
    bends: FloatArray = spline(inside) + spline(inside, 1) * (values - inside)[:, None]
    return bends
