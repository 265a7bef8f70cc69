"""Lasso edges by LARS paths: at a fixed strength, at the one that BIC picks, or adaptive as in the paper."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from daguerreotype._lib.checks import check_choice, check_positive
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import Capabilities, EdgeEstimator, EdgeRules, LocalFit
from daguerreotype.edges.lasso_path import choose_weights
from daguerreotype.edges.predictors import LinearPredictor, first_residuals, norms_of_lines

_NOTHING_REQUIRED: BoolArray = np.zeros(0, dtype=np.bool_)


class LassoModels(LinearPredictor):
    """Lasso paths on the second moments of one table; ``alpha=None`` lets BIC choose the point."""

    can = replace(LinearPredictor.can, residuals=True)

    def __init__(
        self, table: Table, *, alpha: float | None, adaptive: bool, rules: EdgeRules | None = None
    ) -> None:
        self.table, self.rules = table, rules
        self.moments: FloatArray = np.array(table.moments, dtype=np.float64, order="C")
        self.alpha = -1.0 if alpha is None else float(alpha)
        self.adaptive = adaptive

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Choose parents of ``node`` among ``predecessors``; the cost does not depend on n."""
        # A fresh array of one layout, so that the kernel is compiled once.
        columns = np.array(predecessors, dtype=np.int64)
        chosen, weights, variance = self._choose(node, columns, columns.size)
        if self.rules is not None and chosen.size > self.rules.most_parents(node):
            # The path as far as the limit tells who they are; cut there, it would shrink them more than need be.
            few = self._choose(node, columns, self.rules.most_parents(node))[0]
            columns = columns[few]
            chosen, weights, variance = self._choose(node, columns, columns.size)
        parents, weights = columns[chosen], weights[chosen]
        norms = norms_of_lines(self.table, parents, weights)
        return LocalFit.gaussian(parents, weights, variance, float(chosen.size), norms=norms)

    def _choose(self, node: int, columns: IntArray, most: int) -> tuple[IntArray, FloatArray, float]:
        """Places of the parents among ``columns`` (p,), no more than ``most``; weights (p,) and variance."""
        required = _NOTHING_REQUIRED if self.rules is None else self.rules.required[columns, node]
        weights, variance = choose_weights(
            self.moments, node, columns, self.table.n_rows, self.alpha, self.adaptive, required, most
        )
        chosen = (weights if self.rules is None else (weights != 0) | required).nonzero()[0]
        return chosen, weights, variance

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,); of long tables on the first."""
        return first_residuals(self, self.table, node, fit)


@dataclass(frozen=True)
class LassoEdges(EdgeEstimator):
    r"""Parents with a non-zero lasso coefficient.

    Solves  min_w  1/(2n) ||x_j - X_pred w||^2 + alpha ||w||_1  for each node j on its predecessors, from
    the second moments alone. With ``alpha="bic"`` the path over all alpha is followed and the knot of least

        ||x_j - X_pred w||^2 / sigma^2 + log(n) ||w||_0

    is taken, sigma^2 being the unbiased noise variance of least squares on all p predecessors: the
    criterion of scikit-learn's ``LassoLarsIC``. With n <= p + 1 rows, where least squares has none, sigma^2
    is that of a ridge regression under which the predecessors explain half of the node beforehand.

    Parameters
    ----------
    alpha : "bic" or float
        Strength of the penalty, in units of the covariances of the table. "bic" adapts it to every node;
        a number (0.1 on standardized columns, say) treats all nodes alike.

    Notes
    -----
    Weights are those of the penalized problem, shrunk towards zero; ``LarsEdges`` shrinks strong ones less.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges import Table
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] += 2 * x[:, 0]
    >>> models = LassoEdges(alpha=0.5).prepare(Table(x - x.mean(axis=0), ("a", "b", "c")))
    >>> models.fit(2, np.array([0, 1])).parents
    array([0])
    """

    can: ClassVar[Capabilities] = replace(LassoModels.can, from_moments=True, rules=True, max_parents=True)

    alpha: Literal["bic"] | float = "bic"

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> LassoModels:
        """Compute the second moments once; fits leave required parents without a penalty."""
        return LassoModels(table, alpha=self._strength(), adaptive=False, rules=rules)

    def _strength(self) -> float | None:
        """The checked strength; None for BIC's choice."""
        if isinstance(self.alpha, str):
            check_choice(self.alpha, "alpha", ["bic"])
            return None
        return check_positive(self.alpha, "alpha", zero=True)


@dataclass(frozen=True)
class LarsEdges(EdgeEstimator):
    r"""Adaptive LARS-lasso with BIC, the paper's estimator "LARS" (section 5 and appendix D; Efron et al. 2004).

    For each node j, with w_ols the least squares coefficients on all p predecessors, follows the path of

        min_w  1/(2n) ||x_j - X_pred w||^2 + alpha sum_i |w_i| / |w_ols,i|

    over all alpha and takes the knot of least  ||x_j - X_pred w||^2 / sigma^2 + log(n) ||w||_0,  with
    sigma^2 the unbiased noise variance of least squares. This is scikit-learn's ``LassoLarsIC`` on columns
    multiplied by |w_ols|, its coefficients scaled back; from the second moments alone, so that the number
    of rows does not enter the cost of a fit.

    Notes
    -----
    The paper names LARS and does not say where its path ends. Weights by least squares and the choice by BIC are
    those of sortnregress (Reisach et al. 2021), whose LARS, as appendix D has it, chooses by BIC.

    With n <= p + 1 rows least squares is not determined, and scikit-learn refuses. Here w_ols and sigma^2
    then come from a ridge regression under which the predecessors explain half of the node beforehand:
    a ridge of p / n times each column's variance, and the maximum likelihood noise variance given it.
    Collinear predecessors share their weight in w_ols; of exact copies the path keeps one. A column counts
    as collinear when others explain all but 1e-10 of its variance: closer, second moments cannot tell.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges import Table
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] += 2 * x[:, 0]
    >>> models = LarsEdges().prepare(Table(x - x.mean(axis=0), ("a", "b", "c")))
    >>> models.fit(2, np.array([0, 1])).parents
    array([0])
    """

    can: ClassVar[Capabilities] = replace(LassoModels.can, from_moments=True, rules=True, max_parents=True)

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> LassoModels:
        """Compute the second moments once; fits leave required parents without a penalty."""
        return LassoModels(table, alpha=None, adaptive=True, rules=rules)
