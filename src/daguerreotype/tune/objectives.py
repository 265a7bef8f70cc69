"""Objectives of tuning: distance from graphs that are known, or stability of the graph of a table."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import clone

from daguerreotype._lib.checks import check_count, check_positive_int
from daguerreotype._lib.interrupts import reraise_interrupts
from daguerreotype._lib.typing import IntArray
from daguerreotype.datasets import Dataset
from daguerreotype.metrics import shd, sid
from daguerreotype.simulate import simulate_dag, simulate_data

Objective: TypeAlias = Callable[[Any], tuple[float, ...]]  # of a learner; it is fitted on copies
SPLITS = 5  # ways to halve the rows of a table
MIN_ROWS = 20  # of a table whose halves are learned from
KINDS = ("SF", "ER", "BP")
NOISES = ("gaussian", "gumbel", "uniform", "exponential")


def paper_problems(
    d: int = 20,
    n_edges: Sequence[float] = (20, 40),
    n: int = 1000,
    *,
    kinds: Sequence[str] = KINDS,
    noises: Sequence[str] = NOISES,
    n_datasets: int = 3,
    random_state: int = 0,
) -> list[Dataset]:
    """Linear problems of the kinds that the paper's defaults were tuned on (appendix D), 72 of them.

    Every kind of graph with every number of edges and every noise, ``n_datasets`` times: a graph is drawn, its
    weights uniformly in [-2, -0.5] or [0.5, 2], and ``n`` rows.

    Parameters
    ----------
    d, n_edges, n : int, sequence, int
        Columns, expected numbers of edges, and rows.
    kinds, noises : sequence of str
        See :func:`~daguerreotype.simulate.simulate_dag` and :func:`~daguerreotype.simulate.simulate_data`.
    n_datasets : int
        Problems of each combination.
    random_state : int
        The seed; each problem has a stream of its own below it.

    Examples
    --------
    >>> len(paper_problems())
    72
    >>> paper_problems(d=5, n_edges=[4], n=50, kinds=["ER"], noises=["gumbel"], n_datasets=1)[0].name
    'ER, 4 edges, gumbel, data set 0'
    """
    seed = check_count(random_state, "random_state")
    settings = list(product(kinds, n_edges, noises, range(check_positive_int(n_datasets, "n_datasets"))))
    streams = np.random.SeedSequence(seed).spawn(len(settings))
    problems = []
    for (kind, edges, noise, number), stream in zip(settings, streams, strict=True):
        rng = np.random.default_rng(stream)
        adjacency: Any = simulate_dag(d, edges, kind, random_state=rng)
        X: Any = simulate_data(adjacency, n, noise=noise, random_state=rng).X
        problems.append(Dataset(f"{kind}, {edges:g} edges, {noise}, data set {number}", X, adjacency))
    return problems


def read_problems(problems: Iterable[Any]) -> list[Dataset]:
    """Data sets as they are, pairs (X, adjacency) as data sets."""
    data_sets = []
    for number, problem in enumerate(problems):
        if isinstance(problem, Dataset):
            data_sets.append(problem)
        elif isinstance(problem, tuple) and len(problem) == 2:
            data_sets.append(Dataset(f"problem {number}", *problem))
        else:
            raise TypeError(
                f"problems[{number}] is a {type(problem).__name__}: expected a Dataset, or a pair (X, adjacency)."
            )
    if not data_sets:
        raise ValueError("problems is empty: expected at least one Dataset, or pair (X, adjacency).")
    return data_sets


def graph_errors(problems: Sequence[Dataset]) -> Objective:
    """Mean SHD and mean SID over data sets whose graphs are known."""

    def measure(learner: Any) -> tuple[float, float]:
        errors = []
        for problem in problems:
            try:
                graph = fit_copy(learner, problem.X).adjacency_matrix_
            except Exception as error:
                error.add_note(f"on {problem.name}")
                raise
            errors.append((shd(problem.adjacency, graph), sid(problem.adjacency, graph)))
        mean_shd, mean_sid = np.mean(errors, axis=0)
        return float(mean_shd), float(mean_sid)

    return measure


def graph_stability(X: Any, rng: np.random.Generator) -> Objective:
    """Mean kappa of the graphs that two halves of the rows lead to, over the same halves for every learner."""
    if len(X) < MIN_ROWS:
        raise ValueError(f"the table has {len(X)} rows: expected at least {MIN_ROWS} to compare settings by.")
    splits = [[np.sort(half) for half in np.array_split(rng.permutation(len(X)), 2)] for _ in range(SPLITS)]

    def measure(learner: Any) -> tuple[float]:
        agreements = []
        for halves in splits:
            tables = (X.iloc[half] if isinstance(X, pd.DataFrame) else X[half] for half in halves)
            first, second = (np.asarray(fit_copy(learner, table).adjacency_matrix_) for table in tables)
            agreements.append(kappa(first, second))
        return (float(np.mean(agreements)),)

    return measure


def kappa(first: IntArray, second: IntArray) -> float:
    r"""Cohen's kappa of two graphs (d, d) over all ordered pairs of nodes.

    .. math:: \kappa = \frac{a - c}{1 - c}, \qquad c = p q + (1 - p) (1 - q)

    with a the share of pairs on which they agree, p and q their densities. 1 for equal graphs, 0 for an agreement
    that chance would give, and 0 where a graph is empty: having no edges is no merit. Sun, Wang and Fang (2013)
    choose the strength of a penalty by it.
    """
    pairs = ~np.eye(len(first), dtype=np.bool_)
    one, other = first[pairs] != 0, second[pairs] != 0
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    agreement = float(np.mean(one == other))
    return 0.0 if chance == 1 else float((agreement - chance) / (1 - chance))


def fit_copy(learner: Any, X: Any) -> Any:
    """A fitted copy of ``learner``. An interrupt is raised, not taken for an early end."""
    copied = clone(learner)
    with reraise_interrupts():
        copied.fit(X)
    return copied
