"""Part of a campaign: how its cases are drawn, tried and made simpler."""

import os
import zlib
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np

Case: TypeAlias = dict[str, Any]  # plain JSON values, so that a case can be written to a file and read again


class BrokenError(Exception):
    """A property that does not hold; the text says which."""


class Part(Protocol):
    """One family of cases; each module of a part has these functions."""

    seconds: float  # that a case may take on a busy machine; one that takes longer hangs

    def draw(self, rng: np.random.Generator) -> Case:
        """A random case."""

    def run(self, case: Case) -> str:
        """One word for how the case ended, such as "fitted" or "refused"; raises what it should not have."""

    def simpler(self, case: Case) -> Iterator[Case]:
        """Cases with less in them, the largest steps first."""


def case_of(part: Part, name: str, seed: int, k: int) -> Case:
    """Case ``k`` of a part: it depends on nothing else."""
    return part.draw(np.random.default_rng([seed, zlib.crc32(name.encode()), k]))


def without_each(items: list[Any]) -> Iterator[list[Any]]:
    """The list with less in it: either half, then without single entries."""
    half = len(items) // 2
    if half > 1:
        yield items[:half]
        yield items[half:]
    for index in range(len(items)):
        yield items[:index] + items[index + 1 :]


def keep_quiet(descriptor: int) -> None:
    """Let standard output and standard error of this process go to a file that is open."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
