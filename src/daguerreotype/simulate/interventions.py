"""Which rows had which columns set from outside? Reads what the user says about interventions."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import TypeAlias

import numpy as np

from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import FloatArray, IntArray

Targets: TypeAlias = Mapping[Hashable, float | None]
Interventions: TypeAlias = Targets | Sequence[Hashable | Collection[Hashable] | Targets | None]
PlainTargets: TypeAlias = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Setting:
    """What was done to one column.

    Attributes
    ----------
    rows : array of shape (m,)
        The rows in which it was set.
    values : array of shape (m,)
        The values it was set to; NaN where it is drawn as if it had no parents.
    """

    rows: IntArray
    values: FloatArray


def read_interventions(
    interventions: Interventions | None, n: int, names: Sequence[Hashable]
) -> tuple[dict[int, Setting], PlainTargets | list[PlainTargets | None] | None]:
    """Return the settings of each intervened column, and the same interventions in plain JSON types."""
    if interventions is None:
        return {}, None
    index = {str(name): i for i, name in enumerate(names)} | {name: i for i, name in enumerate(names)}
    if isinstance(interventions, Mapping):
        targets = _read_targets(interventions, index, "interventions")
        everywhere = {node: Setting(np.arange(n), np.full(n, value)) for node, value in targets.items()}
        return everywhere, _plain(targets, names)
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
    by_row = [_read_targets(entry, index, f"interventions[{row}]") for row, entry in enumerate(interventions)]
    rows: dict[int, list[int]] = {}
    values: dict[int, list[float]] = {}
    for row, targets in enumerate(by_row):
        for node, value in targets.items():
            rows.setdefault(node, []).append(row)
            values.setdefault(node, []).append(value)
    settings = {node: Setting(np.array(rows[node]), np.array(values[node])) for node in rows}
    return settings, [_plain(targets, names) if targets else None for targets in by_row]


def _read_targets(entry: object, index: Mapping[Hashable, int], where: str) -> dict[int, float]:
    """Nodes and values of one entry; NaN where no value is given."""
    if entry is None:
        return {}
    if isinstance(entry, Mapping):
        return {_node(name, index, where): _value(value, name, where) for name, value in entry.items()}
    if isinstance(entry, Collection) and not isinstance(entry, str) and not _is_name(entry, index):
        return {_node(name, index, where): np.nan for name in entry}
    return {_node(entry, index, where): np.nan}


def _is_name(entry: object, index: Mapping[Hashable, int]) -> bool:
    """Whether a tuple (say) is itself the name of a column."""
    return isinstance(entry, Hashable) and entry in index


def _node(name: object, index: Mapping[Hashable, int], where: str) -> int:
    """Position of the column called ``name``."""
    if not _is_name(name, index):
        known = listed(dict.fromkeys(map(str, index)), quote=False)
        raise ValueError(f"{where} names {name!r}, which is not a column: the columns are {known}.")
    return index[name]


def _value(value: object, name: object, where: str) -> float:
    """The value a column is set to; NaN stands for none given."""
    if value is None:
        return np.nan
    if not isinstance(value, Real) or not isfinite(value):
        raise ValueError(f"{where} sets {name!r} to {value!r}: give a finite number, or None for noise alone.")
    return float(value)


def _plain(targets: Mapping[int, float], names: Sequence[Hashable]) -> PlainTargets:
    """The targets by name, with None where no value is given."""
    return {str(names[node]): None if np.isnan(value) else value for node, value in targets.items()}
