"""Evidence for graphs: what orders, fits and parent sets lose, in nats of the whole table."""

from collections.abc import Sequence

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.edges.base import JudgesParents, LocalFit, offered
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.training.objective import PenalizedLikelihood, PerNode, SquaredError
from daguerreotype.training.order_scores import OrderScores

ADDITIVE = (PenalizedLikelihood, SquaredError, PerNode)
LARGEST = 1e12  # nats, beyond which rounding errors of a sum are no longer small beside one


class UnknownEvidenceError(TypeError):
    """A loss that does not say how likely graphs are."""


class Evidence:
    """Losses of orders and local fits of one table, times the rows that they are evidence of.

    A loss with a price is minus the logarithm of a posterior probability, about: the likelihood of the table, less
    what BIC says of fitted parameters, times the prior probability of its edges that the price stands for.
    A loss without one is given that of BIC: else every graph would gain by more edges.

    Parameters
    ----------
    scores : OrderScores
        Losses of orderings of the table per row.
    some_rows : bool
        Whether likelihoods are those of the first ``MAX_ROWS`` rows: then these are all the evidence there is.

    Attributes
    ----------
    n_rows : int
        The rows that count.
    """

    def __init__(self, scores: OrderScores, some_rows: bool = False) -> None:
        if not isinstance(scores.objective, ADDITIVE):
            raise UnknownEvidenceError(
                f"a posterior needs a loss that is a sum over columns, such as 'bic', got {scores.objective!r}."
            )
        self.scores = scores
        looks_at_rows = some_rows or any(each.needs_residuals for each in scores.noise)
        self.n_rows = min(scores.n_rows, MAX_ROWS) if looks_at_rows else scores.n_rows
        priced = isinstance(scores.objective, PerNode) or getattr(scores.objective, "penalty", 0.0) > 0.0
        self._per_dof = 0.0 if priced else 0.5 * np.log(self.n_rows)

    def of_fits(self, node: int, fits: Sequence[LocalFit]) -> FloatArray:
        """Loss (m,) of fits of one node."""
        terms = self.scores.fits.terms_of([node] * len(fits), fits)
        return self._nats(terms, np.array([fit.dof for fit in fits]))

    def is_slow(self, node: int) -> bool:
        """Whether the noise of a node looks at its residuals."""
        return self.scores.noise[node].needs_residuals

    def of_sets(self, node: int, sets: BoolArray, gaussian: bool = False) -> FloatArray:
        """Loss (m,) of one node on exactly each of ``sets`` (m, d) of parents; under normal noise, if asked."""
        models = offered(self.scores.models, JudgesParents)
        assert models is not None
        if self.is_slow(node) and not gaussian:
            return self.of_fits(node, [models.fit_parents(node, np.flatnonzero(each)) for each in sets])
        table = models.score_parents(node, sets)
        return self._nats(self.scores.fits.terms_of_scores(node, table), table[:, 1])

    def _nats(self, terms: FloatArray, dof: FloatArray) -> FloatArray:
        nats: FloatArray = self.n_rows * terms.sum(axis=1) + self._per_dof * dof
        if np.abs(nats).max(initial=0.0) > LARGEST:
            raise UnknownEvidenceError(
                f"a column loses {np.abs(nats).max():.0e} nats, of which floats cannot tell single ones. "
                "Standardize columns, or scale the loss, for a posterior."
            )
        return nats
