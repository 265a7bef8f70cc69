"""What do tests of conditional independence find? The PC algorithm, by causal-learn."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.causal_learn import read_class
from daguerreotype.baselines.libraries import load, quiet


class PC(Baseline):
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

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        standardize: bool = True,
        random_state: int | None = 0,
        time_limit: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.standardize = standardize
        self.random_state = random_state
        self.time_limit = time_limit

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """The class that causal-learn finds, and one member."""
        search = load(self.libraries[0]).pc
        with quiet():
            found = search(X, alpha=self.alpha, indep_test="fisherz", show_progress=False)
        return read_class(found.G)
