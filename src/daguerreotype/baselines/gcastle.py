"""NOTEARS, linear and with neural networks, by gcastle."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.libraries import load, quiet, seeded
from daguerreotype.baselines.threshold import threshold_to_dag


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
