"""Predictors: what of local models predicts rows without the table, and what a file can hold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Capabilities, LocalFit, LocalModels
from daguerreotype.noise.free_shape import MAX_ROWS

ROWS = 2**16  # rows that a network predicts at a time
LEAK = 0.01  # slope of a leaky unit below zero
ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid": lambda a: 0.5 + 0.5 * np.tanh(0.5 * a),
    "leaky-relu": lambda a: np.where(a > 0.0, a, LEAK * a),
}
DERIVATIVES: dict[str, Callable[[FloatArray], FloatArray]] = {  # of the activations, by their own values
    "sigmoid": lambda h: h * (1.0 - h),
    "leaky-relu": lambda h: np.where(h > 0.0, 1.0, LEAK),
}


def first_residuals(models: LocalModels, table: Table, node: int, fit: LocalFit) -> FloatArray:
    """Residuals (n,) of ``fit`` on the rows it was made from, of long tables on the first ``MAX_ROWS`` of them."""
    values = table.values[:MAX_ROWS]
    return values[:, node] - models.predict(node, fit, values)


def norms_of_lines(table: Table, parents: IntArray, weights: FloatArray) -> FloatArray:
    """Standard deviations (p,) of linear components: absolute coefficients times the spreads of the columns."""
    norms: FloatArray = np.abs(weights) * np.sqrt(table.moments[parents, parents])
    return norms


@saved
class LinearPredictor(LocalModels):
    """Predicts x_j = sum_i w_i x_i by the weights of a fit, and needs nothing else."""

    can = Capabilities(predictions=True, curves=True)

    def predictor(self) -> "LinearPredictor":
        """What predicts without the table."""
        return LinearPredictor()

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the table."""
        fitted: FloatArray = values[:, fit.parents] @ fit.weights
        return fitted

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """The line (m,) of ``parent`` at values ``grid`` (m,) of its column."""
        weights = fit.weights[fit.parents == parent]
        if not weights.size:
            raise ValueError("that column is not a parent in this fit, so it has no curve.")
        line: FloatArray = weights[0] * np.asarray(grid, dtype=np.float64)
        return line


@saved
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

    input_weights: Annotated[FloatArray, Shape("p+1", "h")]
    output_weights: Annotated[FloatArray, Shape("h+1")]


@saved
class NetworkPredictor(LocalModels):
    """Predicts x_j = c + v' a(b + W'x) by the network of a fit, without torch.

    Parameters
    ----------
    activation : {"sigmoid", "leaky-relu"}
        The function a.
    """

    can = Capabilities(predictions=True)

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
