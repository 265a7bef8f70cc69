"""Noise of discrete columns: their likelihood is what the edge estimator fitted, there are no residuals."""

from dataclasses import dataclass

from daguerreotype._lib.typing import FloatArray
from daguerreotype.noise.base import Density


@dataclass(frozen=True)
class DiscreteNoise:
    """The family of distributions of a discrete column, by name; edge estimators fit it themselves.

    Attributes
    ----------
    name : str
        As in the registry.
    """

    name: str
    needs_residuals: bool = False
    max_rows: int | None = None

    def nll(self, residuals: FloatArray) -> float:
        """There is none of residuals."""
        raise TypeError(f"{self.name} noise has no residuals: its likelihood is that of the fit.")

    def fit(self, residuals: FloatArray) -> Density:
        """There is none of residuals."""
        raise TypeError(f"{self.name} noise has no residuals: ask the local models for its mass.")
