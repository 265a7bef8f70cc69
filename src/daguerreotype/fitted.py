"""What did learning on one scale of measurement lead to, and how likely does it make new rows?"""

from dataclasses import dataclass

import numpy as np

from daguerreotype.arrays import FloatArray, IntArray
from daguerreotype.edges.base import HasPredictions, Table
from daguerreotype.training.learn import Learned
from daguerreotype.transforms import Transform


@dataclass(frozen=True)
class Fitted:
    """What one candidate transform led to, and how likely it makes the data."""

    transform: Transform
    centre: FloatArray
    scale: FloatArray
    learned: Learned
    log_likelihood: float

    def score(self, values: FloatArray) -> float:
        """Mean log-likelihood per row of unseen values (m, d), columns as in training."""
        models = self.learned.models
        if not isinstance(models, HasPredictions):
            raise TypeError(
                f"{type(models).__name__} cannot predict unseen rows: give it a method predict(node, fit, values)."
            )
        scaled = (self.transform.apply(values) - self.centre) / self.scale
        density = self.transform.log_jacobian(values) - np.log(self.scale).sum()
        for node, fit in enumerate(self.learned.fits):
            residual = scaled[:, node] - models.predict(node, fit, scaled)
            density = density - 0.5 * (np.log(2 * np.pi * fit.variance) + residual**2 / fit.variance)
        return float(np.mean(density))


def canonical_columns(values: FloatArray) -> IntArray:
    """Columns by how strongly they correlate with all others: an order that renumbering does not change."""
    correlation = np.corrcoef(values, rowvar=False)
    return np.argsort(np.abs(correlation).sum(axis=0), kind="stable")


def to_table(
    values: FloatArray, names: tuple[str, ...], standardize: bool
) -> tuple[Table, FloatArray, FloatArray]:
    """Centred (and scaled) columns, with the centre and scale that were taken out."""
    centre = values.mean(axis=0)
    scale = values.std(axis=0) if standardize else np.ones(values.shape[1])
    return Table(np.ascontiguousarray((values - centre) / scale), names), centre, scale
