r"""Objectives: how the local terms of all nodes add up to the loss of an ordering, per row of data.

Every objective has the form  :math:`link(\sum_j a_j) + \sum_j b_j`  with two local terms per node, so that a
change of two nodes changes two terms and nothing else. Local terms are made from a node's degrees of freedom and
its *excess*: the negative log-likelihood per row beyond that of a standard normal variable, so that standardized
columns without edges lose nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from daguerreotype._lib.labels import shown
from daguerreotype._lib.registry import Registry
from daguerreotype._lib.typing import FloatArray
from daguerreotype.noise import NoiseModel, make_noise

CustomLoss: TypeAlias = Callable[[float, float, float], float]
RowCount: TypeAlias = float | FloatArray


@runtime_checkable
class Objective(Protocol):
    """A sum of local terms under a link; the plug-in point of ``loss=``."""

    def terms(self, excess: FloatArray, dof: FloatArray, n_rows: RowCount) -> FloatArray:
        """Local terms (..., 2) of nodes with these excesses (...) and degrees of freedom (...).

        ``n_rows``, rows of evidence, is one number, or one for each node (...).
        """
        ...

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """Losses (...) of orderings of d nodes whose local terms sum to ``sums`` (..., 2).

        A node whose terms are weighted, because few rows count for it, counts in d by its weight.
        """
        ...


@runtime_checkable
class Smooth(Protocol):
    """An objective that has derivatives, as joint training needs."""

    def slopes(self, excess: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Losses (m,) of orderings by the excesses of their nodes (m, d), and derivatives (m, d).

        ``shares`` (d,) are those of the rows that count for each node.
        """
        ...


@dataclass(frozen=True)
class EqualVariance:
    r"""Gaussian likelihood with one noise variance for all nodes: :math:`\frac d2 \log \sum_j v_j`.

    The paper's loss (Ng et al. 2020, eq. 2). On raw scales it can tell causes from effects; standardizing
    the columns takes that away.
    """

    def terms(self, excess: FloatArray, dof: FloatArray, n_rows: RowCount) -> FloatArray:
        """The residual variance of every node, which the link turns into a likelihood."""
        variance = np.exp(2 * excess)
        return np.stack([variance, np.zeros_like(variance)], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """Half of d times the log of the mean variance."""
        totals: FloatArray = 0.5 * d * np.log(sums[..., 0] / d)
        return totals

    def slopes(self, excess: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each node by its share of the summed variance."""
        variances, d = shares * np.exp(2 * excess), shares.sum()
        totals = variances.sum(axis=1)
        return 0.5 * d * np.log(totals / d), d * variances / totals[:, None]


@dataclass(frozen=True)
class PenalizedLikelihood:
    r"""Negative log-likelihood of all nodes plus a penalty per degree of freedom.

    :math:`\sum_j excess_j + penalty \frac{\log n}{2 n} dof_j`. Without the penalty more edges never hurt; with
    penalty one, this is BIC, the score that permutation searches minimise.
    """

    penalty: float = 0.0

    def per_dof(self, n_rows: RowCount) -> Any:
        """The penalty per degree of freedom."""
        return 0.5 * self.penalty * np.log(n_rows) / n_rows

    def terms(self, excess: FloatArray, dof: FloatArray, n_rows: RowCount) -> FloatArray:
        """The excess, and the penalty of the parents."""
        return np.stack([excess, self.per_dof(n_rows) * dof], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum of likelihoods and penalties."""
        totals: FloatArray = sums.sum(axis=-1)
        return totals

    def slopes(self, excess: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each node by its share of the rows; joint training pays for edges by its gates."""
        return (shares * excess).sum(axis=1), np.broadcast_to(shares, excess.shape)


@dataclass(frozen=True)
class SquaredError:
    r"""Squared error :math:`\frac12 \sum_j v_j`."""

    def terms(self, excess: FloatArray, dof: FloatArray, n_rows: RowCount) -> FloatArray:
        """Half the residual variance."""
        variance = np.exp(2 * excess)
        return np.stack([0.5 * variance, np.zeros_like(variance)], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum."""
        totals: FloatArray = sums[..., 0]
        return totals

    def slopes(self, excess: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each node by its variance."""
        variances = shares * np.exp(2 * excess)
        return 0.5 * variances.sum(axis=1), variances


@dataclass(frozen=True)
class PerNode:
    """A user's function (variance, dof, n_rows) -> loss of one node; an ordering's loss is their sum."""

    function: CustomLoss

    def terms(self, excess: FloatArray, dof: FloatArray, n_rows: RowCount) -> FloatArray:
        """What the function says, node by node."""
        nodes = np.broadcast(np.exp(2 * excess), dof, n_rows)
        values = np.array([self.function(float(v), float(p), float(n)) for v, p, n in nodes]).reshape(nodes.shape)
        return np.stack([values, np.zeros_like(values)], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum."""
        totals: FloatArray = sums[..., 0]
        return totals


@dataclass(frozen=True)
class LossEntry:
    """A loss under its name.

    Attributes
    ----------
    make : callable
        The objective for a penalty.
    help : str
        What it is for, in one line.
    noise : str
        The noise model it implies.
    takes_kinds : bool
        Whether it adds up likelihoods of columns of any kind, and not variances.
    """

    make: Callable[[float], Objective]
    help: str
    noise: str = "gaussian"
    takes_kinds: bool = False


LOSSES: Registry[LossEntry] = Registry(
    "loss",
    {
        "auto": LossEntry(
            PenalizedLikelihood, "BIC, for noise of any shape that gains more than chance", takes_kinds=True
        ),
        "nll_ev": LossEntry(lambda _: EqualVariance(), "Gaussian likelihood, equal variances: the paper's"),
        "nll_nv": LossEntry(lambda _: PenalizedLikelihood(), "Gaussian likelihood, a variance for every column"),
        "mse": LossEntry(lambda _: SquaredError(), "squared error"),
        "bic": LossEntry(
            PenalizedLikelihood, "Gaussian likelihood less a penalty per parameter", takes_kinds=True
        ),
        "entropy": LossEntry(
            PenalizedLikelihood, "the same for noise of any shape", "free-shape", takes_kinds=True
        ),
    },
)


def noise_of_loss(loss: Any) -> NoiseModel:
    """The noise of continuous columns that a loss implies."""
    return make_noise(LOSSES[loss].noise if isinstance(loss, str) else "gaussian")


def make_objective(loss: Any, penalty: float) -> Objective:
    """The objective behind a short name, an object with terms and total, or a user's function of one node."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {LOSSES.listed()} or a callable, got {shown(loss)}.")
        return LOSSES[loss].make(penalty)
    if isinstance(loss, Objective):
        return loss
    if callable(loss):
        return PerNode(loss)
    raise ValueError(
        f"loss must be one of {LOSSES.listed()}, a function (variance, dof, n_rows) -> loss of one node, or an "
        f"object with terms and total, got {shown(loss)}."
    )
