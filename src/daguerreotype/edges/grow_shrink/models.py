"""Local models whose parents are found by grow-shrink tree search: what linear and additive ones share."""

from copy import copy
from typing import Self

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Moves
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, nll_of_variance


class TreeModels:
    """Scores of nodes, of moves and of whole sweeps, by trees that all orderings share."""

    _trees: GrowShrinkTrees

    def fork(self) -> Self:
        """The same for another thread."""
        clone = copy(self)
        clone._trees = self._trees.fork()
        return clone

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Negative log-likelihood and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        return _as_nll(self._trees.score_many(ranks, rows, nodes))

    def fit_moves(self, node: int, others: IntArray) -> Moves:
        """Negative log-likelihood and dof of all nodes for every position of ``node`` among ``others``."""
        moves = self._trees.moves(node, others)
        return Moves(_as_nll(moves.own), _as_nll(moves.before), _as_nll(moves.after))

    def sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  nll + penalty_per_dof * dof."""
        found, loss = self._trees.sweep(order, penalty_per_dof, before)
        return found, loss + order.size * STANDARD_ENTROPY


def _as_nll(table: FloatArray) -> FloatArray:
    """Variances and dof (r, 2) as negative log-likelihoods and dof."""
    return np.column_stack([nll_of_variance(table[:, 0]), table[:, 1]])
