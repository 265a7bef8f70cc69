"""Resampling: something learned from rows that were drawn anew, in any number of processes, with a journal."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.store import Journal, sole_use
from daguerreotype._lib.typing import IntArray

DRAWS = 10  # of rows for one resample, before it counts as failed
Record: TypeAlias = dict[str, Any]  # of JSON values, "index" among them


@dataclass(frozen=True)
class Draws:
    """How rows are drawn. Every resample has a stream of its own, in whatever process and sequence."""

    n_rows: int
    n_drawn: int
    replace: bool
    random_state: int

    def stream(self, index: int) -> np.random.Generator:
        """Generator of resample ``index``: of the child that ``SeedSequence(random_state).spawn`` has there."""
        return np.random.default_rng(np.random.SeedSequence(self.random_state, spawn_key=(index,)))

    def rows(self, stream: np.random.Generator) -> IntArray:
        """Rows of one resample."""
        if self.replace:
            return stream.integers(self.n_rows, size=self.n_drawn)
        return stream.choice(self.n_rows, size=self.n_drawn, replace=False)


def learn_resamples(
    learn: Callable[[int], Record],
    n_resamples: int,
    *,
    n_jobs: int | None,
    resume: str | os.PathLike[str] | None,
    settings: Callable[[], Mapping[str, Any]],
    is_whole: Callable[[Record], bool],
    advance: Callable[[int], None],
    cancel: CancelToken,
) -> tuple[list[Record], bool]:
    """What was learned from every resample, by number, and whether Ctrl-C ended it before its time.

    Parameters
    ----------
    learn : callable
        Learns from the resample of a number. Other processes get it by pickle.
    resume : path, optional
        Journal of the resamples that are finished, for one process at a time: a later call with the same
        ``settings`` goes on with them, for as many resamples or others.
    settings : callable
        What a resample depends on, by name.
    is_whole : callable
        Whether a record of the journal is one that ``learn`` may have made.
    advance : callable
        Called with the number of resamples that were just finished.
    """
    done: dict[int, Record] = {}
    interrupted = False
    with ExitStack() as files:
        journal = None
        if resume is not None:
            path: Path = check_path(resume, "resume")
            files.enter_context(sole_use(path))
            journal = Journal(path, "resamples", settings())
            done = {record["index"]: record for record in journal.read() if is_whole(record)}
        missing = [index for index in range(n_resamples) if index not in done]
        advance(n_resamples - len(missing))
        try:
            # One by one, as they finish: nothing that is finished waits in a batch to be saved.
            parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
            with closing(parallel(delayed(learn)(index) for index in missing)) as records:
                while True:
                    with cancel.at_once():  # waits for other processes
                        record = next(records, None)
                    if record is None:
                        break
                    if journal is not None:
                        journal.append(record)
                    done[record["index"]] = record
                    advance(1)
        except KeyboardInterrupt:
            interrupted = True
    return [done[index] for index in range(n_resamples) if index in done], interrupted
