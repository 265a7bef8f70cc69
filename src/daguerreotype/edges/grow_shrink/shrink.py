"""Which parents does BIC let go? The shrinking half of grow-shrink, and least squares on what stays.

Loops run along rows, which vectorises them; the order in which terms are added depends on the columns alone.
"""

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.grow_shrink.grow import Problem, subtract, variance_floor


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
def factorise(problem: Problem, target: int, columns: IntArray) -> tuple[FloatArray, float]:
    """U (m, m + 1) with  U' U = moments  of ``columns`` and, last, the target; and its variance given them.

    A column that the earlier ones span has a row of zeros and takes no part.
    """
    moments, m = problem.moments, columns.size
    response = target * problem.blocks.shape[1]
    variance = moments[response, response]
    upper = np.zeros((m, m + 1))
    for i in range(m):
        row, given = upper[i], moments[columns[i]]
        for j in range(i, m):
            row[j] = given[columns[j]]
        row[m] = given[response]
        subtract(row, upper, upper[:, i], i, i, m + 1)
        scale = np.sqrt(row[i]) if row[i] > problem.limits[columns[i]] else np.inf
        for j in range(i, m + 1):
            row[j] /= scale
        variance -= row[m] * row[m]
    return upper, float(max(variance, variance_floor(problem, target)))


@kernel
def solve_upper(upper: FloatArray) -> FloatArray:
    """Least-squares coefficients from `factorise`; zero for a column that the earlier ones span."""
    m = upper.shape[0]
    beta = np.zeros(m)
    for i in range(m - 1, -1, -1):
        if upper[i, i] > 0.0:
            beta[i] = upper[i, m]
            for k in range(i + 1, m):
                beta[i] -= upper[i, k] * beta[k]
            beta[i] /= upper[i, i]
    return beta


@kernel
def coefficients(problem: Problem, target: int, columns: IntArray) -> FloatArray:
    """Least-squares coefficients of the target on ``columns``; zero for a column the earlier ones span."""
    return solve_upper(factorise(problem, target, columns)[0])


@kernel
def invert_factor(upper: FloatArray) -> FloatArray:
    """L^-1 of  L = U',  with zeros in the rows and columns where U has a row of zeros."""
    m = upper.shape[0]
    inner = np.zeros((m, m))
    for i in range(m):
        if upper[i, i] > 0.0:
            row = inner[i]
            subtract(row, inner, upper[:, i], i, 0, i)
            for j in range(i):
                row[j] /= upper[i, i]
            row[i] = 1.0 / upper[i, i]
    return inner


@kernel
def multiply_out(inner: FloatArray) -> FloatArray:
    """(L L')^-1 from L^-1."""
    m = inner.shape[0]
    inverse = np.zeros((m, m))
    for k in range(m):
        for i in range(k + 1):
            share, row = inner[k, i], inverse[i]
            for j in range(k + 1):
                row[j] += share * inner[k, j]
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
def all_pay(problem: Problem, required: BoolArray, inner: FloatArray, beta: FloatArray, variance: float) -> bool:
    """Whether no parent of one column would be let go: the diagonal of the inverse is enough to tell."""
    m = beta.size
    pivots = np.zeros(m)
    for k in range(m):
        for i in range(k + 1):
            pivots[i] += inner[k, i] * inner[k, i]
    for i in range(m):
        rise = beta[i] * beta[i] / pivots[i] if pivots[i] > 0.0 else 0.0
        gain = problem.price + problem.entry - problem.n_rows * np.log((variance + rise) / variance)
        if gain > 0.0 and not required[i]:
            return False
    return True


@kernel
def shrink(problem: Problem, target: int, owners: IntArray, used: IntArray) -> float:
    """Remove parents, or bend them straight, while BIC improves; changes ``used``, returns the variance.

    The variance depends on the surviving columns alone, to the last bit, provided owners ascend.
    """
    upper, variance = factorise(problem, target, columns_of(problem, owners, used))
    beta, inner = solve_upper(upper), invert_factor(upper)
    required = np.zeros(owners.size, dtype=np.bool_)
    if problem.required.size > 0:
        for i in range(owners.size):
            required[i] = problem.required[owners[i], target]
    if problem.blocks.shape[1] == 1 and all_pay(problem, required, inner, beta, variance):
        return variance
    inverse = multiply_out(inner)
    starts = np.cumsum(used) - used
    removed = False
    now = variance
    while True:
        best, choice, keep = 0.0, -1, 0
        for i in range(owners.size):
            for kept in range(
                1 if required[i] else 0, min(used[i], 2)
            ):  # nothing, or the linear column of a block
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
        variance = factorise(problem, target, columns_of(problem, owners, used))[1]
    return variance
