r"""Which rows tell what causes a column? Those in which it was not set from outside.

A row in which column j was set says nothing about how j comes about, but it does say what j brings about: it is
left out of the fit of j alone. Columns that were set in the same rows share those that are left, so that an
estimator meets one table per *group* of columns, each centred on its own rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import LocalModels, Table
from daguerreotype.result import LocalFit, Moves

# What local models may have beside fit: see the protocols of edges.base and edges.sweeping.
OPTIONAL = ("fit_many", "score_many", "fit_moves", "fork", "residuals", "predict", "predictor", "curve")


def row_groups(excluded: BoolArray) -> tuple[IntArray, BoolArray]:
    """Group (d,) of every column, and the rows (g, n) that count for the columns of each group."""
    bits = np.packbits(excluded.T, axis=1)  # (d, n / 8), which sort like the rows themselves
    _, first, group = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return group.ravel().astype(np.int64), ~excluded[:, first].T


def group_tables(table: Table) -> tuple[IntArray, FloatArray, list[Table]]:
    """Group (d,) of every column, the means (g, d) of all columns in the rows of each, and its centred table."""
    assert table.excluded is not None
    group, kept = row_groups(table.excluded)
    centres = np.stack([table.values[rows].mean(axis=0) for rows in kept])
    tables = [
        Table(np.ascontiguousarray(table.values[rows] - centre), table.names)
        for rows, centre in zip(kept, centres, strict=True)
    ]
    return group, centres, tables


def prepare_groups(table: Table, prepare: Callable[[Table], LocalModels]) -> "GroupedModels":
    """Local models that fit every column on the rows in which it was not set, by one preparation per group."""
    group, centres, tables = group_tables(table)
    return GroupedModels([prepare(each) for each in tables], group, centres)


class GroupedModels:
    """Local models of one table, each column by those of its group.

    It has the optional methods that the models of all groups have, and no others. Rows that it is asked to
    predict are on the scale of the whole table; ``residuals`` are those of the rows that count for the column.

    Parameters
    ----------
    models : sequence of g local models
        Those of every group, of tables that are centred each on its own rows.
    group : array of shape (d,)
        The group of every column.
    centres : array of shape (g, d)
        What centring took out of the columns of the whole table.
    """

    def __init__(self, models: Sequence[Any], group: IntArray, centres: FloatArray) -> None:
        self.models, self.group, self.centres = list(models), group, centres
        for name in OPTIONAL:  # protocols are known by the methods that an object has
            if all(hasattr(each, name) for each in self.models):
                setattr(self, name, getattr(self, f"_{name}"))

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Parents of ``node`` among ``predecessors``, from the rows in which it was not set."""
        fit: LocalFit = self._of(node).fit(node, predecessors)
        return fit

    def _of(self, node: int) -> Any:
        return self.models[self.group[node]]

    def _fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each request, together where columns share a group."""
        places: dict[int, list[int]] = {}
        for place, (node, _) in enumerate(requests):
            places.setdefault(int(self.group[node]), []).append(place)
        found: dict[int, LocalFit] = {}
        for group, some in places.items():
            fits = self.models[group].fit_many([requests[place] for place in some])
            found.update(zip(some, fits, strict=True))
        return [found[place] for place in range(len(requests))]

    def _fit_moves(self, node: int, others: IntArray) -> Moves:
        """Moves of ``node``, every column's numbers by the models of its group."""
        if "score_many" in vars(self):  # walks for the columns of a group alone, and for no others
            return self._score_moves(node, others)
        group = self.group[others]
        moves = {int(each): self.models[each].fit_moves(node, others) for each in {*group, self.group[node]}}
        before, after = np.empty((others.size, 2)), np.empty((others.size, 2))
        for each, found in moves.items():
            mine = group == each
            before[mine], after[mine] = found.before[mine], found.after[mine]
        return Moves(moves[int(self.group[node])].own, before, after)

    def _score_moves(self, node: int, others: IntArray) -> Moves:
        """The same by scores of single columns."""
        m = others.size
        places, positions = np.arange(m), np.arange(m + 1)
        ranks = np.empty((m + 1, m + 1), dtype=np.int64)  # row q: the node stands before others[q]
        ranks[:, others] = places + (places >= positions[:, None])
        ranks[:, node] = positions
        rows = np.concatenate([positions, np.full(m, m), np.zeros(m, dtype=np.int64)])
        nodes = np.concatenate([np.full(m + 1, node), others, others])
        own, before, after = np.split(self._score_many(ranks, rows, nodes), [m + 1, 2 * m + 1])
        return Moves(own, before, after)

    def _score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Variance and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        group = self.group[nodes]
        table = np.empty((nodes.size, 2))
        for each in np.unique(group):
            mine = np.flatnonzero(group == each)
            table[mine] = self.models[each].score_many(ranks, rows[mine], nodes[mine])
        return table

    def _fork(self) -> "GroupedModels":
        """The same for another thread."""
        return GroupedModels([each.fork() for each in self.models], self.group, self.centres)

    def _residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the rows that count for ``node``."""
        residuals: FloatArray = self._of(node).residuals(node, fit)
        return residuals

    def _predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the whole table."""
        centre = self.centres[self.group[node]]
        fitted: FloatArray = self._of(node).predict(node, fit, values - centre) + centre[node]
        return fitted

    def _curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component (m,) of ``parent`` at values ``grid`` (m,), with mean zero over the rows that count."""
        shifted = grid - self.centres[self.group[node], parent]
        component: FloatArray = self._of(node).curve(node, fit, parent, shifted)
        return component

    def _predictor(self) -> "GroupedModels":
        """What predicts without the table."""
        return GroupedModels([each.predictor() for each in self.models], self.group, self.centres)
