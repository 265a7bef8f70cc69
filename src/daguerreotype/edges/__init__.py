"""Edge estimators: from (node, allowed parents) to parents, weights and likelihood. One file per estimator."""

from typing import TYPE_CHECKING

from daguerreotype._lib.lazy import lazy_names

if TYPE_CHECKING:
    from daguerreotype.data.table import Table as Table
    from daguerreotype.edges.base import CanFork as CanFork
    from daguerreotype.edges.base import EdgeEstimator as EdgeEstimator
    from daguerreotype.edges.base import EdgeRules as EdgeRules
    from daguerreotype.edges.base import HasBatchFits as HasBatchFits
    from daguerreotype.edges.base import HasCurves as HasCurves
    from daguerreotype.edges.base import HasMoves as HasMoves
    from daguerreotype.edges.base import HasPredictions as HasPredictions
    from daguerreotype.edges.base import HasPredictor as HasPredictor
    from daguerreotype.edges.base import HasQuickScores as HasQuickScores
    from daguerreotype.edges.base import HasResiduals as HasResiduals
    from daguerreotype.edges.base import HasSweeps as HasSweeps
    from daguerreotype.edges.base import KeepsRequired as KeepsRequired
    from daguerreotype.edges.base import LocalFit as LocalFit
    from daguerreotype.edges.base import LocalModels as LocalModels
    from daguerreotype.edges.base import Moves as Moves
    from daguerreotype.edges.base import NeedsProcesses as NeedsProcesses
    from daguerreotype.edges.base import offered as offered
    from daguerreotype.edges.bic import BicEdges as BicEdges
    from daguerreotype.edges.gam import GamEdges as GamEdges
    from daguerreotype.edges.gradient.settings import GradientEdges as GradientEdges
    from daguerreotype.edges.lars import LarsEdges as LarsEdges
    from daguerreotype.edges.lasso import LassoEdges as LassoEdges
    from daguerreotype.edges.linear import LinearEdges as LinearEdges
    from daguerreotype.edges.mlp import MlpEdges as MlpEdges
    from daguerreotype.edges.predictors import LinearPredictor as LinearPredictor
    from daguerreotype.edges.registry import EDGES as EDGES
    from daguerreotype.edges.registry import EdgesEntry as EdgesEntry
    from daguerreotype.edges.registry import make_estimator as make_estimator
    from daguerreotype.edges.regressor import RegressorEdges as RegressorEdges

# Loaded on first use: the command line reads the registry, and need not wait for numba.
__getattr__ = lazy_names(
    __name__,
    {
        "base": "Table CanFork EdgeEstimator EdgeRules HasBatchFits HasCurves HasMoves HasPredictions "
        "HasPredictor HasQuickScores HasResiduals HasSweeps KeepsRequired LocalFit LocalModels "
        "Moves NeedsProcesses offered",
        "bic": "BicEdges",
        "gam": "GamEdges",
        "gradient.settings": "GradientEdges",
        "lars": "LarsEdges",
        "lasso": "LassoEdges",
        "linear": "LinearEdges",
        "mlp": "MlpEdges",
        "predictors": "LinearPredictor",
        "registry": "EDGES EdgesEntry make_estimator",
        "regressor": "RegressorEdges",
    },
)
