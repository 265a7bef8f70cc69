"""Additive regressions from second moments: the same numbers as least squares on the explicit basis."""

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from sklearn.preprocessing import SplineTransformer

from daguerreotype.baselines.additive import p_values, prune, spline_curves


def centred(X):
    return X - X.mean(axis=0)


def additive_table(rng, n=300):
    cause, other, noise = rng.normal(size=n), rng.gamma(2.0, size=n), rng.normal(size=n)
    return centred(np.column_stack([cause, other, np.sin(2 * cause) + 0.1 * other + noise, rng.normal(size=n)]))


def splines(X, n_basis=10):
    """Bases of every column, by another library; a list of (n, n_basis)."""
    made = SplineTransformer(n_knots=n_basis - 2, degree=3, knots="quantile")
    return [made.fit_transform(column[:, None]) for column in X.T]


def residual(bases, response, parents):
    """Sum of squares, and number of independent columns beside the constant."""
    design = np.column_stack([np.ones(response.size), *(bases[i] for i in parents)])
    beta, _, rank, _ = np.linalg.lstsq(design, response, rcond=1e-7)
    return np.sum((response - design @ beta) ** 2), rank - 1


def f_test(X, node, parents, n_basis=10):
    bases, n = splines(X, n_basis), len(X)
    rss, rank = residual(bases, X[:, node], parents)
    expected = []
    for parent in parents:
        without, lower = residual(bases, X[:, node], [i for i in parents if i != parent])
        dof, free = rank - lower, n - 1 - rank
        expected.append(f_distribution.sf((without - rss) / dof / (rss / free), dof, free) if dof else 1.0)
    return np.array(expected)


def test_the_smoothest_bend_has_the_least_integrated_squared_second_derivative(rng):
    X = centred(rng.uniform(-1, 1, size=(2000, 2)))
    values = X[:, :1] / X[:, :1].std()
    made = SplineTransformer(n_knots=8, degree=3, knots="quantile").fit(values)
    points = np.linspace(values.min(), values.max(), 4001)
    second = np.gradient(np.gradient(made.transform(points[:, None]), points, axis=0), points, axis=0)
    penalty = np.trapezoid(second[:, :, None] * second[:, None, :], points, axis=0)
    lines = np.column_stack([np.ones(2000), values])
    basis = made.transform(values)
    bends = basis - lines @ np.linalg.lstsq(lines, basis, rcond=None)[0]
    sizes, directions = np.linalg.eigh(bends.T @ bends / 2000)
    whitened = directions[:, sizes > 1e-9] / np.sqrt(sizes[sizes > 1e-9])
    least = np.linalg.eigvalsh(whitened.T @ penalty @ whitened)[0]
    np.testing.assert_allclose(spline_curves(X, 10, 1).roughness[0, 1], least, rtol=0.01)


@pytest.mark.parametrize("n_basis", [4, 10])
def test_p_values_are_those_of_the_f_test_by_least_squares(rng, n_basis):
    X = additive_table(rng)
    p = p_values(spline_curves(X, n_basis, 3), 2, np.array([0, 1, 3]))
    np.testing.assert_allclose(p, f_test(X, 2, [0, 1, 3], n_basis), rtol=1e-6)
    assert p[0] < 1e-6 < 1e-3 < p[2]


def test_p_values_of_dependent_columns_count_independent_ones(rng):
    first, second = rng.integers(0, 3, size=(2, 200)).astype(float)
    # the third is a sum of curves of the first two
    X = np.column_stack([first, second, first**2 + second / 10, (first > 1) + rng.normal(size=200)])
    curves, parents = spline_curves(centred(X), 10, 3), np.array([0, 1, 2])
    _, rank = residual(splines(X), X[:, 3], parents)
    assert rank < curves.columns(parents).size
    np.testing.assert_allclose(p_values(curves, 3, parents), f_test(X, 3, parents), rtol=1e-6)


def test_nothing_is_significant_without_degrees_of_freedom(rng):
    X = centred(rng.normal(size=(5, 6)))
    curves = spline_curves(X, 10, 1)
    assert (p_values(curves, 5, np.arange(5)) == 1).all()


def test_few_rows_lower_the_number_of_basis_functions(rng):
    X = centred(rng.normal(size=(60, 6)))
    assert [spline_curves(X, 10, p).stride for p in (1, 5, 6, 10, 11, 59)] == [9, 6, 5, 3, 1, 1]


def test_pruning_keeps_what_the_test_finds_and_weighs_curves_by_their_standard_deviation(rng):
    X = additive_table(rng)
    graph = np.zeros((4, 4), dtype=bool)
    graph[[0, 3], 2] = True
    kept, weights = prune(spline_curves(X, 10, 3), graph, 0.001)
    assert np.argwhere(kept).tolist() == [[0, 2]]
    design = splines(X)[0]
    curve = design @ np.linalg.lstsq(design, X[:, 2], rcond=None)[0]
    np.testing.assert_allclose(weights[0, 2], curve.std(), rtol=1e-8)
    assert np.count_nonzero(weights) == 1
