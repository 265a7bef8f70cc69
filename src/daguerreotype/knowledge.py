"""Knowledge about a graph before any data: forbidden and required edges, tiers, roots, leaves and degrees."""

import json
import os
import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from daguerreotype._lib.checks import check_count, check_path
from daguerreotype._lib.files import read_words
from daguerreotype._lib.labels import ColumnPlaces, shown, suggest
from daguerreotype._lib.records import saved
from daguerreotype._lib.typing import BoolArray, IntArray

Column: TypeAlias = Hashable  # the name of a column, a pattern, or a position
Edge: TypeAlias = tuple[Column, Column]
Limit: TypeAlias = int | Mapping[Column, int] | Iterable[tuple[Column, int]] | None

FREE = -1  # the tier of a column in no tier
PATTERN = set("*?[")  # signs of a shell pattern


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
    Knowledge(forbidden=(('yield', 'rain'),), tiers=(('rain', 'soil_*'), ('yield',)))
    """

    forbidden: Iterable[Edge] = ()
    required: Iterable[Edge] = ()
    tiers: Iterable[Iterable[Column]] = ()
    roots: Iterable[Column] = ()
    leaves: Iterable[Column] = ()
    max_parents: Limit = None

    def __post_init__(self) -> None:
        tiers = _entries(self.tiers, "tiers", "a list of lists of columns, from earliest to latest")
        plain = {
            "forbidden": _edges(self.forbidden, "forbidden"),
            "required": _edges(self.required, "required"),
            "tiers": tuple(_columns(tier, "tiers") for tier in tiers),
            "roots": _columns(self.roots, "roots"),
            "leaves": _columns(self.leaves, "leaves"),
            "max_parents": _limits(self.max_parents, "max_parents"),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Knowledge({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def __bool__(self) -> bool:
        return bool(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """What is known, by kind, as values that JSON and TOML can hold; :meth:`of` reads it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        limits = values["max_parents"]
        if isinstance(limits, tuple) and all(isinstance(column, str) for column, _ in limits):
            values["max_parents"] = dict(limits)  # positions are no keys in JSON: their limits are pairs
        return {name: value for name, value in values.items() if value not in ((), None)}

    @classmethod
    def of(cls, given: Any) -> "Knowledge":
        """Knowledge itself, or what None, a dict of its arguments, or a TOML or JSON file of them stands for."""
        if given is None:
            return NOTHING
        if isinstance(given, Knowledge):
            return given
        if isinstance(given, str | os.PathLike):
            return _read(given)
        if not isinstance(given, Mapping):
            raise TypeError(
                f"knowledge is a {type(given).__name__}: expected Knowledge(...), a dict of its arguments, the "
                "path of a TOML or JSON file, or None."
            )
        kinds = [field.name for field in fields(cls)]
        unknown = [name for name in given if name not in kinds]
        if unknown:
            raise KnowledgeError(
                f"{shown(unknown[0])} is no kind of knowledge: expected some of {', '.join(kinds)}."
            )
        return cls(**given)

    def resolve(self, names: Sequence[Hashable], *, numbered: bool = False) -> "Resolved":
        """The same in positions among ``names``, after all checks; ``numbered`` tables have no names of their own.

        Raises
        ------
        KnowledgeError
            If something names no column, or no graph obeys: it says which edges or which cycle is to blame.
        """
        d = len(names)
        columns = _Columns(tuple(map(str, names)), numbered, ColumnPlaces(names, numbered=numbered))
        allowed, required = ~np.eye(d, dtype=np.bool_), np.zeros((d, d), dtype=np.bool_)
        tier, most = np.full(d, FREE, dtype=np.int64), np.full(d, d - 1, dtype=np.int64)
        resolved = Resolved(columns.names, allowed, required, tier, most)
        if self == NOTHING:
            return resolved
        for cause, effect in self.forbidden:
            allowed[np.ix_(columns.one(cause, "forbidden"), columns.one(effect, "forbidden"))] = False
        for cause, effect in self.required:
            required[np.ix_(columns.one(cause, "required"), columns.one(effect, "required"))] = True
        np.fill_diagonal(required, False)  # a pattern on both sides pairs no column with itself
        for number, group in enumerate(self.tiers):
            members = columns.all(group, "tiers")
            twice = [j for j in members if tier[j] not in (FREE, number)]
            if twice:
                raise KnowledgeError(
                    f"column {columns.names[twice[0]]!r} is in tiers {tier[twice[0]] + 1} and {number + 1}: "
                    "name it, or match it, in one of them."
                )
            tier[members] = number
        limits: Any = self.max_parents
        if isinstance(limits, int):
            limits = [(name, limits) for name in columns.names]
        # A name counts more than a pattern, so that names come last.
        for column, limit in sorted(limits or (), key=lambda entry: columns.places.find(entry[0]) is not None):
            places = columns.one(column, "max_parents")
            named = columns.places.find(column) is not None
            most[places] = min(limit, d - 1) if named else np.minimum(most[places], limit)
        resolved.check(columns.all(self.roots, "roots"), columns.all(self.leaves, "leaves"))
        return resolved


