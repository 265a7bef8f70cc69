"""Time limits of baselines: learning in a child process that can be killed."""

from typing import TYPE_CHECKING

import numpy as np

from daguerreotype._lib.child_process import ChildPool, CrashError, DeadlineError
from daguerreotype._lib.typing import FloatArray

if TYPE_CHECKING:
    from daguerreotype.baselines.base import Baseline, Learned


class TimeLimitError(TimeoutError):
    """A baseline took longer than its ``time_limit``."""


def learn_in_child(
    baseline: "Baseline", X: FloatArray, rng: np.random.Generator
) -> tuple["Learned", float, float]:
    """What ``baseline.timed(X, rng)`` gives, from a new process that is killed after its ``time_limit``.

    The clock starts when the process has imported its libraries and read the data.
    """
    name, child = type(baseline).__name__, ChildPool()
    try:
        timed: tuple[Learned, float, float] = child.call(
            baseline.timed, X, rng, load=baseline.load_libraries, limit=baseline.time_limit
        )
        return timed
    except DeadlineError:
        raise TimeLimitError(
            f"{name} did not finish within time_limit={baseline.time_limit:g} seconds on {X.shape[0]} rows and "
            f"{X.shape[1]} columns. Raise time_limit, or set it to None."
        ) from None
    except CrashError as crash:
        raise RuntimeError(f"{name} ended with exit code {crash.code}: {crash.last}") from None
    finally:
        child.close()
