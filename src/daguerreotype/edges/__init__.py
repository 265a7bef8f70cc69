"""Edge estimators: from (node, allowed parents) to parents, weights and likelihood. One file per estimator."""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.data.table import Table as Table
    from daguerreotype.edges.additive.estimators import BicEdges as BicEdges
    from daguerreotype.edges.additive.estimators import GamEdges as GamEdges
    from daguerreotype.edges.base import Capabilities as Capabilities
    from daguerreotype.edges.base import Draws as Draws
    from daguerreotype.edges.base import EdgeEstimator as EdgeEstimator
    from daguerreotype.edges.base import EdgeRules as EdgeRules
    from daguerreotype.edges.base import LocalFit as LocalFit
    from daguerreotype.edges.base import LocalModels as LocalModels
    from daguerreotype.edges.base import Moves as Moves
    from daguerreotype.edges.base import SearchableModels as SearchableModels
    from daguerreotype.edges.gradient.settings import GradientEdges as GradientEdges
    from daguerreotype.edges.lasso import LarsEdges as LarsEdges
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
        "base": "Table Capabilities Draws EdgeEstimator EdgeRules LocalFit LocalModels Moves SearchableModels",
        "additive.estimators": "BicEdges GamEdges",
        "gradient.settings": "GradientEdges",
        "lasso": "LarsEdges LassoEdges",
        "linear": "LinearEdges",
        "mlp": "MlpEdges",
        "predictors": "LinearPredictor",
        "registry": "EDGES EdgesEntry make_estimator",
        "regressor": "RegressorEdges",
    },
)
