"""Knowledge with pairs of columns without an edge in either direction."""

from collections.abc import Iterable
from dataclasses import dataclass

from daguerreotype import Knowledge
from daguerreotype.noise import saved


@saved
@dataclass(frozen=True, kw_only=True, repr=False)
class Unrelated(Knowledge):
    unrelated: Iterable = ()

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "unrelated", tuple(map(tuple, self.unrelated)))

    def resolve(self, names, *, numbered=False):
        resolved = super().resolve(names, numbered=numbered)
        for pair in self.unrelated:
            i, j = map(list(names).index, pair)
            resolved.allowed[i, j] = resolved.allowed[j, i] = False
        return resolved
