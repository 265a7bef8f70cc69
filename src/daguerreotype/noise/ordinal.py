"""Levels that have an order: the proportional odds model."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray

LEAST_MASS = 1e-300


@dataclass(frozen=True)
class OrdinalMass:
    r"""Probabilities of ordered levels, :math:`P(y \le k) = \Lambda(c_k - \eta)` with logistic :math:`\Lambda`.

    Attributes
    ----------
    cutpoints : array of shape (groups - 1,)
        The c_k, ascending.
    groups : array of shape (levels,)
        The group of each level: levels that no training row has share one with the level below.
    """

    cutpoints: FloatArray
    groups: IntArray

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of codes (m,) by linear predictors (m, 1)."""
        group = self.groups[outcomes.astype(np.int64)]
        ends = np.concatenate([[-np.inf], self.cutpoints, [np.inf]])
        below, above = (0.5 + 0.5 * np.tanh(0.5 * (ends[group + k] - predictors[:, 0])) for k in (0, 1))
        mass: FloatArray = np.log(np.maximum(above - below, LEAST_MASS))
        return mass
