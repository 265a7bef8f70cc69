r"""How bad is an ordering? Losses of the local fits of all nodes, per row of data.

Every loss here has the form  :math:`link(\sum_j a_j) + \sum_j b_j`  with two local terms per node, so that a
change of two nodes changes two terms and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.predictors import ENOUGH

LossName: TypeAlias = Literal["nll_ev", "nll_nv", "mse", "bic", "entropy"]
CustomLoss: TypeAlias = Callable[[float, float, int], float]
RowCount: TypeAlias = int | IntArray


class Loss(Protocol):
    """A sum of local terms under a link."""

    @property
    def needs_residuals(self) -> bool:
        """Whether the local terms are made from residuals, one node at a time."""
        ...

    def terms(
        self, variance: FloatArray, dof: FloatArray, n_rows: RowCount, residuals: FloatArray | None = None
    ) -> FloatArray:
        """Local terms (..., 2) of nodes with these residual variances (...) and degrees of freedom (...).

        ``n_rows`` is one number, or one for each node (...).
        """
        ...

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """Losses (...) of orderings of d nodes whose local terms sum to ``sums`` (..., 2).

        A node whose terms are weighted, because few rows count for it, counts in d by its weight.
        """
        ...


@dataclass(frozen=True)
class EqualVarianceLoss:
    r"""Gaussian likelihood with one noise variance for all nodes: :math:`\frac d2 \log \sum_j v_j`.

    The paper's loss (Ng et al. 2020, eq. 2). On raw scales it can tell causes from effects; standardizing
    the columns takes that away.
    """

    needs_residuals: bool = False

    def terms(
        self, variance: FloatArray, dof: FloatArray, n_rows: RowCount, residuals: FloatArray | None = None
    ) -> FloatArray:
        """The residual variance."""
        return np.stack([variance, np.zeros_like(variance)], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """Half of d times the log of the mean variance."""
        totals: FloatArray = 0.5 * d * np.log(sums[..., 0] / d)
        return totals


@dataclass(frozen=True)
class UnequalVarianceLoss:
    r"""Gaussian likelihood with a noise variance of its own for every node, less an optional BIC price.

    :math:`\sum_j \frac12 \log v_j + penalty \frac{\log n}{2 n} dof_j`. Without the penalty more edges never
    hurt; with it, this is BIC, the score that permutation searches minimise.
    """

    penalty: float = 0.0
    needs_residuals: bool = False

    def terms(
        self, variance: FloatArray, dof: FloatArray, n_rows: RowCount, residuals: FloatArray | None = None
    ) -> FloatArray:
        """Half the log variance, and the price of the parents."""
        price = 0.5 * self.penalty * np.log(n_rows) / n_rows
        return np.stack([0.5 * np.log(variance), price * dof], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum of both."""
        totals: FloatArray = sums.sum(axis=-1)
        return totals


