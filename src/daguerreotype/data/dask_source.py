"""How does a cluster take in the rows of a dask DataFrame? Every partition on its own, then merged in a tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from daguerreotype.data.streams import Accumulator

WIDTH = 8  # partitions that one task merges

A = TypeVar("A", bound=Accumulator)


@dataclass(frozen=True)
class DaskChunks:
    """Partitions of a dask DataFrame.

    Tasks are pure: a worker that dies costs time, not rows, since dask repeats what was lost with it.
    """

    frame: Any
    once: bool = False

    def gather(self, empty: Callable[[], A], progress: Callable[[int], None] | None = None) -> A:
        """What an accumulator has after all partitions, by whatever scheduler dask is set to."""
        from dask.base import compute
        from dask.delayed import delayed

        take_in, merge_all = delayed(_take_in, pure=False), delayed(_merge_all, pure=False)
        parts = [take_in(empty, part, number) for number, part in enumerate(self.frame.to_delayed())]
        while len(parts) > 1:
            parts = [merge_all(empty, parts[first : first + WIDTH]) for first in range(0, len(parts), WIDTH)]
        found: A = compute(parts[0])[0]  # type: ignore[no-untyped-call]
        if progress is not None:
            progress(getattr(found, "n_rows", 0))
        return found


def _take_in(empty: Callable[[], A], partition: Any, number: int) -> A:
    """One partition, which messages call by its number."""
    found = empty()
    if hasattr(found, "n_chunks"):
        found.n_chunks = number
    with threadpool_limits(1):
        return found.update(partition)


def _merge_all(empty: Callable[[], A], parts: Sequence[A]) -> A:
    """Some accumulators as one; none of them is changed."""
    found = empty()
    for part in parts:
        found.merge(part)
    return found
