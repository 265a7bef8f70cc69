"""Time limits of learners: warm-up before the clock starts, and learning in a child process that can be killed."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from daguerreotype._lib.child_process import ChildProcess, CrashError, DeadlineError
from daguerreotype._lib.typing import FloatArray

if TYPE_CHECKING:
    from daguerreotype.baselines.base import Baseline, Learned


class TimeLimitError(TimeoutError):
    """A baseline took longer than its ``time_limit``."""


def learn_in_child(
    baseline: "Baseline", X: FloatArray, rng: np.random.Generator, limit: float
) -> tuple["Learned", float, float]:
    """What ``baseline.timed(X, rng)`` gives, from a new process that is killed after ``limit`` seconds.

    The clock starts when the process has imported its libraries and read the data.
    """
    name, child = type(baseline).__name__, ChildProcess()
    try:
        timed: tuple[Learned, float, float] = child.call(
            baseline.timed, X, rng, load=baseline.load_libraries, limit=limit
        )
        return timed
    except DeadlineError:
        raise TimeLimitError(
            f"{name} did not finish within time_limit={limit:g} seconds on {X.shape[0]} rows and {X.shape[1]} "
            "columns. Raise time_limit, or set it to None."
        ) from None
    except CrashError as crash:
        raise RuntimeError(f"{name} ended with exit code {crash.code}: {crash.last}") from None
    finally:
        child.close()


def warm_up(learner: Any) -> None:
    """Import what a fit of ``learner`` needs and load its kernels, so that their seconds do not count.

    A baseline names its libraries; ours is fitted to a small table, as far as one step. Of a learner of anyone
    else's nothing is known.
    """
    from daguerreotype.learner import Daguerreotype

    load_libraries = getattr(learner, "load_libraries", None)
    if callable(load_libraries):
        load_libraries()
    elif isinstance(learner, Daguerreotype):
        import pandas as pd
        from sklearn.base import clone

        from daguerreotype.edges.gradient.settings import GradientEdges
        from daguerreotype.edges.registry import EDGES

        names = ["a", "b", "c"]
        small = clone(learner).set_params(max_iter=1, n_restarts=0, knowledge=None, verbose=0)
        if not isinstance(small.init, str):  # an order of other columns
            small.init = names
        if isinstance(small.edges, str) and small.edges in ("linear", "mlp"):
            small.edges = EDGES[small.edges].make()
        if isinstance(small.edges, GradientEdges):
            small.edges = dataclasses.replace(small.edges, max_iter=1)
        small.fit(pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=names))
