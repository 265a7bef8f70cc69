"""Penalties of parents."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges.penalty import Penalty
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel


def test_penalties_are_those_of_the_extended_bic_and_of_the_least_share_to_explain():
    for n, d in ((100, 2), (10_000, 50), (10**6, 50)):
        for penalty in (Penalty(min_gain=0.02), Penalty(2.0, 1.0, 0.05), Penalty(0.5, 0.0, 0.0)):
            bic = penalty.penalty * np.log(n) + 2 * penalty.gamma * np.log(d)
            assert penalty.per_dof(n) + penalty.per_parent(d) == pytest.approx(bic)
            assert penalty.least(n) == pytest.approx(-n * np.log(1 - penalty.min_gain))


@pytest.mark.parametrize("edges", ["gam", "bic"])
def test_an_edge_below_the_floor_is_left_out_however_many_rows_show_it(edges, rng):
    n = 20_000
    strong, weak = rng.normal(size=(2, n))
    partial = 0.1  # explains 1 %
    effect = strong + partial / np.sqrt(1 - partial**2) * weak + rng.normal(size=n)
    X = np.column_stack([strong, weak, effect])
    for min_gain, expected in ((0.0, [1, 1, 0]), (0.005, [1, 1, 0]), (0.02, [1, 0, 0])):
        model = Daguerreotype(edges=edges, min_gain=min_gain, scales="none", operator=FixedOrder([0, 1, 2])).fit(X)
        assert model.adjacency_matrix_[:, 2].tolist() == expected


def test_the_floor_holds_in_all_ways_to_fit(rng):
    x, y = rng.normal(size=(2, 5000))
    X = np.column_stack([x, y, 0.1 * x + y + rng.normal(size=5000)])
    covariance = np.cov(X.T)
    for min_gain, n_edges in ((0.0, 2), (0.02, 1)):
        model = Daguerreotype(edges="bic", min_gain=min_gain, scales="none", training=Bilevel(loss="bic"))
        assert model.fit(X).adjacency_matrix_.sum() == n_edges
        assert model.fit_chunks([X[:3000], X[3000:]]).adjacency_matrix_.sum() == n_edges
        assert model.fit_moments(covariance, 5000).adjacency_matrix_.sum() == n_edges


def test_the_floor_is_the_same_for_levels(rng):
    n = 4000
    cause = rng.normal(size=n)
    level = rng.random(n) < 1 / (1 + np.exp(-0.15 * cause))  # gains .0028 nats per row
    X = np.column_stack([cause, level])
    found = [
        Daguerreotype(min_gain=min_gain, operator=FixedOrder([0, 1])).fit(X).adjacency_matrix_.sum()
        for min_gain in (0.0, 0.002, 0.02)
    ]
    assert found == [1, 1, 0]


def test_the_floor_of_a_long_table_does_not_depend_on_how_many_residuals_are_looked_at(rng):
    n = 200_000  # of which noise of free shape looks at the first 65,536
    cause = rng.laplace(size=n)
    X = np.column_stack([cause + 3.0 * rng.laplace(size=n), cause])  # explains 10 %
    model = Daguerreotype(edges="bic", scales="none", training=Bilevel(loss="entropy")).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, [[0, 0], [1, 0]])
    assert model.loss_ < 0.0


def test_what_is_no_share_is_refused():
    for min_gain in (-0.1, 1.0, np.nan, "much"):
        with pytest.raises(ValueError, match="min_gain must be"):
            Daguerreotype(min_gain=min_gain).fit(np.eye(3))
