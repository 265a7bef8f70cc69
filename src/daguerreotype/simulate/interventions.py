"""Hard interventions of a simulation: the rows in which each column is set, and to what."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from daguerreotype._lib.labels import row_called
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.interventions import Targets

Values: TypeAlias = Mapping[Hashable, float | None]
Interventions: TypeAlias = Values | Sequence[Hashable | Collection[Hashable] | Values | None]
PlainValues: TypeAlias = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Setting:
    """What was done to one column.

    Attributes
    ----------
    rows : array of shape (m,)
        The rows in which it was intervened on.
    values : array of shape (m,)
        The values it was set to; NaN where it is drawn as if it had no parents.
    """

    rows: IntArray
    values: FloatArray


def read_interventions(
    interventions: Interventions | None, n: int, names: Sequence[Hashable]
) -> tuple[dict[int, Setting], PlainValues | list[PlainValues | None] | None]:
    """Return the settings of each intervened column, and the same interventions in plain JSON types."""
    if interventions is None:
        return {}, None
    targets = Targets(names)
    if isinstance(interventions, Mapping):
        values = _read_values(targets, interventions, None)
        everywhere = {node: Setting(np.arange(n), np.full(n, value)) for node, value in values.items()}
        return everywhere, _plain(values, names)
    if isinstance(interventions, str) or not isinstance(interventions, Sequence):
        raise TypeError(
            f"interventions is of type {type(interventions).__name__}: give a mapping from columns to values "
            f"(None: drawn without parents) that holds in every row, or a list with one entry for each row."
        )
    if len(interventions) != n:
        raise ValueError(
            f"interventions has {len(interventions)} entries for n={n} rows: give one entry for each row "
            "(None where nothing was done), or a mapping from columns to values that holds in every row."
        )
    by_row = [_read_values(targets, entry, row) for row, entry in enumerate(interventions)]
    by_node: dict[int, list[tuple[int, float]]] = {}
    for row, values in enumerate(by_row):
        for node, value in values.items():
            by_node.setdefault(node, []).append((row, value))
    settings = {
        node: Setting(np.array([row for row, _ in pairs]), np.array([value for _, value in pairs]))
        for node, pairs in by_node.items()
    }
    return settings, [_plain(values, names) if values else None for values in by_row]


def _read_values(targets: Targets, entry: Any, row: int | None) -> dict[int, float]:
    """Nodes and values of one entry; NaN where no value is given."""
    values: dict[int, float] = {}
    for node, value in targets.of(entry, row).items():
        if value is not None and (not isinstance(value, Real) or not isfinite(value)):
            where = "" if row is None else f" in {row_called(row)}"
            raise ValueError(
                f"interventions sets {targets.names[node]!r} to {value!r}{where}: give a finite number, or None "
                "for noise alone."
            )
        values[node] = np.nan if value is None else float(value)
    return values


def _plain(values: Mapping[int, float], names: Sequence[Hashable]) -> PlainValues:
    """The values by name, with None where no value is given."""
    return {str(names[node]): None if np.isnan(value) else value for node, value in values.items()}
