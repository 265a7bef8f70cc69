"""Methods of other libraries: NOTEARS by gcastle, DAGMA, DirectLiNGAM by lingam, and four by causal-learn."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.baselines.base import Baseline, Learned, threshold_to_dag
from daguerreotype.baselines.quiet import load, quiet, seeded
from daguerreotype.graphs import consistent_extension, find_cycle, topological_order


@dataclass(kw_only=True, eq=False, repr=False)
class Notears(Baseline):
    r"""NOTEARS for linear equations (Zheng, Aragam, Ravikumar and Xing 2018), by gcastle.

    Solves  min_W  1/(2n) ||X - X W||^2 + lambda1 ||W||_1  subject to  h(W) = tr (I + W o W / d)^d - d = 0  by an
    augmented Lagrangian with L-BFGS-B; the published h is the matrix exponential's, which agrees in its zeros.
    Weights below ``threshold`` are dropped, then the smallest until the graph is acyclic.

    Parameters
    ----------
    lambda1 : float
        L1 penalty on weights. Larger gives fewer edges.
    threshold : float
        Smallest absolute weight of an edge.
    max_iter : int
        Most steps of dual ascent.
    h_tol, rho_max : float
        It stops when h is at most ``h_tol``, or the weight of the constraint reaches ``rho_max``.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    libraries: ClassVar[tuple[str, ...]] = ("castle.algorithms",)

    lambda1: float = 0.1
    threshold: float = 0.3
    max_iter: int = 100
    h_tol: float = 1e-8
    rho_max: float = 1e16

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Weights by gcastle, thresholded to a DAG."""
        method = load("castle.algorithms").Notears(
            lambda1=self.lambda1, max_iter=self.max_iter, h_tol=self.h_tol, rho_max=self.rho_max
        )
        with quiet():
            method.learn(X)
        return threshold_to_dag(np.asarray(method.weight_causal_matrix), self.threshold)


@dataclass(kw_only=True, eq=False, repr=False)
class NotearsMLP(Notears):
    r"""NOTEARS for nonlinear equations (Zheng, Dan, Aragam, Ravikumar and Xing 2020), by gcastle.

    One network with sigmoid units per column. With W[i, j] the norm of all first-layer weights of network j from
    input i, solves  min  1/(2n) ||X - MLP(X)||^2 + lambda1 ||first layers||_1 + lambda2/2 ||all layers||^2
    subject to  h(W) = 0  by an augmented Lagrangian with L-BFGS-B. Norms below ``threshold`` are dropped, then
    the smallest until the graph is acyclic.

    Parameters
    ----------
    lambda1, lambda2 : float
        L1 penalty on the first layers, and L2 penalty on all layers. Larger ``lambda1`` gives fewer edges.
    hidden : int
        Units of each network.
    threshold : float
        Smallest norm of an edge.
    max_iter : int
        Most steps of dual ascent.
    h_tol, rho_max : float
        It stops when h is at most ``h_tol``, or the weight of the constraint reaches ``rho_max``.
    standardize, random_state, time_limit
        As in `Baseline`. Minutes for 20 columns: think of a limit.
    """

    libraries = ("castle.algorithms", "torch")

    lambda1: float = 0.01
    lambda2: float = 0.01
    hidden: int = 10

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Norms of first layers by gcastle, thresholded to a DAG."""
        torch = load("torch")
        method = load("castle.algorithms").NotearsNonlinear(
            lambda1=self.lambda1,
            lambda2=self.lambda2,
            hidden_layers=(self.hidden, 1),
            max_iter=self.max_iter,
            h_tol=self.h_tol,
            rho_max=self.rho_max,
        )
        with quiet(), seeded(rng):
            torch.set_default_dtype(torch.float64)  # quiet() sets it back
            method.learn(X)
        return threshold_to_dag(np.asarray(method.weight_causal_matrix), self.threshold)


@dataclass(kw_only=True, eq=False, repr=False)
class Dagma(Baseline):
    r"""DAGMA for linear equations (Bello, Aragam and Ravikumar 2022), by the package ``dagma``.

    Follows the minimisers of  mu (1/(2n) ||X - X W||^2 + lambda1 ||W||_1) - log det(s I - W o W) + d log s  as mu
    falls from 1 to 1e-4. Weights below ``threshold`` are dropped, then the smallest until the graph is acyclic.

    Parameters
    ----------
    lambda1 : float
        L1 penalty on weights. Larger gives fewer edges.
    threshold : float
        Smallest absolute weight of an edge.
    warm_iter, max_iter : int
        Most steps for each mu but the last, and for the last.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    libraries = ("dagma.linear",)

    lambda1: float = 0.03
    threshold: float = 0.3
    warm_iter: int = 30_000
    max_iter: int = 60_000

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Weights by the package, thresholded to a DAG."""
        method = load("dagma.linear").DagmaLinear(loss_type="l2")
        with quiet():
            # its default list s is shared by all calls and may be written to
            weights = method.fit(
                X,
                lambda1=self.lambda1,
                w_threshold=0.0,
                s=[1.0, 0.9, 0.8, 0.7, 0.6],
                warm_iter=self.warm_iter,
                max_iter=self.max_iter,
            )
        return threshold_to_dag(weights, self.threshold)


@dataclass(kw_only=True, eq=False, repr=False)
class DirectLiNGAM(Baseline):
    r"""DirectLiNGAM (Shimizu et al. 2011, pairwise likelihood ratios of Hyvärinen and Smith 2013), by ``lingam``.

    Takes as next cause the column k of least  sum_j min(0, m_kj)^2,  where m_kj is how much less dependent x_k is
    on the residual of x_j given x_k than x_j is on that of x_k given x_j; replaces the others by their residuals
    on it, and repeats. An adaptive lasso along this order gives the weights.

    Parameters
    ----------
    measure : {"pwling", "kernel"}
        How independence is measured. "kernel" is the more general and slower.
    standardize, random_state, time_limit
        As in `Baseline`.
    """

    libraries = ("lingam",)

    measure: str = "pwling"

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Order and weights by the package, whose matrices are transposed."""
        method = load("lingam").DirectLiNGAM(measure=self.measure)
        with quiet(), seeded(rng):
            method.fit(X)
        weights = np.asarray(method.adjacency_matrix_).T.copy()
        return Learned(
            (weights != 0).astype(np.int64), weights, order=np.asarray(method.causal_order_, dtype=np.int64)
        )


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
