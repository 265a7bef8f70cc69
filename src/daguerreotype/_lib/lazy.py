"""Public names of a package that are imported on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose public names are in its modules: ``{"module": "Name other_name"}``.

    They become its ``__all__``, unless it has one.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    vars(modules[package]).setdefault("__all__", sorted(home_of))

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return load
