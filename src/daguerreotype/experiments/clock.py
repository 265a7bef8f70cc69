"""How long will it take still? As long as runs of the same kind took, for those that are left."""

from collections import defaultdict
from collections.abc import Iterable

from daguerreotype.experiments.plan import Run
from daguerreotype.experiments.run import Outcome
from daguerreotype.experiments.store import OK, TIMED_OUT


class Clock:
    """Counts what is settled, and estimates the seconds of what is not.

    A run is expected to take what its method took on its problem on average, else what the method took anywhere,
    else what all runs took.

    Parameters
    ----------
    runs : iterable of Run
        All of them.
    n_jobs : int
        Runs at a time.
    """

    def __init__(self, runs: Iterable[Run], n_jobs: int = 1) -> None:
        self._open = {run.key: run for run in runs}
        self._n_jobs = n_jobs
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self.total = len(self._open)
        self.failed = 0

    @property
    def settled(self) -> int:
        """Runs that are behind us."""
        return self.total - len(self._open)

    def count(self, run: Run, outcome: Outcome) -> None:
        """A run is settled."""
        self._open.pop(run.key, None)
        self.failed += outcome["status"] != OK
        seconds = outcome["time_limit"] if outcome["status"] == TIMED_OUT else outcome.get("wall_seconds", 0.0)
        for kind in _kinds(run):
            self._seconds[kind].append(float(seconds or 0.0))

    def left(self) -> float | None:
        """Seconds until all are settled; None as long as nothing is known."""
        if not self._seconds:
            return None
        return sum(self._expected(run) for run in self._open.values()) / self._n_jobs

    def _expected(self, run: Run) -> float:
        known = next(self._seconds[kind] for kind in _kinds(run) if kind in self._seconds)
        return sum(known) / len(known)


def _kinds(run: Run) -> list[tuple[str, ...]]:
    """What a run has in common with others, most first."""
    return [(run.method.label, run.problem.label), (run.method.label,), ()]
