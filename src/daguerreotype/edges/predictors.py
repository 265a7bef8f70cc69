"""Predictors: what of local models predicts rows without the table, and what a file can hold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import HasPredictions, LocalFit
from daguerreotype.edges.splines import nonlinear_columns
from daguerreotype.noise.free_shape import MAX_ROWS

ROWS = 2**16  # rows that a network predicts at a time
LEAK = 0.01  # slope of a leaky unit below zero
ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid": lambda a: 0.5 + 0.5 * np.tanh(0.5 * a),
    "tanh": np.tanh,
    "relu": lambda a: np.maximum(a, 0.0),
    "leaky-relu": lambda a: np.where(a > 0.0, a, LEAK * a),
}
DERIVATIVES: dict[str, Callable[[FloatArray], FloatArray]] = {  # of the activations, by their own values
    "sigmoid": lambda h: h * (1.0 - h),
    "tanh": lambda h: 1.0 - h**2,
    "relu": lambda h: (h > 0.0).astype(np.float64),
    "leaky-relu": lambda h: np.where(h > 0.0, 1.0, LEAK),
}


def first_residuals(models: HasPredictions, table: Table, node: int, fit: LocalFit) -> FloatArray:
    """Residuals (n,) of ``fit`` on the rows it was made from, of long tables on the first ``MAX_ROWS`` of them."""
    values = table.values[:MAX_ROWS]
    return values[:, node] - models.predict(node, fit, values)


def norms_of_lines(table: Table, parents: IntArray, weights: FloatArray) -> FloatArray:
    """Standard deviations (p,) of linear components: absolute coefficients times the spreads of the columns."""
    norms: FloatArray = np.abs(weights) * np.sqrt(table.moments[parents, parents])
    return norms


class LinearPredictor:
    """Predicts x_j = sum_i w_i x_i by the weights of a fit, and needs nothing else."""

    def predictor(self) -> "LinearPredictor":
        """What predicts without the table."""
        return LinearPredictor()

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table."""
        fitted: FloatArray = values[:, fit.parents] @ fit.weights
        return fitted


@dataclass(frozen=True, slots=True)
class GamFit(LocalFit):
    """An additive fit, which remembers its curves.

    The weight of a parent is the slope of the least-squares line through its curve over the training rows,
    cov(f(x), x) / var(x): an average of the slopes f'(x), and their plain mean where x is normal (Stein's lemma).

    Attributes
    ----------
    columns : array of shape (dof,)
        Basis columns of the parents, parent by parent, the linear one first.
    coefficients : array of shape (dof,)
        Their least-squares coefficients.
    """

    columns: IntArray
    coefficients: FloatArray


class CurvePredictor:
    """Predicts x_j = sum_i f_i(x_i): each f_i a line, or a line and the nonlinear basis of column i.

    Parameters
    ----------
    names : sequence of str
        Column names, for messages.
    splines : sequence of BSpline or None
        Nonlinear basis of each column; None for a column that has none.
    stride : int
        Basis columns laid out per column of the table.
    """

    def __init__(self, names: Sequence[str], splines: Sequence[BSpline | None], stride: int) -> None:
        self.names, self.splines, self.stride = tuple(names), list(splines), stride

    def predictor(self) -> "CurvePredictor":
        """What predicts without the table."""
        return CurvePredictor(self.names, self.splines, self.stride)

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table."""
        fitted = np.zeros(values.shape[0])
        for parent in fit.parents:
            fitted += self.curve(node, fit, int(parent), values[:, parent])
        return fitted

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component f(x) of ``parent`` in ``fit`` at the values ``grid`` of its column, shape (m,).

        Values are on the scale of the table that was prepared. The component has mean zero on the training
        rows, and goes on as a straight line beyond them.
        """
        fit = additive(fit)
        if parent not in fit.parents:
            found = ", ".join(repr(self.names[i]) for i in fit.parents) or "none"
            raise ValueError(
                f"{self.names[parent]!r} is not a parent of {self.names[node]!r} in this fit, so it has no "
                f"curve; ask for one of its parents: {found}."
            )
        grid = np.asarray(grid, dtype=np.float64)
        beta = fit.coefficients[fit.columns // self.stride == parent]
        values: FloatArray = beta[0] * grid
        spline = self.splines[parent]
        if beta.size > 1 and spline is not None:
            values = values + nonlinear_columns(spline, grid) @ beta[1:]
        return values


def additive(fit: LocalFit) -> GamFit:
    """Refuse a fit that does not hold its curves."""
    if not isinstance(fit, GamFit):
        raise TypeError(
            f"expected the GamFit that fit returned, which holds its curves, got {type(fit).__name__}."
        )
    return fit


@dataclass(frozen=True, slots=True)
class MlpFit(LocalFit):
    """A network's fit, which remembers its parameters.

    The weight of a parent is the mean of the network's slope in it over the training rows. Its norm is the root
    mean square of that slope, times the spread of the column: that of a line where the network is one.

    Attributes
    ----------
    input_weights : array of shape (p + 1, hidden)
        Rows of the parents, then the biases of the hidden units.
    output_weights : array of shape (hidden + 1,)
        Weights of the hidden units, then the bias.
    """

    input_weights: FloatArray
    output_weights: FloatArray


class NetworkPredictor:
    """Predicts x_j = c + v' a(b + W'x) by the network of a fit, without torch.

    Parameters
    ----------
    activation : {"sigmoid", "tanh", "relu", "leaky-relu"}
        The function a.
    """

    def __init__(self, activation: str) -> None:
        self.activation = activation

    def predictor(self) -> "NetworkPredictor":
        """What predicts without the table."""
        return NetworkPredictor(self.activation)

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table."""
        if not isinstance(fit, MlpFit):
            raise TypeError(
                f"expected the MlpFit that fit returned, which holds its network, got {type(fit).__name__}."
            )
        fitted = np.empty(values.shape[0])
        for rows in chunks(values.shape[0]):
            hidden = self.hidden_units(fit.input_weights, values[rows][:, fit.parents])
            fitted[rows] = hidden @ fit.output_weights[:-1] + fit.output_weights[-1]
        return fitted

    def hidden_units(self, inputs: FloatArray, columns: FloatArray) -> FloatArray:
        """Hidden units (m, hidden) for the parents' columns (m, p)."""
        return ACTIVATIONS[self.activation](columns @ inputs[:-1] + inputs[-1])

    def slopes(self, inputs: FloatArray, outputs: FloatArray, hidden: FloatArray) -> FloatArray:
        """Derivatives (m, p) of the network in its parents, where its hidden units are ``hidden`` (m, h)."""
        slopes: FloatArray = (DERIVATIVES[self.activation](hidden) * outputs[:-1]) @ inputs[:-1].T
        return slopes


def chunks(n: int) -> Iterator[slice]:
    """Rows in parts that fit into memory with their hidden units."""
    return (slice(first, first + ROWS) for first in range(0, n, ROWS))
