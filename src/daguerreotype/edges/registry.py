"""Which estimator does a short name, a scikit-learn regressor or an object stand for?"""

from typing import Any

from daguerreotype.edges.base import EdgeEstimator
from daguerreotype.edges.bic import BicEdges
from daguerreotype.edges.gam import GamEdges
from daguerreotype.edges.lars import LarsEdges
from daguerreotype.edges.lasso import LassoEdges
from daguerreotype.edges.regressor import RegressorEdges

NAMED = ("gam", "bic", "lars", "lasso", "linear", "mlp")


def make_estimator(edges: Any, *, penalty: float = 1.0, gamma: float = 0.0, seed: int = 0) -> EdgeEstimator:
    """The estimator behind ``edges``; ``penalty`` and ``gamma`` go to those that have them."""
    if isinstance(edges, str):
        if edges not in NAMED:
            raise ValueError(
                f"edges must be one of {', '.join(map(repr, NAMED))}, a scikit-learn regressor, or an object "
                f"with prepare(table), got {edges!r}."
            )
        if edges == "bic":
            return BicEdges(penalty=penalty, gamma=gamma)
        if edges == "gam":
            return GamEdges(penalty=penalty, gamma=gamma)
        if edges in ("linear", "mlp"):
            return gradient_edges(edges, random_state=seed)
        return LarsEdges() if edges == "lars" else LassoEdges()
    if isinstance(edges, type):
        raise TypeError(f"edges is the class {edges.__name__}: expected an object. Write {edges.__name__}().")
    if isinstance(edges, EdgeEstimator):
        return edges
    if callable(getattr(edges, "fit", None)) and callable(getattr(edges, "predict", None)):
        return RegressorEdges(edges, random_state=seed)
    raise TypeError(
        f"edges is a {type(edges).__name__}: expected one of {', '.join(map(repr, NAMED))}, a regressor with fit "
        "and predict, or an object with prepare(table)."
    )


def gradient_edges(name: str, **settings: Any) -> EdgeEstimator:
    """The estimators that need torch, imported only when asked for."""
    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.edges.mlp import MlpEdges

    return LinearEdges(**settings) if name == "linear" else MlpEdges(**settings)
