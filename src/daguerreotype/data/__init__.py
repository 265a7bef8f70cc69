"""The border of the package: every input is read and checked here, from Python and from the command line alike."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daguerreotype.data.moments import Moments as Moments
    from daguerreotype.data.readers import read_table as read_table

# Loaded on first use: moments need numba, which a file that cannot be read should not wait for.
_HOME = {"Moments": "daguerreotype.data.moments", "read_table": "daguerreotype.data.readers"}

__all__ = ["Moments", "read_table"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
