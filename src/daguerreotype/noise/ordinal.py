"""Levels that have an order: the proportional odds model."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from daguerreotype._lib.typing import FloatArray, IntArray


@dataclass(frozen=True)
class OrdinalMass:
    r"""Probabilities of ordered levels, :math:`P(y \le k) = \Lambda(c_k - \eta)` with logistic :math:`\Lambda`.

    Attributes
    ----------
    cutpoints : array of shape (groups - 1,)
        The c_k, ascending.
    groups : array of shape (levels,)
        The group of each level: levels that no training row has share one with the level below.
    log_shares : array of shape (levels,)
        Logarithm of the share that a level has of its group.
    """

    cutpoints: FloatArray
    groups: IntArray
    log_shares: FloatArray

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of codes (m,) by linear predictors (m, 1)."""
        codes = outcomes.astype(np.int64)
        group = self.groups[codes]
        ends = np.concatenate([[-np.inf], self.cutpoints, [np.inf]])
        low, high = ends[group], ends[group + 1]
        # u - l = u (1 - l) (1 - e^(low - high)) to all digits, where both are near one too.
        mass: FloatArray = log_expit(high - predictors[:, 0]) + log_expit(predictors[:, 0] - low)
        mass += np.log(-np.expm1(low - high)) + self.log_shares[codes]
        return mass
