r"""Criteria of tuning: distance from known graphs; or held-out likelihood, BIC and stability without any.

A criterion is the mean of what its parts measure, a part being one or two fits, so that parts can run at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from daguerreotype._lib.interrupts import reraise_interrupts
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.datasets import Dataset
from daguerreotype.metrics import shd, sid
from daguerreotype.noise.gaussian import GaussianDensity
from daguerreotype.tune.space import clone_with

Direction = Literal["minimize", "maximize"]
FOLDS = 5
SPLITS = 5


class Part(Protocol):
    """Some of the work of judging a setting."""

    def measure(self, learner: Any) -> tuple[float, ...]:
        """One number per objective, from fits of copies of ``learner``."""
        ...


@dataclass(frozen=True)
class Criterion:
    """What a search looks at.

    Attributes
    ----------
    directions : dict
        "minimize" or "maximize" for every objective.
    parts : sequence of Part
        Whose means are the objectives.
    """

    directions: dict[str, Direction]
    parts: Sequence[Part]


@dataclass(frozen=True)
class KnownGraph:
    """Errors on a problem whose graph is known: SHD and SID."""

    problem: Dataset

    def measure(self, learner: Any) -> tuple[float, ...]:
        """SHD and SID of the learned graph."""
        try:
            estimated = fit_copy(learner, self.problem.X).adjacency_matrix_
        except Exception as error:
            error.add_note(f"on {self.problem.name}")
            raise
        return float(shd(self.problem.adjacency, estimated)), float(sid(self.problem.adjacency, estimated))


@dataclass(frozen=True)
class HeldOut:
    """Mean log-likelihood per row of rows that were kept from learning."""

    X: Any
    kept: IntArray

    def measure(self, learner: Any) -> tuple[float, ...]:
        """Learn from the others, score these."""
        learned = np.setdiff1d(np.arange(len(self.X)), self.kept)
        fitted = fit_copy(learner, _rows(self.X, learned))
        return (log_likelihood(fitted, _rows(self.X, learned), _rows(self.X, self.kept)),)


@dataclass(frozen=True)
class Bic:
    """Log-likelihood per row of the rows learned from, less log(n) / 2n for every parameter of an edge."""

    X: Any

    def measure(self, learner: Any) -> tuple[float, ...]:
        """Learn from all rows, score them, and pay."""
        fitted, n = fit_copy(learner, self.X), len(self.X)
        return (log_likelihood(fitted, self.X, self.X) - 0.5 * np.log(n) / n * n_parameters(fitted),)


@dataclass(frozen=True)
class Stability:
    """Agreement beyond chance of the graphs that two halves of the rows lead to."""

    X: Any
    halves: tuple[IntArray, IntArray]

    def measure(self, learner: Any) -> tuple[float, ...]:
        """Learn from either half, compare."""
        first, second = (
            np.asarray(fit_copy(learner, _rows(self.X, half)).adjacency_matrix_) for half in self.halves
        )
        return (kappa(first, second),)


def known_graphs(problems: Sequence[Dataset]) -> Criterion:
    """Mean SHD and mean SID over data sets; both are to be small."""
    return Criterion({"shd": "minimize", "sid": "minimize"}, [KnownGraph(each) for each in problems])


def without_truth(name: str, X: Any, rng: np.random.Generator) -> Criterion:
    """One of "held-out", "bic" and "stability" on a table whose graph is not known; all are to be large."""
    parts: dict[str, list[Part]] = {"bic": [Bic(X)], "held-out": [], "stability": []}
    if name not in parts:
        raise ValueError(f"criterion must be 'held-out', 'bic' or 'stability', got {shown(name)}.")
    n = len(X)
    if n < 4 * FOLDS:
        raise ValueError(f"the table has {n} rows: expected at least {4 * FOLDS} to compare settings by.")
    if name == "held-out":
        parts[name] = [HeldOut(X, np.sort(fold)) for fold in np.array_split(rng.permutation(n), FOLDS)]
    if name == "stability":
        for _ in range(SPLITS):
            first, second = np.array_split(rng.permutation(n), 2)
            parts[name].append(Stability(X, (np.sort(first), np.sort(second))))
    return Criterion({name: "maximize"}, parts[name])


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
    """A copy of ``learner``, fitted quietly on one thread. An interrupt is raised, not taken for an early end."""
    copied = clone_with(learner, n_jobs=1, verbose=0)
    with reraise_interrupts():
        copied.fit(X)
    return copied


def log_likelihood(fitted: Any, seen: Any, rows: Any) -> float:
    """Mean log-likelihood per row; of linear Gaussian regressions along the graph where a learner has no score."""
    if callable(getattr(fitted, "score", None)):
        return float(fitted.score(rows))
    known, new = np.asarray(seen, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    adjacency, density = np.asarray(fitted.adjacency_matrix_), 0.0
    for node in range(adjacency.shape[1]):
        parents = np.flatnonzero(adjacency[:, node])
        weights = np.linalg.lstsq(_with_constant(known[:, parents]), known[:, node], rcond=None)[0]
        left, unseen = (each[:, node] - _with_constant(each[:, parents]) @ weights for each in (known, new))
        noise = GaussianDensity(float(np.mean(left**2)))
        density += float(np.mean(noise.log_density(unseen)))
    return density


def n_parameters(fitted: Any) -> float:
    """Parameters that a fitted learner spent on edges: one per edge, unless it says otherwise."""
    said = getattr(fitted, "n_parameters_", None)
    return float(np.count_nonzero(np.asarray(fitted.adjacency_matrix_))) if said is None else float(said)


def _with_constant(columns: FloatArray) -> FloatArray:
    """Columns (n, p) and one of ones."""
    return np.column_stack([columns, np.ones(len(columns))])


def _rows(X: Any, rows: IntArray) -> Any:
    """Some rows of a table."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
