"""How a fit is carried out (threads, memory, progress, Ctrl-C, checkpoint), and the history of its steps."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np

from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.numba import compiling
from daguerreotype._lib.parallel import count_jobs, one_thread
from daguerreotype._lib.progress import COMPILING, Progress, ProgressBar
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.training.checkpoint import NOT_SAVED, Checkpoint, Stage
from daguerreotype.training.methods import read_training


@dataclass(frozen=True)
class Step:
    """What one training step saw; handed to the progress callback and kept in the history."""

    objective: float
    mode_loss: float
    support: int
    hits: int
    misses: int
    theta: FloatArray = field(compare=False)  # arrays have no plain equality; equal objectives tell


@saved
@dataclass(frozen=True)
class FitHistory:
    """What training saw, step by step.

    Attributes
    ----------
    objective : array of shape (t,)
        Expected loss over the distribution plus the regularization of theta.
    mode_loss : array of shape (t,)
        Loss of the most probable order.
    support : array of shape (t,)
        How many rankings carried mass.
    theta : array of shape (t, d)
        Scores of the columns.
    hits, misses : array of shape (t,)
        Local fits found in the cache and made, so far.
    refined_at : int or None
        The step before which best-position moves replaced the order; None without them.
    refine_losses : array
        Loss after each sweep of best-position moves.
    """

    objective: Annotated[FloatArray, Shape("n")]
    mode_loss: Annotated[FloatArray, Shape("n")]
    support: Annotated[IntArray, Shape("n")]
    theta: Annotated[FloatArray, Shape("n", "d")]
    hits: Annotated[IntArray, Shape("n")]
    misses: Annotated[IntArray, Shape("n")]
    refined_at: int | None
    refine_losses: FloatArray

    def __len__(self) -> int:
        return int(self.objective.size)


def history_of(
    steps: list[Step], d: int, refined_at: int | None = None, refine_losses: Sequence[float] = ()
) -> FitHistory:
    """All steps, column by column."""
    return FitHistory(
        objective=np.array([step.objective for step in steps]),
        mode_loss=np.array([step.mode_loss for step in steps]),
        support=np.array([step.support for step in steps], dtype=np.int64),
        theta=np.array([step.theta for step in steps]).reshape(-1, d),
        hits=np.array([step.hits for step in steps], dtype=np.int64),
        misses=np.array([step.misses for step in steps], dtype=np.int64),
        refined_at=refined_at,
        refine_losses=np.array(refine_losses),
    )


CACHE_BYTES = 256e6  # of local fits in memory; beyond that the oldest are forgotten and made again
Phase = Literal["train", "refine", "resume", "final fit"]


def _ignore(name: str, progress: Progress) -> None:
    """Show nothing: the display of a run that has none."""


@dataclass(frozen=True)
class Run:
    """What all stages of a fit share, and none of its results depend on.

    Attributes
    ----------
    n_jobs : int
        How many threads may work at once.
    cache_bytes : float
        What the cache of local fits may hold.
    show : callable
        Told the name of the model and every step of its training.
    cancel : CancelToken
        Ends the fit: on Ctrl-C where it listens, or from another thread.
    checkpoint : Checkpoint or None
        File that all stages are saved to, and go on from.
    name : str
        What the display calls the model that is trained.
    """

    n_jobs: int = 1
    cache_bytes: float = np.inf
    show: Callable[[str, Progress], None] = _ignore
    cancel: CancelToken = field(default_factory=CancelToken)
    checkpoint: Checkpoint | None = None
    name: str = ""

    def tell(self, phase: Phase, step: Step) -> None:
        """Show one step, unless somebody has asked for an end."""
        self.cancel.check()
        seen = step.hits / max(step.hits + step.misses, 1)
        self.show(self.name, Progress(phase, step.objective, step.support, seen))

    def called(self, name: str) -> "Run":
        """The same under another name: that of one of several models of the same table."""
        return replace(self, name=name)

    def stage(self, name: str, settings: dict[str, Any], *, strict: bool = False) -> Stage:
        """The next stage of the work, for what is saved of it; ``strict``: a file of other settings is refused."""
        return NOT_SAVED if self.checkpoint is None else self.checkpoint.stage(name, settings, strict=strict)


@contextmanager
def running(
    settings: Mapping[str, Any], resume: str | os.PathLike[str] | None = None
) -> Iterator[tuple[Run, ProgressBar]]:
    """What a learner with these settings works in: it hears Ctrl-C, shows how far it is, and keeps its file."""
    cancel, steps = CancelToken(), read_training(settings["training"]).max_iter
    # Threads of a numerical library within threads of ours would only get in each other's way.
    with cancel.listening(), ProgressBar(settings["verbose"], steps) as bar, one_thread, ExitStack() as contexts:
        compiled = bar.task(COMPILING, None)
        contexts.enter_context(compiling(lambda _: compiled(1)))
        checkpoint = None if resume is None else contexts.enter_context(Checkpoint(resume, cancel=cancel))
        yield Run(count_jobs(settings["n_jobs"]), CACHE_BYTES, bar.update, cancel, checkpoint), bar
