"""Objects of settings: parameters that scikit-learn reads, changes and copies, and a short repr."""

from dataclasses import MISSING, fields
from typing import Any, Self


class Parameters:
    """Base of dataclasses whose fields are the settings of a part, as an estimator's parameters are its own.

    A subclass is declared with ``@dataclass(eq=False, repr=False)``. The constructor only stores; ``check``
    refuses what cannot be used.

    >>> from dataclasses import dataclass
    >>> @dataclass(eq=False, repr=False)
    ... class Clock(Parameters):
    ...     alarm: int = 7
    ...     loud: bool = False
    >>> Clock(alarm=8).set_params(loud=True)
    Clock(alarm=8, loud=True)
    >>> Clock(alarm=7)
    Clock()
    """

    def check(self) -> None:
        """Refuse values that cannot be used."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Change the settings that are named."""
        current = self.get_params()
        for name, value in params.items():
            if name not in current:
                own = ", ".join(map(repr, current)) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {own}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        changed = {
            name: value
            for name, value in self.get_params().items()
            if defaults[name] is MISSING or not same(value, defaults[name])
        }
        # Functions by their names: an address in memory says nothing.
        texts = {name: getattr(value, "__name__", None) or repr(value) for name, value in changed.items()}
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in texts.items())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        theirs = other.get_params()
        return all(same(value, theirs[name]) for name, value in self.get_params().items())

    __hash__ = None  # type: ignore[assignment]


def same(first: Any, second: Any) -> bool:
    """Whether two settings are equal, arrays among them."""
    if hasattr(first, "shape") or hasattr(second, "shape"):
        import numpy as np  # what only stores settings need not wait for it

        return np.array_equal(first, second)
    return bool(first == second)
