"""CAM: the greedy search and the boosting of explicit refits, and graphs that it is made for."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import brentq
from sklearn.preprocessing import SplineTransformer

from daguerreotype.baselines.additive import spline_curves
from daguerreotype.baselines.cam import CAM, add_edges, select_neighbours
from daguerreotype.baselines.npvar import NPVAR
from daguerreotype.graphs import find_cycle
from daguerreotype.metrics import shd, sid
from daguerreotype.simulate import simulate_dag, simulate_data


def additive_data(seed, d=6, n=300, edges=None):
    truth = simulate_dag(d, edges or d, random_state=seed)
    X = simulate_data(truth, n, mechanism="gp-add", standardize=True, random_state=seed).X
    return truth, X


def greedy_by_refits(X, candidates, max_parents):
    """Every candidate edge of every step scored by a regression on the explicit basis."""
    n, d = X.shape
    bases = [SplineTransformer(n_knots=8, degree=3, knots="quantile").fit_transform(x[:, None]) for x in X.T]

    def log_variance(node, parents):
        design = np.column_stack([np.ones(n), *(bases[i] for i in parents)])
        beta = np.linalg.lstsq(design, X[:, node], rcond=1e-7)[0]
        return np.log(np.mean((X[:, node] - design @ beta) ** 2))

    graph = np.zeros((d, d), dtype=bool)
    while True:
        best, edge = -np.inf, None
        for cause, effect in np.argwhere(candidates & ~graph):
            parents = np.flatnonzero(graph[:, effect])
            more = graph.copy()
            more[cause, effect] = True
            if parents.size < max_parents and find_cycle(more) is None:
                gain = log_variance(effect, parents) - log_variance(effect, [*parents, cause])
                if gain > best:
                    best, edge = gain, (cause, effect)
        if edge is None:
            return graph
        graph[edge] = True


@pytest.mark.parametrize("seed", range(2))
def test_the_greedy_search_adds_the_edges_that_refits_would_add(seed):
    _, X = additive_data(seed)
    candidates = np.random.default_rng(seed).random((6, 6)) < (0.6, 1.0)[seed]
    np.fill_diagonal(candidates, False)
    graph = add_edges(spline_curves(X, 10, 5), candidates, 3 + seed)
    np.testing.assert_array_equal(graph, greedy_by_refits(X, candidates, 3 + seed))


def boost_by_rows(X, node, most):
    """Component-wise boosting with smoothing splines as matrices on the rows."""
    n, d = X.shape
    smoothers = {}
    for i in set(range(d)) - {node}:
        x = X[:, i]
        breaks = np.quantile(x, np.linspace(0, 1, 8))
        knots = np.concatenate([[breaks[0]] * 3, breaks, [breaks[-1]] * 3])
        splines = BSpline(knots, np.eye(10), 3)
        design, grid = splines(x), np.linspace(x.min(), x.max(), 20001)
        second = splines(grid, 2)
        penalty = np.einsum("ga,gb->ab", second, second) * (grid[1] - grid[0])

        def smoother(log_penalty, design=design, penalty=penalty):
            return design @ np.linalg.solve(design.T @ design / n + np.exp(log_penalty) * penalty, design.T / n)

        def surplus(log_penalty, smoother=smoother):
            S = smoother(log_penalty)
            return np.trace(2 * S - S.T @ S) - 4.0

        smoothers[i] = smoother(brentq(surplus, -20, 10))
    residuals, taken = X[:, node] - X[:, node].mean(), np.zeros(d)
    for _ in range(100):
        fits = {i: S @ residuals for i, S in smoothers.items()}
        best = min(fits, key=lambda i: np.sum((residuals - fits[i]) ** 2))
        taken[best] += 1
        residuals = residuals - 0.1 * fits[best]
    often = [int(i) for i in np.argsort(-taken, kind="stable") if taken[i] >= 2]
    return taken, often[:most]


def test_neighbours_are_those_of_boosting_on_the_rows():
    _, X = additive_data(0, d=5, n=150)
    for most in (2, 10):
        chosen = select_neighbours(spline_curves(X, 10, 4), most)
        for node in range(5):
            taken, expected = boost_by_rows(X, node, most)
            neighbours = np.flatnonzero(chosen[:, node])
            # the counts decide; which of two equal ones is kept does not matter here
            assert sorted(taken[neighbours]) == sorted(taken[expected])
            assert node not in neighbours


def test_smooth_additive_data_are_recovered():
    distances = []
    for seed in range(3):
        truth, X = additive_data(seed, d=10, n=1000, edges=15)
        adjacency = CAM(neighbours=None).fit(X).adjacency_matrix_
        distances.append((shd(truth, adjacency), sid(truth, adjacency)))
    assert np.mean(distances, axis=0).max() <= 1.0


def test_the_graph_does_not_depend_on_the_order_or_scale_of_columns(rng):
    _, X = additive_data(3)
    adjacency = CAM().fit(X).adjacency_matrix_
    permuted = rng.permutation(6)
    again = CAM(standardize=False).fit(X[:, permuted] * rng.uniform(0.1, 10, size=6)).adjacency_matrix_
    assert adjacency.any()
    np.testing.assert_array_equal(again, adjacency[np.ix_(permuted, permuted)])


def test_without_neighbours_and_pruning_every_pair_has_an_edge_along_the_order():
    _, X = additive_data(1)
    model = CAM(neighbours=None, alpha=None).fit(X)
    place = np.argsort(model.causal_order_)
    np.testing.assert_array_equal(model.adjacency_matrix_, place[:, None] < place)


def test_no_node_has_more_than_one_parent_for_twenty_rows(rng):
    X = rng.normal(size=(60, 8))
    assert CAM(neighbours=None, alpha=None).fit(X).adjacency_matrix_.sum(axis=0).max() == 3


def test_small_tables_give_a_graph_too(rng):
    for shape in [(3, 2), (5, 4), (10, 12), (30, 3)]:
        for method in (CAM, NPVAR):
            assert find_cycle(method().fit(rng.normal(size=shape)).adjacency_matrix_ != 0) is None
