"""Tables of few rows: hardly any edge in noise, strong ones still found, and a word about it."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges.penalty import Penalty
from daguerreotype.training.few_rows import FEW, penalty_of_few, tell_few_rows
from support.learners import make_learner


@pytest.fixture
def told(caplog):
    tell_few_rows.cache_clear()
    return caplog


def edges_of(X, **settings):
    return np.argwhere(np.asarray(make_learner(posterior=0, **settings).fit(X).adjacency_matrix_))


def test_noise_of_few_rows_has_hardly_an_edge():
    for n, d in ((8, 40), (12, 40), (30, 20)):
        counts = [len(edges_of(np.random.default_rng(seed).normal(size=(n, d)))) for seed in range(3)]
        assert np.mean(counts) <= 1


def test_strong_edges_of_a_small_table_are_found(rng):
    X = rng.normal(size=(20, 5))
    X[:, 2] += 2 * X[:, 0]
    X[:, 4] -= 2 * X[:, 1]
    assert sorted(map(sorted, edges_of(X).tolist())) == [[0, 2], [1, 4]]


def test_the_penalty_of_few_rows_is_passed_by_noise_as_seldom_as_that_of_enough(rng):
    n, d = 12, 30
    price = penalty_of_few(Penalty(gamma=1.0), n, d)
    pairs = rng.normal(size=(200_000, 2, n))
    pairs -= pairs.mean(axis=2, keepdims=True)
    r2 = np.sum(pairs[:, 0] * pairs[:, 1], axis=1) ** 2 / np.prod(np.sum(pairs**2, axis=2), axis=1)
    passed = np.mean(-n * np.log1p(-r2) > price.per_dof(n) + price.per_parent(d))
    expected = 7.2e-4  # the tail of chi squared at log(100) + 2 log(30)
    assert passed == pytest.approx(expected, rel=0.35)


def test_the_user_is_told_once_and_how_to_learn_all_the_same(told, rng):
    X = rng.normal(size=(15, 4))
    for _ in range(2):
        Daguerreotype(posterior=0).fit(X)
    assert told.text.count("the table has 15 rows, fewer than 50") == 1
    assert "at most 1 cause, " in told.text
    assert "Set penalty" in told.text


def test_tables_of_enough_rows_and_a_price_of_ones_own_are_left_alone(told, rng):
    Daguerreotype(posterior=0).fit(rng.normal(size=(FEW, 3)))
    Daguerreotype(posterior=0, penalty=1).fit(rng.normal(size=(20, 3)))
    assert not told.records


def test_required_edges_stay_even_if_they_are_more_than_few_rows_allow(rng):
    X = rng.normal(size=(12, 4))
    found = edges_of(X, knowledge={"required": [(0, 3), (1, 3), (2, 3)]})
    assert found.tolist() == [[0, 3], [1, 3], [2, 3]]
