"""Registries of named parts: a name stands for an entry that says all there is to know of a part."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

Entry = TypeVar("Entry")
Class = TypeVar("Class", bound=type)


class Registry(dict[str, Entry]):
    """Entries by name, in the order in which users see them.

    Parameters
    ----------
    what : str
        What messages call a part: the name of the parameter that takes it.
    entries : dict
        The parts of the package. A new one is added by :meth:`register`.
    """

    def __init__(self, what: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self.what = what

    def register(self, name: str, entry: Entry) -> None:
        """Add a part; a name that is taken is refused."""
        if name in self:
            raise ValueError(f"there is a part called {name!r} among {self.what} already: choose another name.")
        self[name] = entry

    def listed(self) -> str:
        """All names, for messages.

        >>> Registry("fruit", {"apple": 1, "pear": 2}).listed()
        "'apple', 'pear'"
        """
        return ", ".join(map(repr, self))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name)


RECORDS: Registry[type] = Registry("records", {})  # classes that files may hold


def saved(record: Class) -> Class:
    """Let files hold objects of this class: its fields, or the arguments of its constructor, are all there is.

    What fields hold beside their type is said by ``Annotated[FloatArray, Shape("m", "d")]``. A method
    ``as_saved()`` returns what a file is to hold in place of an object, ``check_saved()`` refuses what no fit
    leads to and no shape can say.
    """
    RECORDS.register(record.__name__, record)
    return record


def load(location: str) -> Any:
    """The object behind ``package.module:name``, or behind ``package.module:Class.method``, imported now."""
    module, _, path = location.partition(":")
    part: Any = import_module(module)
    for name in path.split("."):
        part = getattr(part, name)
    return part
