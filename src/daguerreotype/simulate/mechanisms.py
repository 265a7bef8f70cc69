r"""Mechanisms of structural equations: how a node depends on its parents.

    linear    x = P w + noise
    logistic  x ~ Bernoulli(sigmoid(P w))
    poisson   x ~ Poisson(min(exp(P w), 1000))
    mlp       x = sigmoid(P W1) w2 + noise, 100 hidden units
    mim       x = tanh(P w1) + cos(P w2) + sin(P w3) + noise
    gp        x = f(P) + noise, f a Gaussian process with kernel exp(-|p - q|^2 / 2)
    gp-add    x = sum_i f_i(P_i) + noise, one such process for each parent

with P the (n, p) values of the parents. The nonlinear ones are those of Zheng et al. (2020).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist
from scipy.special import expit, gammaln

from daguerreotype._lib.typing import FloatArray

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
