"""Partial orders of nodes: linear extensions, projection of scores, transitive closure."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np

from daguerreotype._lib.labels import shown
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.seeds import as_generator
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray, RandomState

FREE = -1  # the tier of a node in no tier


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

    def sort(self, theta: FloatArray, random_state: RandomState = None) -> IntArray:
        """The nodes by increasing score, for scores that obey; ties by ``place``, or at random if asked."""
        place = self.place
        if random_state is not None:
            place = np.argsort(self.extension(as_generator(random_state).permutation(self.d)))
        nodes: IntArray = np.lexsort((place, theta))
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
        excess = 0.5 * highest - 0.5 * values  # halves: no overflow
        if not (highest > values).any():
            return None
        j = int(np.argmax(np.where(highest > values, excess, -1.0)))
        return int(np.argmax(np.where(self.before[:, j], values, -np.inf))), j

    def window(self, node: int, others: IntArray) -> tuple[int, int]:
        """First and last position of ``node`` among ``others``, in an order that obeys; position q: before q."""
        earlier = np.flatnonzero(self.before[others, node])
        later = np.flatnonzero(self.before[node, others])
        first = int(earlier[-1]) + 1 if earlier.size else 0
        return first, int(later[0]) if later.size else int(others.size)

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
        # Halves first: their sum cannot overflow, and rounding keeps the order. Scores that obey are kept, even if
        # they are too small to be halved.
        projected[i] = theta[i] if highest[i] == lowest[i] else 0.5 * highest[i] + 0.5 * lowest[i]
    return projected
