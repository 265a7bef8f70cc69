"""Gradient descent of one gated linear regression from second moments, compiled for the CPU.

The same steps with the same noise as ``descent.descend`` on a ``LinearRegressions``, for one request at a time:
nothing of its result depends on other requests, and a step costs p times the number of open gates.
"""

import math

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.gradient.descent import CHECK, COLUMN, FIRST, SECOND, STEP, WORD
from daguerreotype.edges.gradient.gates import EDGE, HardConcreteGates

SMOOTH = HardConcreteGates()
BETA, GAMMA, ZETA = SMOOTH.beta, SMOOTH.gamma, SMOOTH.zeta
SHIFT = BETA * math.log(-GAMMA / ZETA)


@kernel
def train_gates(
    moments: FloatArray,
    node: int,
    columns: IntArray,
    start: FloatArray,
    seed: int,
    pruning: float,
    l2: float,
    rate: float,
    max_iter: int,
    tol: float,
    patience: int,
    smooth: bool,
    adam: bool,
    keep_last: bool,
    required: BoolArray,
) -> tuple[BoolArray, FloatArray]:
    """Open gates (p,) of the best model met on the way from weights ``start`` (p,), or of the last; its weights.

    Required gates never close.
    """
    p = columns.size
    inner = np.empty((p, p))
    state = np.empty(2 * p)  # weights, then gate parameters
    keys = np.empty(p, dtype=np.int64)
    for i in range(p):
        for k in range(p):
            inner[i, k] = moments[columns[i], columns[k]]
        state[i] = start[i]
        state[p + i] = 0.0 if smooth else 0.5
        keys[i] = _mixed(seed + (columns[i] + 1) * COLUMN)
    mean, square, gradient = np.zeros(2 * p), np.zeros(2 * p), np.empty(2 * p)
    by_product, gates, slopes = np.empty(p), np.empty(p), np.empty(p)
    cross, opened, best_opened = np.empty(p), np.empty(p, dtype=np.bool_), np.empty(p, dtype=np.bool_)
    for i in range(p):
        cross[i] = moments[columns[i], node]
        opened[i] = required[i]
    empty = 0.5 * moments[node, node]
    nothing = empty + _gain(inner, cross, state, opened, l2, pruning)
    for i in range(p):
        opened[i] = True
    everything = empty + _gain(inner, cross, state, opened, l2, pruning)
    best, reference = min(nothing, everything), nothing
    best_weights = start.copy()
    for i in range(p):
        best_opened[i] = everything < nothing or required[i]
    waited = 0
    for step in range(max_iter):
        for i in range(p):
            noise = (_mixed(keys[i] + (step + 1) * STEP) >> 8) * 2.0**-24
            gates[i], slopes[i] = (1.0, 0.0) if required[i] else _drawn(state[p + i], noise, smooth)
            by_product[i] = -cross[i]
        for i in range(p):
            weight = state[i] * gates[i]
            if weight != 0.0:  # the matrix is symmetric: add up rows of open gates
                for k in range(p):
                    by_product[k] += weight * inner[i, k]
        for i in range(p):
            price = 1.0
            if smooth:
                probability = 1.0 / (1.0 + math.exp(SHIFT - state[p + i]))
                price = probability * (1.0 - probability)
            gradient[i] = gates[i] * by_product[i] + 2.0 * l2 * state[i]
            gradient[p + i] = state[i] * by_product[i] * slopes[i] + pruning * price
        first, second = 1.0 - 0.9 ** (step + 1), 1.0 - 0.999 ** (step + 1)
        for i in range(2 * p):
            if adam:
                mean[i] += 0.1 * (gradient[i] - mean[i])
                square[i] = 0.999 * square[i] + 0.001 * gradient[i] * gradient[i]
                state[i] -= rate / first * mean[i] / (math.sqrt(square[i] / second) + 1e-8)
            else:
                state[i] -= rate * gradient[i]
        if not smooth:
            for i in range(p, 2 * p):
                state[i] = min(max(state[i], 0.0), 1.0)
        if (step + 1) % CHECK != 0 and step + 1 != max_iter:
            continue

        for i in range(p):
            opened[i] = required[i] or state[p + i] > (0.0 if smooth else 0.5)
        objective = empty + _gain(inner, cross, state, opened, l2, pruning)
        if keep_last or objective < best:
            best = objective
            for i in range(p):
                best_opened[i] = opened[i]
                best_weights[i] = state[i]
        if objective < reference - tol * abs(reference):
            reference, waited = objective, 0
        else:
            waited += step % CHECK + 1
        if waited >= patience:
            break
    return best_opened, best_weights


@kernel
def _gain(
    inner: FloatArray, cross: FloatArray, weights: FloatArray, opened: BoolArray, l2: float, pruning: float
) -> float:
    """What open gates add to the objective, prices included."""
    gain = 0.0
    for i in range(cross.size):
        if opened[i]:
            slope = (0.5 * inner[i, i] + l2) * weights[i] - cross[i]
            for k in range(i):
                if opened[k]:
                    slope += inner[i, k] * weights[k]
            gain += slope * weights[i] + pruning
    return gain


@kernel
def _mixed(word: int) -> int:
    """Spread the low 32 bits over each other."""
    word = word & WORD
    word = ((word ^ (word >> 16)) * FIRST) & WORD
    word = ((word ^ (word >> 15)) * SECOND) & WORD
    return word ^ (word >> 16)


@kernel
def _drawn(parameter: float, noise: float, smooth: bool) -> tuple[float, float]:
    """One gate and its derivative in its parameter."""
    if not smooth:
        return (1.0 if noise < parameter else 0.0), 1.0
    noise = min(max(noise, EDGE), 1.0 - EDGE)
    concrete = 1.0 / (1.0 + math.exp(-(math.log(noise / (1.0 - noise)) + parameter) / BETA))
    stretched = GAMMA + (ZETA - GAMMA) * concrete
    if stretched <= 0.0:
        return 0.0, 0.0
    if stretched >= 1.0:
        return 1.0, 0.0
    return stretched, (ZETA - GAMMA) / BETA * concrete * (1.0 - concrete)
