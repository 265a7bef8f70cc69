from itertools import product
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.operators import k_best_rankings, top_k_sparsemax
from daguerreotype.operators.sparsemax import project_simplex
from support.rankings import all_rankings, dense_sparsemax


def by_ranking(distribution):
    return {tuple(row): prob for row, prob in zip(distribution.ranks.tolist(), distribution.probs, strict=True)}


def test_with_all_rankings_it_equals_the_dense_sparsemax(rng):
    for d, tau in product((1, 2, 4, 6), (0.05, 0.5, 1.0, 5.0, 100.0)):
        theta = rng.normal(size=d)
        rankings = all_rankings(d)
        dense = dense_sparsemax((rankings + 1) @ theta / tau)
        sparse = by_ranking(top_k_sparsemax(theta, factorial(d), tau=tau))
        for row, prob in zip(rankings.tolist(), dense, strict=True):
            assert sparse.get(tuple(row), 0.0) == pytest.approx(prob, abs=1e-10)


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_with_k_rankings_it_equals_the_dense_sparsemax_over_the_k_best(k, rng):
    theta = 0.1 * rng.normal(size=6)
    ranks, scores = k_best_rankings(theta, k)
    probs = dense_sparsemax(scores)
    expected = {tuple(row): prob for row, prob in zip(ranks.tolist(), probs, strict=True) if prob > 0}
    assert by_ranking(top_k_sparsemax(theta, k)) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_the_simplex_projection_equals_the_textbook_algorithm(values):
    scores = np.sort(values)[::-1].copy()
    np.testing.assert_allclose(project_simplex(scores), dense_sparsemax(scores), atol=1e-12)


def test_vjp_equals_the_dense_formula(rng):
    for d, scale in product((2, 5, 15, 40), (0.01, 0.3, 1.0)):
        distribution = top_k_sparsemax(scale * rng.normal(size=d), 60, tau=2.0)
        gradient = rng.normal(size=len(distribution))
        dense = (gradient - gradient.mean()) / 2.0 @ (distribution.ranks + 1)
        np.testing.assert_allclose(distribution.vjp(gradient), dense, atol=1e-12)


def test_a_temperature_that_is_not_positive_is_refused():
    for tau in (0.0, -1.0, np.nan, np.inf, "warm"):
        with pytest.raises(ValueError, match="tau must be"):
            top_k_sparsemax([0.0, 1.0], 2, tau=tau)


def test_a_gradient_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"one entry per ranking, shape \(2,\), got \(3,\)"):
        top_k_sparsemax([0.0, 0.5], 2).vjp([1.0, 2.0, 3.0])
