"""Tables that the verbs learn from: a file that the user names, or the Sachs data that ship with the package."""

from dataclasses import replace
from pathlib import Path

from daguerreotype.data.readers import Input, Reading, read_file
from daguerreotype.datasets import load_sachs

# What messages of the reader call its options here.
OPTIONS = {"drop": "--drop {!r}", "drop_non_numeric": "--drop-non-numeric", "drop_missing": "--drop-missing"}


def read_input(path: Path | None, reading: Reading) -> Input:
    """The table at ``path``, or the Sachs data with their consensus graph."""
    if path is None:
        return _read_sachs(reading.interventions)
    return read_file(path, replace(reading, words=OPTIONS))


def _read_sachs(interventions: str | None) -> Input:
    """The observational rows, or the rows of all conditions if one asks for what those intervened on."""
    sachs = load_sachs(interventional=interventions is not None)
    targets = None
    if interventions is not None:
        assert sachs.interventions is not None
        if interventions != sachs.interventions.name:
            raise ValueError(
                f"the Sachs table has no column {interventions!r} of interventions: it is called "
                f"{sachs.interventions.name!r}."
            )
        targets = sachs.interventions.tolist()
    return Input("Sachs et al. (2005), proteins and lipids in T cells", sachs.X, sachs.adjacency, (), targets)
