r"""Closed-form SparseMAP by peeling the projection, and its derivative in O(d).

In sorted coordinates, let time run from 0 to 1 and peel the projection :math:`\mu` off at unit speed: at any
time the nodes form an ordered partition into groups, and the barycentre of the rankings that keep the groups
apart is subtracted at rate one. The gap of :math:`\mu` between two neighbouring groups shrinks at the rate of
the gap between their mean ranks, half the sum of their sizes. When it vanishes the groups merge. Gaps between
two blocks of the projection last exactly until time 1, those within a block not so long.

The barycentre of a partition is the average of the sorted order and of the order with every group reversed.
So the sorted order gets half of the time (all of it until the first merger) and every partition on the way
gives one more ranking: at most d in all, with weights that are piecewise linear in theta.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.active_set import SupportPullback, support_factor
from daguerreotype.operators.heap import heap_pop, heap_push


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


@dataclass(frozen=True, slots=True)
class PeelPullback:
    """Derivative of the probabilities where all mergers happen at times of their own."""

    merged: IntArray
    nodes: IntArray
    tau: float

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Gradient (d,) w.r.t. theta from that w.r.t. the probabilities (m,)."""
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
            heap_push(keys, items, size, due[i], i, -1)
            size += 1

    now = 0.0
    m = 1
    ties = False
    first_time = 1.0
    for event in range(n_gaps):
        while keys[0] != due[items[0]]:  # due has changed since
            heap_pop(keys, items, size, -1)
            size -= 1
        i = items[0]
        time = min(keys[0], 1.0)
        heap_pop(keys, items, size, -1)
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
            heap_push(keys, items, size, due[left - 1], left - 1, -1)
            size += 1
        if right + 1 < d and due[right] < np.inf:
            beyond = hi[right + 1] - right
            gap = 0.5 * (due[right] - now) * (beyond + old_right)
            due[right] = now + 2.0 * gap / (beyond + new)
            heap_push(keys, items, size, due[right], right, -1)
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
