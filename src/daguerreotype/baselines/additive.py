"""Additive spline regressions and their F-tests, from second moments alone."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh
from scipy.special import fdtrc

from daguerreotype._lib.checks import Check, check_count, check_frequency, optional
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.additive.basis import DEGREE, STRAIGHT, BSplines

SPANNED = 1e-10  # share of a column's variance below which what is left of it is rounding noise
CUBIC = 3  # columns of a cubic polynomial, beside the constant
CHECKS: dict[str, Check] = {"n_basis": partial(check_count, least=CUBIC + 1), "alpha": optional(check_frequency)}


@dataclass(frozen=True)
class Curves:
    """Second moments of spline columns: all that additive regressions need of the data.

    Variable i owns the columns from ``i * stride``: itself, scaled to variance 1, then its nonlinear basis
    from smooth to rough. The columns of one variable are centred and orthonormal.

    Attributes
    ----------
    moments : array of shape (d * stride, d * stride)
        Second moments of all columns; columns that a variable of few values has no use for are zero.
    widths : array of shape (d,)
        How many columns each variable uses.
    roughness : array of shape (d, stride)
        Integrated squared second derivative of every column; 0 for the line.
    scales : array of shape (d,)
        Standard deviations of the variables.
    n_rows : int
        Number of observations n.
    """

    moments: FloatArray
    widths: IntArray
    roughness: FloatArray
    scales: FloatArray
    n_rows: int

    @property
    def stride(self) -> int:
        """Columns kept for each variable."""
        return int(self.roughness.shape[1])

    def columns(self, variables: IntArray) -> IntArray:
        """Columns that ``variables`` use, one variable after the other."""
        all_of_them = variables[:, None] * self.stride + np.arange(self.stride)
        columns: IntArray = all_of_them[np.arange(self.stride) < self.widths[variables, None]]
        return columns


def spline_curves(X: FloatArray, n_basis: int, n_parents: int) -> Curves:
    """Cubic splines on quantiles of every column of the centred table X (n, d).

    Each has ``n_basis`` basis functions, the constant counted, or as many as keep regressions on ``n_parents``
    variables to n / 2 coefficients; where these do not make a cubic polynomial, the line alone.
    """
    n, d = X.shape
    stride = min(n_basis - 1, n // (2 * max(n_parents, 1)))
    stride = stride if stride >= CUBIC else 1
    scales: FloatArray = np.sqrt(np.mean(X**2, axis=0))
    scales[scales == 0] = 1.0  # some rows of a column may be constant
    basis = np.zeros((n, d, stride))
    roughness = np.zeros((d, stride))
    widths = np.ones(d, dtype=np.int64)
    for i, values in enumerate((X / scales).T):
        basis[:, i, 0] = values
        spline = _bends(values, stride - 1) if stride > 1 else None
        if spline is not None:
            sizes, turn = np.linalg.eigh(_roughness(spline))
            widths[i] += sizes.size
            basis[:, i, 1 : widths[i]] = spline(values) @ turn
            roughness[i, 1 : widths[i]] = sizes
    flat = basis.reshape(n, -1)
    return Curves(flat.T @ flat / n, widths, roughness, scales, n)


def _bends(values: FloatArray, n_knots: int) -> BSpline | None:
    """Cubic splines of one column (n,), orthonormal on it and orthogonal to constants and the column; None: none.

    Knots are at quantiles, the two ends counted.
    """
    splines = BSplines([np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_knots)))])
    slopes, columns = splines.slopes(0), splines(values[:, None])
    if not slopes.size:
        return None
    metric, lines = columns.T @ columns / values.size, np.column_stack([np.ones_like(slopes), slopes])
    turn = np.eye(slopes.size) - lines @ np.linalg.lstsq(lines.T @ metric @ lines, lines.T @ metric, rcond=None)[0]
    sizes, directions = np.linalg.eigh(turn.T @ metric @ turn)
    kept = sizes > STRAIGHT * np.trace(metric)
    turn = turn @ (directions[:, kept] / np.sqrt(sizes[kept]))
    return BSpline(splines.knots[0], turn, DEGREE) if kept.any() else None


def _roughness(spline: BSpline) -> FloatArray:
    """Integrals of products of second derivatives, (basis, basis); exact, since these are linear between knots."""
    knots = np.unique(spline.t)
    ends = spline(knots, 2)  # (knots, basis)
    thirds = np.diff(knots)[:, None] / 3
    left, right = ends[:-1], ends[1:]
    mixed = left.T @ (thirds / 2 * right)
    integrals: FloatArray = left.T @ (thirds * left) + right.T @ (thirds * right) + mixed + mixed.T
    return integrals


def condition(moments: FloatArray, start: int, stop: int) -> None:
    """Make second moments conditional on the columns from ``start`` to ``stop``: a Schur complement, in place."""
    sizes, directions = np.linalg.eigh(moments[start:stop, start:stop])
    kept = sizes > SPANNED
    roots = moments[:, start:stop] @ (directions[:, kept] / np.sqrt(sizes[kept]))  # (columns, rank)
    moments -= roots @ roots.T


def prune(curves: Curves, graph: BoolArray, alpha: float | None) -> tuple[IntArray, FloatArray]:
    """Adjacency (d, d) of the significant edges of ``graph``, and the standard deviations (d, d) of their curves.

    Every node is regressed on the curves of all its parents; those with a p-value below ``alpha`` stay, or all
    for None. The standard deviations are those of a regression on the parents that stay.
    """
    kept, weights = graph.copy(), np.zeros(graph.shape)
    for node in range(graph.shape[0]):
        parents = np.flatnonzero(graph[:, node])
        if alpha is not None:
            kept[parents, node] = p_values(curves, node, parents) < alpha
        columns = curves.columns(np.flatnonzero(kept[:, node]))
        beta = _regress(curves, node, columns).coefficients
        # columns of one variable are orthonormal, so their shares of the curve's variance add up
        shares = np.bincount(columns // curves.stride, beta**2, graph.shape[0])
        weights[:, node] = curves.scales[node] * np.sqrt(shares)
    return kept.astype(np.int64), weights


def p_values(curves: Curves, node: int, parents: IntArray) -> FloatArray:
    r"""P-value of every parent's curve in the additive regression of ``node`` on ``parents``, shape (p,).

    The F-test of  f_i = 0,  with RSS the residual sum of squares and m the number of independent columns,

        F = (RSS(without f_i) - RSS) / (m - m(without f_i))  /  (RSS / (n - 1 - m)),

    and 1 where there are no degrees of freedom to test with.
    """
    columns = curves.columns(parents)
    fit = _regress(curves, node, columns)
    free = curves.n_rows - 1 - fit.rank
    p = np.ones(parents.size)
    for i, parent in enumerate(parents.tolist()):
        own = columns // curves.stride == parent
        if fit.inverse is None:  # columns depend on each other: only the regression without this parent can tell
            rest = _regress(curves, node, columns[~own])
            rise, dof = rest.variance - fit.variance, fit.rank - rest.rank
        else:
            beta = fit.coefficients[own]
            rise, dof = beta @ np.linalg.solve(fit.inverse[np.ix_(own, own)], beta), beta.size
        if dof > 0 and free > 0:
            p[i] = fdtrc(dof, free, max(rise, 0.0) / dof / (fit.variance / free))
    return p


class _Regression(NamedTuple):
    """Least squares on some columns; the inverse of their second moments is None where they are dependent."""

    coefficients: FloatArray
    inverse: FloatArray | None
    variance: float  # as a share of the response's
    rank: int


def _regress(curves: Curves, node: int, columns: IntArray) -> _Regression:
    """Regress ``node`` on ``columns``."""
    moments = curves.moments[np.ix_(columns, columns)]
    shared = curves.moments[columns, node * curves.stride]
    inverse, rank = _invert(moments), columns.size
    if inverse is None:
        pseudo, rank = pinvh(moments, rtol=SPANNED, return_rank=True)
        beta = pseudo @ shared
    else:
        beta = inverse @ shared
    return _Regression(beta, inverse, max(1.0 - float(shared @ beta), SPANNED), rank)


def _invert(moments: FloatArray) -> FloatArray | None:
    """Inverse of a positive definite matrix, or None."""
    if not moments.size:
        return moments
    try:
        factor = cho_factor(moments, lower=True)
    except LinAlgError:
        return None
    if np.diag(factor[0]).min() ** 2 <= SPANNED:
        return None
    inverse: FloatArray = cho_solve(factor, np.eye(moments.shape[0]))
    return inverse
