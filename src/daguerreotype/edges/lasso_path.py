"""LARS-lasso path from second moments (Efron et al. 2004), and the point of it that BIC picks."""

import numpy as np

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

# A column whose variance given the active ones is a smaller share of its own than this is their combination.
COLLINEAR = 1e-10
# The level at which scikit-learn's path ends, on columns of unit variance.
FLAT = float(np.finfo(np.float32).eps)


@kernel
def choose_weights(
    moments: FloatArray,
    node: int,
    predecessors: IntArray,
    n: int,
    alpha: float,
    adaptive: bool,
    required: BoolArray,
    most: int,
) -> tuple[FloatArray, float]:
    """Weights (zero: no parent) and residual variance; a negative ``alpha`` leaves the point to BIC.

    Columns that are ``required`` (p,), if that is not empty, bear no penalty. Of the path, the points with more
    than ``most`` parents do not count.
    """
    p = predecessors.size
    gram = np.empty((p, p))
    cov = np.empty(p)
    for i in range(p):
        cov[i] = moments[node, predecessors[i]]
        for j in range(p):
            gram[i, j] = moments[predecessors[i], predecessors[j]]
    power = moments[node, node]

    penalties = np.ones(p)
    penalty = 0.0  # of a parent, beside those of its weight
    if adaptive or alpha < 0.0:
        coefficients, noise = least_squares(gram, cov, power, n)
        if adaptive:
            for i in range(p):
                penalties[i] = 1.0 / abs(coefficients[i])  # infinite where the coefficient is zero
        if alpha < 0.0:
            # Where the noise vanishes, gains of the size of rounding must not buy a parent.
            penalty = max(noise * np.log(n) / n, 1e-13 * power)
    for i in range(required.size):
        if required[i]:
            penalties[i] = 0.0
    weights, variance = walk_path(gram, cov, power, penalties, max(alpha, 0.0), penalty, most)
    return weights, max(variance, 1e-15 * power)


@subkernel
def least_squares(gram: FloatArray, cov: FloatArray, power: float, n: int) -> tuple[FloatArray, float]:
    """Regression on all columns, and its noise variance; ridge where the rows do not determine it.

    With n <= p + 1 rows the ridge is p / n times the variance of each column. As a prior this says that
    the columns explain half of the target; the minimum of the ridge objective is then the maximum
    likelihood noise variance. Collinear columns get a ridge of 1e-8, which shares the weight among them.
    """
    p = cov.size
    freedom = n - 1 - p
    ridge = 0.0
    if freedom <= 0:
        ridge = p / n
        freedom = max(n - 1, 1)
    solved, coefficients, remainder = eliminate(gram, cov, power, ridge)
    while not solved and ridge < 1e8:
        ridge = max(1e-8, 100.0 * ridge)
        solved, coefficients, remainder = eliminate(gram, cov, power, ridge)
    return coefficients, remainder * n / freedom


@subkernel
def eliminate(gram: FloatArray, cov: FloatArray, power: float, ridge: float) -> tuple[bool, FloatArray, float]:
    """Solve ``(gram + ridge * diag) x = cov`` by elimination; also return ``power - cov @ x``."""
    p = cov.size
    upper = np.empty((p + 1, p + 1))
    for i in range(p):
        for j in range(p):
            upper[i, j] = gram[i, j]
        upper[i, i] = gram[i, i] * (1.0 + ridge) if gram[i, i] > 0.0 else 1.0
        upper[i, p] = cov[i]
    upper[p, p] = power

    coefficients = np.zeros(p)
    for k in range(p):
        pivot = upper[k, k]
        if not pivot > COLLINEAR * gram[k, k]:
            return False, coefficients, power
        row = upper[k]
        for i in range(k + 1, p + 1):
            factor = row[i] / pivot
            below = upper[i]
            for j in range(i, p + 1):
                below[j] -= factor * row[j]
    for k in range(p - 1, -1, -1):
        rest = upper[k, p]
        for j in range(k + 1, p):
            rest -= upper[k, j] * coefficients[j]
        coefficients[k] = rest / upper[k, k]
    return True, coefficients, upper[p, p]


