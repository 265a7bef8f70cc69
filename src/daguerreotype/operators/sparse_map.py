r"""SparseMAP on the permutahedron, by the active set or by peeling.

The projection :math:`\mu` of :math:`\eta = \theta / \tau` on the permutahedron is known exactly (see
``projection``), and with it the face that holds it: an ordered partition of the sorted nodes into blocks.
What is left is to write :math:`\mu` as a convex combination of rankings of that face.

**By the active set**: solve :math:`\min_{p \in \triangle} \tfrac12 \| \textstyle\sum_s p_s r_s - \mu \|^2`.
Each iteration asks for the ranking of the face that is best aligned with the residual (a sort within blocks,
which begins with the last ranking), adds it, moves to the minimiser over the affine hull of the active rankings
and drops those whose weight would turn negative (Wolfe's method; Nocedal and Wright 1999, chapter 16). Over
rankings of one face the minimiser for the target :math:`\mu` is that for the target :math:`\eta`, so the weights
at any iteration are SparseMAP restricted to the active rankings, and its derivative follows from the KKT system
on the support.

Under a partial order that is more than tiers the projection on the hull of the rankings that obey is not known.
The target then is :math:`\eta` itself, and local search finds the next ranking (see ``precedence``). The
method ends where that ranking is no better aligned with the residual than the active ones.

**By peeling**: in sorted coordinates, let time run from 0 to 1 and peel the projection :math:`\mu` off at unit
speed: at any time the nodes form an ordered partition into groups, and the barycentre of the rankings that keep
the groups apart is subtracted at rate one. The gap of :math:`\mu` between two neighbouring groups shrinks at the
rate of the gap between their mean ranks, half the sum of their sizes. When it vanishes the groups merge. Gaps
between two blocks of the projection last exactly until time 1, those within a block not so long.

The barycentre of a partition is the average of the sorted order and of the order with every group reversed.
So the sorted order gets half of the time (all of it until the first merger) and every partition on the way
gives one more ranking: at most d in all, with weights that are piecewise linear in theta. The derivative
takes O(d).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np

from daguerreotype._lib.checks import check_choice, check_positive_int, check_temperature
from daguerreotype._lib.numba import algebra_kernel, kernel
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.operators.distribution import OrderDistribution
from daguerreotype.operators.k_best import heap_pop, heap_push
from daguerreotype.operators.precedence import (
    Precedence,
    PrecedenceLike,
    as_precedence,
    better_ranking,
    unrelated_runs,
)
from daguerreotype.operators.projection import MODERATE, block_ranks, close_gaps, find_blocks
from daguerreotype.operators.rankings import check_scores, sort_nodes

WIDEST = 2 * MODERATE  # span of scores over tau, closed gaps aside: scores that obey a partial order are below it
TIE = 1e-9  # residuals that differ by less than this share of the largest are tied
ROUNDING = 1e-14  # and those that differ by less than this
PROGRESS = 1e-12  # share of the squared distance that an iteration must gain to count as one that comes closer
INDEPENDENCE = 1e-10  # squared distance of a new unit vector from the span of the others, at least


def sparsemap(
    theta: FloatArray,
    max_iter: int = 100,
    *,
    tau: float = 1.0,
    method: Literal["active-set", "peel"] = "active-set",
    precedence: PrecedenceLike | None = None,
) -> OrderDistribution:
    r"""Sparse distribution over rankings whose mean ranking is the projection on the permutahedron.

    Solves (eq. 7)

    .. math:: \max_{p \in \triangle} \; \langle \theta, \mathbb{E}_p[r + 1] \rangle
              - \frac{\tau}{2} \| \mathbb{E}_p[r + 1] \|^2 .

    The mean is unique, the distribution is not: both methods choose affinely independent rankings, at most d.

    Parameters
    ----------
    theta : array of shape (d,)
        Node scores. A node with a small score comes early.
    max_iter : int
        Most iterations of the active set, each of which adds at most one ranking; fewer than the exact
        solution needs give the best combination of fewer rankings. ``method="peel"`` is exact and ignores it.
    tau : float
        Temperature. Towards 0 all mass moves to the sorted order.
    method : {"active-set", "peel"}
        "active-set" is the paper's, and the sparser. "peel" is a closed form and the fastest: the sorted
        order carries at least half of the mass, and each other ranking reverses groups of neighbours in it.
    precedence : Precedence or iterable of pairs (i, j), optional
        Node i stands before node j in every ranking: the mean is the projection on the hull of the rankings that
        obey. Exact where the partial order is nothing but tiers of all nodes. In general its oracle is NP-hard:
        "active-set" then adds rankings that local search finds, and "peel" only ranks within runs of neighbours
        that are in no relation, apart where their scores are. "active-set" refuses scores that break the order by
        more than some 2000 times tau, which have too many digits: make them obey by ``Precedence.project``.

    Examples
    --------
    >>> from daguerreotype.operators import sparsemap
    >>> sparsemap([0.0, 0.0, 9.0])
    OrderDistribution of 2 rankings of 3 nodes, entropy 0.693
      0.500  0 1 2
      0.500  1 0 2
    """
    theta = check_scores(theta)
    max_iter = check_positive_int(max_iter, "max_iter")
    tau = check_temperature(tau)
    check_choice(method, "method", ("active-set", "peel"))
    if precedence is None:
        nodes, before = sort_nodes(theta), None
        eta = close_gaps(theta[nodes], tau)
        starts = find_blocks(eta)
    else:
        order = as_precedence(precedence, theta.size)
        nodes, eta, starts, before = _obeying(theta, tau, order, method == "peel")
    if method == "peel":
        probs, ranks, pullback = peel(eta, starts, nodes, tau)
        return OrderDistribution(probs, ranks, pullback)

    target = block_ranks(eta, starts) - 0.5 * (theta.size + 1) if before is None else eta - eta.mean()
    m, probs, sorted_ranks, factor = decompose(target, starts, max_iter, before)
    probs = probs[:m]
    ranks = np.empty((m, theta.size), dtype=np.int64)
    ranks[:, nodes] = sorted_ranks[:m]
    keep = probs > 0.0
    if not keep.all():
        probs, ranks = probs[keep], ranks[keep]
        factor = support_factor(ranks)
    return OrderDistribution(probs, ranks, SupportPullback(ranks, factor, tau))


def _obeying(
    theta: FloatArray, tau: float, order: Precedence, peeled: bool
) -> tuple[IntArray, FloatArray, IntArray, BoolArray | None]:
    """Nodes in an order that obeys, their scores over tau, blocks, and the partial order where blocks are not all.

    Under tiers alone, and for peeling, nodes come in groups, and all rankings that keep the groups apart obey. The
    hull of those is the product of the groups' own, so that blocks are found in each alone.
    """
    if order.levels is not None:
        nodes = sort_nodes(theta)
        nodes = nodes[np.argsort(order.levels[nodes], kind="stable")]
        bounds = np.append(np.unique(order.levels), theta.size)  # a level is the number of nodes before it
        scores = theta[nodes]
    else:
        projected = order.project(theta)
        nodes = order.sort(projected)
        before = np.ascontiguousarray(order.before[np.ix_(nodes, nodes)])
        if not peeled:
            eta = close_gaps(theta[nodes], tau)
            _check_width(theta, tau, eta, order)
            return nodes, eta, np.arange(theta.size + 1), before
        scores = projected[nodes]
        bounds = unrelated_runs(scores, before)
    parts = [close_gaps(scores[first:end], tau) for first, end in pairwise(bounds)]
    blocks = [find_blocks(part)[:-1] + first for part, first in zip(parts, bounds[:-1], strict=True)]
    return nodes, np.concatenate(parts), np.append(np.concatenate(blocks), theta.size), None


def _check_width(theta: FloatArray, tau: float, eta: FloatArray, order: Precedence) -> None:
    """Refuse scores that break a partial order by so much that doubles cannot hold both them and mean ranks."""
    if np.ptp(eta) - eta.size**2 <= WIDEST:
        return
    broken = order.broken_by(theta)
    assert broken is not None, "the gaps of scores that obey are closed"
    i, j = broken
    raise ValueError(
        f"theta breaks the precedence {i} before {j} by too much for method='active-set' at tau = {tau:.6g}: "
        f"theta[{i}] = {theta[i]:.6g} and theta[{j}] = {theta[j]:.6g}. Project theta onto the partial order "
        "first: Precedence(...).project."
    )


# ---------------------------------------------------------------- the active set


class _ActiveRankings(NamedTuple):
    """Room for the active rankings, a row each, of which the first m count; and what follows from them.

    ``ranks`` (c, d) are their positions in sorted coordinates, ``units`` (c, d) the same centred and scaled to
    unit length, ``factor`` (c, c) the Cholesky factor L of H = <u_i, u_j> + 1, ``products`` (c,) those with the
    target, b, ``half_products`` and ``half_ones`` (c,) L^-1 b and L^-1 1, ``weights`` (c,) their weights and
    ``proposal`` (c,) room for weights at the affine minimiser.
    """

    ranks: IntArray
    units: FloatArray
    factor: FloatArray
    products: FloatArray
    half_products: FloatArray
    half_ones: FloatArray
    weights: FloatArray
    proposal: FloatArray


@kernel
def decompose(
    target: FloatArray, starts: IntArray, max_iter: int, before: BoolArray | None
) -> tuple[int, FloatArray, IntArray, FloatArray]:
    """Active rankings of the face and their weights; everything in sorted coordinates.

    ``target`` is the projection less its centre (d + 1) / 2, ``starts`` its blocks. ``before`` (d, d), if there is
    one, is the partial order to obey, as the sorted order does; ``target`` then is eta, less its mean, and there
    are no blocks. Returns how many rankings there are, their weights, the rankings and the Cholesky factor for the
    derivative, with room to spare in all of them.
    """
    d = target.size
    capacity = min(max_iter, d + 1) + 1  # affinely independent rankings: never more than d
    scale = unit_scale(d)
    centre = 0.5 * (d - 1)
    goal, residual = np.empty(d), np.empty(d)
    order = np.empty(d, dtype=np.int64)
    for j in range(d):
        goal[j] = target[j] * scale
        order[j] = j
    tolerance = 1e-13 * max(d, 1)
    ranks = np.empty((capacity, d), dtype=np.int64)
    units = np.empty((capacity, d))
    factor = np.empty((capacity, capacity))
    products, half_products, half_ones = np.empty(capacity), np.empty(capacity), np.empty(capacity)
    weights, proposal = np.empty(capacity), np.empty(capacity)
    active = _ActiveRankings(ranks, units, factor, products, half_products, half_ones, weights, proposal)

    # In exact arithmetic every iteration comes closer, so that no set of rankings is met twice. Where rounding
    # makes that untrue for more iterations than there are rankings to exchange, it is as close as it gets.
    m, iterations, stalled, closest = 0, 0, 0, np.inf
    while iterations < max_iter and stalled <= d + 1:
        # --- the next ranking: the sorted order, then the best aligned with the residual
        if m > 0:
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
                    _sort_block(residual, order, starts[block], starts[block + 1])
        for p in range(d):
            ranks[m, order[p]] = p
        # A branch of its own: numba leaves it out, and what it calls, where there is no partial order.
        if before is not None:  # noqa: SIM102
            if m > 0 and not better_ranking(residual, order, before, ranks, m):
                break
        iterations += 1
        products[m] = 0.0
        for j in range(d):
            units[m, j] = (ranks[m, j] - centre) * scale
            products[m] += units[m, j] * goal[j]
        if not append_to_factor(factor, units, m):
            break
        half_products[m], half_ones[m] = products[m], 1.0
        weights[m] = 0.0 if m > 0 else 1.0
        m += 1
        solve_lower(factor, m, m - 1, half_products)
        solve_lower(factor, m, m - 1, half_ones)
        # --- weights: the affine minimiser, or as far towards it as no weight turns negative
        m = _settle(active, m)
    return m, weights, ranks, factor


@kernel
def _settle(active: _ActiveRankings, m: int) -> int:
    """Weights at the affine minimiser; rankings whose weight would turn negative leave. How many are left.

    Every round but the last drops one of them, and the last one stays: at most m rounds.
    """
    weights, proposal = active.weights, active.proposal
    while m > 1:
        _affine_minimiser(active, m)
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
        _drop(active, m, gone)
        m -= 1
    weights[0] = 1.0
    return m


@kernel
def _affine_minimiser(active: _ActiveRankings, m: int) -> None:
    """Propose weights that sum to one and bring the active rankings closest to the target.

    With H = L L' the minimiser is H^-1 (b + kappa 1), with kappa such that they sum to one.
    """
    half_products, half_ones, proposal = active.half_products, active.half_ones, active.proposal
    overlap = squared = 0.0
    for i in range(m):
        overlap += half_products[i] * half_ones[i]
        squared += half_ones[i] * half_ones[i]
    kappa = (1.0 - overlap) / squared
    for i in range(m):
        proposal[i] = half_products[i] + kappa * half_ones[i]
    _solve_upper(active.factor, m, proposal)


@kernel
def _drop(active: _ActiveRankings, m: int, gone: int) -> None:
    """Remove ranking ``gone`` of m; those behind it move up."""
    ranks, units = active.ranks, active.units
    _drop_from_factor(active.factor, m, gone)
    for i in range(gone, m - 1):
        for j in range(ranks.shape[1]):
            ranks[i, j], units[i, j] = ranks[i + 1, j], units[i + 1, j]
        active.products[i], active.weights[i] = active.products[i + 1], active.weights[i + 1]
        active.half_products[i], active.half_ones[i] = active.products[i], 1.0
    solve_lower(active.factor, m - 1, gone, active.half_products)
    solve_lower(active.factor, m - 1, gone, active.half_ones)


@kernel
def unit_scale(d: int) -> float:
    """One over the length of a centred ranking of d nodes."""
    return 1.0 / np.sqrt(d * (d * d - 1.0) / 12.0) if d > 1 else 1.0


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


@kernel
def _sort_block(keys: FloatArray, order: IntArray, first: int, end: int) -> None:
    """Sort ``order[first:end]`` by keys; nodes of equal keys stay in the order that they are in."""
    nodes = order[first:end].copy()
    places = np.argsort(keys[nodes], kind="mergesort")
    for i in range(end - first):
        order[first + i] = nodes[places[i]]


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


@saved
@dataclass(frozen=True, slots=True)
class SupportPullback:
    """Derivative of the probabilities on the support that the active set ended with."""

    ranks: Annotated[IntArray, Shape("m", "d", order=True)]
    factor: Annotated[FloatArray, Shape("f", "f")]
    tau: float

    def check_saved(self) -> None:
        """Refuse a factor of fewer rankings."""
        if len(self.factor) < len(self.ranks):
            raise ValueError("a factor of fewer rankings than there are")

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Gradient (d,) w.r.t. theta from that w.r.t. the probabilities (m,)."""
        return support_vjp(grad_probs, self.ranks, self.factor) / self.tau


