"""Checkpoints of training: the whole state of a run, in one file that is always complete."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daguerreotype._lib.archive import Arrays, Header, UnreadableError, read_archive, write_archive
from daguerreotype._lib.fingerprint import differences, digest
from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.table import Table
from daguerreotype.operators import OrderDistribution

FORMAT = 1


class Checkpoint:
    """A file that holds the last saved state of one training run.

    The state is a zip archive of plain arrays (npz) with a JSON header; nothing in it can run code. A new state
    replaces the old one in one step: whenever the process dies, the file holds one of the two.

    Parameters
    ----------
    path : path
        The file. If it exists, training goes on from it.
    settings : dict
        What the run depends on, as JSON values by name. A file with others is refused.
    every : int or None
        Steps between two saves; None goes by the clock.
    seconds : float
        Seconds between two saves when it goes by the clock.
    """

    def __init__(
        self, path: str | os.PathLike[str], settings: Header, *, every: int | None = None, seconds: float = 30.0
    ) -> None:
        self.path, self.every, self.seconds = Path(path), every, seconds
        self.settings = json.loads(json.dumps(settings, default=repr))  # as it will be read back: lists, no tuples
        self._saved_at = time.monotonic()

    def due(self, step: int) -> bool:
        """Whether the state after ``step`` steps is to be saved."""
        if self.every is not None:
            return step % self.every == 0
        return time.monotonic() - self._saved_at >= self.seconds

    def save(self, arrays: Arrays, header: Header) -> None:
        """Replace the file by this state."""
        write_archive(self.path, arrays, {"format": FORMAT, "settings": self.settings, **header})
        self._saved_at = time.monotonic()

    def load(self) -> tuple[Arrays, Header] | None:
        """The saved state; None if there is no file yet."""
        if not self.path.exists():
            return None
        try:
            arrays, header = read_archive(self.path)
            saved = header["settings"]
        except (UnreadableError, OSError, KeyError) as error:
            raise ValueError(
                f"{self.path} is not a complete checkpoint of training ({error}). Delete it to train from "
                "the start, or give another path."
            ) from error
        if header.get("format") != FORMAT:
            raise ValueError(
                f"{self.path} is a checkpoint of format {header.get('format')!r}, but this version reads format "
                f"{FORMAT}. Go on with the version that wrote it, or delete it to train from the start."
            )
        self._check(saved)
        return arrays, header

    def _check(self, saved: Header) -> None:
        """Refuse the state of a run that this one does not continue."""
        found = differences(saved, self.settings)
        if found:
            raise ValueError(
                f"{self.path} is a checkpoint of another training run: {found}. Give the data and settings that "
                "it began with, or another path."
            )


def describe_run(
    table: Table,
    edges: Any,
    distribution: OrderDistribution,
    theta: FloatArray,
    tau: Callable[[int], float],
    **settings: Any,
) -> Header:
    """What a training run depends on, by name: settings as they are, data and operator as digests.

    The operator is known by its distribution at the start; the temperature by its value at some steps.
    """
    return {
        "edges": type(edges).__name__,
        **{f"edges.{name}": value for name, value in vars(edges).items() if name != "device"},
        **settings,
        "tau": [tau(step) for step in (0, 1, 10, 100, 1000)],
        "columns": list(table.names),
        "digest of data": digest(table.values),
        **({} if table.intervened is None else {"digest of interventions": digest(table.intervened)}),
        "digest of scores at the start": digest(theta),
        "digest of orders at the start": digest(distribution.probs, distribution.ranks),
    }
