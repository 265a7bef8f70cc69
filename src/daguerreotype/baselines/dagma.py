"""DAGMA: least squares with a log-determinant barrier against cycles, by its authors' package."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.libraries import load, quiet
from daguerreotype.baselines.threshold import threshold_to_dag


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
