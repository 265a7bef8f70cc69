"""How a fit is carried out, whatever it computes: threads, memory, progress, cancellation and checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from daguerreotype._lib.parallel import CancelToken
from daguerreotype._lib.progress import Progress
from daguerreotype.training.history import Step

Phase = Literal["train", "refine", "resume", "final fit"]


def _ignore(name: str, progress: Progress) -> None:
    """Tell nobody."""


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
        Ends the fit from another thread, as Ctrl-C ends it in the main one.
    checkpoint : Path or None
        File that training is saved to, and goes on from if it is there.
    name : str
        What the display calls the model that is trained.
    """

    n_jobs: int = 1
    cache_bytes: float = np.inf
    show: Callable[[str, Progress], None] = _ignore
    cancel: CancelToken = field(default_factory=CancelToken)
    checkpoint: Path | None = None
    name: str = ""

    def tell(self, phase: Phase, step: Step) -> None:
        """Show one step, unless somebody has asked for an end."""
        self.cancel.check()
        seen = step.hits / max(step.hits + step.misses, 1)
        self.show(self.name, Progress(phase, step.objective, step.support, seen))

    def of_candidate(self, name: str, n_candidates: int, n_jobs: int) -> "Run":
        """The run of one of several models of the same table, with a checkpoint of its own."""
        file = self.checkpoint
        if file is not None and n_candidates > 1:
            file = file.with_name(f"{file.name}.{name}")
        return replace(self, name=name, checkpoint=file, n_jobs=n_jobs, cancel=CancelToken())
