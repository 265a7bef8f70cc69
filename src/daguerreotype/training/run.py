"""How a fit is carried out, whatever it computes: threads, memory, progress, cancellation and checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.progress import Progress
from daguerreotype.training.checkpoint import Checkpoint, Stage
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

    def stage(self, name: str, settings: dict[str, Any]) -> Stage | None:
        """The next stage of the fit, for what is saved of it; None if nothing is."""
        return None if self.checkpoint is None else self.checkpoint.stage(name, settings)
