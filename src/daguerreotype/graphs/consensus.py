"""Consensus order of many DAGs: a linear ordering problem, exact where few columns contradict each other."""

import networkx as nx
import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray

EXACT = 14  # most columns of one knot of contradictions that are ordered exactly, by all 2^14 subsets


def consensus_order(edges: IntArray, precedence: IntArray, n_graphs: int) -> IntArray:
    r"""The order that loses least of what ``n_graphs`` graphs have in common.

    Maximises, over all orders and in this sequence: the number of edges that all graphs share; the sum

    .. math:: \sum_{i \text{ before } j} \max(2 c_{ij} - n, 0), \qquad c_{ij} = \#\{\text{graphs with } i \to j\},

    over those that most graphs have; and the sum of all :math:`c_{ij}` with i before j. Edges of more than half of
    the graphs along the order then are the DAG of least mean Hamming distance to the graphs (among those with all
    shared edges). Such edges contradict each other rarely and in few columns, where the second sum is maximised
    exactly: if no knot of contradictions has more than 14 columns. The third is exact for up to 14 columns, and
    beyond that such that moving any single column does not improve it. Ties follow the mean position.

    Parameters
    ----------
    edges : array of shape (d, d)
        How many graphs have the edge i -> j.
    precedence : array of shape (d, d)
        How many orders have i before j.
    n_graphs : int
        Number of graphs.

    Returns
    -------
    array of shape (d,)
        Columns, causes first.
    """
    d = len(edges)
    order = np.argsort(-precedence.sum(axis=1), kind="stable")
    counts = edges[np.ix_(order, order)].astype(np.int64)
    majority = np.where(counts == n_graphs, n_graphs * d * d, np.maximum(2 * counts - n_graphs, 0))
    if d <= EXACT:  # all at once: no sum of counts outweighs what most graphs have
        return order[best_order(majority * (counts.sum() + 1) + counts)]
    first = best_order(majority)
    counts, majority = counts[np.ix_(first, first)], majority[np.ix_(first, first)]
    kept = np.triu(majority > 0, 1)
    # No sum of counts outweighs an edge that the first step has kept.
    second = best_order(counts + kept * (counts.sum() + 1))
    return order[first[second]]


def most_frequent(edges: BoolArray, frequencies: FloatArray, ranks: IntArray, max_parents: IntArray) -> BoolArray:
    """Those of ``edges`` (d, d) that find room within the limits (d,), the most frequent first; ties by ranks."""
    cause, effect = np.nonzero(edges)
    first = np.lexsort([ranks[effect], ranks[cause], -frequencies[cause, effect]])
    kept = np.zeros_like(edges)
    for i, j in zip(cause[first], effect[first], strict=True):
        kept[i, j] = kept[:, j].sum() < max_parents[j]
    return kept


def best_order(weights: IntArray) -> IntArray:
    """Order with the largest sum of weights (d, d) from earlier to later; ties near 0, 1, ..., d - 1.

    Columns i and j are bound to each other only by the cycles of the graph with an edge where w_ij > w_ji: its
    strong components are ordered on their own, exactly up to 14 columns, and put in a row: a topological order,
    that with the smallest column first wherever there is a choice.
    """
    knots = nx.condensation(nx.from_numpy_array(weights > weights.T, create_using=nx.DiGraph))
    members_of = {knot: np.array(sorted(members)) for knot, members in knots.nodes(data="members")}
    order = []
    for knot in nx.lexicographical_topological_sort(knots, key=lambda knot: members_of[knot][0]):
        members = members_of[knot]
        inner = weights[np.ix_(members, members)]
        order.append(members[_by_subsets(inner) if members.size <= EXACT else _by_moves(inner)])
    return np.concatenate(order)


def _by_subsets(weights: IntArray) -> IntArray:
    """The best order by dynamic programming: the best last column of every subset."""
    m = len(weights)
    subsets, columns = np.arange(1 << m), np.arange(m)
    members = (subsets[:, None] >> columns) & 1  # (2^m, m)
    gain = members @ weights  # (2^m, m), of a column that comes after the subset
    size = members.sum(axis=1)
    best, last = np.zeros(1 << m, dtype=np.int64), np.zeros(1 << m, dtype=np.int64)
    for count in range(1, m + 1):
        now = subsets[size == count]
        rest = now[:, None] ^ (1 << columns)
        sums = np.where(members[now] == 1, best[rest] + gain[rest, columns], -1)
        last[now] = m - 1 - np.argmax(sums[:, ::-1], axis=1)
        best[now] = sums.max(axis=1)
    order = np.empty(m, dtype=np.int64)
    subset = (1 << m) - 1
    for position in reversed(range(m)):
        order[position] = last[subset]
        subset ^= 1 << int(last[subset])
    return order


def _by_moves(weights: IntArray) -> IntArray:
    """An order that no move of a single column improves, starting from 0, 1, ..., m - 1."""
    net = weights - weights.T
    order: IntArray = np.arange(len(weights))
    moved = True
    while moved:
        moved = False
        for column in range(len(weights)):
            place = int(np.flatnonzero(order == column)[0])
            rest = np.delete(order, place)
            gain = np.concatenate([[0], np.cumsum(net[rest, column])])  # by number of columns before it
            if gain.max() > gain[place]:
                order, moved = np.insert(rest, int(np.argmax(gain)), column), True
    return order
