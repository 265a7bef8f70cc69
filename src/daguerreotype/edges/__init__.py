"""Edge estimators: from (node, allowed parents) to parents, weights and likelihood. One file per estimator."""

from importlib import import_module
from typing import TYPE_CHECKING

from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeEstimator, EdgeRules, LocalFit, LocalModels
from daguerreotype.edges.bic import BicEdges
from daguerreotype.edges.gam import GamEdges
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.lars import LarsEdges
from daguerreotype.edges.lasso import LassoEdges
from daguerreotype.edges.registry import make_estimator
from daguerreotype.edges.regressor import RegressorEdges

if TYPE_CHECKING:
    from daguerreotype.edges.linear import LinearEdges as LinearEdges
    from daguerreotype.edges.mlp import MlpEdges as MlpEdges

__all__ = [
    "BicEdges",
    "EdgeEstimator",
    "EdgeRules",
    "GamEdges",
    "GradientEdges",
    "LarsEdges",
    "LassoEdges",
    "LinearEdges",
    "LocalFit",
    "LocalModels",
    "MlpEdges",
    "RegressorEdges",
    "Table",
    "make_estimator",
]
_NEEDS_TORCH = {"LinearEdges": "daguerreotype.edges.linear", "MlpEdges": "daguerreotype.edges.mlp"}


def __getattr__(name: str) -> object:
    if name in _NEEDS_TORCH:
        return getattr(import_module(_NEEDS_TORCH[name]), name)
    raise AttributeError(f"module 'daguerreotype.edges' has no attribute {name!r}")
