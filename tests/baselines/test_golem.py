"""GOLEM's kernel against gcastle, scipy and finite differences."""

import numpy as np
import pytest
import scipy.linalg

from daguerreotype import baselines
from daguerreotype.baselines.golem.descent import descend, expm
from daguerreotype.baselines.libraries import load, quiet
from support.fits import linear_data


def objective(weights, moments, equal, sparsity, acyclicity):
    d = len(weights)
    lean = np.eye(d) - weights
    left = np.diag(lean.T @ moments @ lean)
    likelihood = 0.5 * (d * np.log(left.sum()) if equal else np.log(left).sum()) - np.linalg.slogdet(lean)[1]
    cycles = np.trace(scipy.linalg.expm(weights**2)) - d
    return likelihood + sparsity * np.abs(weights).sum() + acyclicity * cycles


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


@pytest.mark.parametrize("equal", [True, False])
def test_the_first_step_goes_against_the_sign_of_the_gradient(equal, rng):
    moments = np.cov(linear_data(1, 100, 4).T)
    start = rng.uniform(0.1, 0.3, size=(4, 4)) * (1 - np.eye(4))
    after, _ = descend(moments, start, equal, 0.02, 5.0, 1e-3, 1)
    for i, j in np.argwhere(start):
        shift = np.zeros((4, 4))
        shift[i, j] = 1e-6
        slope = objective(start + shift, moments, equal, 0.02, 5.0) - objective(
            start - shift, moments, equal, 0.02, 5.0
        )
        # Adam's first step has the length of its rate
        assert after[i, j] - start[i, j] == pytest.approx(-1e-3 * np.sign(slope), rel=1e-3)
    assert (np.diag(after) == 0).all()


@pytest.mark.parametrize("size", [0.0, 1e-6, 0.01, 0.3, 1.0, 5.0])
def test_the_exponential_is_scipys(size, rng):
    matrix = size * rng.random((7, 7))
    np.testing.assert_allclose(expm(matrix), scipy.linalg.expm(matrix), rtol=1e-11)


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


def test_weights_too_large_to_square_end_the_descent():
    weights, finite = descend(1e-300 * np.eye(2), np.array([[0.0, 1e200], [1.0, 0.0]]), True, 0.0, 5.0, 1.0, 5)
    assert not finite
    assert weights.shape == (2, 2)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("lambda1", -1.0, "lambda1 must be at least 0, got -1"),
        ("lambda2", np.nan, "lambda2 must be a finite number"),
        ("learning_rate", 0.0, "learning_rate must be above 0"),
        ("max_iter", 0, "max_iter must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(setting, value, message):
    with pytest.raises(ValueError, match=message):
        baselines.get("golem-ev", **{setting: value}).fit(linear_data(0, 50, 3))
