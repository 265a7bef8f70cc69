"""Warm starts: what an operator found at one training step is where it begins at the next."""

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import FloatArray
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.active_set import SupportPullback
from daguerreotype.operators.distribution import Operator
from daguerreotype.operators.sparse_map import WarmSparseMap


class OperatorSteps:
    """The operator of a training run, step by step; one that can begin where it ended is told where that was.

    What such an operator finds depends on all steps before: ``last`` is part of the state of training, and the
    distribution at a step cannot be found again from the scores alone.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.last: OrderDistribution | None = None  # stays None if nothing depends on it

    def __call__(self, theta: FloatArray, tau: float) -> OrderDistribution:
        """The distribution of the next step."""
        if not isinstance(self.operator, WarmSparseMap):
            return self.operator(theta, tau)
        self.last = self.operator.go_on(theta, tau, self.last)
        return self.last


def warm_settings(operator: Operator) -> Header:
    """What a checkpoint must know of the operator beside its distribution at the start."""
    return {"warm_start": True} if isinstance(operator, WarmSparseMap) else {}


def save_distribution(name: str, distribution: OrderDistribution | None) -> Arrays:
    """A distribution of the active set as arrays, with the factor that the bits of the next step depend on."""
    if distribution is None:
        return {}
    pullback = distribution.pullback
    assert isinstance(pullback, SupportPullback)
    m = len(distribution)
    return {
        f"{name}_probs": distribution.probs,
        f"{name}_ranks": distribution.ranks,
        f"{name}_factor": np.tril(pullback.factor[:m, :m]),  # what lies above was never written
        f"{name}_tau": np.array(pullback.tau),
    }


def restore_distribution(name: str, arrays: Arrays) -> OrderDistribution | None:
    """The distribution that was saved under a name; None if none was."""
    if f"{name}_probs" not in arrays:
        return None
    probs, ranks, factor = (arrays[f"{name}_{part}"] for part in ("probs", "ranks", "factor"))
    return OrderDistribution(probs, ranks, SupportPullback(ranks, factor, float(arrays[f"{name}_tau"])))
