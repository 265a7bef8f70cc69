"""GOLEM: Gaussian likelihood with soft penalties on weights and cycles, from second moments alone."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.checks import check_positive, check_positive_int
from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.golem.descent import descend
from daguerreotype.baselines.threshold import threshold_to_dag


@dataclass(kw_only=True, eq=False, repr=False)
class GolemEV(Baseline):
    r"""GOLEM with equal noise variances (Ng, Ghassami and Zhang 2020).

    Minimises, by Adam from B = 0,

    .. math:: \tfrac d2 \log \|X - X B\|^2 - \log |\det(I - B)| + \lambda_1 \|B\|_1
              + \lambda_2 (\operatorname{tr} e^{B \circ B} - d) .

    Weights below ``threshold`` are dropped, then the smallest until the graph is acyclic. X enters through its
    second moments, so that rows cost nothing.

    Parameters
    ----------
    lambda1, lambda2 : float
        Penalties on weights (L1) and on cycles. Larger ``lambda1`` gives fewer edges.
    threshold : float
        Smallest absolute weight of an edge.
    learning_rate : float
        Of Adam.
    max_iter : int
        Number of steps.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype import baselines
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=500)
    >>> X = np.column_stack([2 * cause + rng.normal(size=500), cause])
    >>> baselines.get("golem-ev", standardize=False, max_iter=5000).fit(X).weights_.round(1)
    array([[0., 0.],
           [2., 0.]])
    """

    lambda1: float = 0.02
    lambda2: float = 5.0
    threshold: float = 0.3
    learning_rate: float = 1e-3
    max_iter: int = 100_000

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Descend from zero, threshold to a DAG."""
        d = X.shape[1]
        return threshold_to_dag(self.descend(X, np.zeros((d, d)), self.lambda1, equal=True), self.threshold)

    def descend(self, X: FloatArray, start: FloatArray, lambda1: float, *, equal: bool) -> FloatArray:
        """Weights (d, d) after ``max_iter`` steps from ``start``."""
        settings = (
            check_positive(lambda1, "lambda1", zero=True),
            check_positive(self.lambda2, "lambda2", zero=True),
            check_positive(self.learning_rate, "learning_rate"),
            check_positive_int(self.max_iter, "max_iter"),
        )
        weights, ok = descend(X.T @ X / len(X), start, equal, *settings)
        if not ok:
            raise FloatingPointError(
                f"{type(self).__name__} diverged: its weights no longer give a likelihood. Lower learning_rate, "
                f"now {self.learning_rate:g}."
            )
        return weights


@dataclass(kw_only=True, eq=False, repr=False)
class GolemNV(GolemEV):
    r"""GOLEM with a noise variance per column (Ng, Ghassami and Zhang 2020); "Golem (NEV)" in the paper's tables.

    Minimises, by Adam from the solution of `GolemEV`, as its authors advise,

    .. math:: \tfrac 12 \sum_j \log \|x_j - X B_j\|^2 - \log |\det(I - B)| + \lambda_1 \|B\|_1
              + \lambda_2 (\operatorname{tr} e^{B \circ B} - d) .

    Parameters
    ----------
    lambda1, lambda2 : float
        Penalties on weights (L1) and on cycles. Larger ``lambda1`` gives fewer edges.
    lambda1_start : float
        ``lambda1`` of the `GolemEV` that it starts from.
    threshold : float
        Smallest absolute weight of an edge.
    learning_rate : float
        Of Adam.
    max_iter : int
        Number of steps, of each of the two.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    lambda1: float = 0.002
    lambda1_start: float = 0.02

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Descend with equal variances, from there with unequal ones, threshold to a DAG."""
        d = X.shape[1]
        start = self.descend(X, np.zeros((d, d)), self.lambda1_start, equal=True)
        return threshold_to_dag(self.descend(X, start, self.lambda1, equal=False), self.threshold)
