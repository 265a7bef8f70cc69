"""BOSS, GRaSP, GES and PC by causal-learn: methods that find a Markov equivalence class."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.libraries import load, quiet, seeded
from daguerreotype.graphs import consistent_extension, find_cycle, topological_order

TAIL = -1  # causal-learn's mark at i of an edge i -> j or i - j; the mark of an arrow head is 1


class ClassSearch(Baseline):
    """Base of the methods: `search` calls the library, whose graph becomes a class and one member."""

    def search(self, X: FloatArray) -> Any:
        """The graph of causal-learn."""
        raise NotImplementedError(f"{type(self).__name__} must define search(X).")

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """The class that causal-learn finds, and one member."""
        with quiet(), seeded(rng):
            return read_class(self.search(X))


@dataclass(kw_only=True, eq=False, repr=False)
class Boss(ClassSearch):
    r"""BOSS (Andrews, Ramsey, Sanchez-Romero, Camchong and Kummerfeld 2023), by causal-learn.

    Moves one column at a time to its best position in an order, where an order scores the sum over columns of
    n log(variance of its residual on its chosen parents) + penalty log(n) (number of parents + 1), until nothing
    improves. Reports the CPDAG and one DAG of its class.

    Parameters
    ----------
    penalty : float
        Multiplies BIC's penalty per parent. 1 is BIC; the default is the library's.
    standardize, random_state, time_limit
        As in `Baseline`. Columns are tried in random turns.
    """

    libraries = ("causallearn.search.PermutationBased.BOSS",)

    penalty: float = 4.0

    def search(self, X: FloatArray) -> Any:
        """A CPDAG."""
        boss = load(self.libraries[0]).boss
        return boss(X, parameters={"lambda_value": self.penalty / 2}, verbose=False)


@dataclass(kw_only=True, eq=False, repr=False)
class Grasp(ClassSearch):
    r"""GRaSP (Lam, Andrews and Ramsey 2022), by causal-learn.

    From a random order, tucks columns before their parents, several in a row up to ``depth``, where the sum over
    columns of  n log(variance of its residual on its chosen parents) + penalty log(n) (number of parents + 1)
    falls. Reports the CPDAG and one DAG of its class.

    Parameters
    ----------
    penalty : float
        Multiplies BIC's penalty per parent. 1 is BIC; the default is the library's.
    depth : int
        Most tucks that are tried in a row.
    standardize, random_state, time_limit
        As in `Baseline`.
    """

    libraries = ("causallearn.search.PermutationBased.GRaSP",)

    penalty: float = 4.0
    depth: int = 3

    def search(self, X: FloatArray) -> Any:
        """A CPDAG."""
        grasp = load(self.libraries[0]).grasp
        return grasp(X, depth=self.depth, parameters={"lambda_value": self.penalty / 2}, verbose=False)


@dataclass(kw_only=True, eq=False, repr=False)
class Ges(ClassSearch):
    r"""GES (Chickering 2002), by causal-learn.

    Adds, then removes, single edges of equivalence classes while that lowers the sum over columns of
    n log(variance of its residual on its parents) + penalty log(n) (number of parents + 1). Reports the CPDAG and
    one DAG of its class.

    Parameters
    ----------
    penalty : float
        Multiplies BIC's penalty per parent. 1 is BIC; larger gives fewer edges.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    libraries = ("causallearn.search.ScoreBased.GES",)

    penalty: float = 1.0

    def search(self, X: FloatArray) -> Any:
        """A CPDAG."""
        return load(self.libraries[0]).ges(X, parameters={"lambda_value": self.penalty / 2})["G"]


@dataclass(kw_only=True, eq=False, repr=False)
class PC(ClassSearch):
    r"""PC with Fisher's z (Spirtes and Glymour 1991, stable as by Colombo and Maathuis 2014), by causal-learn.

    Removes the edge i - j when some set S of neighbours has  sqrt(n - |S| - 3) |atanh(r_ij|S)|  below the quantile
    of ``alpha``, orients colliders, and closes under Meek's rules. Reports the partially directed graph and one
    DAG: a consistent extension, or where its tests contradict each other one with the same adjacencies.

    Parameters
    ----------
    alpha : float
        Significance level. Smaller gives fewer edges.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    libraries = ("causallearn.search.ConstraintBased.PC",)

    alpha: float = 0.05

    def search(self, X: FloatArray) -> Any:
        """A partially directed graph."""
        return load(self.libraries[0]).pc(X, alpha=self.alpha, indep_test="fisherz", show_progress=False).G


def read_class(graph: Any) -> Learned:
    """CPDAG of a causal-learn graph, and a DAG of that class.

    An edge with two heads, which PC draws where its tests contradict each other, counts as undirected.
    """
    marks = np.asarray(graph.graph)  # (d, d)
    heads_only = (marks == -TAIL) & (marks.T == -TAIL)
    cpdag = (marks == TAIL) | heads_only
    return Learned(extend(cpdag), cpdag=cpdag.astype(np.int64))


def extend(pdag: BoolArray) -> IntArray:
    """A DAG (d, d) with all adjacencies of ``pdag``: a consistent extension where there is one.

    Finite samples can mislead PC to a graph without one. Then its arrows are kept, except that each cycle of them
    loses the direction of one edge, and all other edges follow a topological order of the arrows.
    """
    try:
        return consistent_extension(pdag).astype(np.int64)
    except ValueError:
        arrows = pdag & ~pdag.T
        while (cycle := find_cycle(arrows)) is not None:
            arrows[cycle[-1], cycle[0]] = False
        place = np.argsort(topological_order(arrows))
        forwards = place[:, None] < place[None, :]
        return ((pdag | pdag.T) & forwards).astype(np.int64)