def _read(path: str | os.PathLike[str]) -> Knowledge:
    """What is known by a file."""
    file = check_path(path, "path")
    readers = {".toml": tomllib.loads, ".json": json.loads}
    if file.suffix.lower() not in readers:
        raise KnowledgeError(f"the knowledge file {file} must end in .toml or .json: that tells how to read it.")
    try:
        content = readers[file.suffix.lower()](read_words(file))
        if not isinstance(content, dict):
            raise ValueError("expected a table with keys such as forbidden, required and tiers")
        return Knowledge.of(content)
    except RecursionError:
        raise KnowledgeError(f"{file}: it is nested deeper than any knowledge.") from None
    except ValueError as error:  # those of both readers, and ours
        raise KnowledgeError(f"{file}: {error}") from error


def _entries(value: Any, kind: str, expected: str) -> list[Any]:
    """The entries of a list of any kind; a lone string is none."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise KnowledgeError(f"{kind} is {shown(value)}: expected {expected}.")
    return list(value)


def _pairs(value: Any, kind: str, expected: str) -> list[Any]:
    """The entries of a list of pairs."""
    pairs = _entries(value, kind, expected)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise KnowledgeError(f"{kind} holds {pair!r}: expected {expected}.")
    return pairs


def _columns(value: Any, kind: str) -> tuple[Column, ...]:
    """Names, patterns or positions."""
    expected = "lists of columns" if kind == "tiers" else "a list of columns"
    columns = _entries(value, kind, expected)
    for column in columns:
        odd = column is None or isinstance(column, bool | np.bool_) or column != column
        if odd or not isinstance(column, Hashable):
            raise KnowledgeError(f"{kind} holds {column!r}: expected {expected}, by name or position.")
    return tuple(column.item() if isinstance(column, np.generic) else column for column in columns)


def _edges(value: Any, kind: str) -> tuple[tuple[Column, ...], ...]:
    """Pairs of columns."""
    edges = [_columns(pair, kind) for pair in _pairs(value, kind, "a list of pairs (cause, effect)")]
    for cause, effect in edges:
        if cause == effect and not PATTERN & set(str(cause)):
            raise KnowledgeError(f"{kind} has an edge from {cause!r} to itself. Drop it.")
    return tuple(edges)


def _limits(value: Any, kind: str) -> int | tuple[tuple[Column, int], ...] | None:
    """A number for all columns, or pairs of a column and its number."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        return check_count(value, kind)
    entries = value.items() if isinstance(value, Mapping) else value
    pairs = _pairs(entries, kind, "a whole number, or a dict of whole numbers by column")
    columns = _columns([column for column, _ in pairs], kind)
    limits = {
        column: check_count(limit, f"{kind} of {column!r}")
        for column, (_, limit) in zip(columns, pairs, strict=True)
    }
    return tuple(limits.items()) or None


