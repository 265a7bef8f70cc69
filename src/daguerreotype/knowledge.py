"""Knowledge about a graph before any data: forbidden and required edges, tiers, roots, leaves and degrees."""

import json
import os
import tomllib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Self, TypeAlias

import numpy as np

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.files import read_words
from daguerreotype._lib.labels import ColumnPlaces, shown, suggest
from daguerreotype._lib.records import saved
from daguerreotype._lib.typing import BoolArray, IntArray

Column: TypeAlias = Hashable  # the name of a column, a pattern, or a position
Edge: TypeAlias = tuple[Column, Column]
Limit: TypeAlias = int | Mapping[Column, int] | Iterable[tuple[Column, int]] | None

FREE = -1  # the tier of a column in no tier


class KnowledgeError(ValueError):
    """Knowledge that cannot be read, names no column, or contradicts itself."""


@saved
@dataclass(frozen=True, kw_only=True, repr=False)
class Knowledge:
    r"""What is known about a graph before any data; every graph that is learned with it obeys it.

    With F the forbidden and R the required edges, t the tiers and p the limits of parents, only graphs G and
    orders < are considered with

    .. math:: R \subseteq G, \quad G \cap F = \emptyset, \quad
              i < j \text{ whenever } (i, j) \in R \text{ or } t_i < t_j, \quad
              |\{i : (i, j) \in G\}| \leq p_j .

    Columns are given by name, by position where a table has no names, or by a shell pattern such as
    ``"gene_*"``. A name that a column bears is always that column, whatever pattern it could be read as. Where
    columns are named by numbers, as ``[2019, 2020]``, a number is such a name, not a position.

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
    max_parents : int, or dict of ints by column
        How many parents a column may have at most: one number for all columns, or numbers for some. A column that
        is named goes by its own entry, others by the least of the patterns that match them:
        ``{"*": 2, "yield": 5}``. Required edges count. 0 makes roots.

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
    max_parents: Limit = None

    def __post_init__(self) -> None:
        for name in ("forbidden", "required"):
            object.__setattr__(self, name, tuple(_edges(getattr(self, name), name)))
        tiers = _entries(self.tiers, "tiers", "a list of lists of columns, from earliest to latest")
        object.__setattr__(self, "tiers", tuple(tuple(_columns(tier, "tiers")) for tier in tiers))
        for name in ("roots", "leaves"):
            object.__setattr__(self, name, tuple(_columns(getattr(self, name), name)))
        object.__setattr__(self, "max_parents", _limit(self.max_parents, "max_parents"))

    def __repr__(self) -> str:
        known = self.to_dict()
        for name in {"forbidden", "required"} & known.keys():
            known[name] = list(getattr(self, name))  # pairs
        if isinstance(self.max_parents, tuple):
            known["max_parents"] = dict(self.max_parents)
        return f"Knowledge({', '.join(f'{name}={value!r}' for name, value in known.items())})"

    def __bool__(self) -> bool:
        return bool(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """What is known, by kind, as values that JSON and TOML can hold; :meth:`from_dict` reads it."""
        known: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int):
                known[each.name] = value
            elif value and each.name == "max_parents" and all(isinstance(column, str) for column, _ in value):
                known[each.name] = dict(value)
            elif value:  # positions are no keys in JSON, so that limits by position are pairs
                plain = each.name in ("roots", "leaves")
                known[each.name] = list(value) if plain else [list(entry) for entry in value]
        return known

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """Knowledge from the arguments of the class, by name."""
        if not isinstance(known, Mapping):
            raise TypeError(f"known is a {type(known).__name__}: expected a dict with keys such as 'forbidden'.")
        kinds = [each.name for each in fields(cls)]
        unknown = [name for name in known if name not in kinds]
        if unknown:
            raise KnowledgeError(
                f"{shown(unknown[0])} is no kind of knowledge: expected some of {', '.join(kinds)}."
            )
        return cls(**known)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Knowledge from a TOML or JSON file whose keys are the arguments of the class."""
        file = check_path(path, "path")
        readers = {".toml": tomllib.loads, ".json": json.loads}
        if file.suffix.lower() not in readers:
            raise KnowledgeError(
                f"the knowledge file {file} must end in .toml or .json: that tells how to read it."
            )
        try:
            known = readers[file.suffix.lower()](read_words(file))
            if not isinstance(known, dict):
                raise ValueError("expected a table with keys such as forbidden, required and tiers")
            return cls.from_dict(known)
        except RecursionError:
            raise KnowledgeError(f"{file}: it is nested deeper than any knowledge.") from None
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

    def resolve(self, names: Sequence[Hashable], *, numbered: bool = False) -> "Resolved":
        """The same in positions among ``names``, after all checks; ``numbered`` tables have no names of their own.

        Raises
        ------
        KnowledgeError
            If something names no column, or no graph obeys: it says which edges or which cycle is to blame.
        """
        find = _Finder(tuple(map(str, names)), numbered, ColumnPlaces(names, numbered=numbered))
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
                    f"column {find.names[twice[0]]!r} is in tiers {tier[twice[0]] + 1} and {number + 1}: "
                    "name it, or match it, in one of them."
                )
            tier[members] = number
        most = find.limits(self.max_parents, "max_parents")
        resolved = Resolved(find.names, allowed, required, tier, most)
        if self != Knowledge():
            resolved.check(list(find.all(self.roots, "roots")), list(find.all(self.leaves, "leaves")))
        return resolved


