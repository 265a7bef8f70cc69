"""Registry of the parts of a campaign; each is a module, loaded and warmed up where it is asked for."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

PARTS = ("fits", "inputs", "kills", "files")


def load(names: Iterable[str]) -> dict[str, Any]:
    """The modules of these parts, with all that their cases need loaded: workers are forked from here."""
    parts = {name: import_module(f"fuzz.{name}") for name in names}
    for part in parts.values():
        part.warm()
    return parts
