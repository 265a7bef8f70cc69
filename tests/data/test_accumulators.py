"""Combinators of accumulators take in what their parts would, and hand on the numbers of chunks."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype.data import Moments, quantiles
from daguerreotype.data.quantiles import QuantileSketch
from daguerreotype.data.streams import FEATURE_ROWS, Both, CompleteRows, CompleteSource, Mapped, read_source


def squares(values):
    return values**2


def test_features_are_taken_in_in_place_of_rows(rng):
    X = rng.normal(size=(2 * FEATURE_ROWS + 5, 2))
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


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: Mapped(squares, x), lambda x: Both(x, QuantileSketch())])
def test_trouble_is_named_with_the_number_of_the_chunk(wrap, rng):
    X = rng.normal(size=(2 * FEATURE_ROWS, 2))
    X[-1, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN values in 'x1'; the first is in row \d+ of chunk 8"):
        wrap(Moments()).update(X, 7)


def test_a_source_can_leave_out_rows_with_missing_values_and_counts_them():
    values = np.random.default_rng(0).normal(size=(300, 3))
    values[np.random.default_rng(1).random(values.shape) < 0.2] = np.nan
    complete = ~np.isnan(values).any(axis=1)
    found = []
    for names in (None, ["a", "b", "c"]):
        chunks = [
            part if names is None else pd.DataFrame(part, columns=names) for part in np.split(values, [7, 100])
        ]
        found.append(CompleteSource(read_source(chunks)).gather(Moments))
    np.testing.assert_array_equal(found[0].covariance, Moments().update(values[complete]).covariance)
    assert found[1].names == ("a", "b", "c")
    first, second = CompleteRows(Moments()).update(values[:50]), CompleteRows(Moments()).update(values[50:])
    merged = CompleteRows(Moments()).merge(first).merge(second)
    assert (merged.n_rows, merged.n_left_out) == (complete.sum(), 300 - complete.sum())
    np.testing.assert_array_equal(merged.counts, np.isnan(values).sum(axis=0))
