"""Edge estimators: (node, allowed parents) -> parents, weights, variance. One file per estimator."""

from daguerreotype.edges.base import EdgeEstimator, LocalModels, Table
from daguerreotype.edges.bic import BicEdges
from daguerreotype.edges.gam import GamEdges
from daguerreotype.edges.lars import LarsEdges
from daguerreotype.edges.lasso import LassoEdges
from daguerreotype.edges.registry import make_estimator
from daguerreotype.edges.regressor import RegressorEdges

__all__ = [
    "BicEdges",
    "EdgeEstimator",
    "GamEdges",
    "LarsEdges",
    "LassoEdges",
    "LocalModels",
    "RegressorEdges",
    "Table",
    "make_estimator",
]
