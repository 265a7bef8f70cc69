"""Comparison of several methods on one table, with held-out rows and agreement between their graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from daguerreotype._lib.child_process import ChildPool
from daguerreotype._lib.labels import plural
from daguerreotype._lib.progress import Status
from daguerreotype.data.readers import Input
from daguerreotype.data.validation import check_table
from daguerreotype.edges.registry import EDGES
from daguerreotype.experiments.method import Method, matrix_of
from daguerreotype.experiments.runs import OK, Outcome, run_method
from daguerreotype.metrics import f1


def method_called(name: str) -> Method:
    """Our learner with the edges of this name, or the baseline."""
    if name in EDGES:
        return Method(name, "learner", settings={"edges": name})
    return Method(name, "baseline", name)


@dataclass(frozen=True)
class Row:
    """All runs of one method.

    Attributes
    ----------
    method : Method
        The method.
    runs : dict
        Seed to what `run_method` gave.
    """

    method: Method
    runs: dict[int, Outcome] = field(default_factory=dict)

    @property
    def finished(self) -> dict[int, Outcome]:
        """Runs that led to a graph."""
        return {seed: run for seed, run in self.runs.items() if run["status"] == OK}

    @property
    def error(self) -> str | None:
        """Why runs led to none."""
        failed = [run["reason"] for run in self.runs.values() if run["status"] != OK]
        if not failed:
            return None
        return failed[0] if len(failed) == len(self.runs) else f"{len(failed)} of {len(self.runs)}: {failed[0]}"

    def mean(self, measure: str) -> float | None:
        """Mean of a measure over the finished runs; None where there is none."""
        values = [run[measure] for run in self.finished.values() if measure in run]
        return float(np.mean(values)) if values else None


@dataclass
class Comparison:
    """Methods on one table.

    Attributes
    ----------
    task : Input
        The table.
    truth : DataFrame of shape (d, d) or None
        The graph to compare with.
    seeds : sequence of int
        Each method runs once with each.
    time_limit : float or None
        Seconds that one run may take.
    held_out : float
        Share of the rows that no method sees.
    rows : list of Row
        What came out, in the order of the methods.
    interrupted : bool
        Whether a person stopped it.
    """

    task: Input
    truth: pd.DataFrame | None
    seeds: Sequence[int]
    time_limit: float | None
    held_out: float
    rows: list[Row] = field(default_factory=list)
    interrupted: bool = False

    @property
    def n_held_out(self) -> int:
        """Rows that no method sees."""
        return round(self.held_out * len(self.task.table))

    def check(self) -> None:
        """Refuse once what every method would refuse."""
        values = self._split(self.seeds[0])[0].to_numpy(dtype=np.float64)
        names = tuple(map(str, self.task.table.columns))
        check_table(values, names)

    def run(self, methods: Sequence[Method], status: Status) -> None:
        """Run every method with every seed in a child process; an interrupt keeps what is there."""
        pool = ChildPool()
        try:
            for method in methods:
                self.rows.append(Row(method))
                for seed in self.seeds:
                    doing = f"{method.label}, seed {seed}" if len(self.seeds) > 1 else method.label
                    status(doing)
                    run = self._run(method, seed, pool)
                    self.rows[-1].runs[seed] = run
                    status.step(f"{doing}: {_in_words(run)}")
        except KeyboardInterrupt:
            self.interrupted = True
            self.rows = [row for row in self.rows if row.runs]
        finally:
            pool.close()

    def agreement(self) -> pd.DataFrame:
        """F1 between the graphs of every two methods with the first seed that both finished, shape (m, m)."""
        names = list(map(str, self.task.table.columns))
        graphs = {
            row.method.label: {seed: matrix_of(run["edges"], names) for seed, run in row.finished.items()}
            for row in self.rows
            if row.finished
        }
        frame = pd.DataFrame(np.nan, index=list(graphs), columns=list(graphs))
        for first, ours in graphs.items():
            for second, theirs in graphs.items():
                shared = next((seed for seed in ours if seed in theirs), None)
                if shared is not None:
                    frame.loc[first, second] = f1(ours[shared], theirs[shared])
        return frame

    def _split(self, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Rows to learn from, and rows to judge by."""
        rows = np.random.default_rng(seed).permutation(len(self.task.table))
        held_out, learned = np.sort(rows[: self.n_held_out]), np.sort(rows[self.n_held_out :])
        return self.task.table.iloc[learned], self.task.table.iloc[held_out]

    def _run(self, method: Method, seed: int, pool: ChildPool) -> Outcome:
        """One method with one seed; whatever goes wrong is its result."""
        table, held_out = self._split(seed)
        return run_method(
            pool,
            method,
            table,
            seed,
            truth=self.truth,
            held_out=held_out,
            limit=self.time_limit,
            plain=(ImportError, ValueError),
        )


def _in_words(run: Outcome) -> str:
    """A run in a line."""
    if run["status"] != OK:
        return str(run["reason"])
    return f"{run['n_edges']} edge{plural(run['n_edges'])} in {run['wall_seconds']:.1f} s"
