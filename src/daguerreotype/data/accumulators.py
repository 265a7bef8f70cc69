"""How are functions of rows, or several things at once, taken in by one pass?"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.chunks import chunk_values
from daguerreotype.data.streams import Accumulator

ROWS = 4096  # mapped at a time: there may be many more functions than columns

A = TypeVar("A", bound=Accumulator)
B = TypeVar("B", bound=Accumulator)


class Mapped(Generic[A]):
    """Takes in features (m, p) of rows (m, d) in place of the rows."""

    def __init__(self, features: Callable[[FloatArray], FloatArray], inner: A) -> None:
        self.features, self.inner = features, inner

    def update(self, chunk: Any) -> Self:
        """Take in the features of the rows of a chunk."""
        values = chunk_values(chunk, 0)
        for first in range(0, len(values), ROWS):
            self.inner.update(self.features(values[first : first + ROWS]))
        return self

    def merge(self, other: "Mapped[A]") -> Self:
        """Take in what another one of the same features did."""
        self.inner.merge(other.inner)
        return self


class Both(Generic[A, B]):
    """Two accumulators of the same rows."""

    def __init__(self, first: A, second: B) -> None:
        self.first, self.second = first, second
        self.n_chunks = 0  # for messages

    def update(self, chunk: Any) -> Self:
        """Take in a chunk twice, the first time with all checks."""
        if hasattr(self.first, "n_chunks"):
            self.first.n_chunks = self.n_chunks
        self.first.update(chunk)
        self.second.update(chunk)
        self.n_chunks += 1
        return self

    def merge(self, other: "Both[A, B]") -> Self:
        """Take in what another two did."""
        self.first.merge(other.first)
        self.second.merge(other.second)
        return self
