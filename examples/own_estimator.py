"""An edge estimator of one's own: k nearest neighbours, which see interactions that additive models miss."""

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from daguerreotype import Daguerreotype
from daguerreotype.edges import Capabilities, EdgeEstimator, LocalFit, LocalModels, Table


class NearestNeighbourEdges(EdgeEstimator):
    """Leaves out predecessors for as long as that improves the BIC of a regression on the nearest rows."""

    def __init__(self, k: int = 10) -> None:
        self.k = k

    def prepare(self, table: Table) -> "NearestNeighbourModels":
        return NearestNeighbourModels(table.values, min(self.k, table.n_rows - 1))


class NearestNeighbourModels(LocalModels):
    """The estimator after it has met its data."""

    can = Capabilities(residuals=True, predictions=True)

    def __init__(self, values: np.ndarray, k: int) -> None:
        self.values, self.k = values, k

    def fit(self, node: int, predecessors: np.ndarray) -> LocalFit:
        parents = predecessors
        score, variance = self._score(node, parents)
        while parents.size:
            without = [self._score(node, np.delete(parents, i)) for i in range(parents.size)]
            worst = min(range(parents.size), key=lambda i: without[i])
            if without[worst][0] > score:  # every parent is worth its penalty
                break
            score, variance = without[worst]
            parents = np.delete(parents, worst)
        empty_score, spread = self._score(node, parents[:0])
        if parents.size == 0 or score >= empty_score:
            return LocalFit.gaussian(parents[:0], np.zeros(0), spread, 0.0)
        weights = np.sqrt([larger - variance for _, larger in without])
        return LocalFit.gaussian(parents, weights, variance, float(parents.size))

    def residuals(self, node: int, fit: LocalFit) -> np.ndarray:
        return self._residuals(node, fit.parents)

    def predict(self, node: int, fit: LocalFit, values: np.ndarray) -> np.ndarray:
        if fit.parents.size == 0:
            return np.zeros(len(values))
        nearest = np.arange(1, self.k + 1)
        _, rows = cKDTree(self.values[:, fit.parents]).query(values[:, fit.parents], nearest)
        return self.values[rows, node].mean(axis=1)

    def _score(self, node: int, parents: np.ndarray) -> tuple[float, float]:
        """BIC of these parents, per row, and their mean squared residual."""
        n = len(self.values)
        variance = float(np.mean(self._residuals(node, parents) ** 2))
        return np.log(variance) + parents.size * np.log(n) / n, variance

    def _residuals(self, node: int, parents: np.ndarray) -> np.ndarray:
        """What the k nearest other rows leave unexplained of each row (n,)."""
        target = self.values[:, node]
        if parents.size == 0:
            return target.copy()
        inputs = self.values[:, parents]
        nearest = np.arange(2, self.k + 2)  # the first is the row itself: no two are equal
        _, rows = cKDTree(inputs).query(inputs, nearest)
        return target - target[rows].mean(axis=1)


def simulate(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Growth is the product of light and water: neither explains anything by itself."""
    rng = np.random.default_rng(seed)
    light, water = rng.normal(size=(2, n))
    growth = light * water + 0.3 * rng.normal(size=n)
    harvest = np.tanh(2 * growth) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"harvest": harvest, "growth": growth, "water": water, "light": light})


if __name__ == "__main__":
    X = simulate()
    for name, edges in {"splines": "gam", "neighbours": NearestNeighbourEdges(k=10)}.items():
        model = Daguerreotype(edges=edges, scales="none").fit(X[:300])
        arrows = ", ".join(f"{cause} -> {effect}" for cause, effect in sorted(model.causal_graph_.edges))
        print(f"{name:<10}  {model.score(X[300:]):.1f} per unseen row:  {arrows}")
