r"""Active-set method for SparseMAP: the projection as a convex combination of few rankings, and its derivative.

The projection :math:`\mu` of :math:`\eta = \theta / \tau` on the permutahedron is known exactly (see
``projection``), and with it the face that holds it: an ordered partition of the sorted nodes into blocks.
What is left is to write :math:`\mu` as a convex combination of rankings of that face:

.. math:: \min_{p \in \triangle} \tfrac12 \| \textstyle\sum_s p_s r_s - \mu \|^2

Each iteration asks for the ranking of the face that is best aligned with the residual (a sort within blocks),
adds it, moves to the minimiser over the affine hull of the active rankings and drops those whose weight would
turn negative (Wolfe's method; Nocedal and Wright 1999, chapter 16). Over rankings of one face the minimiser
for the target :math:`\mu` is that for the target :math:`\eta`, so the weights at any iteration are SparseMAP
restricted to the active rankings, and its derivative follows from the KKT system on the support.

Under a partial order that is more than tiers the projection on the hull of the rankings that obey is not known.
The target then is :math:`\eta` itself, and local search finds the next ranking (see ``linear_extension``). The
method ends where that ranking is no better aligned with the residual than the active ones. Scores that break the
partial order by far have too many digits for this file: see ``wide_scores``.
"""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.numba import algebra_kernel, kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.operators.linear_extension import better_ranking

TIE = 1e-9  # residuals that differ by less than this share of the largest are tied
ROUNDING = 1e-14  # and those that differ by less than this
PROGRESS = 1e-12  # share of the squared distance that an iteration must gain to count as one that comes closer
INDEPENDENCE = 1e-10  # squared distance of a new unit vector from the span of the others, at least


@kernel
def unit_scale(d: int) -> float:
    """One over the length of a centred ranking of d nodes."""
    return 1.0 / np.sqrt(d * (d * d - 1.0) / 12.0) if d > 1 else 1.0


@kernel
def sort_block(keys: FloatArray, order: IntArray, scratch: IntArray, first: int, end: int) -> None:
    """Merge sort of ``order[first:end]`` by keys; stable."""
    run = 12
    for start in range(first, end, run):  # short runs by insertion
        for i in range(start + 1, min(start + run, end)):
            item = order[i]
            j = i - 1
            while j >= start and keys[order[j]] > keys[item]:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = item
    while run < end - first:
        for start in range(first, end, 2 * run):
            middle, stop = min(start + run, end), min(start + 2 * run, end)
            if middle == stop or keys[order[middle - 1]] <= keys[order[middle]]:
                continue
            for i in range(start, middle):
                scratch[i] = order[i]
            left, right, at = start, middle, start
            while left < middle and right < stop:
                if keys[order[right]] < keys[scratch[left]]:
                    order[at] = order[right]
                    right += 1
                else:
                    order[at] = scratch[left]
                    left += 1
                at += 1
            while left < middle:
                order[at] = scratch[left]
                at += 1
                left += 1
        run *= 2


@algebra_kernel
def append_to_factor(factor: FloatArray, units: FloatArray, m: int) -> bool:
    """Extend the Cholesky factor of <u_i, u_j> + 1 by unit vector m; False if it depends on the others."""
    for i in range(m):
        entry = 1.0
        for j in range(units.shape[1]):
            entry += units[i, j] * units[m, j]
        for j in range(i):
            entry -= factor[i, j] * factor[m, j]
        factor[m, i] = entry / factor[i, i]
    pivot = 2.0
    for j in range(m):
        pivot -= factor[m, j] * factor[m, j]
    if pivot < INDEPENDENCE:
        return False
    factor[m, m] = np.sqrt(pivot)
    return True


