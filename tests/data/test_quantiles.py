"""Quantiles of columns too long to sort: a sketch with a bound that holds, and exact values by a second pass."""

import numpy as np
import pytest

from daguerreotype.data import quantiles
from daguerreotype.data.quantiles import OrderStatistics, QuantileSketch
from daguerreotype.edges.base import Table


@pytest.fixture(autouse=True)
def _small_sketches(monkeypatch):
    monkeypatch.setattr(quantiles, "SIZE", 64)


def columns(rng, n):
    """Continuous, discrete, nearly constant, sorted and heavy-tailed columns."""
    return np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(4, size=n),
            rng.random(n) < 0.01,
            np.arange(n) / n,
            rng.standard_cauchy(n),
        ]
    )


def sketch_of(X, rng, parts):
    sketches = [QuantileSketch() for _ in range(parts)]
    for number, chunk in enumerate(np.array_split(X, 23)):
        sketches[number % parts].update(chunk)
    whole = sketches[0]
    for other in sketches[1:]:
        whole.merge(other)
    return whole


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("n", [1, 63, 64, 127, 128, 5000])
def test_values_at_any_rank_lie_between_the_two_that_enclose_them(rng, n, parts):
    X = columns(rng, n)
    sketch = sketch_of(X, rng, parts)
    assert sketch.n_rows == n
    ranks = np.arange(n)
    lower, upper = sketch.enclose(ranks)
    right = np.sort(X, axis=0)
    assert (lower <= right).all()
    assert (right <= upper).all()


@pytest.mark.parametrize("parts", [1, 5])
def test_two_passes_find_the_exact_values(rng, parts):
    X = columns(rng, 6000)
    ranks = np.array([0, 1, 700, 1999, 2000, 3000, 5998, 5999])
    lower, upper = sketch_of(X, rng, parts).enclose(ranks)
    found = [OrderStatistics(ranks, lower, upper).update(chunk) for chunk in np.array_split(X, 4)]
    for other in found[1:]:
        found[0].merge(other)
    assert np.array_equal(found[0].values, np.sort(X, axis=0)[ranks])


def test_few_rows_lie_between_and_few_are_kept(rng):
    X = columns(rng, 40_000)
    sketch = sketch_of(X, rng, 1)
    levels = np.log2(len(X) / 64)
    assert 0 < sketch.rank_error <= levels * len(X) / (2 * 64)
    ranks = np.array([10_000, 20_000])
    second = OrderStatistics(ranks, *sketch.enclose(ranks)).update(X)
    kept = max(sum(map(len, parts)) for parts in second._between)
    assert kept <= 4 * sketch.rank_error + 2 * 64


def test_fewer_rows_than_two_samples_need_no_second_pass(rng):
    X = columns(rng, 127)
    sketch = sketch_of(X, rng, 1)
    assert sketch.rank_error == 0
    lower, upper = sketch.enclose(np.arange(127))
    assert np.array_equal(lower, upper)


def test_a_tables_quantiles_are_those_of_numpy(rng):
    X = columns(rng, 501)
    probs = np.linspace(0, 1, 7)
    found = Table(X, tuple("abcde")).quantiles(probs)
    np.testing.assert_allclose(found, np.quantile(X, probs, axis=0), rtol=1e-14, atol=1e-14)
