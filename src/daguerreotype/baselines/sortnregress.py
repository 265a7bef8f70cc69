"""Orders by a criterion or by chance, then regression; and the empty graph, which any method should beat."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.data.table import Table
from daguerreotype.edges.lasso import LarsEdges
from daguerreotype.metrics.orders import r2_of_columns


def regress_along(X: FloatArray, order: IntArray) -> Learned:
    """Parents of every column among those before it, by the paper's adaptive lasso with BIC (`LarsEdges`)."""
    d = X.shape[1]
    models = LarsEdges().prepare(Table(X, tuple(f"x{j}" for j in range(d))))
    weights = np.zeros((d, d))
    for position, node in enumerate(order):
        fit = models.fit(int(node), np.sort(order[:position]))
        weights[fit.parents, node] = fit.weights
    return Learned((weights != 0).astype(np.int64), weights, order)


@dataclass(kw_only=True, eq=False, repr=False)
class SortNRegress(Baseline):
    r"""sortnregress (Reisach, Seiler and Weichwald 2021): columns by rising variance, then regression.

    Column j gets the parents that the adaptive lasso with BIC (`LarsEdges`) keeps among columns of smaller
    variance. Equal to CausalDisco's ``var_sort_regress``, and defined also where rows are fewer than columns. It
    shows what the scale of the columns gives away.

    Parameters
    ----------
    standardize : bool
        False, as it lives from raw scales. True leaves it a random order, which is what the paper's tables report.
    random_state, time_limit
        As in `Baseline`. With ``standardize`` the order is drawn at random.
    """

    standardize: bool = False

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Sort by variance, regress; variances that standardizing made equal up to rounding count as tied."""
        variances = X.var(axis=0)
        keys = np.zeros_like(variances) if self.standardize else variances
        return regress_along(X, np.lexsort((rng.permutation(X.shape[1]), keys)))


class R2SortNRegress(Baseline):
    r"""R²-sortnregress (Reisach, Tami, Seiler, Chambaz and Weichwald 2023): columns by rising R², then regression.

    R² is that of a column regressed on all others, which standardizing does not change; the regression is that of
    `SortNRegress`. Equal to CausalDisco's ``r2_sort_regress``.

    Parameters
    ----------
    standardize, random_state, time_limit
        As in `Baseline`. Nothing is drawn at random.
    """

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Sort by R², regress."""
        return regress_along(X, np.argsort(r2_of_columns(X / np.linalg.norm(X, axis=0)), kind="stable"))


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
