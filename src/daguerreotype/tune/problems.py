"""Data sets with known graphs that settings are judged by: those of the paper's appendix D, or the user's own."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from daguerreotype._lib.checks import check_count, check_positive_int
from daguerreotype.datasets import Dataset
from daguerreotype.simulate import simulate_dag, simulate_data

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
    found = []
    for (kind, edges, noise, number), stream in zip(settings, streams, strict=True):
        rng = np.random.default_rng(stream)
        adjacency: Any = simulate_dag(d, edges, kind, random_state=rng)
        X: Any = simulate_data(adjacency, n, noise=noise, random_state=rng).X
        found.append(Dataset(f"{kind}, {edges:g} edges, {noise}, data set {number}", X, adjacency))
    return found


def read_problems(problems: Iterable[Any]) -> tuple[Dataset, ...]:
    """Data sets as they are, pairs (X, adjacency) as data sets."""
    found = []
    for number, given in enumerate(problems):
        if isinstance(given, Dataset):
            found.append(given)
        elif isinstance(given, tuple) and len(given) == 2:
            found.append(Dataset(f"problem {number}", *given))
        else:
            raise TypeError(
                f"problems[{number}] is a {type(given).__name__}: expected a Dataset, or a pair (X, adjacency)."
            )
    if not found:
        raise ValueError("problems is empty: expected at least one Dataset, or pair (X, adjacency).")
    return tuple(found)
