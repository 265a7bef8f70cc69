"""Local models whose parents are found by grow-shrink tree search: what linear and additive ones share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Draws, Moves
from daguerreotype.edges.grow_shrink.problem import OtherScales
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees

ROWS = 2**14  # whose features are laid out at a time


class TreeModels(ABC):
    """Scores of nodes, of moves and of whole sweeps, by trees that all orderings share."""

    _table: Table
    _trees: GrowShrinkTrees
    _by_end: dict[int, Any]  # fits, by where their walks end
    learns_bent_share = False

    def fit(self, node: int, predecessors: IntArray) -> Any:
        """Parents of ``node`` among ``predecessors``, on its likeliest scale, with what they contribute."""
        target = self._trees.likeliest(node, predecessors)
        return self._record(node, target, *self._trees.fit(node, predecessors))

    @abstractmethod
    def _record(self, node: int, target: int, parents: IntArray, used: IntArray, excess: float, dof: float) -> Any:
        """The fit of a target, ``node`` on one scale, with parents of which so many columns are used."""

    def fit_on(self, scale: int, node: int, predecessors: IntArray) -> Any:
        """Parents of ``node`` on one scale."""
        target = self._target(scale, node)
        return self._record(node, target, *self._trees.fit_target(target, predecessors))

    def score_on(self, scale: int, node: int, predecessors: IntArray) -> tuple[float, float]:
        """Excess and dof of ``node`` on one scale."""
        *_, excess, dof = self._trees.fit_target(self._target(scale, node), predecessors)
        return excess, dof

    def fit_parents(self, node: int, parents: IntArray) -> Any:
        """``node`` on exactly these parents, ascending, on its likeliest scale."""
        target, used, excess, dof = self._trees.fit_parents(node, parents)
        return self._record(node, target, parents, used, excess, dof)

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of ``node`` on exactly each of ``sets`` (m, d) of parents."""
        return self._trees.score_parents(node, sets)

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) would cost less than ``nats`` in the whole table beside each of ``sets`` (m, d)."""
        return self._trees.near_parents(node, sets, nats)

    def choose(self, node: int, predecessors: IntArray) -> IntArray:
        """The parents that ``fit`` chooses among predecessors."""
        return self._trees.fit(node, predecessors)[0]

    def parents_in(self, order: IntArray) -> BoolArray:
        """Who is a parent of whom (d, d) in an order."""
        return self._trees.parents_in(order)

    def draw_sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray, draws: Draws) -> IntArray:
        """The order after each turn of ``draws``."""
        return self._trees.draw_sweep(order, penalty_per_dof, before, draws)

    @abstractmethod
    def regressors(self, node: int, fit: Any, n_rows: int) -> FloatArray:
        """Columns (m, p) that ``fit`` regresses ``node`` on, in the first rows."""

    def _target(self, scale: int, node: int) -> int:
        return node if scale < 0 else self._table.n_columns + scale

    def residuals(self, node: int, fit: Any) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,); of long tables on the first ``MAX_ROWS``."""
        others = self._table.others
        return self.residuals_on(-1 if others is None else others.place(node), node, fit)

    def residuals_on(self, scale: int, node: int, fit: Any) -> FloatArray:
        """Residuals of a fit on one scale."""
        residuals: FloatArray = self._own_residuals(node, fit)
        if scale < 0:
            return residuals
        assert self._table.others is not None
        own, other = self._table.values[: residuals.size, node], self._table.others.values[: residuals.size, scale]
        changed: FloatArray = residuals + (other - own)
        return changed

    @abstractmethod
    def _own_residuals(self, node: int, fit: Any) -> FloatArray:
        """Residuals of ``fit`` on the training rows, on the table's scale."""

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

    @property
    def bent_share(self) -> float:
        """The share of bent edges that lines are priced by."""
        return self._trees.bent_share

    def share_of_bends(self, fits: Sequence[Any]) -> float:
        """The share of the edges of ``fits`` that bend, of those that could."""
        problem = self._trees.problem
        can, stride = problem.widths > problem.lines, problem.blocks.shape[1]
        bent = total = 0
        for fit in fits:
            some = fit.parents[can[fit.parents]]
            if some.size:
                used = np.bincount(fit.columns // stride, minlength=can.size)
                bent, total = bent + int((used > problem.lines)[some].sum()), total + some.size
        return bent / total if total else 0.0

    def with_bent_share(self, bent_share: float) -> Self | None:
        """Models of the same data with the price that belongs to this share; None if it is what they have."""
        problem = self._trees.problem
        if bent_share == self.bent_share or not np.any(problem.widths > problem.lines):
            return None
        clone = copy(self)
        clone._trees, clone._by_end = self._trees.with_bent_share(bent_share), {}
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


def other_scales(
    table: Table, features: Callable[[FloatArray], FloatArray], n_rows: int | None = None
) -> OtherScales | None:
    """What a search needs of the other columns of a table: moments with the features (m, p) of its rows (m, d).

    ``n_rows``: the first ones, which alone count.
    """
    others = table.others
    if others is None or not others.columns.size:
        return None
    n = len(table.values) if n_rows is None else n_rows
    values = others.values[:n] - others.values[:n].mean(axis=0)
    second = sum(
        features(table.values[first : min(first + ROWS, n)]).T @ values[first : first + ROWS]
        for first in range(0, n, ROWS)
    )
    dither = np.zeros(others.columns.size) if others.dither is None else np.mean(others.dither[:n] ** 2, axis=0)
    variances = np.mean(values**2, axis=0)
    return OtherScales(others.columns, np.asarray(second) / n, variances, others.offsets, dither, others.instead)
