"""Laplace noise."""

from dataclasses import dataclass

import numpy as np

from daguerreotype.noise import NOISE, NoiseEntry, saved


@saved
@dataclass(frozen=True)
class LaplaceDensity:
    scale: float

    def log_density(self, residuals):
        return -np.log(2 * self.scale) - np.abs(residuals) / self.scale


@saved
@dataclass(frozen=True)
class Laplace:
    needs_residuals: bool = True
    max_rows: int | None = None

    def nll(self, residuals):
        return float(np.log(2 * np.e * np.mean(np.abs(residuals))))

    def fit(self, residuals):
        return LaplaceDensity(float(np.mean(np.abs(residuals))))


NOISE.register("toy", NoiseEntry(Laplace, "Laplace noise"))