@subkernel
def walk_path(
    gram: FloatArray,
    cov: FloatArray,
    power: float,
    penalties: FloatArray,
    lowest: float,
    penalty: float,
    most: int,
) -> tuple[FloatArray, float]:
    """Weights and variance at the knot of least ``variance + penalty * parents``, of those with ``most`` or fewer.

    Follows  min_w  1/2 w' gram w - cov' w + level * sum_j penalties_j |w_j|  from the level where all
    weights are zero down to ``lowest``, which is also the answer when there is no penalty and no limit. Given
    the active columns and their signs everything is linear in the level: row j of the tableau ends with b_j
    and d_j so that ``b_j - level * d_j`` is the weight of an active column, and the covariance with the residual
    of any other. Columns without a penalty are active all along.
    """
    p = cov.size
    tableau = np.zeros((p, p + 2))  # gram, b, d; swept on the active columns
    for i in range(p):
        for j in range(p):
            tableau[i, j] = gram[i, j]
        tableau[i, p] = cov[i]
    signs = np.zeros(p)  # zero where inactive
    for j in range(p):
        if penalties[j] == 0.0 and tableau[j, j] > COLLINEAR * gram[j, j]:
            sweep(tableau, j)
            signs[j] = 1.0  # of no matter without a penalty
    weights = np.zeros(p)
    chosen, variance, least = np.zeros(p), power, np.inf
    level = np.inf
    # Where scikit-learn ends its path; relative for small units, so that they do not empty the graph.
    floor = 0.0 if penalty == 0.0 else FLAT * min(1.0, power)

    for _ in range(8 * p + 64):  # a path has about p knots; only ties that cycle come near the limit
        event, level, sign = next_event(tableau, gram, signs, penalties, level, lowest)
        leaving = 0.0
        if event >= 0 and sign == 0.0:
            leaving = signs[event] * penalties[event]
            signs[event] = 0.0

        criterion = power
        cost = 0.0
        parents = 0
        for j in range(p):
            weights[j] = 0.0
            parents += signs[j] != 0.0 or penalties[j] == 0.0  # a required column that others span counts too
            if signs[j] != 0.0:
                cost += penalty
                weights[j] = tableau[j, p] - level * tableau[j, p + 1]
                criterion -= weights[j] * (cov[j] + level * penalties[j] * signs[j])
        if parents <= most and (criterion + cost < least or penalty == 0.0):
            # The sum above is right on the path; the square tells when rounding has led away from it.
            square = mean_square(gram, cov, power, weights)
            if square + cost < least or (penalty == 0.0 and square <= power):
                variance, least = square, square + cost
                for j in range(p):
                    chosen[j] = weights[j]

        if event < 0 or level <= floor:
            break
        if sign == 0.0:
            sweep(tableau, event)
            tableau[event, p + 1] -= leaving
        else:
            tableau[event, p + 1] += sign * penalties[event]
            sweep(tableau, event)
            signs[event] = sign
    return chosen, variance


@subkernel
def mean_square(gram: FloatArray, cov: FloatArray, power: float, weights: FloatArray) -> float:
    """Mean squared residual of ``weights``."""
    total = power
    for i in range(cov.size):
        if weights[i] != 0.0:
            fitted = 0.0
            for j in range(cov.size):
                fitted += gram[i, j] * weights[j]
            total += weights[i] * (fitted - 2.0 * cov[i])
    return total


@subkernel
def next_event(
    tableau: FloatArray,
    gram: FloatArray,
    signs: FloatArray,
    penalties: FloatArray,
    level: float,
    lowest: float,
) -> tuple[int, float, float]:
    """The column that enters (with its sign) or leaves (sign 0) next below ``level``; -1 at ``lowest``."""
    p = signs.size
    event, reached, sign = -1, lowest, 0.0
    for j in range(p):
        b, d = tableau[j, p], tableau[j, p + 1]
        if signs[j] != 0.0:
            if signs[j] * d < 0.0 and penalties[j] > 0.0:  # the weight moves towards zero
                hit = min(b / d, level)
                if hit > reached:
                    event, reached, sign = j, hit, 0.0
        elif tableau[j, j] > COLLINEAR * gram[j, j]:
            # The distance to the bound, level * (penalty + d) - b for the upper one, must be shrinking:
            # so a column that has just left does not come back at once. The sign of b tells which of
            # the two bounds is met at a positive level.
            if b > 0.0 and penalties[j] + d > 0.0:
                hit = min(b / (penalties[j] + d), level)
                if hit > reached:
                    event, reached, sign = j, hit, 1.0
            elif b < 0.0 and penalties[j] - d > 0.0:
                hit = min(-b / (penalties[j] - d), level)
                if hit > reached:
                    event, reached, sign = j, hit, -1.0
    return event, reached, sign


@kernel
def sweep(tableau: FloatArray, k: int) -> None:
    """Exchange column ``k`` between active and inactive, in place; sweeping twice restores the tableau."""
    inverse = 1.0 / tableau[k, k]
    row = tableau[k]
    for j in range(row.size):
        row[j] *= inverse
    for i in range(tableau.shape[0]):
        if i == k:
            continue
        current = tableau[i]
        factor = current[k]
        for j in range(row.size):
            current[j] -= factor * row[j]
        current[k] = -factor * inverse
    row[k] = inverse