def _entries(value: Any, kind: str, expected: str) -> list[Any]:
    """The entries of a list of any kind; a lone string is none."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise KnowledgeError(f"{kind} is {shown(value)}: expected {expected}.")
    return list(value)


def _columns(value: Any, kind: str) -> Iterator[Column]:
    """Names, patterns or positions."""
    expected = "lists of columns" if kind == "tiers" else "a list of columns"
    for column in _entries(value, kind, expected):
        odd = column is None or isinstance(column, bool | np.bool_) or column != column
        if odd or not isinstance(column, Hashable):
            raise KnowledgeError(f"{kind} holds {column!r}: expected {expected}, by name or position.")
        yield column.item() if isinstance(column, np.generic) else column


def _edges(value: Any, kind: str) -> Iterator[Edge]:
    """Pairs of columns."""
    expected = "a list of pairs (cause, effect)"
    for pair in _entries(value, kind, expected):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise KnowledgeError(f"{kind} holds {pair!r}: expected {expected}.")
        cause, effect = _columns(pair, kind)
        yield cause, effect


def _limit(value: Any, kind: str) -> int | tuple[tuple[Column, int], ...] | None:
    """A number for all columns, or pairs of a column and its number."""
    if value is None or (isinstance(value, int | np.integer) and not isinstance(value, bool)):
        return None if value is None else _count(value, kind, "")
    expected = "a whole number, or a dict of whole numbers by column"
    pairs = list(value.items()) if isinstance(value, Mapping) else _entries(value, kind, expected)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise KnowledgeError(f"{kind} is {shown(value)}: expected {expected}.")
    columns = _columns([column for column, _ in pairs], kind)
    found = {
        column: _count(count, kind, f" of {column!r}") for column, (_, count) in zip(columns, pairs, strict=True)
    }
    return tuple(found.items()) or None


def _count(value: Any, kind: str, whose: str) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise KnowledgeError(f"{kind}{whose} is {shown(value)}: expected a whole number, 0 or more.")
    return int(value)


# ------------------------------------------------------------------ columns of one table


@dataclass(frozen=True)
class _Finder:
    """Positions of the columns that the user names."""

    names: tuple[str, ...]
    numbered: bool
    places: ColumnPlaces

    def all(self, columns: Iterable[Column], kind: str) -> Iterator[int]:
        """Positions of all columns that are named or matched."""
        for column in columns:
            yield from self.one(column, kind)

    def pairs(self, edges: Iterable[Edge], kind: str) -> Iterator[tuple[int, int]]:
        """Pairs of positions; a pattern on both sides does not pair a column with itself."""
        for cause, effect in edges:
            causes, effects = self.one(cause, kind), self.one(effect, kind)
            if causes == effects and len(causes) == 1:
                raise KnowledgeError(f"{kind} has an edge from {self.names[causes[0]]!r} to itself. Drop it.")
            yield from ((i, j) for i in causes for j in effects if i != j)

    def limits(self, limit: Any, kind: str) -> IntArray:
        """How many parents each column (d,) may have, d - 1 where nothing is said."""
        d = len(self.names)
        found = np.full(d, d - 1 if limit is None or not isinstance(limit, int) else limit, dtype=np.int64)
        if isinstance(limit, tuple):
            entries = [
                (self.one(column, kind), count, self.places.find(column) is not None) for column, count in limit
            ]
            for columns, count, _ in entries:
                found[columns] = np.minimum(found[columns], count)
            for columns, count, named in entries:  # a name counts more than a pattern
                if named:
                    found[columns] = count
        return np.minimum(found, d - 1)

    def one(self, column: Column, kind: str) -> list[int]:
        """Positions of the columns that one entry stands for."""
        place = self.places.find(column)
        if place is not None:
            return [place]
        if self.numbered and isinstance(column, int):
            raise KnowledgeError(
                f"{kind} names column {column}, but the columns go from 0 to {len(self.names) - 1}."
            )
        name = str(column)
        if isinstance(column, str) and any(sign in name for sign in "*?["):
            found = [j for j, other in enumerate(self.names) if fnmatchcase(other, name)]
            if found:
                return found
            raise KnowledgeError(
                f"{kind} has the pattern {name!r}, but no column matches it; {suggest(name, self.names)}"
            )
        raise KnowledgeError(f"{kind} names {name!r}, which is no column; {suggest(name, self.names)}")


@dataclass(frozen=True)
class Resolved:
    """Knowledge about the columns of one table.

    Attributes
    ----------
    names : tuple of str
        The columns.
    allowed : array of shape (d, d)
        Whether i may be a parent of j, as far as forbidden edges, roots and leaves go.
    required : array of shape (d, d)
        Whether i must be a parent of j.
    tier : array of shape (d,)
        Number of each column's tier, -1 for none.
    max_parents : array of shape (d,)
        How many parents each column may have.
    """

    names: tuple[str, ...]
    allowed: BoolArray
    required: BoolArray
    tier: IntArray
    max_parents: IntArray

    def take(self, columns: IntArray) -> "Resolved":
        """The same for a table with these columns in this order."""
        square = np.ix_(columns, columns)
        names = tuple(self.names[j] for j in columns)
        by_column = self.tier[columns], self.max_parents[columns]
        return Resolved(names, self.allowed[square], self.required[square], *by_column)

    def check(self, roots: list[int], leaves: list[int]) -> None:
        """Take the edges into roots and out of leaves away, and refuse what contradicts required edges."""
        self._refuse(~self.allowed, "is both required and forbidden")
        self.allowed[:, roots] = False
        self._refuse(~self.allowed, "is required, but {1} is a root: it has no parents")
        self.allowed[leaves, :] = False
        self._refuse(~self.allowed, "is required, but {0} is a leaf: it has no children")
        self._refuse_degrees()
        self.allowed[:, self.max_parents == 0] = False
        backwards = (self.tier[:, None] > self.tier[None, :]) & (self.tier[None, :] != FREE)
        self._refuse(backwards, "is required, but the tiers put {1} before {0}")
        self._refuse_cycles()

    def check_order(self, order: Sequence[int] | IntArray) -> None:
        """Refuse an order that breaks a required edge or the tiers."""
        ranks = np.argsort(np.asarray(order))
        tiered = (self.tier[:, None] < self.tier[None, :]) & (self.tier[:, None] != FREE)
        broken = np.argwhere((self.required | tiered) & (ranks[:, None] > ranks[None, :]))
        if broken.size:
            i, j = (self.names[node] for node in broken[0])
            raise KnowledgeError(
                f"the fixed order puts {j!r} before {i!r}, but knowledge says that {i!r} comes first. "
                "Change the order, or drop that knowledge."
            )

    def _refuse(self, impossible: BoolArray, why: str) -> None:
        """Name the first required edge that is impossible."""
        found = np.argwhere(self.required & impossible)
        if found.size:
            cause, effect = (repr(self.names[node]) for node in found[0])
            raise KnowledgeError(f"the edge {cause} -> {effect} {why.format(cause, effect)}. Drop one of the two.")

    def _refuse_degrees(self) -> None:
        """Name the first column with more required parents than its limit allows."""
        over = np.flatnonzero(self.required.sum(axis=0) > self.max_parents)
        if over.size:
            parents = [repr(self.names[i]) for i in np.flatnonzero(self.required[:, over[0]])]
            raise KnowledgeError(
                f"{self.names[over[0]]!r} has {len(parents)} required parents, {', '.join(parents)}, but "
                f"max_parents allows {self.max_parents[over[0]]}. Drop some of these edges, or raise the limit."
            )

    def _refuse_cycles(self) -> None:
        """Place columns as soon as all that must come before them are placed; name a cycle if some never are."""
        waiting = self.required.sum(axis=0)
        left = np.ones(len(self.names), dtype=np.bool_)
        while left.any():
            ready = left & (waiting == 0) & (self.tier <= self._first_tier(left))
            if not ready.any():
                raise KnowledgeError(self._cycle(left))
            left &= ~ready
            waiting -= self.required[ready].sum(axis=0)

    def _first_tier(self, left: BoolArray) -> int:
        """The earliest tier of the columns that are left."""
        tiers = self.tier[left & (self.tier != FREE)]
        return int(tiers.min()) if tiers.size else FREE

    def _cycle(self, left: BoolArray) -> str:
        """Walk back from a column that cannot be placed to one that must come before it, until one repeats."""
        earliest = int(np.flatnonzero(left & (self.tier == self._first_tier(left)))[0])
        node, path, links = int(np.flatnonzero(left)[0]), [], []
        while node not in path:
            path.append(node)
            causes = np.flatnonzero(left & self.required[:, node])
            links.append("->" if causes.size else "before")
            node = int(causes[0]) if causes.size else earliest
        start = path.index(node)
        text = repr(self.names[node])
        for link, follower in zip(reversed(links[start:]), reversed(path[start:]), strict=True):
            text += f" {link} {self.names[follower]!r}"
        if "before" not in links[start:]:
            return f"required edges form a cycle: {text}. Drop one of them."
        return (
            f"required edges and tiers form a cycle: {text}. Drop one of the edges, or move these columns to "
            "other tiers."
        )
