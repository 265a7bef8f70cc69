"""Resampling: something learned from rows that were drawn anew, in any number of processes, and resumable."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import IntArray
from daguerreotype.training.run import Run

DRAWS = 10  # of rows for one resample, before it counts as failed
Record: TypeAlias = tuple[Arrays, Header]  # what was learned from one resample, as a checkpoint holds it


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
    run: Run,
    settings: Callable[[], Mapping[str, Any]],
    advance: Callable[[int], None],
) -> tuple[list[Record], bool]:
    """What was learned from every resample, by number, and whether Ctrl-C ended it before its time.

    Parameters
    ----------
    learn : callable
        Learns from the resample of a number. Other processes get it by pickle.
    run : Run
        Its checkpoint holds the resamples that are finished: a later call with the same ``settings`` goes on with
        them, for as many resamples or others.
    settings : callable
        What a resample depends on, by name.
    advance : callable
        Called with the number of resamples that were just finished.
    """
    if run.checkpoint is not None:
        run.stage("resamples", dict(settings()), strict=True).keep(lambda: ({}, {}), always=True)
    stages = [run.stage("resample", {}) for _ in range(n_resamples)]
    done = {index: saved for index, stage in enumerate(stages) if (saved := stage.load()) is not None}
    missing = [index for index in range(n_resamples) if index not in done]
    advance(len(done))
    interrupted = False
    try:
        # One by one, as they finish: nothing that is finished waits in a batch to be saved.
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
        with closing(parallel(delayed(_numbered)(learn, index) for index in missing)) as records:
            for _ in missing:
                with run.cancel.at_once():  # waits for other processes
                    index, record = next(records)
                done[index] = record
                stages[index].keep(partial(done.__getitem__, index), always=True)
                advance(1)
    except KeyboardInterrupt:
        interrupted = True
    return [done[index] for index in sorted(done)], interrupted


def _numbered(learn: Callable[[int], Record], index: int) -> tuple[int, Record]:
    """What was learned from a resample, with its number: they finish in any sequence."""
    return index, learn(index)
