"""Training: objectives of orderings, bilevel and joint descent, refinement; what users plug in is exported."""

from daguerreotype._lib.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {"objective": "LOSSES EqualVariance LossEntry Objective PenalizedLikelihood SquaredError make_objective"},
)
