"""Local models whose parents are found by grow-shrink tree search: what linear and additive ones share."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Moves
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees


class TreeModels:
    """Scores of nodes, of moves and of whole sweeps, by trees that all orderings share."""

    _trees: GrowShrinkTrees
    _by_end: dict[int, Any]  # fits, by where their walks end

    def fit(self, node: int, predecessors: IntArray) -> Any:
        """Parents of ``node`` among ``predecessors``."""
        raise NotImplementedError

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[Any]:
        """What ``fit`` gives for each (node, predecessors); walks that end in one place share their fit."""
        ends, known = self._trees.ends(requests), self._by_end
        for end, request in zip(ends, requests, strict=True):
            if end not in known:
                known[end] = self.fit(*request)
        return [known[end] for end in ends]

    def fork(self) -> Self:
        """The same for another thread."""
        clone = copy(self)
        clone._trees, clone._by_end = self._trees.fork(), {}
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
