r"""The k best rankings of a score vector (algorithm 1 of the paper), by best-first search of a tree.

Sort theta once and write a permutation as the sequence s of sorted indices by position; the identity is
the best. Undoing the first descent of any other s (the first f with s[f] > s[f+1]) gives a permutation
whose score is no lower: its canonical parent. So the permutations form a tree rooted at the identity, and a
best-first search of that tree meets each of them once. The children of s are the swaps at positions r < f,
and the swap at f+1 when s[f+1] < s[f+2] and s[f] < s[f+2].

Only the positions that a path has touched are stored with a search node: before the first touched position
s is the identity, so the cheapest untouched swaps are read off one list, sorted once.
"""

from math import factorial
from typing import Annotated, NamedTuple

import numpy as np

from daguerreotype._lib.checks import check_positive_int
from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.operators.precedence import Precedence, PrecedenceLike, as_precedence
from daguerreotype.operators.rankings import check_scores, sort_nodes

LARGEST_ENUMERABLE = 20  # 20! fits into 64 bits, and nobody asks for more rankings than that
NOTHING_BLOCKED: BoolArray = np.zeros((0, 0), dtype=np.bool_)


@saved
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

    ranks: Annotated[IntArray, Shape("m", "d", order=True)]
    losses: Annotated[FloatArray, Shape("m")]
    best_score: float
    parents: Annotated[IntArray, Shape("m", least=-1, below="m")]
    swaps: Annotated[IntArray, Shape("m", 2, least=-1, below="d")]

    def check_saved(self) -> None:
        """Refuse rankings that do not come from earlier ones."""
        parents, swaps = self.parents[1:], self.swaps[1:]
        if (parents < 0).any() or (parents > np.arange(parents.size)).any() or (swaps < 0).any():
            raise ValueError("rankings that come from none before")

    @property
    def scores(self) -> FloatArray:
        """Scores (ranks + 1) @ theta of shape (m,)."""
        return self.best_score - self.losses


