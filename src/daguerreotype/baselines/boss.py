"""What does best order score search find? The equivalence class of the best order it reaches, by causal-learn."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.causal_learn import read_class
from daguerreotype.baselines.libraries import load, quiet, seeded


class Boss(Baseline):
    r"""BOSS (Andrews, Ramsey, Sanchez-Romero, Camchong and Kummerfeld 2023), by causal-learn.

    Moves one column at a time to its best position in an order, where an order scores the sum over columns of
    n log(variance of its residual on its chosen parents) + penalty log(n) (number of parents + 1), until nothing
    improves. Reports the CPDAG and one DAG of its class.

    Parameters
    ----------
    penalty : float
        Multiplies the BIC price of a parent. 1 is BIC; the default is the library's.
    standardize, random_state, time_limit
        As in `Baseline`. Columns are tried in random turns.
    """

    libraries = ("causallearn.search.PermutationBased.BOSS",)

    def __init__(
        self,
        *,
        penalty: float = 4.0,
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
        search = load(self.libraries[0]).boss
        with quiet(), seeded(rng):
            graph = search(X, parameters={"lambda_value": self.penalty / 2}, verbose=False)
        return read_class(graph)
