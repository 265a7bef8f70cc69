r"""Local models under interventions: each column is fitted on the rows in which it was not intervened on.

A row in which column j was intervened on says nothing about how j comes about, but it does say what j brings
about: it is left out of the fit of j alone. Columns that were intervened on in the same rows share those that are
left, so that an estimator meets one table per *group* of columns, each centred on its own rows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Capabilities, LocalFit, LocalModels, Moves, SearchableModels
from daguerreotype.noise.base import Mass


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
            others=None if table.others is None else table.others.take_rows(rows),
            copies=table.copies,
        )
        for rows, centre in zip(kept, centres, strict=True)
    ]
    return group, centres, tables


def prepare_by_group(table: Table, prepare: Callable[[Table], LocalModels]) -> "GroupedModels":
    """Local models that fit every column on the rows that count for it, by one preparation per group."""
    group, centres, tables = group_tables(table)
    models, others = [prepare(each) for each in tables], table.others
    effect_centres = centres.copy()
    if others is not None and others.instead:
        assert table.intervened is not None
        for each, rows in enumerate(row_groups(table.intervened)[1]):
            effect_centres[each, others.columns] = others.values[rows].mean(axis=0)
    return GroupedModels(models, group, centres, effect_centres)


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
    effect_centres : array of shape (g, d), optional
        The same of columns on the scales that they have as effects, where these are others.
    """

    def __init__(
        self,
        parts: Annotated[Sequence[Any], Shape("g")],
        group: Annotated[IntArray, Shape("d", least=0, below="g")],
        centres: Annotated[FloatArray, Shape("g", "d")],
        effect_centres: Annotated[FloatArray | None, Shape("g", "d")] = None,
    ) -> None:
        self.parts, self.group, self.centres = list(parts), group, centres
        self.effect_centres = centres if effect_centres is None else effect_centres
        first = self.parts[0]  # a loaded file may hold none
        self.can = first.can if isinstance(first, LocalModels) else Capabilities()

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Parents of ``node`` among ``predecessors``, from the rows in which it was not intervened on."""
        fit: LocalFit = self._of(node).fit(node, predecessors)
        return fit

    def _of(self, node: int) -> Any:
        return self.parts[self.group[node]]

    def fit_many(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """What ``fit`` gives for each request, together where columns share a group."""
        places: dict[int, list[int]] = {}
        for place, (node, _) in enumerate(requests):
            places.setdefault(int(self.group[node]), []).append(place)
        found: dict[int, LocalFit] = {}
        for group, some in places.items():
            fits = self.parts[group].fit_many([requests[place] for place in some])
            found.update(zip(some, fits, strict=True))
        return [found[place] for place in range(len(requests))]

    def fit_moves(self, node: int, others: IntArray) -> Moves:
        """Moves of ``node`` by scores of single columns, each by the models of its group."""
        m = others.size
        places, positions = np.arange(m), np.arange(m + 1)
        ranks = np.empty((m + 1, m + 1), dtype=np.int64)  # row q: the node stands before others[q]
        ranks[:, others] = places + (places >= positions[:, None])
        ranks[:, node] = positions
        rows = np.concatenate([positions, np.full(m, m), np.zeros(m, dtype=np.int64)])
        nodes = np.concatenate([np.full(m + 1, node), others, others])
        own, before, after = np.split(self.score_many(ranks, rows, nodes), [m + 1, 2 * m + 1])
        return Moves(own, before, after)

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        group = self.group[nodes]
        table = np.empty((nodes.size, 2))
        for each in np.unique(group):
            mine = np.flatnonzero(group == each)
            table[mine] = self.parts[each].score_many(ranks, rows[mine], nodes[mine])
        return table

    def fit_parents(self, node: int, parents: IntArray) -> LocalFit:
        """``node`` on exactly these parents, from the rows that count for it."""
        fit: LocalFit = self._of(node).fit_parents(node, parents)
        return fit

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of ``node`` on exactly each of ``sets`` (m, d) of parents."""
        scores: FloatArray = self._of(node).score_parents(node, sets)
        return scores

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) would cost less than ``nats`` beside each of ``sets`` (m, d)."""
        near: BoolArray = self._of(node).near_parents(node, sets, nats)
        return near

    def fit_from(self, node: int, parents: IntArray, parameters: Mapping[str, FloatArray]) -> LocalFit:
        """``node`` on these parents with parameters that were trained elsewhere, on the rows that count."""
        fit: LocalFit = self._of(node).fit_from(node, parents, parameters)
        return fit

    def choose(self, node: int, predecessors: IntArray) -> IntArray:
        """The parents that ``fit`` chooses among predecessors, from the rows that count for ``node``."""
        chosen: IntArray = self._of(node).choose(node, predecessors)
        return chosen

    def parents_in(self, order: IntArray) -> BoolArray:
        """Who is a parent of whom (d, d) in an order."""
        of_groups = np.stack([each.parents_in(order) for each in self.parts])  # (g, d, d)
        parents: BoolArray = of_groups[self.group, :, np.arange(order.size)].T
        return parents

    def fork(self) -> "GroupedModels":
        """The same for another thread."""
        return self._of_parts([each.fork() for each in self.parts])

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the rows that count for ``node``."""
        residuals: FloatArray = self._of(node).residuals(node, fit)
        return residuals

    def fit_on(self, scale: int, node: int, predecessors: IntArray) -> LocalFit:
        """Parents of ``node`` on one scale, from the rows that count for it."""
        fit: LocalFit = self._of(node).fit_on(scale, node, predecessors)
        return fit

    def score_on(self, scale: int, node: int, predecessors: IntArray) -> tuple[float, float]:
        """Excess and dof of ``node`` on one scale, from the rows that count for it."""
        score: tuple[float, float] = self._of(node).score_on(scale, node, predecessors)
        return score

    def regressors(self, node: int, fit: LocalFit, n_rows: int) -> FloatArray:
        """Columns (m, p) that ``fit`` regresses ``node`` on, in the first rows that count for it."""
        columns: FloatArray = self._of(node).regressors(node, fit, n_rows)
        return columns

    def residuals_on(self, scale: int, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of a fit on one scale, in the rows that count for ``node``."""
        residuals: FloatArray = self._of(node).residuals_on(scale, node, fit)
        return residuals

    def _of_parts(self, parts: Sequence[Any]) -> "GroupedModels":
        return GroupedModels(parts, self.group, self.centres, self.effect_centres)

    def mass(self, node: int, fit: LocalFit) -> Mass:
        """The distribution of a discrete node given its linear predictors."""
        mass: Mass = self._of(node).mass(node, fit)
        return mass

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d) on the scale of the whole table."""
        centre = self.centres[self.group[node]]
        added = self.effect_centres[self.group[node], node]
        fitted: FloatArray = self._of(node).predict(node, fit, values - centre) + added
        return fitted

    def curve(self, node: int, fit: LocalFit, parent: int, grid: FloatArray) -> FloatArray:
        """Component (m,) of ``parent`` at values ``grid`` (m,), with mean zero over the rows that count."""
        shifted = grid - self.centres[self.group[node], parent]
        component: FloatArray = self._of(node).curve(node, fit, parent, shifted)
        return component

    def predictor(self) -> "GroupedModels":
        """What predicts without the table."""
        return self._of_parts([each.predictor() for each in self.parts])
