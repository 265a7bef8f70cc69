r"""Newton's method with halved steps for discrete columns, and the rows that their fits are made from.

With Z the chosen columns of the parents beside a constant, the linear predictors of a row are  eta = Z beta. All
likelihoods are concave in beta (that of counts given its dispersion), so that few steps from a nearby start are
enough. A ridge so small that data outweigh it keeps levels apart that parents determine exactly. Of the parameters
theta, those of Z and those of the shape, with loss  L = -\log likelihood + \tfrac12 \sum_i ridge_i theta_i^2,

.. math:: \theta \leftarrow \theta + share \, (\nabla^2 L)^{-1} (-\nabla L),

share = 1, or less where a coefficient would change too much; it is halved while L rises. The kernel of a family
computes likelihood, gradient and Hessian; `steps_back` and `steps_on` are the rest of a round. The Hessian takes
most of the time, and hardly changes near the maximum: there one does for several steps (the chord method).
"""

from typing import NamedTuple

import numpy as np

from daguerreotype._lib.numba import algebra_kernel, subkernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

RIDGE = 1e-2  # of the sum over rows: columns have variance one
DAMPING = 1e-6  # of steps of constants and cutpoints, which no ridge holds: more would slow those of rare levels
MOST_STEPS = 50
SETTLED = (
    1e-6  # nats of all rows that a Newton step promises, below which it is the last: far less is left after it
)
NEAR = 1.0  # nats that a step promises, below which the next one is made with the same Hessian
FALLS = 0.01  # share of the last promise, and of ``SETTLED``, below which a step must be to trust an older Hessian
LONGEST = 4.0  # change of a coefficient in one step
SHORTEST = 1e-6  # share of a step below which it is not made at all
ROUNDING = 1e-12  # of a likelihood per row


class RowsFit(NamedTuple):
    """A fit of one discrete column by rows; workspace of the searches for it.

    Attributes
    ----------
    state : array of shape (1,)
        The target that ``start`` belongs to; -1 for none.
    start : array of shape (d * stride, q)
        Coefficients of the last fit by column, zero for columns that took no part: where the next one starts.
    coefficients : array of shape (capacity, q)
        Those of the present fit: the constant's, then those of its columns.
    nuisance : array of shape (k,)
        Cutpoints of ordered levels; the dispersion of counts.
    columns : array of shape (capacity,)
        Columns of the present fit.
    residuals : array of shape (n, q)
        Derivatives of the log-likelihood of each row by its linear predictors.
    information : array of shape (q, q)
        Mean over rows of minus the second derivatives.
    nll : array of shape (2,)
        Negative log-likelihood per row, and parameters spent on its shape (one for a dispersion).
    keys, losses : arrays of shape (places,), (places, 2)
        What ``nll`` was in earlier fits, by target and columns.
    """

    state: IntArray
    start: FloatArray
    coefficients: FloatArray
    nuisance: FloatArray
    columns: IntArray
    residuals: FloatArray
    information: FloatArray
    nll: FloatArray
    keys: IntArray
    losses: FloatArray


class Rows(NamedTuple):
    """What a fit is made from; rows that agree in everything stand here once.

    Attributes
    ----------
    outcomes : array of shape (u,)
        Code or count of the target.
    times : array of shape (u,)
        How many rows are like this one.
    design : array of shape (p, u)
        A constant and the columns of the parents, each by itself: Z'.
    place : array of shape (n,)
        Which of these each row of the table is.
    """

    outcomes: IntArray
    times: FloatArray
    design: FloatArray
    place: IntArray


@subkernel
def factorise_in_place(matrix: FloatArray, size: int) -> None:
    """Overwrite the lower half of a positive definite matrix by its Cholesky factor."""
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[i, i] = np.sqrt(total) if total > 1e-12 else 1e6
            else:
                matrix[i, j] = total / matrix[j, j]


@subkernel
def solve_by_factor(factor: FloatArray, vector: FloatArray, size: int) -> float:
    """What `solve_in_place` does, of a matrix whose Cholesky factor is known."""
    length = 0.0
    for i in range(size):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]
        length += vector[i] * vector[i]
    for i in range(size - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, size):
            total -= factor[k, i] * vector[k]
        vector[i] = total / factor[i, i]
    return length


@subkernel
def solve_in_place(matrix: FloatArray, vector: FloatArray, size: int) -> float:
    """Overwrite ``vector`` by the solution of a positive definite system; returns vector' matrix^-1 vector."""
    factorise_in_place(matrix, size)
    return solve_by_factor(matrix, vector, size)


