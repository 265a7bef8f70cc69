"""Counts: Poisson, or negative binomial where they spread more than that."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from daguerreotype._lib.typing import FloatArray

FARTHEST = 30.0  # log mean beyond which exponentials say nothing


@dataclass(frozen=True)
class CountMass:
    r"""Counts with log mean :math:`\eta` and variance :math:`\mu + a \mu^2`.

    Attributes
    ----------
    dispersion : float
        The a; 0 is Poisson.
    """

    dispersion: float

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of counts (m,) by log means (m, 1)."""
        eta = np.clip(predictors[:, 0], -FARTHEST, FARTHEST)
        mean = np.exp(eta)
        if self.dispersion == 0.0:
            mass: FloatArray = outcomes * eta - mean - gammaln(outcomes + 1.0)
            return mass
        size = 1.0 / self.dispersion
        mass = gammaln(outcomes + size) - gammaln(size) - gammaln(outcomes + 1.0)
        mass += outcomes * (np.log(self.dispersion) + eta) - (outcomes + size) * np.log1p(self.dispersion * mean)
        return mass
