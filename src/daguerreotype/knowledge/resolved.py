"""Which columns of a table does knowledge speak of, and does it contradict itself?"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TypeAlias

import numpy as np

from daguerreotype.arrays import BoolArray, IntArray

Column: TypeAlias = str | int
Edge: TypeAlias = tuple[Column, Column]

FREE = -1  # the tier of a column in no tier
SHOWN = 5


class KnowledgeError(ValueError):
    """Knowledge that cannot be read, names no column, or contradicts itself."""


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
    """

    names: tuple[str, ...]
    allowed: BoolArray
    required: BoolArray
    tier: IntArray

    def take(self, columns: IntArray) -> "Resolved":
        """The same for a table with these columns in this order."""
        square = np.ix_(columns, columns)
        names = tuple(self.names[j] for j in columns)
        return Resolved(names, self.allowed[square], self.required[square], self.tier[columns])

    def check(self, roots: list[int], leaves: list[int]) -> None:
        """Take the edges into roots and out of leaves away, and refuse what contradicts a required edge."""
        self._refuse(~self.allowed, "is both required and forbidden")
        self.allowed[:, roots] = False
        self._refuse(~self.allowed, "is required, but {1} is a root: it has no parents")
        self.allowed[leaves, :] = False
        self._refuse(~self.allowed, "is required, but {0} is a leaf: it has no children")
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
                f"the order given as init puts {j!r} before {i!r}, but knowledge says that {i!r} comes first. "
                "Change the order, or drop that knowledge."
            )

    def _refuse(self, impossible: BoolArray, why: str) -> None:
        """Name the first required edge that is impossible."""
        found = np.argwhere(self.required & impossible)
        if found.size:
            cause, effect = (repr(self.names[node]) for node in found[0])
            raise KnowledgeError(f"the edge {cause} -> {effect} {why.format(cause, effect)}. Drop one of the two.")

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


@dataclass(frozen=True)
class Finder:
    """Positions of the columns that the user names."""

    names: tuple[str, ...]
    numbered: bool

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

    def one(self, column: Column, kind: str) -> list[int]:
        """Positions of the columns that one entry stands for."""
        if isinstance(column, int | np.integer) and self.numbered:
            if not 0 <= column < len(self.names):
                raise KnowledgeError(
                    f"{kind} names column {column}, but the columns go from 0 to {len(self.names) - 1}."
                )
            return [int(column)]
        name = str(column)
        if name in self.names:
            return [self.names.index(name)]
        if any(sign in name for sign in "*?["):
            found = [j for j, other in enumerate(self.names) if fnmatchcase(other, name)]
            if found:
                return found
            raise KnowledgeError(f"{kind} has the pattern {name!r}, but no column matches it; {self._hint(name)}")
        raise KnowledgeError(f"{kind} names {name!r}, which is no column; {self._hint(name)}")

    def _hint(self, name: str) -> str:
        near = get_close_matches(name, self.names, 1)
        if near:
            return f"did you mean {near[0]!r}?"
        more = f" and {len(self.names) - SHOWN} more" if len(self.names) > SHOWN else ""
        return f"the columns are {', '.join(map(repr, self.names[:SHOWN]))}{more}."
