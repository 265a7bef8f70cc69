"""Sorting and regressing gives what CausalDisco gives, and what its definition says."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from daguerreotype import baselines
from daguerreotype.baselines.sortnregress import r2_of_columns, regress_along
from support.fits import linear_data


@pytest.mark.parametrize("seed", range(3))
def test_both_equal_causal_disco(seed):
    disco = pytest.importorskip("CausalDisco.baselines")
    X = linear_data(seed, 150, 7)
    X -= X.mean(axis=0)
    raw = baselines.get("sortnregress").fit(X)
    np.testing.assert_allclose(raw.weights_, disco.var_sort_regress(X), atol=1e-8)
    np.testing.assert_array_equal(raw.causal_order_, np.argsort(X.var(axis=0)))
    by_r2 = baselines.get("r2-sortnregress", standardize=False).fit(X)
    np.testing.assert_allclose(by_r2.weights_, disco.r2_sort_regress(X), atol=1e-8)


def test_any_order_is_regressed_along_as_causal_disco_does(rng):
    disco = pytest.importorskip("CausalDisco.baselines")
    X = linear_data(5, 150, 6)
    X -= X.mean(axis=0)
    scores = rng.normal(size=6)
    learned = regress_along(X, np.argsort(scores))
    np.testing.assert_allclose(learned.weights, disco.sort_regress(X, scores), atol=1e-8)


def test_r2_is_that_of_least_squares_on_all_others():
    X = linear_data(1, 60, 5)
    X -= X.mean(axis=0)
    expected = [
        LinearRegression().fit(np.delete(X, j, axis=1), X[:, j]).score(np.delete(X, j, axis=1), X[:, j])
        for j in range(5)
    ]
    np.testing.assert_allclose(r2_of_columns(X), expected, atol=1e-10)


def test_fewer_rows_than_columns_are_enough(rng):
    X = rng.normal(size=(5, 9))
    for name in ("sortnregress", "r2-sortnregress", "random"):
        assert sorted(baselines.get(name).fit(X).causal_order_) == list(range(9))


@pytest.mark.parametrize("name", ["random", "sortnregress"])
def test_the_order_of_equal_scales_is_drawn_by_the_random_state(name):
    X = linear_data(2, 80, 5)
    orders = {tuple(baselines.get(name, standardize=True, random_state=s).fit(X).causal_order_) for s in range(20)}
    assert len(orders) > 10