@kernel
def _drop_from_factor(factor: FloatArray, m: int, gone: int) -> None:
    """Remove row ``gone`` of m from the Cholesky factor by Givens rotations."""
    for i in range(gone, m - 1):
        for j in range(i + 2):
            factor[i, j] = factor[i + 1, j]
        a, b = factor[i, i], factor[i, i + 1]
        length = np.sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        factor[i, i] = length
        for k in range(i + 1, m - 1):
            a, b = factor[k + 1, i], factor[k + 1, i + 1]
            factor[k + 1, i] = cosine * a + sine * b
            factor[k + 1, i + 1] = cosine * b - sine * a


@algebra_kernel
def solve_lower(factor: FloatArray, m: int, first: int, solution: FloatArray) -> None:
    """Forward substitution in place, for entries from ``first`` on."""
    for i in range(first, m):
        value = solution[i]
        for j in range(i):
            value -= factor[i, j] * solution[j]
        solution[i] = value / factor[i, i]


@algebra_kernel
def _solve_upper(factor: FloatArray, m: int, solution: FloatArray) -> None:
    """Back substitution in place with the transposed factor."""
    for i in range(m - 1, -1, -1):
        solution[i] /= factor[i, i]
        value = solution[i]
        for j in range(i):
            solution[j] -= factor[i, j] * value


@algebra_kernel
def _residual(target: FloatArray, units: FloatArray, weights: FloatArray, m: int, out: FloatArray) -> float:
    """Write target - weights @ units into ``out``; its largest entry."""
    d = target.size
    for j in range(d):
        out[j] = target[j]
    for i in range(m):
        weight = weights[i]
        for j in range(d):
            out[j] -= weight * units[i, j]
    largest = 0.0
    for j in range(d):
        largest = max(largest, abs(out[j]))
    return largest


@kernel
def _affine_minimiser(
    factor: FloatArray, half_products: FloatArray, half_ones: FloatArray, m: int, weights: FloatArray
) -> None:
    """Weights that sum to one and bring the active rankings closest to the target.

    With H = <u_i, u_j> + 1 = L L' the minimiser is H^-1 (b + kappa 1), with kappa such that they sum to one.
    ``half_products`` and ``half_ones`` hold L^-1 b and L^-1 1.
    """
    overlap = squared = 0.0
    for i in range(m):
        overlap += half_products[i] * half_ones[i]
        squared += half_ones[i] * half_ones[i]
    kappa = (1.0 - overlap) / squared
    for i in range(m):
        weights[i] = half_products[i] + kappa * half_ones[i]
    _solve_upper(factor, m, weights)


@kernel
def _drop(
    gone: int,
    m: int,
    ranks: IntArray,
    units: FloatArray,
    factor: FloatArray,
    products: FloatArray,
    half_products: FloatArray,
    half_ones: FloatArray,
    weights: FloatArray,
) -> None:
    """Remove ranking ``gone`` of m; those behind it move up."""
    _drop_from_factor(factor, m, gone)
    for i in range(gone, m - 1):
        for j in range(ranks.shape[1]):
            ranks[i, j] = ranks[i + 1, j]
            units[i, j] = units[i + 1, j]
        products[i], weights[i] = products[i + 1], weights[i + 1]
    for i in range(gone, m - 1):
        half_products[i], half_ones[i] = products[i], 1.0
    solve_lower(factor, m - 1, gone, half_products)
    solve_lower(factor, m - 1, gone, half_ones)


@kernel
def settle(
    m: int,
    ranks: IntArray,
    units: FloatArray,
    factor: FloatArray,
    products: FloatArray,
    half_products: FloatArray,
    half_ones: FloatArray,
    weights: FloatArray,
    proposal: FloatArray,
) -> int:
    """Weights at the affine minimiser; rankings whose weight would turn negative leave. How many are left.

    Every round but the last drops one of them, and the last one stays: at most m rounds.
    """
    while m > 1:
        _affine_minimiser(factor, half_products, half_ones, m, proposal)
        step = 1.0
        for i in range(m):
            if proposal[i] < 0.0:
                step = min(step, weights[i] / (weights[i] - proposal[i]))
        if step == 1.0:
            for i in range(m):
                weights[i] = proposal[i]
            return m
        gone = -1
        for i in range(m - 1, -1, -1):
            weights[i] += step * (proposal[i] - weights[i])
            if proposal[i] < 0.0 and (gone < 0 or weights[i] < weights[gone]):
                gone = i
        _drop(gone, m, ranks, units, factor, products, half_products, half_ones, weights)
        m -= 1
    weights[0] = 1.0
    return m