@dataclass(frozen=True)
class SquaredErrorLoss:
    r"""Squared error :math:`\frac12 \sum_j v_j`."""

    needs_residuals: bool = False

    def terms(
        self, variance: FloatArray, dof: FloatArray, n_rows: RowCount, residuals: FloatArray | None = None
    ) -> FloatArray:
        """Half the residual variance."""
        return np.stack([0.5 * variance, np.zeros_like(variance)], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum."""
        totals: FloatArray = sums[..., 0]
        return totals


@dataclass(frozen=True)
class EntropyLoss:
    r"""Non-Gaussian likelihood: the entropy of the residuals, :math:`\sum_j H(e_j)`, plus the BIC price.

    The log-likelihood of independent noise of unknown shape is minus its entropy. Where noise is not
    Gaussian the entropies of the two directions of an edge differ, even for linear mechanisms.

    Parameters
    ----------
    method : {"spacings", "maxent"}
        "maxent" corrects the Gaussian entropy by two nonpolynomial moments (Hyvärinen 1998): smooth, for
        noise not too far from Gaussian. "spacings" is Vasicek's (1976) estimate: any shape, but noisier.
    penalty : float
        Multiplies the BIC price of the parents.
    """

    method: Literal["maxent", "spacings"] = "spacings"
    penalty: float = 1.0
    needs_residuals: bool = True

    def terms(
        self, variance: FloatArray, dof: FloatArray, n_rows: RowCount, residuals: FloatArray | None = None
    ) -> FloatArray:
        """The entropy of one node's residuals (n,), of which some are enough, and the price of its parents."""
        assert residuals is not None
        entropy = residual_entropy(residuals[:ENOUGH], self.method)
        # An entropy of fewer rows is less certain, and parents must make up for that.
        looked_at = np.minimum(n_rows, ENOUGH)
        price = 0.5 * self.penalty * np.log(looked_at) / looked_at
        return np.array([entropy, price * float(dof)])

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum of both."""
        totals: FloatArray = sums.sum(axis=-1)
        return totals


def residual_entropy(residuals: FloatArray, method: Literal["maxent", "spacings"]) -> float:
    """Differential entropy (nats) of a sample, less that of a standard Gaussian."""
    scale = float(residuals.std())
    u = (residuals - residuals.mean()) / scale
    n = u.size
    if method == "spacings":
        u.sort()
        m = max(1, round(np.sqrt(n)))
        upper, lower = u[np.minimum(np.arange(n) + m, n - 1)], u[np.maximum(np.arange(n) - m, 0)]
        spacings = np.maximum(upper - lower, 1e-12)
        entropy = float(np.mean(np.log(n / (2 * m) * spacings))) - 0.5 * (np.log(2 * np.pi) + 1)
    else:
        # The weights and the Gaussian mean of log cosh are those of Hyvärinen (1998).
        skewed = float(np.mean(u * np.exp(-0.5 * u * u)))
        tailed = float(np.mean(np.log(np.cosh(u)))) - 0.37457
        entropy = -(79.047 * tailed**2 + 7.4129 * skewed**2)
    return float(entropy + np.log(scale))


@dataclass(frozen=True)
class LocalLoss:
    """A user's function (variance, dof, n_rows) -> loss of one node; an ordering's loss is their sum."""

    function: CustomLoss
    needs_residuals: bool = False

    def terms(
        self, variance: FloatArray, dof: FloatArray, n_rows: RowCount, residuals: FloatArray | None = None
    ) -> FloatArray:
        """What the function says, node by node."""
        nodes = np.broadcast(variance, dof, n_rows)
        values = np.array([self.function(float(v), float(p), int(n)) for v, p, n in nodes]).reshape(nodes.shape)
        return np.stack([values, np.zeros_like(values)], axis=-1)

    def total(self, sums: FloatArray, d: float) -> FloatArray:
        """The sum."""
        totals: FloatArray = sums[..., 0]
        return totals


def make_loss(loss: str | CustomLoss | Loss, penalty: float) -> Loss:
    """The loss behind a short name, an object with terms and total, or a user's function of one node."""
    named: dict[str, Loss] = {
        "auto": UnequalVarianceLoss(penalty=penalty),  # to begin with
        "nll_ev": EqualVarianceLoss(),
        "nll_nv": UnequalVarianceLoss(),
        "mse": SquaredErrorLoss(),
        "bic": UnequalVarianceLoss(penalty=penalty),
        "entropy": EntropyLoss("spacings", penalty),
    }
    if isinstance(loss, str):
        if loss not in named:
            raise ValueError(f"loss must be one of {', '.join(map(repr, named))} or a callable, got {loss!r}.")
        return named[loss]
    if hasattr(loss, "terms") and hasattr(loss, "total"):
        return cast(Loss, loss)
    if callable(loss):
        return LocalLoss(loss)
    raise ValueError(
        f"loss must be one of {', '.join(map(repr, named))}, a function (variance, dof, n_rows) -> loss of "
        f"one node, or an object with terms and total, got {loss!r}."
    )
