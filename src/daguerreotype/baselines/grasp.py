"""What does the greedy relaxation of the sparsest permutation find? An equivalence class, by causal-learn."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.causal_learn import read_class
from daguerreotype.baselines.libraries import load, quiet, seeded


class Grasp(Baseline):
    r"""GRaSP (Lam, Andrews and Ramsey 2022), by causal-learn.

    From a random order, tucks columns before their parents, several in a row up to ``depth``, where the sum over
    columns of  n log(variance of its residual on its chosen parents) + penalty log(n) (number of parents + 1)
    falls. Reports the CPDAG and one DAG of its class.

    Parameters
    ----------
    penalty : float
        Multiplies the BIC price of a parent. 1 is BIC; the default is the library's.
    depth : int
        Most tucks that are tried in a row.
    standardize, random_state, time_limit
        As in `Baseline`.
    """

    libraries = ("causallearn.search.PermutationBased.GRaSP",)

    def __init__(
        self,
        *,
        penalty: float = 4.0,
        depth: int = 3,
        standardize: bool = True,
        random_state: int | None = 0,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.depth = depth
        self.standardize = standardize
        self.random_state = random_state
        self.time_limit = time_limit

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """The class that causal-learn finds, and one member."""
        search = load(self.libraries[0]).grasp
        with quiet(), seeded(rng):
            graph = search(X, depth=self.depth, parameters={"lambda_value": self.penalty / 2}, verbose=False)
        return read_class(graph)