@kernel
def decompose(
    target: FloatArray,
    starts: IntArray,
    max_iter: int,
    before: BoolArray | None,
    initial: IntArray,
    shares: FloatArray,
    known_factor: FloatArray,
) -> tuple[int, FloatArray, IntArray, FloatArray]:
    """Active rankings of the face and their weights; everything in sorted coordinates.

    ``target`` is the projection less its centre (d + 1) / 2, ``starts`` its blocks. ``before`` (d, d), if there is
    one, is the partial order to obey, as the sorted order does; ``target`` then is eta, less its mean, and there
    are no blocks. ``initial`` (w, d) are rankings to begin with, with weights ``shares`` (w,): zero for those that
    are not of the face. ``known_factor`` is their Cholesky factor, with room to spare, or empty. Returns how many
    rankings there are, their weights, the rankings and the Cholesky factor for the derivative, with room to spare
    in all of them.
    """
    d = target.size
    n_initial = initial.shape[0]
    capacity = max_iter + n_initial + 1
    if capacity > d + 2 + n_initial:
        capacity = d + 2 + n_initial  # affinely independent rankings: never more than d
    # Rankings are centred and scaled to unit length.
    scale = unit_scale(d)
    centre = 0.5 * (d - 1)
    goal, residual = np.empty(d), np.empty(d)
    order, scratch = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    for j in range(d):
        goal[j] = target[j] * scale
        order[j] = j
    tolerance = 1e-13 * max(d, 1)
    ranks = np.empty((capacity, d), dtype=np.int64)
    units = np.empty((capacity, d))
    factor = np.empty((capacity, capacity))
    products, half_products, half_ones = np.empty(capacity), np.empty(capacity), np.empty(capacity)
    weights, proposal = np.empty(capacity), np.empty(capacity)

    # --- rankings to begin with, at the weights that they had
    m = 0
    total = 0.0
    for i in range(n_initial):
        if known_factor.size == 0 and shares[i] == 0.0:
            continue
        for j in range(d):
            ranks[m, j] = initial[i, j]
            units[m, j] = (initial[i, j] - centre) * scale
        if known_factor.size == 0:
            if not append_to_factor(factor, units, m):
                continue
        else:
            for j in range(m + 1):
                factor[m, j] = known_factor[m, j]
        products[m] = 0.0
        for j in range(d):
            products[m] += units[m, j] * goal[j]
        weights[m] = shares[i]
        half_products[m], half_ones[m] = products[m], 1.0
        total += shares[i]
        m += 1
    if m > 0:
        solve_lower(factor, m, 0, half_products)
        solve_lower(factor, m, 0, half_ones)
        for i in range(m - 1, -1, -1):
            if weights[i] == 0.0:
                _drop(i, m, ranks, units, factor, products, half_products, half_ones, weights)
                m -= 1
            else:
                weights[i] /= total
        if m > 0:
            m = settle(m, ranks, units, factor, products, half_products, half_ones, weights, proposal)

    # In exact arithmetic every iteration comes closer, so that no set of rankings is met twice. Where rounding
    # makes that untrue for more iterations than there are rankings to exchange, it is as close as it gets.
    iterations, stalled, closest = 0, 0, np.inf
    while stalled <= d + 1:
        # --- the next ranking: the sorted order, then the best aligned with the residual
        if m > 0:
            if iterations >= max_iter:
                break
            largest = _residual(goal, units, weights, m, residual)
            if largest <= tolerance * scale:
                break
            distance = 0.0
            for j in range(d):
                distance += residual[j] * residual[j]
            stalled = 0 if distance < (1.0 - PROGRESS) * closest else stalled + 1
            closest = min(closest, distance)
            # The residual is orthogonal to the differences of active rankings, so some of its entries are
            # equal but for rounding. Equal keys keep the choice of the next ranking stable.
            grain = max(TIE * largest, ROUNDING)
            for j in range(d):
                residual[j] = np.rint(residual[j] / grain)
            # The last ranking that was chosen is where the sort begins: it is nearly sorted.
            for block in range(starts.size - 1):
                if starts[block + 1] - starts[block] > 1:
                    sort_block(residual, order, scratch, starts[block], starts[block + 1])
            for p in range(d):
                ranks[m, order[p]] = p
            # A branch of its own: numba leaves it out, and what it calls, where there is no partial order.
            if before is not None:  # noqa: SIM102
                if not better_ranking(residual, order, before, scratch, ranks, m):
                    break
        else:
            for p in range(d):
                ranks[m, p] = p
        iterations += 1
        for j in range(d):
            units[m, j] = (ranks[m, j] - centre) * scale
        if not append_to_factor(factor, units, m):
            break
        products[m] = 0.0
        for j in range(d):
            products[m] += units[m, j] * goal[j]
        half_products[m] = products[m]
        half_ones[m] = 1.0
        weights[m] = 0.0 if m > 0 else 1.0
        m += 1
        solve_lower(factor, m, m - 1, half_products)
        solve_lower(factor, m, m - 1, half_ones)

        # --- weights: the affine minimiser, or as far towards it as no weight turns negative
        m = settle(m, ranks, units, factor, products, half_products, half_ones, weights, proposal)
    return m, weights, ranks, factor


