r"""Partial orders of nodes: linear extensions, projection of scores, transitive closure.

The linear extension that is best aligned with a vector g maximises :math:`\langle g, r \rangle` over rankings r in
which i stands before j wherever the partial order says so: single-machine scheduling of unit jobs, NP-hard in
general. For few nodes dynamic programming is exact; beyond that it is local search. Two neighbouring segments A, B
of an order may change places if no node of A must stand before one of B, which gains
:math:`|B| \sum_A g - |A| \sum_B g`. The search ends where no segment of one node gains by passing any number of
others, nor one of a few nodes by passing a few.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np

from daguerreotype._lib.labels import shown
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

FREE = -1  # the tier of a node in no tier
ENUMERABLE = 12  # nodes up to which all sets of them are looked at
LONGEST = 8  # of two segments of several nodes that change places


class Precedence:
    r"""A partial order of d nodes: i stands before j in every ranking that obeys.

    Made once from pairs and tiers, and then asked by every operator. Tiers are kept as they are: an auxiliary
    node between two tiers stands for all pairs across them, so that d nodes in tiers take 2 d links.

    Parameters
    ----------
    pairs : iterable of pairs (i, j)
        Node i before node j.
    d : int
        Number of nodes.
    tiers : array of shape (d,), optional
        Nodes of a smaller tier stand before those of a larger one; -1 leaves a node out.

    Attributes
    ----------
    before : array of shape (d, d)
        Whether i must stand before j, directly or through others.
    levels : array of shape (d,) or None
        If the order is nothing but tiers of all nodes: the tier of each, numbered by the nodes before it.
    place : array of shape (d,)
        Position of every node in one ranking that obeys; smaller nodes first where they may.

    Examples
    --------
    >>> from daguerreotype.operators import Precedence
    >>> order = Precedence([(2, 0)], 3)
    >>> order.project([0.0, 5.0, 1.0])
    array([0.5, 5. , 0.5])
    >>> order.place
    array([2, 0, 1])
    """

    def __init__(self, pairs: Iterable[tuple[int, int]], d: int, *, tiers: IntArray | None = None) -> None:
        links, n_aux = _links(_check_pairs(pairs, d), d, tiers)
        self.d, self._links, self._n_all = d, links, d + n_aux
        self._followers: list[list[int]] = [[] for _ in range(self._n_all)]
        for i, j in links.tolist():
            self._followers[i].append(j)
        extended = self._extend(np.arange(d))
        rank = np.empty(self._n_all, dtype=np.int64)
        rank[extended] = np.arange(self._n_all)
        # From the first to the last: one pass along them sees all that came before.
        self._links = np.ascontiguousarray(links[np.argsort(rank[links[:, 0]], kind="stable")])
        self.before = self._closure()
        self.place = np.argsort(extended[extended < d])
        levels = self.before.sum(axis=0)
        is_weak = np.array_equal(self.before, levels[:, None] < levels[None, :])
        self.levels: IntArray | None = levels if is_weak else None

    def sort(self, theta: FloatArray) -> IntArray:
        """The nodes by increasing score, for scores that obey; ties by ``place``."""
        nodes: IntArray = np.lexsort((self.place, theta))
        return nodes

    def extension(self, priority: FloatArray | IntArray) -> IntArray:
        """The order (d,) that obeys and takes, of the nodes that may come next, the one of least priority."""
        order = self._extend(priority)
        return order[order < self.d]

    def project(self, theta: FloatArray) -> FloatArray:
        r"""The nearest scores that obey, in the largest change of a single score; scores that obey are kept.

        .. math:: x_i = \tfrac12 \Big( \max_{j \preceq i} \theta_j + \min_{j \succeq i} \theta_j \Big)

        Unlike the Euclidean projection, which ties whatever it moves, this keeps apart what theta keeps apart.
        """
        return _midpoints(np.ascontiguousarray(theta, dtype=np.float64), self._links, self._n_all)

    def broken_by(self, scores: FloatArray | IntArray) -> tuple[int, int] | None:
        """The pair (i, j), i before j, that scores or ranks (d,) break by most; None if they obey."""
        values = np.ascontiguousarray(scores, dtype=np.float64)
        highest = _highest_before(values, self._links, self._n_all)
        if not (highest > values).any():
            return None
        j = int(np.argmax(highest - values))
        return int(np.argmax(np.where(self.before[:, j], values, -np.inf))), j

    def window(self, node: int, order: IntArray) -> tuple[int, int]:
        """First and last position of ``node`` in an ``order`` of other nodes that obeys; position q: before q."""
        earlier = np.flatnonzero(self.before[order, node])
        later = np.flatnonzero(self.before[node, order])
        first = int(earlier[-1]) + 1 if earlier.size else 0
        return first, int(later[0]) if later.size else int(order.size)

    def _extend(self, priority: FloatArray | IntArray) -> IntArray:
        """All nodes, auxiliary ones too, in an order that obeys the links."""
        waiting = np.bincount(self._links[:, 1], minlength=self._n_all).tolist()
        # Auxiliary nodes stand for no position: they go as soon as they may.
        keys = priority.tolist() + [-np.inf] * (self._n_all - self.d)
        free = [(keys[i], i) for i in range(self._n_all) if waiting[i] == 0]
        heapify(free)
        order = []
        while free:
            i = heappop(free)[1]
            order.append(i)
            for j in self._followers[i]:
                waiting[j] -= 1
                if waiting[j] == 0:
                    heappush(free, (keys[j], j))
        if len(order) < self._n_all:
            stuck = sorted(set(range(self.d)) - set(order))
            raise ValueError(f"the precedence pairs contradict each other: no order of nodes {stuck} obeys them.")
        return np.array(order, dtype=np.int64)

    def _closure(self) -> BoolArray:
        """Pairs (d, d) that follow from the links."""
        reached = np.zeros((self._n_all, self.d), dtype=np.bool_)
        for i, j in self._links[::-1].tolist():
            reached[i] |= reached[j]
            if j < self.d:
                reached[i, j] = True
        return reached[: self.d].copy()


PrecedenceLike: TypeAlias = Precedence | Iterable[tuple[int, int]]


def as_precedence(precedence: PrecedenceLike, d: int) -> Precedence:
    """The partial order itself, or that of the pairs."""
    if not isinstance(precedence, Precedence):
        return Precedence(precedence, d)
    if precedence.d != d:
        raise ValueError(f"precedence is an order of {precedence.d} nodes, but theta has {d}.")
    return precedence


def _check_pairs(precedence: Iterable[tuple[int, int]], d: int) -> IntArray:
    """Pairs (i before j) as an array (q, 2) of node indices below ``d``."""
    try:
        listed = [tuple(pair) for pair in precedence]
    except TypeError:
        raise TypeError(f"precedence must hold pairs (i, j), i before j, got {shown(precedence)}.") from None
    if any(len(pair) != 2 for pair in listed):
        raise ValueError(f"precedence must hold pairs (i, j), i before j, got {listed}.")
    pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= d):
        raise ValueError(f"precedence pairs must hold node indices from 0 to {d - 1}, got {pairs.tolist()}.")
    return pairs


def _links(pairs: IntArray, d: int, tiers: IntArray | None) -> tuple[IntArray, int]:
    """Pairs and tiers as links between nodes and auxiliary nodes, numbered from d; and how many of these."""
    numbers = np.unique(tiers[tiers != FREE]) if tiers is not None else np.empty(0, dtype=np.int64)
    parts = [pairs]
    for aux, number in enumerate(numbers[1:], start=d):  # between this tier and the one before
        assert tiers is not None
        earlier, later = np.flatnonzero(tiers == numbers[aux - d]), np.flatnonzero(tiers == number)
        parts.append(np.column_stack([earlier, np.full(earlier.size, aux)]))
        parts.append(np.column_stack([np.full(later.size, aux), later]))
    return np.concatenate(parts), max(numbers.size - 1, 0)


@kernel
def _highest_before(theta: FloatArray, links: IntArray, n_all: int) -> FloatArray:
    """Largest score (d,) among each node and those that must stand before it."""
    highest = np.empty(n_all)
    for i in range(n_all):
        highest[i] = theta[i] if i < theta.size else -np.inf
    for link in range(links.shape[0]):
        highest[links[link, 1]] = max(highest[links[link, 1]], highest[links[link, 0]])
    return highest[: theta.size]


@kernel
def _midpoints(theta: FloatArray, links: IntArray, n_all: int) -> FloatArray:
    """Halfway between the largest score before each node and the smallest behind it, both inclusive."""
    highest = _highest_before(theta, links, n_all)
    lowest = np.empty(n_all)
    for i in range(n_all):
        lowest[i] = theta[i] if i < theta.size else np.inf
    for link in range(links.shape[0] - 1, -1, -1):
        lowest[links[link, 0]] = min(lowest[links[link, 0]], lowest[links[link, 1]])
    projected = np.empty(theta.size)
    for i in range(theta.size):
        # Halves first: rounding keeps the order. Scores that obey are kept, even if too small to be halved.
        projected[i] = theta[i] if highest[i] == lowest[i] else 0.5 * highest[i] + 0.5 * lowest[i]
    return projected


@kernel
def better_ranking(keys: FloatArray, order: IntArray, before: BoolArray, ranks: IntArray, m: int) -> bool:
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
            _descend(keys, order, before)
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
def _descend(keys: FloatArray, order: IntArray, before: BoolArray) -> None:
    """Make moves that gain until there is none; keys are whole numbers."""
    scratch = np.empty(order.size, dtype=np.int64)
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
