"""Levels without an order: the multinomial logit; of two levels, Bernoulli."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray


@dataclass(frozen=True)
class CategoricalMass:
    r"""Probabilities :math:`p_g \propto e^{\eta_g}` of groups of levels, the first with predictor zero.

    Rare levels share a group, within which their shares are the same whatever the parents.

    Attributes
    ----------
    groups : array of shape (levels,)
        The group of each level.
    log_shares : array of shape (levels,)
        Logarithm of the share that a level has of its group.
    """

    groups: IntArray
    log_shares: FloatArray

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of codes (m,) by linear predictors (m, groups - 1)."""
        codes = outcomes.astype(np.int64)
        eta = np.column_stack([np.zeros(codes.size), predictors])
        top = eta.max(axis=1)
        total = top + np.log(np.exp(eta - top[:, None]).sum(axis=1))
        mass: FloatArray = eta[np.arange(codes.size), self.groups[codes]] - total + self.log_shares[codes]
        return mass