NOTHING = Knowledge()


# ------------------------------------------------------------------ columns of one table


@dataclass(frozen=True)
class _Columns:
    """Positions of the columns that the user names."""

    names: tuple[str, ...]
    numbered: bool
    places: ColumnPlaces

    def one(self, column: Column, kind: str) -> list[int]:
        """Positions of the columns that one entry stands for: its own, or those that match it."""
        place = self.places.find(column)
        if place is not None:
            return [place]
        if self.numbered and isinstance(column, int):
            raise KnowledgeError(
                f"{kind} names column {column}, but the columns go from 0 to {len(self.names) - 1}."
            )
        name = str(column)
        if not isinstance(column, str) or not PATTERN & set(name):
            raise KnowledgeError(f"{kind} names {name!r}, which is no column; {suggest(name, self.names)}")
        matching = [j for j, other in enumerate(self.names) if fnmatchcase(other, name)]
        if not matching:
            raise KnowledgeError(
                f"{kind} has the pattern {name!r}, but no column matches it; {suggest(name, self.names)}"
            )
        return matching

    def all(self, columns: Iterable[Column], kind: str) -> list[int]:
        """Positions of all columns that are named or matched."""
        return [place for column in columns for place in self.one(column, kind)]


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
        self._refuse("is both required and forbidden")
        self.allowed[:, roots] = False
        self._refuse("is required, but {1} is a root: it has no parents")
        self.allowed[leaves, :] = False
        self._refuse("is required, but {0} is a leaf: it has no children")
        over = np.flatnonzero(self.required.sum(axis=0) > self.max_parents)
        if over.size:
            parents = [repr(self.names[i]) for i in np.flatnonzero(self.required[:, over[0]])]
            raise KnowledgeError(
                f"{self.names[over[0]]!r} has {len(parents)} required parents, {', '.join(parents)}, but "
                f"max_parents allows {self.max_parents[over[0]]}. Drop some of these edges, or raise the limit."
            )
        self.allowed[:, self.max_parents == 0] = False
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

    def _refuse(self, why: str) -> None:
        """Name the first required edge that is not allowed."""
        impossible = np.argwhere(self.required & ~self.allowed)
        if impossible.size:
            cause, effect = (repr(self.names[node]) for node in impossible[0])
            raise KnowledgeError(f"the edge {cause} -> {effect} {why.format(cause, effect)}. Drop one of the two.")

    def _refuse_cycles(self) -> None:
        """Name a cycle of required edges and of tiers."""
        import networkx as nx

        later: nx.DiGraph = nx.DiGraph()  # from columns to those that must come after them
        numbers = np.unique(self.tier[self.tier != FREE])
        # A gate for each tier, which its columns come before, stands between them and those of all later tiers.
        later.add_edges_from(pairwise(f"gate {number}" for number in numbers))
        for number, following in pairwise(numbers):
            later.add_edges_from((int(j), f"gate {number}") for j in np.flatnonzero(self.tier == number))
            later.add_edges_from((f"gate {number}", int(j)) for j in np.flatnonzero(self.tier == following))
        later.add_edges_from(np.argwhere(self.required).tolist())
        try:
            cycle = nx.find_cycle(later)
        except nx.NetworkXNoCycle:
            return
        steps = [step for step in cycle if isinstance(step[0], int)]
        first = steps.index(min(steps))
        text, by_tiers = "", any(isinstance(following, str) for _, following in steps)
        for node, following in steps[first:] + steps[:first]:
            text += f"{self.names[node]!r} {'before' if isinstance(following, str) else '->'} "
        text += repr(self.names[steps[first][0]])
        raise KnowledgeError(
            f"required edges and tiers form a cycle: {text}. Drop one of the edges, or move these columns to "
            "other tiers."
            if by_tiers
            else f"required edges form a cycle: {text}. Drop one of them."
        )
