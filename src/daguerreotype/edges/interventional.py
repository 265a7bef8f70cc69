r"""Local models under interventions: each column is fitted on the rows in which it was not intervened on.

A row in which column j was intervened on says nothing about how j comes about, but it does say what j brings
about: it is left out of the fit of j alone. Columns that were intervened on in the same rows share those that are
left, so that an estimator meets one table per *group* of columns, each centred on its own rows.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Capabilities, LocalFit, LocalModels, SearchableModels


def row_groups(intervened: BoolArray) -> tuple[IntArray, BoolArray]:
    """Group (d,) of every column, and the rows (g, n) that count for the columns of each group."""
    bits = np.packbits(intervened.T, axis=1)  # (d, n / 8), which sort like the rows themselves
    _, first, group = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return group.ravel().astype(np.int64), ~intervened[:, first].T


def group_tables(table: Table) -> tuple[IntArray, FloatArray, list[Table]]:
    """Group (d,) of every column, the means (g, d) of all columns in the rows of each, and its centred table."""
    assert table.intervened is not None
    group, kept = row_groups(table.intervened)
    centres = np.stack([np.where(table.discrete, 0.0, table.values[rows].mean(axis=0)) for rows in kept])
    tables = [
        Table(
            np.ascontiguousarray(table.values[rows] - centre),
            table.names,
            kinds=table.kinds,
            families=table.families,
            dither=None if table.dither is None else table.dither[rows],
            rescaled=None if table.rescaled is None else table.rescaled.take_rows(rows),
            copies=table.copies,
        )
        for rows, centre in zip(kept, centres, strict=True)
    ]
    return group, centres, tables


def prepare_by_group(table: Table, prepare: Callable[[Table], LocalModels]) -> "GroupedModels":
    """Local models that fit every column on the rows that count for it, by one preparation per group."""
    group, centres, tables = group_tables(table)
    return GroupedModels([prepare(part) for part in tables], group, centres)


def _of_group(name: str, place: int = 0) -> Any:
    """The method of that name, asked of the models of the node's group; ``place`` of the node in the arguments."""

    def ask(self: "GroupedModels", *arguments: Any) -> Any:
        part = self.parts[self.group[arguments[place]]]
        return getattr(part, name)(*arguments)

    return ask


@saved
class GroupedModels(SearchableModels):
    """Local models of one table, each column by those of its group.

    They can do what the models of all groups can, but for sweeps, which count the same rows for all nodes.
    Rows that they are asked to predict are on the scale of the whole table; ``residuals`` are those of the rows
    that count for the column.

    Parameters
    ----------
    parts : sequence of g local models
        Those of every group, of tables that are centred each on its own rows.
    group : array of shape (d,)
        The group of every column.
    centres : array of shape (g, d)
        What centring took out of the columns of the whole table.
    """

    def __init__(
        self,
        parts: Annotated[Sequence[Any], Shape("g")],
        group: Annotated[IntArray, Shape("d", least=0, below="g")],
        centres: Annotated[FloatArray, Shape("g", "d")],
    ) -> None:
        self.parts, self.group, self.centres = list(parts), group, centres
        first = self.parts[0]  # a loaded file may hold none
        self.can = first.can if isinstance(first, LocalModels) else Capabilities()

    fit, fit_parents, fit_from = _of_group("fit"), _of_group("fit_parents"), _of_group("fit_from")
    score_parents, near_parents = _of_group("score_parents"), _of_group("near_parents")
    choose, mass = _of_group("choose"), _of_group("mass")
    residuals, weighs = _of_group("residuals"), _of_group("weighs")

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each request, together where columns share a group."""
        places: dict[int, list[int]] = {}
        for place, (node, _) in enumerate(requests):
            places.setdefault(int(self.group[node]), []).append(place)
        fits: dict[int, LocalFit] = {}
        for group, own in places.items():
            fits.update(zip(own, self.parts[group].fit_many([requests[place] for place in own]), strict=True))
        return [fits[place] for place in range(len(requests))]

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        group = self.group[nodes]
        table = np.empty((nodes.size, 2))
        for number in np.unique(group):
            own = np.flatnonzero(group == number)
            table[own] = self.parts[number].score_many(ranks, rows[own], nodes[own])
        return table

    def parents_in(self, order: IntArray) -> BoolArray:
        """Who is a parent of whom (d, d) in an order."""
        of_groups = np.stack([part.parents_in(order) for part in self.parts])  # (g, d, d)
        parents: BoolArray = of_groups[self.group, :, np.arange(order.size)].T
        return parents

    def fork(self) -> "GroupedModels":
        """The same for another thread."""
        return self._of_parts([part.fork() for part in self.parts])

    def _of_parts(self, parts: Sequence[Any]) -> "GroupedModels":
        return GroupedModels(parts, self.group, self.centres)

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the whole table."""
        centre = self.centres[self.group[node]]
        fitted: FloatArray = self.parts[self.group[node]].predict(node, fit, values - centre)
        if fit.scale < 0:  # other scales were not centred
            mean = fitted if fitted.ndim == 1 else fitted[:, 0]
            mean += centre[node]
        return fitted

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component (m,) of ``parent`` at values ``grid`` (m,), with mean zero over the rows that count."""
        shifted = grid - self.centres[self.group[node], parent]
        component: FloatArray = self.parts[self.group[node]].curve(node, fit, parent, shifted)
        return component

    def predictor(self) -> "GroupedModels":
        """What predicts without the table."""
        return self._of_parts([part.predictor() for part in self.parts])
