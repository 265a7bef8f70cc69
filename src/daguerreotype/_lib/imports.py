"""Imports on first use: public names of packages, and libraries of extras, or what installs them.

``from daguerreotype._lib.imports import torch`` imports torch when the importing module loads, not before.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch as torch

NEEDED = {"torch": "edges='linear' and edges='mlp' are trained by gradient and need torch."}


def __getattr__(name: str) -> Any:
    if name not in NEEDED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return require(name, NEEDED[name], extra=name)


def require(module: str, why: str, *, extra: str = "", package: str = "") -> Any:
    """The module, or an ImportError that says why it is needed and which extra or other package brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        what = package or f"'daguerreotype[{extra}]'"
        raise ImportError(f"{why} Run: pip install {what}", name=module) from error


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
