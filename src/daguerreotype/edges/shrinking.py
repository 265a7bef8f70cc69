"""Which parents does BIC let go? The shrinking half of grow-shrink, and least squares on what stays."""

import numpy as np

from daguerreotype.arrays import FloatArray, IntArray
from daguerreotype.edges.growing import Problem, variance_floor
from daguerreotype.operators.kernel import kernel


@kernel
def columns_of(problem: Problem, owners: IntArray, used: IntArray) -> IntArray:
    """Columns of a parent set: the first ``used[i]`` of ``owners[i]``."""
    stride = problem.blocks.shape[1]
    columns = np.empty(used.sum(), dtype=np.int64)
    count = 0
    for i in range(owners.size):
        for a in range(used[i]):
            columns[count] = owners[i] * stride + a
            count += 1
    return columns


@kernel
def factorise(problem: Problem, target: int, columns: IntArray, lower: FloatArray, scores: FloatArray) -> float:
    """Variance of the target given ``columns``; fills in their Cholesky factor and whitened scores.

    A column that the earlier ones span has a zero on the diagonal and takes no part.
    """
    moments = problem.moments
    response = target * problem.blocks.shape[1]
    variance = moments[response, response]
    for i in range(columns.size):
        left = moments[columns[i], columns[i]]
        score = moments[columns[i], response]
        for j in range(i):
            entry = moments[columns[i], columns[j]]
            for k in range(j):
                entry -= lower[i, k] * lower[j, k]
            lower[i, j] = entry / lower[j, j] if lower[j, j] > 0.0 else 0.0
            left -= lower[i, j] * lower[i, j]
            score -= lower[i, j] * scores[j]
        usable = left > problem.limits[columns[i]]
        lower[i, i] = np.sqrt(left) if usable else 0.0
        scores[i] = score / lower[i, i] if usable else 0.0
        variance -= scores[i] * scores[i]
    return float(max(variance, variance_floor(problem, target)))


@kernel
def coefficients(problem: Problem, target: int, columns: IntArray) -> FloatArray:
    """Least-squares coefficients of the target on ``columns``; zero for a column the earlier ones span."""
    m = columns.size
    lower, scores = np.zeros((m, m)), np.zeros(m)
    factorise(problem, target, columns, lower, scores)
    beta = np.zeros(m)
    for i in range(m - 1, -1, -1):
        if lower[i, i] > 0.0:
            beta[i] = scores[i]
            for k in range(i + 1, m):
                beta[i] -= lower[k, i] * beta[k]
            beta[i] /= lower[i, i]
    return beta


@kernel
def invert(lower: FloatArray) -> FloatArray:
    """(L L')^-1 where the diagonal of L is positive, zero in the other rows and columns."""
    m = lower.shape[0]
    inner = np.zeros((m, m))  # L^-1
    for j in range(m):
        if lower[j, j] > 0.0:
            inner[j, j] = 1.0 / lower[j, j]
            for i in range(j + 1, m):
                if lower[i, i] > 0.0:
                    entry = 0.0
                    for k in range(j, i):
                        entry -= lower[i, k] * inner[k, j]
                    inner[i, j] = entry / lower[i, i]
    inverse = np.zeros((m, m))
    for k in range(m):
        for i in range(k + 1):
            for j in range(k + 1):
                inverse[i, j] += inner[k, i] * inner[k, j]
    return inverse


@kernel
def remove(inverse: FloatArray, beta: FloatArray, column: int) -> float:
    """Take ``column`` out of the regression, in place; returns how much the variance rises."""
    pivot = inverse[column, column]
    if pivot <= 0.0:
        return 0.0
    weight = beta[column] / pivot
    rise = beta[column] * weight
    for i in range(beta.size):
        share = inverse[i, column] / pivot
        beta[i] -= inverse[i, column] * weight
        if i != column and share != 0.0:
            for j in range(beta.size):
                inverse[i, j] -= share * inverse[column, j]
    inverse[column, :] = 0.0
    inverse[:, column] = 0.0
    beta[column] = 0.0
    return float(rise)


@kernel
def rise_without(inverse: FloatArray, beta: FloatArray, start: int, stop: int) -> float:
    """Rise of the variance when the columns start to stop leave."""
    if stop - start == 1:
        pivot = inverse[start, start]
        return float(beta[start] * beta[start] / pivot) if pivot > 0.0 else 0.0
    block = inverse[start:stop, start:stop].copy()
    part = beta[start:stop].copy()
    rise = 0.0
    for column in range(stop - start):
        rise += remove(block, part, column)
    return rise


@kernel
def shrink(problem: Problem, target: int, owners: IntArray, used: IntArray) -> float:
    """Remove parents, or bend them straight, while BIC improves; changes ``used``, returns the variance.

    The variance depends on the surviving columns alone, to the last bit, provided owners ascend.
    """
    columns = columns_of(problem, owners, used)
    m = columns.size
    lower, scores = np.zeros((m, m)), np.zeros(m)
    variance = factorise(problem, target, columns, lower, scores)
    inverse = invert(lower)
    beta = coefficients(problem, target, columns)
    starts = np.cumsum(used) - used
    removed = False
    now = variance
    while True:
        best, choice, keep = 0.0, -1, 0
        for i in range(owners.size):
            least = 1 if problem.required.size > 0 and problem.required[owners[i], target] else 0
            for kept in range(least, min(used[i], 2)):  # nothing, or the linear column of a block
                rise = rise_without(inverse, beta, starts[i] + kept, starts[i] + used[i])
                gain = problem.price * (used[i] - kept) - problem.n_rows * np.log((now + rise) / now)
                if kept == 0:
                    gain += problem.entry
                if gain > best:
                    best, choice, keep = gain, i, kept
        if choice < 0:
            break
        for column in range(starts[choice] + keep, starts[choice] + used[choice]):
            now += remove(inverse, beta, column)
        used[choice] = keep
        removed = True
    if removed:
        variance = factorise(problem, target, columns_of(problem, owners, used), lower, scores)
    return variance
