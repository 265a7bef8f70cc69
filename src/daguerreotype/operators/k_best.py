"""The k best rankings of a score vector (algorithm 1 of the paper), with their search tree."""

from math import factorial, frexp
from typing import Any, NamedTuple

import numpy as np

from daguerreotype._lib.checks import check_positive_int
from daguerreotype._lib.seeds import as_generator
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray, RandomState
from daguerreotype.operators.precedence import Precedence, PrecedenceLike, as_precedence
from daguerreotype.operators.ranking_search import search
from daguerreotype.operators.rankings import check_scores, sort_nodes

LARGEST_ENUMERABLE = 20  # 20! fits into 64 bits, and nobody asks for more rankings than that
MAX_EXPONENT = int(np.finfo(np.float64).maxexp)


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
    precedence: PrecedenceLike | None = None,
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
    precedence : Precedence or iterable of pairs (i, j), optional
        Node i stands before node j in every ranking returned. ``theta`` itself must not say otherwise:
        ``theta[i] <= theta[j]``. Make a :class:`Precedence` once to ask again and again.
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
    if np.isfinite(tree.losses[-1] + abs(tree.best_score)):
        return tree.ranks, tree.scores
    scores = check_scores(theta)
    return tree.ranks, _times(_unit(scores), (tree.ranks + 1) @ (scores / _unit(scores)))


def k_best_tree(
    theta: FloatArray,
    k: int,
    *,
    max_loss: float = np.inf,
    precedence: PrecedenceLike | None = None,
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
        random_state = as_generator(random_state)
        seed = int(random_state.integers(2**62))
    blocked: BoolArray = _NOTHING_BLOCKED
    if precedence is None:
        nodes = sort_nodes(theta, random_state)
    else:
        order = as_precedence(precedence, d)
        _check_obeys(theta, order)
        nodes, blocked = order.sort(theta, random_state), order.before
    unit = _unit(theta)
    m, best_score, ranks, losses, parents, swaps = search(
        nodes, theta if unit == 1.0 else theta / unit, k, max_loss / unit, blocked, seed
    )
    if m < k:
        ranks, losses, parents, swaps = ranks[:m], losses[:m], parents[:m], swaps[:m]
    if unit != 1.0:
        losses, best_score = _times(unit, losses), float(_times(unit, np.float64(best_score)))
    return RankingTree(ranks, losses, best_score, parents, swaps)


_NOTHING_BLOCKED: BoolArray = np.zeros((0, 0), dtype=np.bool_)


def _unit(theta: FloatArray) -> float:
    """A power of two to measure scores in, so that those of rankings do not overflow; 1 but for the largest."""
    bits = 2 * theta.size.bit_length() + 1  # ranks and sums of them take no more
    _, exponent = frexp(max(abs(theta.max()), abs(theta.min())))
    return 1.0 if exponent + bits < MAX_EXPONENT else 2.0**bits


def _times(unit: float, values: Any) -> Any:
    """Values in the unit of the scores; those that overflow are infinite."""
    with np.errstate(over="ignore"):
        return values * unit


def _check_obeys(theta: FloatArray, order: Precedence) -> None:
    """Refuse scores whose sorted order breaks the partial order."""
    broken = order.broken_by(theta)
    if broken is not None:
        i, j = broken
        raise ValueError(
            f"theta breaks the precedence {i} before {j}: theta[{i}] = {theta[i]:.6g} is larger than "
            f"theta[{j}] = {theta[j]:.6g}. Project theta onto the partial order first: Precedence(...).project."
        )
