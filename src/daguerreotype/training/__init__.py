"""Training: objectives of orderings, bilevel and joint descent, refinement; what users plug in is exported."""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.training.methods import Bilevel as Bilevel
    from daguerreotype.training.methods import Joint as Joint
    from daguerreotype.training.objective import LOSSES as LOSSES
    from daguerreotype.training.objective import EqualVariance as EqualVariance
    from daguerreotype.training.objective import LossEntry as LossEntry
    from daguerreotype.training.objective import Objective as Objective
    from daguerreotype.training.objective import PenalizedLikelihood as PenalizedLikelihood
    from daguerreotype.training.objective import SquaredError as SquaredError
    from daguerreotype.training.objective import make_objective as make_objective

__getattr__ = lazy_names(
    __name__,
    {
        "methods": "Bilevel Joint",
        "objective": "LOSSES EqualVariance LossEntry Objective PenalizedLikelihood SquaredError make_objective",
    },
)