def k_best_rankings(
    theta: FloatArray,
    k: int,
    *,
    precedence: PrecedenceLike | None = None,
) -> tuple[IntArray, FloatArray]:
    r"""The ``k`` rankings with the largest scores :math:`\langle \theta, r + 1 \rangle`, best first.

    All rankings returned are distinct, and none that is left out scores higher (section 4.1 and
    appendix A of the paper); ties go to the smaller node. Costs O(k d), the size of the output.

    Parameters
    ----------
    theta : array of shape (d,)
        Node scores. A node with a small score comes early.
    k : int
        How many rankings; more than there are gives all of them.
    precedence : Precedence or iterable of pairs (i, j), optional
        Node i stands before node j in every ranking returned. ``theta`` itself must not say otherwise:
        ``theta[i] <= theta[j]``. Make a :class:`Precedence` once to ask again and again.

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
    tree = k_best_tree(theta, k, precedence=precedence)
    return tree.ranks, tree.scores


def k_best_tree(
    theta: FloatArray, k: int, *, max_loss: float = np.inf, precedence: PrecedenceLike | None = None
) -> RankingTree:
    """:func:`k_best_rankings` with the search tree, cut where a ranking loses ``max_loss`` or more."""
    theta = check_scores(theta)
    k = check_positive_int(k, "k")
    d = theta.size
    if d <= LARGEST_ENUMERABLE:
        k = min(k, factorial(d))
    if precedence is None:
        nodes, blocked = sort_nodes(theta), NOTHING_BLOCKED
    else:
        order = as_precedence(precedence, d)
        _check_obeys(theta, order)
        nodes, blocked = order.sort(theta), order.before
    m, best_score, ranks, losses, parents, swaps = search(nodes, theta, k, max_loss, blocked)
    return RankingTree(ranks[:m], losses[:m], best_score, parents[:m], swaps[:m])


def _check_obeys(theta: FloatArray, order: Precedence) -> None:
    """Refuse scores whose sorted order breaks the partial order."""
    broken = order.broken_by(theta)
    if broken is not None:
        i, j = broken
        raise ValueError(
            f"theta breaks the precedence {i} before {j}: theta[{i}] = {theta[i]:.6g} is larger than "
            f"theta[{j}] = {theta[j]:.6g}. Project theta onto the partial order first: Precedence(...).project."
        )


@subkernel
def _grown(array: IntArray, size: int) -> IntArray:
    """The array itself, or a copy with room for at least ``size`` entries."""
    if array.size >= size:
        return array
    larger = np.empty(max(size, 2 * array.size), dtype=np.int64)
    for i in range(array.size):
        larger[i] = array[i]
    return larger


@kernel
def search(
    nodes: IntArray, scores: FloatArray, k: int, max_loss: float, blocked: BoolArray
) -> tuple[int, float, IntArray, FloatArray, IntArray, IntArray]:
    """Best-first search of the tree, from the nodes sorted by score.

    If ``blocked`` (d, d) is not empty, i never moves behind j where it says so. The sorted order obeys, and so
    does the canonical parent of every permutation that does: the search meets all of those, and no other.
    """
    d = nodes.size
    theta = np.empty(d)  # sorted
    ranks = np.empty((k, d), dtype=np.int64)
    losses = np.empty(k)
    parents = np.empty(k, dtype=np.int64)
    swaps = np.empty((k, 2), dtype=np.int64)
    # Search node i touched the positions places[start[i]:start[i + 1]], ascending; standing says what stands
    # there, as sorted indices.
    start = np.empty(k + 1, dtype=np.int64)
    places: IntArray = np.empty(8 * k, dtype=np.int64)
    standing: IntArray = np.empty(8 * k, dtype=np.int64)
    best_score = 0.0
    for p in range(d):
        ranks[0, nodes[p]] = p
        theta[p] = scores[nodes[p]]
        best_score += (p + 1) * theta[p]
    losses[0] = 0.0
    parents[0] = swaps[0, 0] = swaps[0, 1] = -1
    start[0] = start[1] = 0

    # `cheap` holds the swaps of the root by increasing gap, as many as can matter; the root's children are
    # read off it one by one. A later candidate is a (parent, position) pair, numbered as it is met, and waits
    # in the frontier, a heap. `kept`, a heap of negated losses, holds the k - 1 best met so far; once it is
    # full its top bounds what can still matter.
    cheap, kept = _cheapest_swaps(nodes, theta, k - 1, max_loss, blocked)
    n_kept = cheap.size
    kept_items = np.empty(k, dtype=np.int64)  # nobody reads them: only losses count
    bound = min(max_loss, -kept[0]) if n_kept == k - 1 else max_loss
    next_cheap = 0
    frontier = np.empty(4 * k)
    frontier_items: IntArray = np.empty(4 * k, dtype=np.int64)
    origin: IntArray = np.empty(4 * k, dtype=np.int64)
    position: IntArray = np.empty(4 * k, dtype=np.int64)
    n_frontier = n_met = int(np.int64(0))  # a literal would compile the heap once more
    m = 1
    while m < k:
        # The next best ranking: its parent's, with two neighbours swapped.
        parent, r = 0, -1
        if next_cheap < cheap.size:
            r = cheap[next_cheap]
            losses[m] = theta[r + 1] - theta[r]
        if n_frontier > 0 and (r < 0 or frontier[0] < losses[m]):
            parent, r = origin[frontier_items[0]], position[frontier_items[0]]
            losses[m] = frontier[0]
            heap_pop(frontier, frontier_items, n_frontier)
            n_frontier -= 1
        elif r >= 0:
            next_cheap += 1
        else:
            break
        room = start[m] + start[parent + 1] - start[parent] + 2
        if room > places.size:
            places = _grown(places, room)
            standing = _grown(standing, room)
        start[m + 1], left, right = _touch(places, standing, start[parent], start[parent + 1], start[m], r)
        parents[m] = parent
        for j in range(d):
            ranks[m, j] = ranks[parent, j]
        ranks[m, nodes[left]], ranks[m, nodes[right]] = r + 1, r
        swaps[m, 0], swaps[m, 1] = nodes[left], nodes[right]

        # Its children: cheap swaps before the first touched position, then those near the touched ones.
        first, end, descent = start[m], start[m + 1], r
        head = places[first]
        n_offers = cheap.size + descent - head + 2
        if n_met + n_offers > origin.size:
            origin = _grown(origin, n_met + n_offers)
            position = _grown(position, n_met + n_offers)
            frontier_items = _grown(frontier_items, n_met + n_offers)
            larger = np.empty(frontier_items.size)
            for j in range(n_frontier):
                larger[j] = frontier[j]
            frontier = larger
        offer = 0
        while offer < n_offers:
            if offer < cheap.size:
                r = cheap[offer]
                loss = losses[m] + (theta[r + 1] - theta[r])
                if loss >= bound:
                    offer = cheap.size  # the other cheap swaps cost more
                    continue
                offer += 1
                if r >= head - 1:
                    continue
            else:
                r = head - 1 + offer - cheap.size
                offer += 1
                if r == descent:
                    r += 1  # the descent itself would lead back; the position behind it is the last child
                usable, left, right = _near_swap(r, descent, d, places, standing, first, end)
                loss = losses[m] + (theta[right] - theta[left])
                if not usable or loss >= bound or (blocked.size > 0 and blocked[nodes[left], nodes[right]]):
                    continue
            origin[n_met], position[n_met] = m, r
            heap_push(frontier, frontier_items, n_frontier, loss, n_met)
            n_frontier += 1
            n_met += 1
            if n_kept < k - 1:
                heap_push(kept, kept_items, n_kept, -loss, n_met)
                n_kept += 1
            else:
                heap_replace_top(kept, kept_items, n_kept, -loss, n_met)
            if n_kept == k - 1:
                bound = min(max_loss, -kept[0])
        m += 1
    return m, best_score, ranks, losses, parents, swaps


@subkernel
def _cheapest_swaps(
    nodes: IntArray, theta: FloatArray, count: int, max_loss: float, blocked: BoolArray
) -> tuple[IntArray, FloatArray]:
    """Positions of at most ``count`` smallest gaps of sorted scores, by size; and a heap of negated gaps."""
    keys = np.empty(count + 1)
    items = np.empty(count + 1, dtype=np.int64)
    size = int(np.int64(0))  # a literal would compile the heap once more
    bound = max_loss
    for r in range(theta.size - 1):
        gap = theta[r + 1] - theta[r]
        if gap >= bound or (blocked.size > 0 and blocked[nodes[r], nodes[r + 1]]):
            continue
        # A heap on negated gaps: the largest of those kept is on top.
        if size < count:
            heap_push(keys, items, size, -gap, r)
            size += 1
        else:
            heap_replace_top(keys, items, size, -gap, r)
        if size == count:
            bound = -keys[0]
    positions = np.empty(size, dtype=np.int64)
    kept = np.empty(count + 1)
    for rest in range(size, 0, -1):
        positions[rest - 1] = items[0]
        kept[size - rest] = keys[0]  # an ascending array is a heap
        heap_pop(keys, items, rest)
    return positions, kept


@subkernel
def _near_swap(
    r: int, descent: int, d: int, places: IntArray, standing: IntArray, first: int, end: int
) -> tuple[bool, int, int]:
    """Whether the swap at a position r near the touched ones is a child, and what stands at r and r + 1."""
    head = places[first]
    if r < 0 or r + 1 >= d:
        return False, 0, 0
    # Everything from the head to the position behind the descent is touched.
    left = r if r < head else standing[first + r - head]
    if r < descent:
        return True, left, standing[first + r + 1 - head]
    after = first + r + 1 - head
    right = standing[after] if after < end and places[after] == r + 1 else r + 1
    return left < right and standing[first + descent - head] < right, left, right


@subkernel
def _touch(places: IntArray, standing: IntArray, first: int, end: int, at: int, r: int) -> tuple[int, int, int]:
    """Append the touched list first:end with r and r + 1 swapped; its end, and what the two held before."""
    j = first
    while j < end and places[j] < r:
        places[at], standing[at] = places[j], standing[j]
        at += 1
        j += 1
    left, right = r, r + 1
    if j < end and places[j] == r:
        left = standing[j]
        j += 1
    if j < end and places[j] == r + 1:
        right = standing[j]
        j += 1
    places[at], standing[at] = r, right
    places[at + 1], standing[at + 1] = r + 1, left
    at += 2
    while j < end:
        places[at], standing[at] = places[j], standing[j]
        at += 1
        j += 1
    return at, left, right


# ---------------------------------------------------------------- binary min-heaps of pairs (key, item)


@subkernel
def _precedes(key: float, item: int, other_key: float, other_item: int) -> bool:
    """Whether the first entry belongs above the second: equal keys go by item."""
    return key < other_key or (key == other_key and item < other_item)


@subkernel
def heap_push(keys: FloatArray, items: IntArray, size: int, key: float, item: int) -> None:
    """Insert an entry into a heap that holds ``size`` of them."""
    hole = size
    while hole > 0:
        above = (hole - 1) >> 1
        if not _precedes(key, item, keys[above], items[above]):
            break
        keys[hole], items[hole] = keys[above], items[above]
        hole = above
    keys[hole], items[hole] = key, item


@subkernel
def heap_replace_top(keys: FloatArray, items: IntArray, size: int, key: float, item: int) -> None:
    """Put a new entry in the place of the smallest of ``size`` entries."""
    hole = 0
    child = 1
    while child < size:
        right = child + 1
        if right < size and _precedes(keys[right], items[right], keys[child], items[child]):
            child = right
        if not _precedes(keys[child], items[child], key, item):
            break
        keys[hole], items[hole] = keys[child], items[child]
        hole = child
        child = 2 * hole + 1
    keys[hole], items[hole] = key, item


@subkernel
def heap_pop(keys: FloatArray, items: IntArray, size: int) -> None:
    """Drop the smallest of ``size`` entries (read it at index 0 before)."""
    last = size - 1
    if last > 0:
        heap_replace_top(keys, items, last, keys[last], items[last])
