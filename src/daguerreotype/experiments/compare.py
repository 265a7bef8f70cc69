"""How do several methods do on one table? Each runs on its own, and none can stop the others."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd

from daguerreotype import baselines
from daguerreotype.baselines.limit import learn_in_child
from daguerreotype.cli.options import Edges
from daguerreotype.cli.progress import FIRST_RUN, Tell
from daguerreotype.data.readers import Input
from daguerreotype.data.validation import check_columns, check_finite, check_size
from daguerreotype.metrics import evaluate, f1

Found: TypeAlias = tuple[Any, Any, float | None]  # graph, order, held-out log-likelihood


@dataclass(frozen=True)
class Run:
    """One method with one seed.

    Attributes
    ----------
    seed : int
        The seed.
    adjacency : DataFrame of shape (d, d) or None
        The graph; None if there is none.
    seconds : float or None
        What learning took.
    likelihood : float or None
        Log-likelihood per held-out row, where the method has one.
    metrics : dict or None
        Against the known graph.
    error : str or None
        Why there is no graph.
    """

    seed: int
    adjacency: pd.DataFrame | None = None
    seconds: float | None = None
    likelihood: float | None = None
    metrics: dict[str, int | float] | None = None
    error: str | None = None


@dataclass(frozen=True)
class Row:
    """All runs of one method."""

    method: str
    runs: list[Run] = field(default_factory=list)

    @property
    def finished(self) -> list[Run]:
        """Runs that led to a graph."""
        return [run for run in self.runs if run.adjacency is not None]

    @property
    def error(self) -> str | None:
        """Why runs led to none."""
        failed = [run.error for run in self.runs if run.error is not None]
        if not failed:
            return None
        return failed[0] if len(failed) == len(self.runs) else f"{len(failed)} of {len(self.runs)}: {failed[0]}"

    def mean(self, what: str) -> float | None:
        """Mean over the finished runs of edges, seconds, likelihood or a metric; None where there is none."""
        values = [self._value(run, what) for run in self.finished]
        known = [value for value in values if value is not None and np.isfinite(value)]
        return float(np.mean(known)) if known else None

    @staticmethod
    def _value(run: Run, what: str) -> float | None:
        if what == "edges":
            return None if run.adjacency is None else float(run.adjacency.to_numpy().sum())
        if what in ("seconds", "likelihood"):
            value: float | None = getattr(run, what)
            return value
        return None if run.metrics is None else run.metrics[what]


@dataclass(frozen=True)
class OurLearner:
    """Our learner as `learn_in_child` runs it, so that it too can be ended after its time."""

    edges: str
    seed: int
    held_out: pd.DataFrame

    def learn(self, table: pd.DataFrame, limit: float | None) -> tuple[Found, float]:
        """What `timed` gives, within ``limit`` seconds if there is one."""
        if limit is None:
            self.load_libraries()
            return self.timed(table, None)
        found: tuple[Found, float] = cast(Any, learn_in_child)(
            self, table, np.random.default_rng(self.seed), limit
        )
        return found

    def load_libraries(self) -> None:
        """Import what is needed and load its kernels, so that their seconds do not count."""
        from daguerreotype import Daguerreotype

        small = np.random.default_rng(0).normal(size=(40, 3))
        Daguerreotype(edges=self.edges, max_iter=1, n_restarts=0).fit(small)

    def timed(self, table: pd.DataFrame, rng: object) -> tuple[Found, float]:
        """Graph, order and held-out log-likelihood, and the seconds of learning."""
        from daguerreotype import Daguerreotype

        start = time.perf_counter()
        model = Daguerreotype(edges=self.edges, random_state=self.seed).fit(table)
        seconds = time.perf_counter() - start
        if model.interrupted_:
            raise KeyboardInterrupt
        likelihood = model.score(self.held_out) if len(self.held_out) else None
        return (model.adjacency_matrix_, list(model.causal_order_), likelihood), seconds


@dataclass
class Contest:
    """Methods on one table.

    Attributes
    ----------
    task : Input
        The table.
    known : DataFrame of shape (d, d) or None
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
    known: pd.DataFrame | None
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
        check_size(values)
        check_finite(values, names)
        check_columns(values, names)

    def run(self, methods: Sequence[str], tell: Tell) -> None:
        """Run every method with every seed; an interrupt keeps what is there."""
        try:
            for method in methods:
                self.rows.append(Row(method))
                for seed in self.seeds:
                    doing = f"{method}, seed {seed}" if len(self.seeds) > 1 else method
                    tell(doing, why=FIRST_RUN if method in list(Edges) else "")
                    run = self._run(method, seed)
                    self.rows[-1].runs.append(run)
                    tell.step(f"{doing}: {_in_words(run)}")
        except KeyboardInterrupt:
            self.interrupted = True
            self.rows = [row for row in self.rows if row.runs]

    def agreement(self) -> pd.DataFrame:
        """F1 between the graphs of every two methods with the first seed that both finished, shape (m, m)."""
        graphs = {
            row.method: {run.seed: run.adjacency for run in row.finished} for row in self.rows if row.finished
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

    def _run(self, method: str, seed: int) -> Run:
        """One method with one seed; whatever goes wrong is its result."""
        table, held_out = self._split(seed)
        try:
            if method in list(Edges):
                learner = OurLearner(method, seed, held_out)
                found, seconds = learner.learn(table, self.time_limit)
            else:
                fitted = baselines.get(method, random_state=seed, time_limit=self.time_limit).fit(table)
                found, seconds = (fitted.adjacency_matrix_, fitted.causal_order_, None), fitted.fit_seconds_
        except baselines.TimeLimitError:
            return Run(seed, error=f"did not finish within {self.time_limit:g} s")
        except Exception as error:
            text = " ".join(str(error).split())
            expected = isinstance(error, ImportError | ValueError)
            return Run(seed, error=text if expected else f"{type(error).__name__}: {text}")
        adjacency, order, likelihood = found
        metrics = None if self.known is None else evaluate(self.known, adjacency, order)
        return Run(seed, adjacency, seconds, likelihood, metrics)


def _in_words(run: Run) -> str:
    """A run in a line."""
    if run.adjacency is None:
        return str(run.error)
    n_edges = int(run.adjacency.to_numpy().sum())
    return f"{n_edges} edge{'s' if n_edges != 1 else ''} in {run.seconds:.1f} s"