# ---------------------------------------------------------------- peeling


def peel(
    eta: FloatArray, starts: IntArray, nodes: IntArray, tau: float
) -> tuple[FloatArray, IntArray, Callable[[FloatArray], FloatArray]]:
    """Probabilities, rankings and vjp, from sorted scores over tau and the blocks of their projection."""
    m, ties, probs, ranks, merged = _peel(eta, starts, nodes)
    if m < ranks.shape[0]:
        ranks = ranks[:m]
    if ties:  # the support spans less than the face: take the derivative within its span
        return probs[:m], ranks, SupportPullback(ranks, support_factor(ranks), tau)
    return probs, ranks, PeelPullback(merged, nodes, tau)


@saved
@dataclass(frozen=True, slots=True)
class PeelPullback:
    """Derivative of the probabilities where all mergers happen at times of their own."""

    merged: Annotated[IntArray, Shape("g", least=0, below="d")]
    nodes: Annotated[IntArray, Shape("d", order=True)]
    tau: float

    def check_saved(self) -> None:
        """Refuse mergers of gaps that there are not."""
        if self.merged.size >= self.nodes.size or self.merged.max(initial=0) > max(self.nodes.size - 2, 0):
            raise ValueError("mergers of gaps that there are not")

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Gradient (d,) w.r.t. theta from that w.r.t. the probabilities (m,)."""
        if grad_probs.size > self.merged.size + 1:
            raise ValueError(f"{grad_probs.size} probabilities, but only {self.merged.size} mergers.")
        return _peel_vjp(grad_probs, self.merged, self.nodes) / self.tau


@kernel
def _peel(eta: FloatArray, starts: IntArray, nodes: IntArray) -> tuple[int, bool, FloatArray, IntArray, IntArray]:
    """Number of rankings, whether mergers coincide, probs, ranks, the gaps in order of merging."""
    d = eta.size
    n_gaps = d + 1 - starts.size  # gaps within blocks; gap i is between sorted nodes i and i + 1
    probs = np.empty(n_gaps + 1)
    ranks = np.empty((n_gaps + 1, d), dtype=np.int64)
    merged = np.empty(n_gaps, dtype=np.int64)
    reversed_ranks = np.empty(d, dtype=np.int64)
    for i in range(d):
        ranks[0, nodes[i]] = i
        reversed_ranks[nodes[i]] = i

    # lo and hi of a group are kept at both of its ends. due[i] is when gap i vanishes, as things stand.
    lo, hi = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    due = np.empty(d)
    for i in range(d):
        lo[i] = hi[i] = i
        due[i] = np.inf
    keys = np.empty(3 * n_gaps)
    items = np.empty(3 * n_gaps, dtype=np.int64)
    size = 0
    for block in range(starts.size - 1):
        for i in range(starts[block], starts[block + 1] - 1):
            due[i] = eta[i + 1] - eta[i]
            heap_push(keys, items, size, due[i], i)
            size += 1

    now = 0.0
    m = 1
    ties = False
    first_time = 1.0
    for event in range(n_gaps):
        while keys[0] != due[items[0]]:  # due has changed since
            heap_pop(keys, items, size)
            size -= 1
        i = items[0]
        time = min(keys[0], 1.0)
        heap_pop(keys, items, size)
        size -= 1
        if time > now:
            if event == 0:
                first_time = time
            else:
                probs[m] = 0.5 * (time - now)
                for j in range(d):
                    ranks[m, j] = reversed_ranks[j]
                m += 1
            now = time
        else:
            ties = True
            if event == 0:
                first_time = 0.0
        merged[event] = i
        due[i] = np.inf
        left, right = lo[i], hi[i + 1]
        old_left, old_right, new = i + 1 - left, right - i, right + 1 - left
        if left > 0 and due[left - 1] < np.inf:
            beyond = left - lo[left - 1]
            gap = 0.5 * (due[left - 1] - now) * (beyond + old_left)
            due[left - 1] = now + 2.0 * gap / (beyond + new)
            heap_push(keys, items, size, due[left - 1], left - 1)
            size += 1
        if right + 1 < d and due[right] < np.inf:
            beyond = hi[right + 1] - right
            gap = 0.5 * (due[right] - now) * (beyond + old_right)
            due[right] = now + 2.0 * gap / (beyond + new)
            heap_push(keys, items, size, due[right], right)
            size += 1
        hi[left], lo[right] = right, left
        for j in range(left, right + 1):
            reversed_ranks[nodes[j]] = left + right - j
    if n_gaps > 0 and now < 1.0:
        probs[m] = 0.5 * (1.0 - now)
        for j in range(d):
            ranks[m, j] = reversed_ranks[j]
        m += 1
    elif n_gaps > 0:
        ties = True
    probs[0] = 1.0 if n_gaps == 0 else 0.5 * (1.0 + first_time)
    return m, ties, probs, ranks, merged


@kernel
def _peel_vjp(grad_probs: FloatArray, merged: IntArray, nodes: IntArray) -> FloatArray:
    r"""Gradient with respect to eta, by solving the triangular system of mergers backwards.

    Before merger t, partition s = 0, ..., t - 1 lasted for a time lam_s, and gap t has shrunk to nothing:
    :math:`gap_t = \sum_{s < t} lam_s c_s(t)`, with c_s(t) half the sizes of the groups beside gap t. So the
    gradient y of the gaps solves :math:`\sum_{t > s} c_s(t) y_t = h_s` for the gradient h of the times.
    Undoing the mergers from the last to the first splits one group at a time: the sum is updated in O(1).
    """
    d = nodes.size
    n_gaps = merged.size
    gradient = np.zeros(d)
    if n_gaps == 0:
        return gradient
    # Groups as they were when gap merged[s] vanished, found by merging once more.
    lo, hi = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    for i in range(d):
        lo[i] = hi[i] = i
    outer = np.empty((n_gaps, 2), dtype=np.int64)
    for s in range(n_gaps):
        i = merged[s]
        left, right = lo[i], hi[i + 1]
        outer[s, 0], outer[s, 1] = left, right
        hi[left], lo[right] = right, left

    y = np.zeros(d)  # of the gap behind sorted node i
    weighted = 0.0  # sum over the gaps that are open of y * half the sizes of the groups beside them
    last = 0.5 * (grad_probs[0] + grad_probs[n_gaps])
    for s in range(n_gaps - 1, -1, -1):
        i, left, right = merged[s], outer[s, 0], outer[s, 1]
        # Splitting [left, right] at i: the gaps outside see a smaller group.
        outside_left = y[left - 1] if left > 0 else 0.0
        outside_right = y[right] if right < d - 1 else 0.0
        weighted -= 0.5 * (outside_left * (right - i) + outside_right * (i + 1 - left))
        half_time = 0.5 * (grad_probs[0] + grad_probs[s]) if s > 0 else grad_probs[0]
        own = 0.5 * (right + 1 - left)
        y[i] = (half_time - last - weighted) / own
        weighted += y[i] * own
    for i in range(d - 1):
        gradient[nodes[i]] -= y[i]
        gradient[nodes[i + 1]] += y[i]
    return gradient
