"""Poisson counts by a mass of their own."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from daguerreotype.noise import NOISE, DiscreteNoise, NoiseEntry, saved
from daguerreotype.noise.counts import Counts


@saved
@dataclass(frozen=True)
class ToyMass:
    def log_mass(self, outcomes, predictors):
        return stats.poisson.logpmf(outcomes, np.exp(predictors.reshape(-1)))


@saved
@dataclass(frozen=True)
class ToyCounts(DiscreteNoise):
    name: str = "toy-counts"
    maximise = Counts.maximise
    shape_penalty = np.inf

    def outcomes(self, codes, n_fitted, kind):
        return Counts().outcomes(codes, n_fitted, kind)

    def mass(self, outcomes, shape):
        return ToyMass()


NOISE.register("toy-counts", NoiseEntry(ToyCounts, "Poisson counts", ("count",)))
