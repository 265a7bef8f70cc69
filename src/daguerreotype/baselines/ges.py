"""What does greedy equivalence search find? A class of DAGs that no single edge improves, by causal-learn."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.causal_learn import read_class
from daguerreotype.baselines.libraries import load, quiet


class Ges(Baseline):
    r"""GES (Chickering 2002), by causal-learn.

    Adds, then removes, single edges of equivalence classes while that lowers the sum over columns of
    n log(variance of its residual on its parents) + penalty log(n) (number of parents + 1). Reports the CPDAG and
    one DAG of its class.

    Parameters
    ----------
    penalty : float
        Multiplies the BIC price of a parent. 1 is BIC; larger gives fewer edges.
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    libraries = ("causallearn.search.ScoreBased.GES",)

    def __init__(
        self,
        *,
        penalty: float = 1.0,
        standardize: bool = True,
        random_state: int | None = 0,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.standardize = standardize
        self.random_state = random_state
        self.time_limit = time_limit

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """The class that causal-learn finds, and one member."""
        search = load(self.libraries[0]).ges
        with quiet():
            record = search(X, parameters={"lambda_value": self.penalty / 2})
        return read_class(record["G"])
