"""Which k rankings score highest? Exact, each found once, at the speed of writing them down."""

from collections.abc import Iterable
from math import factorial
from typing import NamedTuple

import numpy as np

from daguerreotype.operators.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    RandomState,
    check_positive_int,
    check_precedence,
    check_scores,
    sort_nodes,
)
from daguerreotype.operators.ranking_search import search

LARGEST_ENUMERABLE = 20  # 20! fits into 64 bits, and nobody asks for more rankings than that


class RankingTree(NamedTuple):
    """The k best rankings, best first, with the adjacent swap that leads to each from its parent.

    Attributes
    ----------
    ranks : array of shape (m, d)
        Position of every node.
    losses : array of shape (m,)
        How much lower each score is than the best one; starts at 0 and never decreases.
    best_score : float
        Score of the first ranking.
    parents : array of shape (m,)
        Row of the canonical parent; -1 for the first ranking. Always smaller than the own row.
    swaps : array of shape (m, 2)
        Nodes (u, v) that stand side by side and in this order in the parent, and swapped here.
    """

    ranks: IntArray
    losses: FloatArray
    best_score: float
    parents: IntArray
    swaps: IntArray

    @property
    def scores(self) -> FloatArray:
        """Scores (ranks + 1) @ theta of shape (m,)."""
        return self.best_score - self.losses


def k_best_rankings(
    theta: FloatArray,
    k: int,
    *,
    precedence: Iterable[tuple[int, int]] | None = None,
    random_state: RandomState = None,
) -> tuple[IntArray, FloatArray]:
    r"""The ``k`` rankings with the largest scores :math:`\langle \theta, r + 1 \rangle`, best first.

    All rankings returned are distinct, and none that is left out scores higher (section 4.1 and
    appendix A of the paper). Costs O(k d), the size of the output.

    Parameters
    ----------
    theta : array of shape (d,)
        Node scores. A node with a small score comes early.
    k : int
        How many rankings; more than there are gives all of them.
    precedence : iterable of pairs (i, j), optional
        Node i stands before node j in every ranking returned. ``theta`` itself must not say otherwise:
        ``theta[i] <= theta[j]``.
    random_state : int or numpy Generator, optional
        Break ties between scores at random. Without it ties go to the smaller node index.

    Returns
    -------
    ranks : array of shape (m, d)
        ``ranks[s, i]`` is the position of node i, from 0, in the s-th best ranking.
    scores : array of shape (m,)
        ``(ranks + 1) @ theta``, never increasing.

    Examples
    --------
    >>> from daguerreotype.operators import k_best_rankings
    >>> ranks, scores = k_best_rankings([0.3, -1.0, 2.0], 3)
    >>> ranks
    array([[1, 0, 2],
           [0, 1, 2],
           [2, 0, 1]])
    """
    tree = k_best_tree(theta, k, precedence=precedence, random_state=random_state)
    return tree.ranks, tree.scores


def k_best_tree(
    theta: FloatArray,
    k: int,
    *,
    max_loss: float = np.inf,
    precedence: Iterable[tuple[int, int]] | None = None,
    random_state: RandomState = None,
) -> RankingTree:
    """:func:`k_best_rankings` with the search tree, cut where a ranking loses ``max_loss`` or more."""
    theta = check_scores(theta)
    k = check_positive_int(k, "k")
    d = theta.size
    if d <= LARGEST_ENUMERABLE:
        k = min(k, factorial(d))
    seed = -1
    if random_state is not None:
        random_state = np.random.default_rng(random_state)
        seed = int(random_state.integers(2**62))
    blocked = _NOTHING_BLOCKED
    nodes = sort_nodes(theta, random_state)
    if precedence is not None:
        nodes, blocked = _apply_precedence(theta, nodes, check_precedence(precedence, d))
    m, best_score, ranks, losses, parents, swaps = search(nodes, theta, k, max_loss, blocked, seed)
    if m < k:
        ranks, losses, parents, swaps = ranks[:m], losses[:m], parents[:m], swaps[:m]
    return RankingTree(ranks, losses, best_score, parents, swaps)


_NOTHING_BLOCKED = np.zeros((0, 0), dtype=np.bool_)


def _apply_precedence(theta: FloatArray, nodes: IntArray, pairs: IntArray) -> tuple[IntArray, BoolArray]:
    """Sorted nodes whose ties obey the pairs, and blocked[a, b]: a may not move behind b."""
    d = theta.size
    broken = np.flatnonzero(theta[pairs[:, 0]] > theta[pairs[:, 1]])
    if broken.size:
        i, j = pairs[broken[0]]
        raise ValueError(
            f"theta breaks the precedence {i} before {j}: theta[{i}] = {theta[i]:.6g} is larger than "
            f"theta[{j}] = {theta[j]:.6g}. Project theta onto the partial order first."
        )
    place = np.empty(d, dtype=np.int64)
    place[nodes] = np.arange(d)
    nodes = _sort_with_precedence(theta, place, pairs)
    place[nodes] = np.arange(d)
    blocked = np.zeros((d, d), dtype=np.bool_)
    blocked[place[pairs[:, 0]], place[pairs[:, 1]]] = True
    return nodes, blocked


def _sort_with_precedence(theta: FloatArray, place: IntArray, pairs: IntArray) -> IntArray:
    """Topological order of the pairs that always takes the free node of smallest (theta, place)."""
    from heapq import heapify, heappop, heappush

    d = theta.size
    waiting = np.bincount(pairs[:, 1], minlength=d)
    followers: list[list[int]] = [[] for _ in range(d)]
    for i, j in pairs.tolist():
        followers[i].append(j)
    free = [(theta[i], int(place[i]), i) for i in range(d) if waiting[i] == 0]
    heapify(free)
    nodes = []
    while free:
        i = heappop(free)[2]
        nodes.append(i)
        for j in followers[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heappush(free, (theta[j], int(place[j]), j))
    if len(nodes) < d:
        stuck = sorted(set(range(d)) - set(nodes))
        raise ValueError(f"the precedence pairs contradict each other: no order of nodes {stuck} obeys them.")
    return np.array(nodes, dtype=np.int64)
