"""What does a fit leave behind? Frozen records, without behaviour beyond reading them."""

from dataclasses import dataclass

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators import OrderDistribution

__all__ = ["FitHistory", "LocalFit", "Moves", "OrderDistribution"]


@dataclass(frozen=True, slots=True)
class LocalFit:
    """One node regressed on the parents that were chosen among its predecessors.

    Attributes
    ----------
    parents : array of shape (p,)
        The chosen parents, ascending.
    weights : array of shape (p,)
        Strength of each parent: the coefficient of a linear fit, the norm of a component otherwise.
    variance : float
        Mean squared residual on the training rows.
    dof : float
        Effective number of free parameters spent on the parents.
    """

    parents: IntArray
    weights: FloatArray
    variance: float
    dof: float


@dataclass(frozen=True, slots=True)
class Moves:
    """Local fits of every way to move one node through an order of the others.

    With ``others`` the m = d - 1 remaining nodes in order, position q of the moved node is before
    ``others[q]``; q = m is the end.

    Attributes
    ----------
    own : array of shape (m + 1, 2)
        Variance and dof of the moved node when it stands at position q.
    before : array of shape (m, 2)
        Variance and dof of ``others[i]`` when the moved node is not among its predecessors.
    after : array of shape (m, 2)
        The same when it is.
    """

    own: FloatArray
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class FitHistory:
    """What training saw, step by step.

    Attributes
    ----------
    objective : array of shape (t,)
        Expected loss over the distribution plus the regularization of theta.
    mode_loss : array of shape (t,)
        Loss of the most probable order.
    support : array of shape (t,)
        How many rankings carried mass.
    tau : array of shape (t,)
        Temperature.
    theta : array of shape (t, d)
        Scores of the columns.
    hits, misses : array of shape (t,)
        Local fits found in the cache and made, so far.
    refined_at : int or None
        The step before which best-position moves replaced the order; None without them.
    refine_losses : array
        Loss after each sweep of best-position moves.
    """

    objective: FloatArray
    mode_loss: FloatArray
    support: IntArray
    tau: FloatArray
    theta: FloatArray
    hits: IntArray
    misses: IntArray
    refined_at: int | None
    refine_losses: FloatArray

    def __len__(self) -> int:
        return int(self.objective.size)
