"""Structural equations, node by node in causal order: mechanisms, kinds of noise, and their evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist
from scipy.special import expit, gammaln

from daguerreotype._lib.parallel import one_thread
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.graphs.dag import Dag, topological_order

Ranges: TypeAlias = Sequence[tuple[float, float]]

_HIDDEN_UNITS = 100
_HIGHEST_LOG_RATE = np.log(1000.0)  # counts that feed counts would explode
# A smooth kernel matrix is singular to machine precision; this much variance makes it factorisable and stays
# far below any noise.
_JITTER = 1e-10


def draw_weights(shape: int | tuple[int, ...], ranges: Ranges, rng: np.random.Generator) -> FloatArray:
    """Weights uniform on one of the ranges, each range being equally likely."""
    bounds = np.asarray(ranges, dtype=float)  # (number of ranges, 2)
    low, high = bounds[rng.integers(len(bounds), size=shape)].T
    weights: FloatArray = rng.uniform(low.T, high.T)
    return weights


def _mlp(parents: FloatArray, ranges: Ranges, rng: np.random.Generator) -> FloatArray:
    """A two-layer sigmoid network with its weights drawn from ``ranges``."""
    first = draw_weights((parents.shape[1], _HIDDEN_UNITS), ranges, rng)
    second = draw_weights(_HIDDEN_UNITS, ranges, rng)
    signal: FloatArray = expit(parents @ first) @ second
    return signal


def _multiple_index(parents: FloatArray, ranges: Ranges, rng: np.random.Generator) -> FloatArray:
    """The sum of a tanh, a cosine and a sine, each of its own linear index."""
    first, second, third = (parents @ draw_weights((parents.shape[1], 3), ranges, rng)).T
    signal: FloatArray = np.tanh(first) + np.cos(second) + np.sin(third)
    return signal


def _gaussian_process(parents: FloatArray, ranges: Ranges, rng: np.random.Generator) -> FloatArray:
    """One draw of a process over all parents jointly; ``ranges`` plays no part."""
    furthest = np.square(parents).max()
    n_terms = furthest + 9.0 * np.sqrt(furthest) + 40.0
    if parents.shape[1] == 1 and n_terms < len(parents):
        return _series(parents[:, 0], int(n_terms), rng)
    kernel = np.exp(-0.5 * cdist(parents, parents, "sqeuclidean"))
    kernel[np.diag_indices_from(kernel)] += _JITTER
    root = cholesky(kernel.T, lower=True, overwrite_a=True, check_finite=False)
    signal: FloatArray = root @ rng.standard_normal(len(parents))
    return signal


def _series(x: FloatArray, n_terms: int, rng: np.random.Generator) -> FloatArray:
    """A process of one parent, sum_k z_k phi_k(x) with phi_k(x) = exp(-x^2 / 2) x^k / sqrt(k!).

    Its covariance sum_k phi_k(x) phi_k(y) is the kernel, without an (n, n) matrix. The part left out, at x,
    is the upper tail of a Poisson variable of mean x^2: nothing that float64 sees for the terms above.
    """
    k = np.arange(n_terms)
    log_size = np.log(np.maximum(np.abs(x), np.finfo(float).tiny))[:, None]  # (n, 1)
    features = np.exp(k * log_size - 0.5 * (x[:, None] ** 2 + gammaln(k + 1)))  # (n, n_terms)
    features[x < 0, 1::2] *= -1.0
    signal: FloatArray = features @ rng.standard_normal(n_terms)
    return signal


def _additive_process(parents: FloatArray, ranges: Ranges, rng: np.random.Generator) -> FloatArray:
    """The sum of one process for each parent."""
    signal = np.zeros(len(parents))
    for i in range(parents.shape[1]):
        signal += _gaussian_process(parents[:, i : i + 1], ranges, rng)
    return signal


# How the parents act together; a mechanism that is not here takes their weighted sum.
SIGNALS: dict[str, Callable[[FloatArray, Ranges, np.random.Generator], FloatArray]] = {
    "mlp": _mlp,
    "mim": _multiple_index,
    "gp": _gaussian_process,
    "gp-add": _additive_process,
}
# What is drawn given the signal; a mechanism that is not here adds noise.
OUTCOMES: dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]] = {
    "logistic": lambda signal, rng: (rng.random(len(signal)) < expit(signal)).astype(float),
    "poisson": lambda signal, rng: rng.poisson(np.exp(np.minimum(signal, _HIGHEST_LOG_RATE))).astype(float),
}
MECHANISMS = ("linear", "logistic", "poisson", "mlp", "mim", "gp", "gp-add")


_GUMBEL_SCALE = np.sqrt(6.0) / np.pi

NOISES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "exponential": lambda rng, n: rng.standard_exponential(n) - 1.0,
    "gumbel": lambda rng, n: rng.gumbel(-np.euler_gamma * _GUMBEL_SCALE, _GUMBEL_SCALE, n),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), n),
    "laplace": lambda rng, n: rng.laplace(0.0, np.sqrt(0.5), n),
}


@dataclass(frozen=True, slots=True)
class Equations:
    """The checked choices for each of the d nodes: what `simulate_data` was asked for.

    Attributes
    ----------
    mechanisms, noises : sequences of d str
        Keys of the mechanisms and of the kinds of noise.
    scales : array of shape (d,)
        Standard deviations of the noise.
    ranges : sequence of pairs (low, high)
        Where weights are drawn from.
    """

    mechanisms: Sequence[str]
    noises: Sequence[str]
    scales: FloatArray
    ranges: Ranges

    def draw(self, dag: Dag, intervened: BoolArray, given: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return the data (n, d) and the coefficients (d, d), zero for mechanisms without any.

        Where a column is ``intervened`` on (n, d) it has the value that is ``given`` (n, d), or is noise alone if
        that is NaN.

        Every node draws from a stream of its own, parameters first: what one node consumes, n or an
        intervention never shifts the numbers of another.
        """
        X = np.empty(intervened.shape, order="F")  # columns are read and written whole
        coefficients = np.zeros((dag.n_nodes, dag.n_nodes))
        streams = np.random.SeedSequence(seed).spawn(dag.n_nodes)
        # One thread gives the same bits on any number of cores, and does not wait for busy ones.
        # Overflow is refused by name.
        with one_thread, np.errstate(over="ignore", invalid="ignore"):
            for node in topological_order(dag).tolist():
                rng = np.random.default_rng(streams[node])
                parents = np.flatnonzero(dag.adjacency[:, node])
                values = X.T[parents].T  # (n, p)
                if self.mechanisms[node] in SIGNALS:
                    signal: FloatArray = np.zeros(len(X))
                    if parents.size:
                        signal = SIGNALS[self.mechanisms[node]](values, self.ranges, rng)
                else:
                    coefficients[parents, node] = draw_weights(len(parents), self.ranges, rng)
                    signal = values @ coefficients[parents, node]
                _check_finite(signal, dag.label(node))
                signal[intervened[:, node]] = 0.0  # cut from its parents
                drawn = self._respond(node, signal, rng)
                X[:, node] = np.where(np.isnan(given[:, node]), drawn, given[:, node])
                _check_finite(X[:, node], dag.label(node))
        return X, coefficients

    def _respond(self, node: int, signal: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Values (n,) of a node given the signal of its parents."""
        if self.mechanisms[node] in OUTCOMES:
            return OUTCOMES[self.mechanisms[node]](signal, rng)
        column: FloatArray = signal + self.scales[node] * NOISES[self.noises[node]](rng, len(signal))
        return column


def _check_finite(values: FloatArray, name: str) -> None:
    """Refuse values that left the range of floats."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"the values of column {name} overflow, since they grow along the graph: "
            "give ranges of weights nearer to 0, or a graph with fewer edges."
        )
