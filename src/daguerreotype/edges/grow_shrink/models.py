"""Local models whose parents are found by grow-shrink tree search: what linear and additive ones share."""

from copy import copy
from typing import Self

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Moves
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees


class TreeModels:
    """Scores of nodes, of moves and of whole sweeps, by trees that all orderings share."""

    _trees: GrowShrinkTrees

    def fork(self) -> Self:
        """The same for another thread."""
        clone = copy(self)
        clone._trees = self._trees.fork()
        return clone

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        return self._trees.score_many(ranks, rows, nodes)

    def fit_moves(self, node: int, others: IntArray) -> Moves:
        """Excess and dof of all nodes for every position of ``node`` among ``others``."""
        return self._trees.moves(node, others)

    def sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  excess + penalty_per_dof * dof."""
        return self._trees.sweep(order, penalty_per_dof, before)
