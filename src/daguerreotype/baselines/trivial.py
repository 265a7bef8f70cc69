"""Trivial baselines that a method should beat: the empty graph and a random order."""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.sortnregress import regress_along


class Empty(Baseline):
    """The empty graph: its SHD is the number of true edges, which a method should beat to have learned anything.

    Parameters
    ----------
    standardize, random_state, time_limit
        As in `Baseline`; without effect.
    """

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """No edges."""
        d = X.shape[1]
        return Learned(np.zeros((d, d), dtype=np.int64), np.zeros((d, d)))


class RandomOrder(Baseline):
    r"""A random order, then regression: what an order is worth shows against it.

    The regression is the paper's LARS, the adaptive lasso with BIC (`LarsEdges`), as in `SortNRegress`.

    Parameters
    ----------
    standardize, random_state, time_limit
        As in `Baseline`. ``random_state`` draws the order.
    """

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Draw an order, regress."""
        return regress_along(X, rng.permutation(X.shape[1]))
