"""Weights have a sign wherever effects have one, and norms beside them."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from daguerreotype.edges import RegressorEdges
from daguerreotype.edges.additive import local_score
from support.learners import edge_of, make_learner

QUICK = {"scales": "none", "k": 10, "n_restarts": 0, "max_iter": 20}


def chain(n=400, seed=0):
    """a -> b -> c with a falling line and a parabola; noise that tells directions."""
    rng = np.random.default_rng(seed)
    a = rng.exponential(size=n)
    b = -2 * a + rng.exponential(size=n)
    standard = (b - b.mean()) / b.std()
    return pd.DataFrame({"c": standard**2 + 0.3 * rng.normal(size=n), "a": a, "b": b})


def fit_in_order(edges, X, order, **settings):
    return make_learner(edges=edges, operator="fixed", start=order, **(QUICK | settings)).fit(X)


def test_a_falling_effect_has_a_negative_weight_and_one_without_coefficients_a_norm_without_a_sign():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = np.column_stack([x, -2 * x + 1.5 * rng.normal(size=200)])
    correlation = np.corrcoef(X.T)[0, 1]
    assert correlation == pytest.approx(-0.8, abs=0.05)
    gradient = [] if find_spec("torch") is None else ["linear", "mlp"]
    regressor = RegressorEdges(LinearRegression(), random_state=0)
    for edges in ("gam", "bic", "lars", "lasso", *gradient, regressor):
        model = fit_in_order(edges, X, [0, 1])
        assert model.weights_[0, 1] == pytest.approx(correlation, abs=0.05)
        assert model.causal_graph_.edges[0, 1]["norm"] == pytest.approx(-correlation, abs=0.05)
        assert edge_of(model, 0, 1).slope == pytest.approx(-2, abs=0.2)
    forest = RegressorEdges(RandomForestRegressor(10, max_depth=3), random_state=0)
    model = fit_in_order(forest, X, [0, 1])
    assert model.weights_[0, 1] > 0.6
    np.testing.assert_array_equal(model.weights_, model._result.norms)


@pytest.mark.parametrize("edges", ["gam", "bic", "lars"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), flipped=st.sets(st.sampled_from("abc"), min_size=1))
def test_flipping_a_column_flips_the_weights_of_its_edges_and_nothing_else(edges, seed, flipped):
    X = chain(seed=seed)
    signs = pd.Series({name: -1.0 if name in flipped else 1.0 for name in X.columns})
    before, after = (fit_in_order(edges, table, ["a", "b", "c"]) for table in (X, X * signs))
    both = np.outer(signs, signs)
    pd.testing.assert_frame_equal(after.adjacency_matrix_, before.adjacency_matrix_)
    np.testing.assert_allclose(after.weights_, both * before.weights_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(after._result.slopes, both * before._result.slopes, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(after._result.norms, before._result.norms, rtol=1e-7)
    assert after.loss_ == pytest.approx(before.loss_, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("standardize", [True, False])
def test_norms_are_standard_deviations_of_what_causes_contribute(standardize, monkeypatch):
    monkeypatch.setattr(local_score, "MOST_COLUMNS", 0)  # no products, which are no part of curves
    X = chain()
    model = fit_in_order("gam", X, ["a", "b", "c"], standardize=standardize)
    for cause, effect in model.causal_graph_.edges:
        curve = model.curve(cause, effect, X[cause].to_numpy())
        assert model.causal_graph_.edges[cause, effect]["norm"] == pytest.approx(curve.std())
        slope = np.polyfit(X[cause], curve, 1)[0]
        unit = X[effect].std(ddof=0) if standardize else 1.0
        assert edge_of(model, cause, effect).slope == pytest.approx(slope * unit, abs=1e-9)


def test_slopes_after_a_change_of_scale_are_those_of_the_changed_columns():
    rng = np.random.default_rng(2)
    cause = 3 * rng.normal(size=1000)
    X = np.exp(np.column_stack([cause, -0.5 * cause + 0.5 * rng.normal(size=1000)]))
    model = fit_in_order("bic", X, [0, 1], scales="log")
    assert edge_of(model, 0, 1).slope == pytest.approx(-0.5, abs=0.05)
