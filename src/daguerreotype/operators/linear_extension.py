r"""Linear extensions of a partial order: the one best aligned with a vector.

Maximises :math:`\langle g, r \rangle` over rankings r in which i stands before j wherever the partial order says
so: single-machine scheduling of unit jobs, NP-hard in general. For few nodes dynamic programming is exact; beyond
that it is local search. Two neighbouring segments A, B of an order may change places if no node of A must stand
before one of B, which gains :math:`|B| \sum_A g - |A| \sum_B g`. The search ends where no segment of one node
gains by passing any number of others, nor one of a few nodes by passing a few.
"""

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

ENUMERABLE = 12  # nodes up to which all sets of them are looked at
LONGEST = 8  # of two segments of several nodes that change places


@kernel
def better_ranking(
    keys: FloatArray, order: IntArray, before: BoolArray, scratch: IntArray, ranks: IntArray, m: int
) -> bool:
    """Write ranking m, which obeys and is better aligned with the keys than the m before it; False: none found.

    For few nodes it is the best. Else local search starts from the rankings before, all of which must obey, the
    last first, and then from two that are built greedily. Keys are whole numbers: sums of them are exact.
    """
    d = keys.size
    best = -np.inf
    for i in range(m):
        score = 0.0
        for j in range(d):
            score += keys[j] * ranks[i, j]
        best = max(best, score)
    few = d <= ENUMERABLE
    for attempt in range(1 if few else m + 2):
        if few:
            _enumerate(keys, order, before)
        else:
            if attempt < m:
                for j in range(d):
                    order[ranks[m - 1 - attempt, j]] = j
            else:
                _build(keys, order, before, attempt == m)
            _descend(keys, order, before, scratch)
        score = 0.0
        for p in range(d):
            ranks[m, order[p]] = p
            score += keys[order[p]] * p
        if score > best + d * d:  # more than the rounding of the keys
            return True
    return False


@kernel
def _enumerate(keys: FloatArray, order: IntArray, before: BoolArray) -> None:
    """Dynamic programming over the sets of nodes that can come first, as bits."""
    d = order.size
    needs = np.zeros(d, dtype=np.int64)
    for i in range(d):
        for j in range(d):
            if before[i, j]:
                needs[j] |= 1 << i
    best = np.full(1 << d, -np.inf)
    last = np.zeros(1 << d, dtype=np.int64)
    best[0] = 0.0
    for members in range(1 << d):
        if best[members] == -np.inf:
            continue  # some member lacks one that must stand before it
        size = 0
        for i in range(d):
            size += (members >> i) & 1
        for i in range(d):
            if not (members >> i) & 1 and needs[i] & members == needs[i]:
                score = best[members] + size * keys[i]
                if score > best[members | (1 << i)]:
                    best[members | (1 << i)] = score
                    last[members | (1 << i)] = i
    members = (1 << d) - 1
    for p in range(d - 1, -1, -1):
        order[p] = last[members]
        members &= ~(1 << last[members])


@kernel
def _build(keys: FloatArray, order: IntArray, before: BoolArray, forwards: bool) -> None:
    """Write an order from the front, least key first of those that may come next, or so from the back."""
    d = order.size
    waiting = np.zeros(d, dtype=np.int64)  # on how many; -1 once placed
    for i in range(d):
        for j in range(d):
            if before[i, j]:
                waiting[j if forwards else i] += 1
    sign = 1.0 if forwards else -1.0
    for p in range(d):
        chosen = -1
        for i in range(d):
            if waiting[i] == 0 and (chosen < 0 or sign * keys[i] < sign * keys[chosen]):
                chosen = i
        waiting[chosen] = -1
        order[p if forwards else d - 1 - p] = chosen
        for i in range(d):
            if before[chosen, i] if forwards else before[i, chosen]:
                waiting[i] -= 1


@kernel
def _descend(keys: FloatArray, order: IntArray, before: BoolArray, scratch: IntArray) -> None:
    """Make moves that gain until there is none; keys are whole numbers."""
    for _ in range(order.size + 100):  # far more than it takes: rounding of huge sums must not go round in circles
        moved = False
        for at in range(order.size):
            if _move_best(keys, order, before, at):
                moved = True
        for middle in range(1, order.size):
            if _swap_segments(keys, order, before, middle, scratch):
                moved = True
        if not moved:
            break


@kernel
def _move_best(keys: FloatArray, order: IntArray, before: BoolArray, at: int) -> bool:
    """Move the node at one position to its best place between those that must stay before and behind it."""
    node = order[at]
    best, target, passed = 0.0, at, 0.0
    for p in range(at + 1, order.size):  # later: worth the own key each, less the keys of those passed
        if before[node, order[p]]:
            break
        passed += keys[order[p]]
        gain = (p - at) * keys[node] - passed
        if gain > best:
            best, target = gain, p
    passed = 0.0
    for p in range(at - 1, -1, -1):
        if before[order[p], node]:
            break
        passed += keys[order[p]]
        gain = passed - (at - p) * keys[node]
        if gain > best:
            best, target = gain, p
    step = 1 if target > at else -1
    for p in range(at, target, step):
        order[p] = order[p + step]
    order[target] = node
    return target != at


@kernel
def _swap_segments(keys: FloatArray, order: IntArray, before: BoolArray, middle: int, scratch: IntArray) -> bool:
    """Swap the first pair of short segments on either side of one position that gains; whether there was one."""
    stop = min(middle + LONGEST, order.size)
    left = 0.0
    for first in range(middle - 1, max(middle - 1 - LONGEST, -1), -1):
        left += keys[order[first]]
        right = 0.0
        for last in range(middle, stop):
            if before[order[first], order[last]]:
                stop = last  # and so for all longer segments on the left
                break
            right += keys[order[last]]
            size, other = middle - first, last + 1 - middle
            if other * left > size * right:
                for p in range(first, last + 1):
                    scratch[p] = order[p]
                for p in range(other):
                    order[first + p] = scratch[middle + p]
                for p in range(size):
                    order[first + other + p] = scratch[first + p]
                return True
    return False


@kernel
def unrelated_runs(ascending: FloatArray, before: BoolArray) -> IntArray:
    """Starts of runs of sorted nodes that are in no relation, then d.

    Wherever a node follows one that must stand before it, a cut must lie between the two; it is made at the widest
    gap of the scores since the last cut that separates them.
    """
    d = ascending.size
    starts = np.empty(d + 1, dtype=np.int64)
    starts[0], count = 0, 1
    for j in range(1, d):
        nearest = j - 1  # the last node of the run that must stand before j
        while nearest >= starts[count - 1] and not before[nearest, j]:
            nearest -= 1
        if nearest < starts[count - 1]:
            continue
        cut = nearest + 1
        for i in range(nearest + 2, j + 1):
            if ascending[i] - ascending[i - 1] > ascending[cut] - ascending[cut - 1]:
                cut = i
        starts[count] = cut
        count += 1
    starts[count] = d
    return starts[: count + 1]
