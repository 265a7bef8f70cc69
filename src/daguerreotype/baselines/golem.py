"""GOLEM: Gaussian likelihood with soft penalties on weights and cycles, by Adam from second moments alone."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.checks import check_positive
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned, threshold_to_dag


@dataclass(kw_only=True, eq=False, repr=False)
class GolemEV(Baseline):
    r"""GOLEM with equal noise variances (Ng, Ghassami and Zhang 2020).

    Minimises, by Adam from B = 0,

    .. math:: \tfrac d2 \log \|X - X B\|^2 - \log |\det(I - B)| + \lambda_1 \|B\|_1
              + \lambda_2 (\operatorname{tr} e^{B \circ B} - d) .

    Weights below ``threshold`` are dropped, then the smallest until the graph is acyclic. X enters through its
    second moments, so that rows cost nothing.

    Parameters
    ----------
    lambda1, lambda2 : float
        Penalties on weights (L1) and on cycles. Larger ``lambda1`` gives fewer edges.
    threshold : float
        Smallest absolute weight of an edge.
    learning_rate : float
        Of Adam.
    max_iter : int
        Number of steps.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype import baselines
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=500)
    >>> X = np.column_stack([2 * cause + rng.normal(size=500), cause])
    >>> baselines.get("golem-ev", standardize=False, max_iter=5000).fit(X).weights_.round(1)
    array([[0., 0.],
           [2., 0.]])
    """

    checks = {"learning_rate": check_positive}

    lambda1: float = 0.02
    lambda2: float = 5.0
    threshold: float = 0.3
    learning_rate: float = 1e-3
    max_iter: int = 100_000

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Descend from zero, threshold to a DAG."""
        d = X.shape[1]
        return threshold_to_dag(self.descend(X, np.zeros((d, d)), self.lambda1, equal=True), self.threshold)

    def descend(self, X: FloatArray, start: FloatArray, lambda1: float, *, equal: bool) -> FloatArray:
        """Weights (d, d) after ``max_iter`` steps from ``start``."""
        settings = (float(lambda1), float(self.lambda2), float(self.learning_rate), self.max_iter)
        weights, ok = descend(X.T @ X / len(X), start, equal, *settings)
        if not ok:
            raise FloatingPointError(
                f"{type(self).__name__} diverged: its weights no longer give a likelihood. Lower learning_rate, "
                f"now {self.learning_rate:g}."
            )
        return weights


@dataclass(kw_only=True, eq=False, repr=False)
class GolemNV(GolemEV):
    r"""GOLEM with a noise variance per column (Ng, Ghassami and Zhang 2020); "Golem (NEV)" in the paper's tables.

    Minimises, by Adam from the solution of `GolemEV`, as its authors advise,

    .. math:: \tfrac 12 \sum_j \log \|x_j - X B_j\|^2 - \log |\det(I - B)| + \lambda_1 \|B\|_1
              + \lambda_2 (\operatorname{tr} e^{B \circ B} - d) .

    Parameters
    ----------
    lambda1, lambda2 : float
        Penalties on weights (L1) and on cycles. Larger ``lambda1`` gives fewer edges.
    lambda1_start : float
        ``lambda1`` of the `GolemEV` that it starts from.
    threshold : float
        Smallest absolute weight of an edge.
    learning_rate : float
        Of Adam.
    max_iter : int
        Number of steps, of each of the two.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    lambda1: float = 0.002
    lambda1_start: float = 0.02

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Descend with equal variances, from there with unequal ones, threshold to a DAG."""
        d = X.shape[1]
        start = self.descend(X, np.zeros((d, d)), self.lambda1_start, equal=True)
        return threshold_to_dag(self.descend(X, start, self.lambda1, equal=False), self.threshold)


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
