"""Tables that the verbs learn from: a file that the user names, or the Sachs data that ship with the package."""

from dataclasses import replace
from pathlib import Path

from daguerreotype.data.readers import Input, Reading, read_file
from daguerreotype.datasets import load_sachs

# What messages of the reader call its options here.
OPTIONS = {"drop": "--drop {!r}", "missing": "--missing {}"}


def read_input(path: Path | None, reading: Reading) -> Input:
    """The table at ``path``, or the Sachs data with their consensus graph."""
    if path is not None:
        return read_file(path, replace(reading, words=OPTIONS))
    # The observational rows, or those of all conditions if one asks for what these intervened on.
    sachs = load_sachs(interventional=reading.interventions is not None)
    named = sachs.interventions
    if named is not None and named.name != reading.interventions:
        raise ValueError(
            f"the Sachs table has no column {reading.interventions!r} of interventions: it is called "
            f"{named.name!r}."
        )
    targets = None if named is None else named.tolist()
    return Input("Sachs et al. (2005), proteins and lipids in T cells", sachs.X, sachs.adjacency, (), targets)
