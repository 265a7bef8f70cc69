"""Are masked values gaps, or refused, and never the data beneath the mask?"""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.data import Moments
from daguerreotype.graphs import to_cpdag
from daguerreotype.metrics import shd, var_sortability
from daguerreotype.operators import sparsemap, top_k_sparsemax
from support.fits import linear_data

QUICK = {"edges": "bic", "transform": "none", "k": 5, "max_iter": 10, "n_restarts": 0, "posterior": 0}
VALUES = linear_data(0, 60, 3)
MASK = np.random.default_rng(0).random(VALUES.shape) < 0.1
MASKED = np.ma.MaskedArray(np.where(MASK, 1e9, VALUES), MASK)
GAPS = np.where(MASK, np.nan, VALUES)
CHAIN = np.eye(3, k=1, dtype=int)


def model():
    return Daguerreotype(**QUICK)


@pytest.mark.parametrize(
    "ask",
    [
        lambda X: model().fit(X).loss_,
        lambda X: model().fit(GAPS).score(X),
        lambda X: model().fit(GAPS).impute(X).table,
        lambda X: model().fit_chunks([X[:30], X[30:]]).loss_,
        lambda X: model().bootstrap(X, 2).edge_frequencies,
    ],
    ids=["fit", "score", "impute", "fit_chunks", "bootstrap"],
)
def test_masked_values_are_gaps(ask):
    np.testing.assert_array_equal(ask(MASKED), ask(GAPS))


@pytest.mark.parametrize("like", [lambda X: X.astype(object), list], ids=["objects", "list of rows"])
def test_masked_rows_of_other_types_have_gaps_too(like):
    assert model().fit(like(MASKED)).missing_.counts == model().fit(GAPS).missing_.counts


def test_a_mask_of_nothing_changes_nothing():
    assert model().fit(np.ma.MaskedArray(VALUES)).loss_ == model().fit(VALUES).loss_


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: model().fit_moments(np.ma.MaskedArray(np.eye(3), CHAIN), 50), "covariance"),
        (lambda: model().fit_moments(np.eye(3), 50, means=np.ma.MaskedArray([0.0] * 3, CHAIN[0])), "means"),
        (lambda: model().fit(VALUES, interventions=np.ma.MaskedArray(MASK, MASK)), "interventions"),
        (lambda: shd(np.ma.MaskedArray(CHAIN, CHAIN), CHAIN), "the true graph"),
        (lambda: to_cpdag(np.ma.MaskedArray(CHAIN, CHAIN)), "the graph"),
        (lambda: top_k_sparsemax(np.ma.MaskedArray([0.0, 1.0], [1, 0])), "theta"),
        (lambda: sparsemap(np.ma.MaskedArray([0.0, 1.0], [1, 0])), "theta"),
        (lambda: var_sortability(MASKED, CHAIN), "X"),
    ],
    ids=["covariance", "means", "interventions", "metrics", "graphs", "sparsemax", "sparsemap", "sortability"],
)
def test_masked_values_are_refused_where_none_may_be_missing(ask, what):
    with pytest.raises(ValueError, match=f"{what} has masked entries, but none may be missing there"):
        ask()


def test_moments_refuse_masked_values():
    with pytest.raises(ValueError, match="NaN values in 'x0'"):
        Moments().update(MASKED)
