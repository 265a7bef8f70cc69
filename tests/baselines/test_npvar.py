"""NPVAR: the order of explicit refits, and graphs with equal noise variances."""

import numpy as np
import pytest
from sklearn.preprocessing import SplineTransformer

from daguerreotype.baselines.npvar import NPVAR
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
        remaining = {}
        for j in set(range(d)) - set(order):
            beta = np.linalg.lstsq(design, X[:, j], rcond=1e-7)[0]
            remaining[j] = np.mean((X[:, j] - design @ beta) ** 2)
        order.append(min(remaining, key=remaining.get))
    return order


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_refits(seed, rng):
    X = equal_noise(seed, n=300)[1] * rng.uniform(0.5, 1.5, size=10)
    assert list(NPVAR(standardize=False).fit(X).causal_order_) == order_by_refits(X)


def test_graphs_with_equal_noise_variances_are_recovered():
    distances = [
        shd(truth, NPVAR(standardize=False).fit(X).adjacency_matrix_) for truth, X in map(equal_noise, range(3))
    ]
    assert np.mean(distances) <= 1.0


def test_the_first_of_standardized_columns_is_drawn():
    X = equal_noise(0, n=200)[1]
    assert len({int(NPVAR(random_state=seed).fit(X).causal_order_[0]) for seed in range(10)}) > 2
