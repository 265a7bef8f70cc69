"""DirectLiNGAM: a causal order by independence of residuals, for non-Gaussian noise, by lingam."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.libraries import load, quiet, seeded


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
