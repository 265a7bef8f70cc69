"""Combinators of accumulators take in what their parts would, and hand on the numbers of chunks."""

import numpy as np
import pytest

from daguerreotype.data import Moments, quantiles
from daguerreotype.data.accumulators import ROWS, Both, Mapped
from daguerreotype.data.quantiles import OrderStatistics, QuantileSketch


def squares(values):
    return values**2


def test_features_are_taken_in_in_place_of_rows(rng):
    X = rng.normal(size=(2 * ROWS + 5, 2))
    found = Mapped(squares, Moments()).update(X[:100]).merge(Mapped(squares, Moments()).update(X[100:]))
    assert np.array_equal(found.inner.covariance, Moments().update(X**2).covariance)
    assert found.n_rows == len(X)


def test_two_take_in_the_same_rows(rng, monkeypatch):
    monkeypatch.setattr(quantiles, "SIZE", 64)
    X = rng.normal(size=(300, 2))
    found = Both(Moments(), QuantileSketch()).update(X[:100])
    found.merge(Both(Moments(), QuantileSketch()).update(X[100:]))
    assert found.n_rows == found.first.n_rows == found.second.n_rows == 300
    assert np.array_equal(found.first.mean, Moments().update(X).mean)


def test_order_statistics_count_their_rows(rng):
    X, ranks = rng.normal(size=(30, 2)), np.array([3])
    ends = np.full((1, 2), -9.0), np.full((1, 2), 9.0)
    found = OrderStatistics(ranks, *ends).update(X[:10]).merge(OrderStatistics(ranks, *ends).update(X[10:]))
    assert found.n_rows == 30
    assert np.array_equal(found.values, np.sort(X, axis=0)[ranks])


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: Mapped(squares, x), lambda x: Both(x, QuantileSketch())])
def test_trouble_is_named_with_the_number_of_the_chunk(wrap, rng):
    X = rng.normal(size=(2 * ROWS, 2))
    X[-1, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN values in 'x1'; the first is in row \d+ of chunk 8"):
        wrap(Moments()).update(X, 7)
