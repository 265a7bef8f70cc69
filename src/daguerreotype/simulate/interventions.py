"""Hard interventions of a simulation: the rows in which each column is set, and to what."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from daguerreotype._lib.labels import row_called
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.interventions import Targets

Values: TypeAlias = Mapping[Hashable, float | None]
Interventions: TypeAlias = Values | Sequence[Hashable | Collection[Hashable] | Values | None]
PlainValues: TypeAlias = dict[str, float | None]


def read_interventions(
    interventions: Interventions | None, n: int, names: Sequence[Hashable]
) -> tuple[BoolArray, FloatArray, PlainValues | list[PlainValues | None] | None]:
    """Where columns are intervened on (n, d), what they are set to there (n, d), and the same in plain JSON types.

    What a column is set to is NaN where it is drawn as if it had no parents.
    """
    intervened, values = np.zeros((n, len(names)), dtype=np.bool_), np.full((n, len(names)), np.nan)
    if interventions is None:
        return intervened, values, None
    targets = Targets(names)
    if isinstance(interventions, Mapping):
        entry = _read_values(targets, interventions, None)
        intervened[:, list(entry)], values[:, list(entry)] = True, list(entry.values())
        return intervened, values, _plain(entry, names)
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
    entries = [_read_values(targets, entry, row) for row, entry in enumerate(interventions)]
    for row, entry in enumerate(entries):
        intervened[row, list(entry)], values[row, list(entry)] = True, list(entry.values())
    return intervened, values, [_plain(entry, names) if entry else None for entry in entries]


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