def support_factor(ranks: IntArray) -> FloatArray:
    """Cholesky factor of <u_i, u_j> + 1 of affinely independent rankings (m, d)."""
    d = ranks.shape[1]
    units = (ranks - 0.5 * (d - 1)) * unit_scale(d)
    return np.linalg.cholesky(units @ units.T + 1.0).astype(np.float64, copy=False)


@kernel
def support_vjp(grad_probs: FloatArray, ranks: IntArray, factor: FloatArray) -> FloatArray:
    r"""Gradient with respect to eta of the weights on a fixed support.

    The KKT system of the weights gives :math:`\partial p / \partial \eta = (G^{-1} - G^{-1} 1 1^T G^{-1} /
    1^T G^{-1} 1) R` with the Gram matrix G of the rankings R; adding a constant to G changes nothing.
    """
    m, d = ranks.shape
    scale = unit_scale(d)
    solution, ones = np.empty(m), np.empty(m)
    for i in range(m):
        solution[i], ones[i] = grad_probs[i], 1.0
    solve_lower(factor, m, 0, solution)
    solve_lower(factor, m, 0, ones)
    overlap = squared = 0.0
    for i in range(m):
        overlap += solution[i] * ones[i]
        squared += ones[i] * ones[i]
    for i in range(m):
        solution[i] -= overlap / squared * ones[i]
    _solve_upper(factor, m, solution)
    gradient = np.zeros(d)
    # The entries of the solution sum to zero, so the centring of the rankings cancels.
    for i in range(m):
        weight = solution[i] * scale * scale
        for j in range(d):
            gradient[j] += weight * ranks[i, j]
    return gradient


@dataclass(frozen=True, slots=True)
class SupportPullback:
    """Derivative of the probabilities on the support that the active set ended with."""

    ranks: IntArray
    factor: FloatArray
    tau: float

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Gradient (d,) w.r.t. theta from that w.r.t. the probabilities (m,)."""
        return support_vjp(grad_probs, self.ranks, self.factor) / self.tau