@algebra_kernel
def weighted_gram(design: FloatArray, weights: FloatArray, weighted: FloatArray, out: FloatArray) -> int:
    """Write  Z' diag(weights) Z  into ``out`` (p, p), of a design Z' (p, n); ``weighted`` (p, n) is room.

    Two rows times four at a time: each number that is loaded is used several times. Returns p.
    """
    p, n = design.shape
    for c in range(p):
        own, row = weighted[c], design[c]
        for t in range(n):
            own[t] = row[t] * weights[t]
    for a in range(0, p, 2):
        last = min(a + 1, p - 1)
        left, right = weighted[a], weighted[last]
        for b in range(0, last + 1, 4):
            b1, b2, b3 = min(b + 1, last), min(b + 2, last), min(b + 3, last)
            row0, row1, row2, row3 = design[b], design[b1], design[b2], design[b3]
            left0, left1, left2, left3 = 0.0, 0.0, 0.0, 0.0
            right0, right1, right2, right3 = 0.0, 0.0, 0.0, 0.0
            for t in range(n):
                x, y = left[t], right[t]
                z0, z1, z2, z3 = row0[t], row1[t], row2[t], row3[t]
                left0 += x * z0
                left1 += x * z1
                left2 += x * z2
                left3 += x * z3
                right0 += y * z0
                right1 += y * z1
                right2 += y * z2
                right3 += y * z3
            # in the place of a row beyond the last one the last one comes again
            out[a, b], out[a, b1], out[a, b2], out[a, b3] = left0, left1, left2, left3
            out[last, b], out[last, b1], out[last, b2], out[last, b3] = right0, right1, right2, right3
    for a in range(p):
        for b in range(a):
            out[b, a] = out[a, b]
    return int(p)


class Newton(NamedTuple):
    """The state of one maximisation.

    Attributes
    ----------
    theta, old, step : arrays of shape (p,)
        Parameters, those of the last step that was taken, and that step.
    ridges : array of shape (p,)
        Weights of half the squares of parameters in the loss; zero for constants and cutpoints.
    hessian : array of shape (p, p)
        Minus the second derivatives of the likelihood, the lower half; where they are kept, their Cholesky factor.
    loss, share, promise : arrays of shape (1,)
        The least loss so far, how much of the step was made, and the nats that it promised.
    done, keeps : arrays of shape (1,)
        Whether the step is the last one, and whether the next one has the same Hessian.
    """

    theta: FloatArray
    old: FloatArray
    step: FloatArray
    ridges: FloatArray
    hessian: FloatArray
    loss: FloatArray
    share: FloatArray
    promise: FloatArray
    done: BoolArray
    keeps: BoolArray


@subkernel
def new_newton(size: int) -> Newton:
    """A maximisation that begins: no loss is known, and no parameter has a ridge."""
    vectors = np.zeros((4, size))
    return Newton(
        vectors[0],
        vectors[1],
        vectors[2],
        vectors[3],
        np.empty((size, size)),
        np.full(1, np.inf),
        np.ones(1),
        np.ones(1),
        np.zeros(1, dtype=np.bool_),
        np.zeros(1, dtype=np.bool_),
    )


@subkernel
def steps_back(newton: Newton, nll: float, n: int) -> bool:
    """Whether the loss of n rows has risen by the last step; then half of it is made instead, in the end none."""
    theta, old, step, share = newton.theta, newton.old, newton.step, newton.share
    loss = nll
    for i in range(theta.size):
        loss += 0.5 * newton.ridges[i] * theta[i] * theta[i]
    if newton.done[0] or loss <= newton.loss[0] + ROUNDING * n:
        newton.loss[0] = loss
        return False
    share[0] = 0.5 * share[0] if share[0] > SHORTEST else 0.0
    newton.done[0], newton.keeps[0] = share[0] == 0.0, False
    for i in range(theta.size):
        theta[i] = old[i] + share[0] * step[i]
    return True


@subkernel
def steps_on(newton: Newton, gradient: FloatArray) -> None:
    """Make the step of the likelihood's ``gradient`` (p,) and of the Hessian, which is overwritten by its factor.

    It is the last one if it promises next to nothing.
    """
    theta, old, step, ridges, hessian = newton.theta, newton.old, newton.step, newton.ridges, newton.hessian
    size = theta.size
    for i in range(size):
        old[i] = theta[i]
        step[i] = gradient[i] - ridges[i] * theta[i]
        if not newton.keeps[0]:
            hessian[i, i] += ridges[i] if ridges[i] > 0.0 else DAMPING
    if not newton.keeps[0]:
        factorise_in_place(hessian, size)
    promise = 0.5 * solve_by_factor(hessian, step, size)
    newton.done[0] = promise < (FALLS * SETTLED if newton.keeps[0] else SETTLED)
    newton.keeps[0] = promise < (FALLS * newton.promise[0] if newton.keeps[0] else NEAR)
    newton.promise[0] = promise
    longest = 0.0
    for i in range(size):
        longest = max(longest, abs(step[i]))
    newton.share[0] = LONGEST / longest if longest > LONGEST else 1.0
    newton.keeps[0] = newton.keeps[0] and longest <= LONGEST
    for i in range(size):
        theta[i] = old[i] + newton.share[0] * step[i]
