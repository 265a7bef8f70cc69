"""Adam on GOLEM's objective, from second moments, in one kernel."""

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual values
NARROW = 0.2  # norm up to which the Taylor polynomial of exp of degree 9 has an error below 1e-13


@kernel
def descend(
    moments: FloatArray,
    start: FloatArray,
    equal: bool,
    sparsity: float,
    acyclicity: float,
    rate: float,
    n_steps: int,
) -> tuple[FloatArray, bool]:
    """Weights (d, d) after Adam's steps on GOLEM's objective, and whether they stayed finite.

    With R = S (I - B) and S = X'X / n, the gradient of the objective is, for equal variances,

        -d R / tr((I - B)' R) + (I - B)^-T + sparsity sign(B) + acyclicity 2 B o exp(B o B)'

    and for unequal ones the first term is -R_ij / ((I - B)' R)_jj. The diagonal stays 0.
    """
    d = moments.shape[0]
    weights, first, second = start.copy(), np.zeros((d, d)), np.zeros((d, d))
    lean, squares, residual = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    spread = np.empty(d)
    power1, power2 = 1.0, 1.0
    for _ in range(n_steps):
        for i in range(d):
            for j in range(d):
                lean[i, j] = -weights[i, j]
                squares[i, j] = weights[i, j] * weights[i, j]
            lean[i, i] += 1.0
        np.dot(moments, lean, residual)
        total = 0.0
        for j in range(d):
            spread[j] = 0.0
            for i in range(d):
                spread[j] += lean[i, j] * residual[i, j]
            total += spread[j]
        if not (total > 0.0 and np.isfinite(total)):
            return weights, False
        inverse = np.linalg.inv(lean)
        exponential = expm(squares)
        power1 *= BETA1
        power2 *= BETA2
        for i in range(d):
            for j in range(d):
                if i == j:
                    continue
                b = weights[i, j]
                gradient = -residual[i, j] * (d / total if equal else 1.0 / spread[j])
                gradient += inverse[j, i] + sparsity * np.sign(b) + acyclicity * 2.0 * b * exponential[j, i]
                first[i, j] = BETA1 * first[i, j] + (1.0 - BETA1) * gradient
                second[i, j] = BETA2 * second[i, j] + (1.0 - BETA2) * gradient * gradient
                step = first[i, j] / (1.0 - power1)
                weights[i, j] -= rate * step / (np.sqrt(second[i, j] / (1.0 - power2)) + EPSILON)
    return weights, bool(np.isfinite(weights).all())


@kernel
def expm(matrix: FloatArray) -> FloatArray:
    """Exponential of a matrix (d, d) without negative entries: a Taylor polynomial of A / 2^s, squared s times."""
    d = matrix.shape[0]
    norm = 0.0
    for i in range(d):
        norm = max(norm, matrix[i].sum())
    if not np.isfinite(norm):  # no number of halvings would do
        return matrix.copy()
    halvings = 0
    while norm > NARROW:
        norm *= 0.5
        halvings += 1
    scaled = matrix * 0.5**halvings
    square = np.dot(scaled, scaled)
    cube = np.dot(square, scaled)
    # Paterson and Stockmeyer: three products for degree 9, ((p3 A^3 + p2) A^3 + p1) A^3 + p0, p3 a number
    result: FloatArray = cube / 362880.0
    other = np.empty((d, d))
    factorials = np.array([1.0, 1.0, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320])
    for k in (6, 3, 0):
        for i in range(d):
            for j in range(d):
                result[i, j] += factorials[k + 1] * scaled[i, j] + factorials[k + 2] * square[i, j]
            result[i, i] += factorials[k]
        if k > 0:
            np.dot(result, cube, other)
            result, other = other, result
    for _ in range(halvings):
        np.dot(result, result, other)
        result, other = other, result
    return result
