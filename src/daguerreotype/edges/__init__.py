"""Edge estimators: from (node, allowed parents) to parents, weights and likelihood. One file per estimator."""

from typing import TYPE_CHECKING

from daguerreotype._lib.lazy import lazy_names
from daguerreotype.data.table import Table
from daguerreotype.edges.base import (
    CanFork,
    EdgeEstimator,
    EdgeRules,
    HasBatchFits,
    HasCurves,
    HasMoves,
    HasPredictions,
    HasPredictor,
    HasQuickScores,
    HasResiduals,
    HasSweeps,
    KeepsRequired,
    LocalFit,
    LocalModels,
    Moves,
    NeedsProcesses,
    offered,
)
from daguerreotype.edges.bic import BicEdges
from daguerreotype.edges.gam import GamEdges
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.lars import LarsEdges
from daguerreotype.edges.lasso import LassoEdges
from daguerreotype.edges.predictors import LinearPredictor
from daguerreotype.edges.registry import EDGES, EdgesEntry, make_estimator
from daguerreotype.edges.regressor import RegressorEdges

if TYPE_CHECKING:
    from daguerreotype.edges.linear import LinearEdges as LinearEdges
    from daguerreotype.edges.mlp import MlpEdges as MlpEdges

__all__ = [
    "EDGES",
    "BicEdges",
    "CanFork",
    "EdgeEstimator",
    "EdgeRules",
    "EdgesEntry",
    "GamEdges",
    "GradientEdges",
    "HasBatchFits",
    "HasCurves",
    "HasMoves",
    "HasPredictions",
    "HasPredictor",
    "HasQuickScores",
    "HasResiduals",
    "HasSweeps",
    "KeepsRequired",
    "LarsEdges",
    "LassoEdges",
    "LinearEdges",
    "LinearPredictor",
    "LocalFit",
    "LocalModels",
    "MlpEdges",
    "Moves",
    "NeedsProcesses",
    "RegressorEdges",
    "Table",
    "make_estimator",
    "offered",
]

# They need torch.
__getattr__ = lazy_names(__name__, {"LinearEdges": "linear", "MlpEdges": "mlp"})
