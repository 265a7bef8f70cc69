"""Adaptive LARS-lasso edges with BIC, the paper's estimator."""

from dataclasses import dataclass
from typing import ClassVar

from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeRules
from daguerreotype.edges.lasso import LassoModels


@dataclass(frozen=True)
class LarsEdges:
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

    from_moments: ClassVar[bool] = True
    limits_parents: ClassVar[bool] = True

    def prepare(self, table: Table) -> LassoModels:
        """Compute the second moments once."""
        return LassoModels(table, alpha=None, adaptive=True)

    def prepare_with(self, table: Table, rules: EdgeRules) -> LassoModels:
        """The same for fits that leave required parents without a penalty."""
        return LassoModels(table, alpha=None, adaptive=True, rules=rules)
