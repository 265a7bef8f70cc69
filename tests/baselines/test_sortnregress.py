"""Sorting and regressing gives what CausalDisco gives, and what its definition says."""

import numpy as np
import pytest

from daguerreotype import baselines
from support.fits import linear_data


def test_both_equal_causal_disco():
    disco = pytest.importorskip("CausalDisco.baselines")
    X = linear_data(0, 150, 7)
    X -= X.mean(axis=0)
    raw = baselines.get("sortnregress").fit(X)
    np.testing.assert_allclose(raw.weights_, disco.var_sort_regress(X), atol=1e-8)
    np.testing.assert_array_equal(raw.causal_order_, np.argsort(X.var(axis=0)))
    by_r2 = baselines.get("r2-sortnregress", standardize=False).fit(X)
    np.testing.assert_allclose(by_r2.weights_, disco.r2_sort_regress(X), atol=1e-8)


def test_fewer_rows_than_columns_are_enough(rng):
    X = rng.normal(size=(5, 9))
    for name in ("sortnregress", "r2-sortnregress", "random"):
        assert sorted(baselines.get(name).fit(X).causal_order_) == list(range(9))


@pytest.mark.parametrize("name", ["random", "sortnregress"])
def test_the_order_of_equal_scales_is_drawn_by_the_random_state(name):
    X = linear_data(2, 80, 5)
    orders = {tuple(baselines.get(name, standardize=True, random_state=s).fit(X).causal_order_) for s in range(20)}
    assert len(orders) > 10
