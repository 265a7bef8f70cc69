"""What does NOTEARS find? Least squares under a smooth constraint of acyclicity, as gcastle implements it."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.libraries import load, quiet
from daguerreotype.baselines.threshold import threshold_to_dag


class Notears(Baseline):
    r"""NOTEARS for linear equations (Zheng, Aragam, Ravikumar and Xing 2018), by gcastle.

    Solves  min_W  1/(2n) ||X - X W||^2 + lambda1 ||W||_1  subject to  h(W) = tr (I + W o W / d)^d - d = 0  by an
    augmented Lagrangian with L-BFGS-B; the published h is the matrix exponential's, which agrees in its zeros.
    Weights below ``threshold`` are dropped, then the smallest until the graph is acyclic.

    Parameters
    ----------
    lambda1 : float
        Price of a unit of weight. Larger gives fewer edges.
    threshold : float
        Smallest absolute weight of an edge.
    max_iter : int
        Most steps of dual ascent.
    h_tol, rho_max : float
        It stops when h is at most ``h_tol``, or the weight of the constraint reaches ``rho_max``.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    libraries = ("castle.algorithms",)

    def __init__(
        self,
        *,
        lambda1: float = 0.1,
        threshold: float = 0.3,
        max_iter: int = 100,
        h_tol: float = 1e-8,
        rho_max: float = 1e16,
        standardize: bool = True,
        random_state: int | None = 0,
        time_limit: float | None = None,
    ) -> None:
        self.lambda1 = lambda1
        self.threshold = threshold
        self.max_iter = max_iter
        self.h_tol = h_tol
        self.rho_max = rho_max
        self.standardize = standardize
        self.random_state = random_state
        self.time_limit = time_limit

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Weights by gcastle, thresholded to a DAG."""
        method = load("castle.algorithms").Notears(
            lambda1=self.lambda1, max_iter=self.max_iter, h_tol=self.h_tol, rho_max=self.rho_max
        )
        with quiet():
            method.learn(X)
        return threshold_to_dag(np.asarray(method.weight_causal_matrix), self.threshold)
