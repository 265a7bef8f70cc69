"""GOLEM's kernel against gcastle and scipy."""

import numpy as np
import pytest
import scipy.linalg

from daguerreotype import baselines
from daguerreotype.baselines.golem import descend, expm
from daguerreotype.baselines.quiet import load, quiet
from support.fits import linear_data


@pytest.mark.parametrize(("equal", "sparsity"), [(True, 0.02), (False, 0.002)])
def test_its_weights_are_those_of_gcastle_step_by_step(equal, sparsity):
    pytest.importorskip("castle")
    castle, torch = load("castle.algorithms"), load("torch")
    X = linear_data(2, 200, 5)
    X -= X.mean(axis=0)
    with quiet():
        torch.set_default_dtype(torch.float64)
        theirs = castle.GOLEM(equal_variances=equal, lambda_1=sparsity, num_iter=301)
        theirs.learn(X)  # reports the weights before the last of its steps
    ours, finite = descend(X.T @ X / len(X), np.zeros((5, 5)), equal, sparsity, 5.0, 1e-3, 300)
    assert finite
    assert np.abs(ours).max() > 0.1
    np.testing.assert_allclose(ours, theirs.weight_causal_matrix, atol=1e-6)


def test_unequal_variances_start_from_the_solution_of_equal_ones():
    X = linear_data(4, 100, 4)
    settings = {"max_iter": 1, "threshold": 0.0, "learning_rate": 0.01}
    first = baselines.get("golem-ev", **settings).fit(X).weights_
    second = baselines.get("golem-nv", **settings).fit(X).weights_
    assert np.abs(first[first != 0]) == pytest.approx(0.01)
    assert set(np.abs(second[second != 0]).round(6)) <= {0.01, 0.02}
    assert (np.abs(second) > 0.015).any()


def test_diverging_weights_are_an_error_with_advice():
    with pytest.raises(FloatingPointError, match=r"GolemEV diverged: .* Lower learning_rate, now 1e\+100"):
        baselines.get("golem-ev", learning_rate=1e100, max_iter=50).fit(linear_data(0, 50, 3))


def test_the_exponential_is_scipys(rng):
    for size in (0.0, 1e-6, 0.01, 0.3, 1.0, 5.0):
        matrix = size * rng.random((7, 7))
        np.testing.assert_allclose(expm(matrix), scipy.linalg.expm(matrix), rtol=1e-11)
