"""What does the user know about the graph? Edges that are there or are not, and which columns come first."""

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from daguerreotype.knowledge.resolved import FREE, Column, Edge, Finder, KnowledgeError, Resolved


@dataclass(frozen=True, kw_only=True, repr=False)
class Knowledge:
    r"""What is known about a graph before any data; every graph that is learned with it obeys it.

    With F the forbidden and R the required edges, t the tiers, only graphs G and orders < are considered with

    .. math:: R \subseteq G, \quad G \cap F = \emptyset, \quad
              i < j \text{ whenever } (i, j) \in R \text{ or } t_i < t_j .

    Columns are given by name, by position where a table has no names, or by a shell pattern such as
    ``"gene_*"``. A name that a column bears is always that column, whatever pattern it could be read as.

    Parameters
    ----------
    forbidden : iterable of pairs (cause, effect)
        Edges that are not there. The reverse edge may be.
    required : iterable of pairs (cause, effect)
        Edges that are there: the cause comes first in every order, and is a parent in every graph. Where the data
        see no such effect, its weight is small, or zero.
    tiers : iterable of iterables of columns
        Groups of columns from earliest to latest: no column causes one of an earlier tier. Within a tier, and
        for columns in no tier, anything goes.
    roots, leaves : iterable of columns
        Columns without parents; columns without children.

    Examples
    --------
    >>> from daguerreotype import Knowledge
    >>> Knowledge(forbidden=[("yield", "rain")], tiers=[["rain", "soil_*"], ["yield"]])
    Knowledge(forbidden=[('yield', 'rain')], tiers=[['rain', 'soil_*'], ['yield']])
    """

    forbidden: Iterable[Edge] = ()
    required: Iterable[Edge] = ()
    tiers: Iterable[Iterable[Column]] = ()
    roots: Iterable[Column] = ()
    leaves: Iterable[Column] = ()

    def __post_init__(self) -> None:
        for name in ("forbidden", "required"):
            object.__setattr__(self, name, tuple(_edges(getattr(self, name), name)))
        tiers = _listed(self.tiers, "tiers", "a list of lists of columns, from earliest to latest")
        object.__setattr__(self, "tiers", tuple(tuple(_columns(tier, "tiers")) for tier in tiers))
        for name in ("roots", "leaves"):
            object.__setattr__(self, name, tuple(_columns(getattr(self, name), name)))

    def __repr__(self) -> str:
        known = self.to_dict()
        for name in {"forbidden", "required"} & known.keys():
            known[name] = list(getattr(self, name))  # pairs
        return f"Knowledge({', '.join(f'{name}={value!r}' for name, value in known.items())})"

    def __bool__(self) -> bool:
        return bool(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """What is known, by kind, as lists that JSON and TOML can hold; :meth:`from_dict` reads it."""
        found = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: [list(e) if isinstance(e, tuple) else e for e in value] for name, value in found if value}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """Knowledge from the arguments of the class, by name."""
        kinds = [each.name for each in fields(cls)]
        unknown = [name for name in known if name not in kinds]
        if unknown:
            raise KnowledgeError(f"{unknown[0]!r} is no kind of knowledge: expected some of {', '.join(kinds)}.")
        return cls(**known)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Knowledge from a TOML or JSON file whose keys are the arguments of the class."""
        file = Path(path)
        readers = {".toml": tomllib.loads, ".json": json.loads}
        if file.suffix.lower() not in readers:
            raise KnowledgeError(f"{file} must end in .toml or .json: that tells how to read it.")
        try:
            known = readers[file.suffix.lower()](file.read_text(encoding="utf-8"))
            if not isinstance(known, dict):
                raise ValueError("expected a table with keys such as forbidden, required and tiers")
            return cls.from_dict(known)
        except ValueError as error:  # those of both readers, and ours
            raise KnowledgeError(f"{file}: {error}") from error

    @classmethod
    def of(cls, known: Any) -> "Knowledge":
        """Knowledge itself, or what a dict, a file or None stands for."""
        if known is None:
            return cls()
        if isinstance(known, Knowledge):
            return known
        if isinstance(known, Mapping):
            return cls.from_dict(known)
        if isinstance(known, str | os.PathLike):
            return cls.from_file(known)
        raise TypeError(
            f"knowledge is a {type(known).__name__}: expected Knowledge(...), a dict of its arguments, the path "
            "of a TOML or JSON file, or None."
        )

    def resolve(self, names: Sequence[str], *, numbered: bool = False) -> Resolved:
        """The same in positions among ``names``, after all checks; ``numbered`` tables have no names of their own.

        Raises
        ------
        KnowledgeError
            If something names no column, or no graph obeys: it says which pair or cycle is to blame.
        """
        find = Finder(tuple(names), numbered)
        d = len(names)
        allowed, required = ~np.eye(d, dtype=np.bool_), np.zeros((d, d), dtype=np.bool_)
        for cause, effect in find.pairs(self.forbidden, "forbidden"):
            allowed[cause, effect] = False
        for cause, effect in find.pairs(self.required, "required"):
            required[cause, effect] = True
        tier = np.full(d, FREE, dtype=np.int64)
        for number, columns in enumerate(self.tiers):
            members = list(find.all(columns, "tiers"))
            twice = [j for j in members if tier[j] not in (FREE, number)]
            if twice:
                raise KnowledgeError(
                    f"column {names[twice[0]]!r} is in tiers {tier[twice[0]] + 1} and {number + 1}: "
                    "name it, or match it, in one of them."
                )
            tier[members] = number
        resolved = Resolved(tuple(names), allowed, required, tier)
        resolved.check(list(find.all(self.roots, "roots")), list(find.all(self.leaves, "leaves")))
        return resolved


def _listed(value: Any, kind: str, expected: str) -> list[Any]:
    """The entries of a list of any kind; a lone string is none."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise KnowledgeError(f"{kind} is {value!r}: expected {expected}.")
    return list(value)


def _columns(value: Any, kind: str) -> Iterator[Column]:
    """Names, patterns or positions."""
    expected = "lists of columns" if kind == "tiers" else "a list of columns"
    for column in _listed(value, kind, expected):
        if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
            raise KnowledgeError(f"{kind} holds {column!r}: expected {expected}, by name or position.")
        yield column if isinstance(column, str) else int(column)


def _edges(value: Any, kind: str) -> Iterator[Edge]:
    """Pairs of columns."""
    expected = "a list of pairs (cause, effect)"
    for pair in _listed(value, kind, expected):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise KnowledgeError(f"{kind} holds {pair!r}: expected {expected}.")
        cause, effect = _columns(pair, kind)
        yield cause, effect
