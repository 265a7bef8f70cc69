"""Prices of parents."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges import GamEdges
from daguerreotype.edges.price import Price
from support.fits import standard_table


@pytest.mark.parametrize("n", [100, 10_000, 10**6])
@pytest.mark.parametrize("d", [2, 50])
def test_prices_are_those_of_the_extended_bic_and_of_the_least_share_to_explain(n, d):
    for price in (Price(min_gain=0.02), Price(2.0, 1.0, 0.05), Price(0.5, 0.0, 0.0)):
        assert price.per_dof(n) + price.per_parent(d) == pytest.approx(
            price.penalty * np.log(n) + 2 * price.gamma * np.log(d)
        )
        assert price.least(n) == pytest.approx(-n * np.log(1 - price.min_gain))


@pytest.mark.parametrize("edges", ["gam", "bic"])
def test_an_edge_below_the_floor_is_left_out_however_many_rows_show_it(edges, rng):
    n = 20_000
    strong, weak = rng.normal(size=(2, n))
    partial = 0.1  # explains 1 %
    effect = strong + partial / np.sqrt(1 - partial**2) * weak + rng.normal(size=n)
    X = np.column_stack([strong, weak, effect])
    for min_gain, expected in ((0.0, [1, 1, 0]), (0.005, [1, 1, 0]), (0.02, [1, 0, 0])):
        model = Daguerreotype("fixed", edges, init=[0, 1, 2], min_gain=min_gain, transform="none").fit(X)
        assert model.adjacency_matrix_[:, 2].tolist() == expected


def test_the_floor_holds_in_all_ways_to_fit(rng):
    x, y = rng.normal(size=(2, 5000))
    X = np.column_stack([x, y, 0.1 * x + y + rng.normal(size=5000)])
    covariance = np.cov(X.T)
    for min_gain, n_edges in ((0.0, 2), (0.02, 1)):
        model = Daguerreotype(edges="bic", min_gain=min_gain, transform="none", loss="bic")
        assert model.fit(X).adjacency_matrix_.sum() == n_edges
        assert model.fit_chunks([X[:3000], X[3000:]]).adjacency_matrix_.sum() == n_edges
        assert model.fit_moments(covariance, 5000).adjacency_matrix_.sum() == n_edges


def test_the_floor_is_the_same_for_levels(rng):
    n = 4000
    cause = rng.normal(size=n)
    level = rng.random(n) < 1 / (1 + np.exp(-0.15 * cause))  # gains .0028 nats per row
    X = np.column_stack([cause, level])
    found = [
        Daguerreotype("fixed", init=[0, 1], min_gain=min_gain).fit(X).adjacency_matrix_.sum()
        for min_gain in (0.0, 0.002, 0.02)
    ]
    assert found == [1, 1, 0]


def test_the_floor_of_a_long_table_does_not_depend_on_how_many_residuals_are_looked_at(rng):
    n = 200_000  # of which noise of free shape looks at the first 65,536
    cause = rng.laplace(size=n)
    X = np.column_stack([cause + 3.0 * rng.laplace(size=n), cause])  # explains 10 %
    model = Daguerreotype(edges="bic", loss="entropy", transform="none").fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, [[0, 0], [1, 0]])
    assert model.loss_ < 0.0


@pytest.mark.parametrize("min_gain", [-0.1, 1.0, np.nan, "much"])
def test_what_is_no_share_is_refused(min_gain, rng):
    with pytest.raises(ValueError, match="min_gain must be"):
        Daguerreotype(min_gain=min_gain).fit(rng.normal(size=(50, 2)))


def test_lines_cost_more_where_edges_bend(rng):
    n = 400
    a, b = rng.normal(size=(2, n))
    X = np.column_stack([a, b, np.sin(2 * a) + 0.11 * b + 0.5 * rng.normal(size=n)])
    table = standard_table(X)
    cheap = GamEdges().prepare(table).fit(2, np.array([0, 1]))
    dear = GamEdges(bent_share=1.0).prepare(table).fit(2, np.array([0, 1]))
    assert cheap.parents.tolist() == [0, 1]
    assert dear.parents.tolist() == [0]


def test_the_price_of_lines_is_learned_from_the_edges_that_bend(rng):
    a, b, c = rng.normal(size=(3, 600))
    X = np.column_stack([a, b, c, np.sin(2 * a) + np.cos(2 * b) + c + 0.3 * rng.normal(size=600)])
    model = Daguerreotype(edges=GamEdges(gamma=1.0, bent_share="auto"), transform="none", loss="bic").fit(X)
    assert model.adjacency_matrix_[:, 3].tolist() == [1, 1, 1, 0]
    models = model._result.best.training.models
    assert models.bent_share == pytest.approx(2 / 3)
    assert models.share_of_bends(model._result.best.training.fits) == pytest.approx(2 / 3)
    told = Daguerreotype(edges=GamEdges(gamma=1.0), transform="none", loss="bic").fit(X)
    assert told._result.best.training.models.bent_share == 0.0
