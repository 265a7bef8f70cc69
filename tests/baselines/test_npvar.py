"""NPVAR: the order of explicit refits, layers, and graphs with equal noise variances."""

import numpy as np
import pytest
from sklearn.preprocessing import SplineTransformer

from daguerreotype.baselines.additive import spline_curves
from daguerreotype.baselines.npvar import NPVAR, find_layers
from daguerreotype.graphs import find_cycle
from daguerreotype.metrics import shd
from daguerreotype.simulate import simulate_dag, simulate_data


def equal_noise(seed, d=10, n=1000):
    truth = simulate_dag(d, 2 * d, random_state=seed)
    return truth, simulate_data(truth, n, mechanism="gp-add", random_state=seed).X


def order_by_refits(X):
    """One node at a time, every variance from a regression on the explicit basis."""
    n, d = X.shape
    bases = [SplineTransformer(n_knots=8, degree=3, knots="quantile").fit_transform(x[:, None]) for x in X.T]
    order = []
    while len(order) < d:
        design = np.column_stack([np.ones(n), *(bases[i] for i in order)])
        left = {}
        for j in set(range(d)) - set(order):
            beta = np.linalg.lstsq(design, X[:, j], rcond=1e-7)[0]
            left[j] = np.mean((X[:, j] - design @ beta) ** 2)
        order.append(min(left, key=left.get))
    return order


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_refits(seed, rng):
    X = equal_noise(seed, n=300)[1] * rng.uniform(0.5, 1.5, size=10)
    found = NPVAR(standardize=False).fit(X).causal_order_
    assert list(found) == order_by_refits(X)


def test_graphs_with_equal_noise_variances_are_recovered():
    distances = [
        shd(truth, NPVAR(standardize=False).fit(X).adjacency_matrix_) for truth, X in map(equal_noise, range(3))
    ]
    assert np.mean(distances) <= 1.0


def fork(rng, n=2000):
    cause = rng.normal(size=n)
    effects = 2 * np.cos(cause)[:, None] + rng.normal(size=(n, 3))
    return np.column_stack(
        [effects, cause, 2 * np.sin(effects[:, 0]) + 2 * np.cos(effects[:, 1]) + rng.normal(size=n)]
    )


@pytest.mark.parametrize("eta", [0.3, "adaptive"])
def test_layers_are_the_topological_generations(rng, eta):
    model = NPVAR(eta=eta, standardize=False).fit(fork(rng))
    assert model.causal_order_[0] == 3
    assert set(model.causal_order_[1:4]) == {0, 1, 2}
    assert np.argwhere(model.adjacency_matrix_).tolist() == [[0, 4], [1, 4], [3, 0], [3, 1], [3, 2]]


def test_a_layer_holds_what_is_within_eta_of_the_least_variance(rng):
    X = rng.normal(size=(500, 4)) * [1.0, 1.5, 1.1, 3.0]
    X -= X.mean(axis=0)
    layers = find_layers(spline_curves(X, 10, 3), rng, eta=0.5)
    assert [layer.tolist() for layer in layers] == [[0, 2], [1], [3]]


def test_a_wide_eta_leaves_no_edges(rng):
    assert not NPVAR(eta=100.0).fit(fork(rng)).adjacency_matrix_.any()


def test_the_first_of_standardized_columns_is_drawn_and_the_same_seed_draws_the_same(rng):
    X = fork(rng, n=200)
    firsts = [int(NPVAR(random_state=seed).fit(X).causal_order_[0]) for seed in range(20)]
    assert len(set(firsts)) > 2
    assert firsts[:5] == [int(NPVAR(random_state=seed).fit(X).causal_order_[0]) for seed in range(5)]


def test_the_graph_does_not_depend_on_the_order_of_columns(rng):
    _, X = equal_noise(1, n=300)
    found = NPVAR(standardize=False).fit(X).adjacency_matrix_
    permuted = rng.permutation(10)
    again = NPVAR(standardize=False).fit(X[:, permuted]).adjacency_matrix_
    assert found.any()
    np.testing.assert_array_equal(again, found[np.ix_(permuted, permuted)])


@pytest.mark.parametrize("eta", [0.0, "adaptive"])
@pytest.mark.parametrize("shape", [(3, 2), (5, 4), (10, 12), (30, 3)])
def test_small_tables_give_a_graph_too(rng, shape, eta):
    assert find_cycle(NPVAR(eta=eta).fit(rng.normal(size=shape)).adjacency_matrix_ != 0) is None


def test_a_column_that_is_constant_in_one_half_does_not_stop_the_choice_of_eta(rng):
    X = np.column_stack([rng.normal(size=(60, 2)), np.eye(60)[7]])
    assert len(NPVAR(eta="adaptive", standardize=False).fit(X).causal_order_) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_basis": 2.5}, "n_basis must be a whole number of at least 4, got 2.5"),
        ({"eta": -1.0}, "eta must be at least 0, got -1.0"),
        ({"eta": "auto"}, "eta is 'auto': give a number from 0 on, or 'adaptive'"),
        ({"alpha": 2.0}, "alpha is 2.0: give a significance level between 0 and 1, or None to keep all edges"),
    ],
)
def test_settings_out_of_range_are_refused(rng, settings, message):
    with pytest.raises(ValueError, match=message):
        NPVAR(**settings).fit(rng.normal(size=(50, 3)))
