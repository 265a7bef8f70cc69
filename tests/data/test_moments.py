"""Moments by chunks: exact, and the same to the last bit whatever the chunks."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from daguerreotype.data import Moments
from daguerreotype.data.moments import (
    BLOCK,
    PANEL,
    DoubleDouble,
    add_exact_products,
    round_shift,
    two_product,
    two_sum,
)


def exact_covariance(X):
    """With fractions, rounded once."""
    columns = [[Fraction(value) for value in column] for column in X.T.tolist()]
    means = [sum(column) / len(column) for column in columns]
    centred = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
    products = [
        [sum(a * b for a, b in zip(first, second, strict=True)) for second in centred] for first in centred
    ]
    covariance = np.array([[float(value / len(X)) for value in row] for row in products])
    return covariance, np.array([float(mean) for mean in means])


def correlated(rng, n, d):
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e4])
@pytest.mark.parametrize("shift", [0.0, 3.0, 1e9])
def test_covariances_and_means_are_those_of_exact_arithmetic(rng, scale, shift):
    X = scale * correlated(rng, BLOCK + 52, 3) + [0.0, shift, -shift]
    seen = Moments().update(X)
    covariance, mean = exact_covariance(X)
    spread = np.sqrt(np.diag(covariance))
    assert np.abs((seen.covariance - covariance) / np.outer(spread, spread)).max() < 1e-13
    np.testing.assert_allclose(seen.mean, mean, rtol=1e-15, atol=1e-15 * scale)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 3 * BLOCK),
    st.lists(st.integers(0, 3 * BLOCK), max_size=6),
    st.sampled_from([0.0, 5.0, 9.0, 1e6]),
)
def test_any_chunks_in_any_sequence_give_the_same_bits(seed, n, cuts, shift):
    rng = np.random.default_rng(seed)
    X = correlated(rng, n, 4) + shift * rng.normal(size=4)
    whole = Moments().update(X)
    shuffled = X[rng.permutation(n)]
    chunks = np.split(shuffled, np.sort(np.minimum(cuts, n)))
    one_by_one = Moments()
    merged = Moments()
    for chunk in chunks:
        one_by_one.update(chunk)
        merged.merge(Moments().update(chunk))
    for other in (one_by_one, merged):
        assert other.n_rows == n
        assert np.array_equal(whole.covariance, other.covariance)
        assert np.array_equal(whole.second(), other.second())
        expected, found = whole.summary(), other.summary()
        np.testing.assert_allclose(expected.skewness, found.skewness, rtol=0, atol=1e-9)
        assert np.array_equal(expected.low, found.low)
        assert np.array_equal(expected.high, found.high)


def test_chunks_far_from_the_first_are_merged_as_exactly_and_the_callers_arrays_are_left_as_they_are(rng):
    drifting = [correlated(rng, 2500, 3) + 1e7 * step for step in range(4)]
    before = np.concatenate(drifting)
    seen = Moments()
    for chunk in drifting:
        seen.merge(Moments().update(chunk))
    assert np.array_equal(np.concatenate(drifting), before)
    whole = Moments().update(np.concatenate(drifting[::-1]))
    assert np.array_equal(seen.covariance, whole.covariance)
    np.testing.assert_allclose(seen.summary().skewness, whole.summary().skewness, atol=1e-9)


def test_columns_that_need_no_lower_parts_stand_beside_those_that_do(rng):
    X = correlated(rng, BLOCK + 52, 5)
    X[:, 1] = np.round(50 * X[:, 1])  # whole numbers
    X[:, 3] = (X[:, 3] + 5000.0).astype(np.float32)  # few digits after the shift
    covariance, mean = exact_covariance(X)
    spread = np.sqrt(np.diag(covariance))
    for columns in ([0, 1, 2, 3, 4], [1, 3]):
        seen = Moments().update(X[:, columns])
        part, scale = covariance[np.ix_(columns, columns)], spread[columns]
        assert np.abs((seen.covariance - part) / np.outer(scale, scale)).max() < 1e-13
        np.testing.assert_allclose(seen.mean, mean[columns], rtol=1e-15, atol=1e-15)
        again = Moments()
        for chunk in np.array_split(X[rng.permutation(len(X))][:, columns], 3):
            again.merge(Moments().update(chunk))
        assert np.array_equal(again.covariance, seen.covariance)


def test_matrices_of_several_panels_are_read_out_right_and_symmetric(rng):
    X = rng.normal(size=(300, PANEL + 20)) + 9.0
    X[:, PANEL - 30 : PANEL + 10] = np.round(20 * X[:, PANEL - 30 : PANEL + 10])
    seen = Moments().update(X)
    np.testing.assert_allclose(seen.covariance, np.cov(X.T, bias=True), atol=1e-9)
    np.testing.assert_allclose(seen.second(), X.T @ X / len(X), rtol=1e-13)
    assert np.array_equal(seen.second(), seen.second().T)


def test_plain_sums_are_right_to_the_digits_of_floats(rng):
    X = correlated(rng, 5000, 3) + 100.0
    plain = Moments(exact=False).update(X[:100]).merge(Moments(exact=False).update(X[100:]))
    np.testing.assert_allclose(plain.covariance, Moments().update(X).covariance, rtol=1e-12)
    np.testing.assert_allclose(plain.second(), Moments().update(X).second(), rtol=1e-12)


def test_skewness_and_range_are_those_of_the_columns(rng):
    X = rng.exponential(size=(5000, 3)) + np.array([0.0, 100.0, -1.0])
    seen = Moments().update(X[:700]).update(X[700:]).summary()
    np.testing.assert_allclose(seen.skewness, stats.skew(X), rtol=1e-9)
    assert np.array_equal(seen.low, X.min(axis=0))
    assert np.array_equal(seen.high, X.max(axis=0))
    near, far = X + 20.0, X[::-1] + 50.0  # sums of both are about a shift of their own
    merged = Moments().update(near).merge(Moments().update(far)).summary()
    np.testing.assert_allclose(merged.skewness, stats.skew(np.concatenate([near, far])), rtol=1e-9)


def test_frames_batches_and_arrays_of_any_number_type_are_alike(rng):
    X = rng.integers(-5, 5, size=(100, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    expected = Moments().update(X.astype(np.float64))
    for chunk in (
        X,
        X.astype(np.float32),
        np.asfortranarray(X),
        frame,
        frame.astype("Int64"),
        frame.astype("float32"),
        pa.Table.from_pandas(frame),
        pa.RecordBatch.from_pandas(frame),
    ):
        assert np.array_equal(Moments().update(chunk).covariance, expected.covariance)
    assert Moments().update(frame).names == ("a", "b")
    assert Moments().update(X).names == ("x0", "x1")
    assert Moments(["left", "right"]).update(X).names == ("left", "right")


def test_reading_out_or_merging_changes_nothing(rng):
    X = rng.normal(size=(3000, 2))
    seen, other = Moments().update(X[:100]), Moments().update(X[100:2900])
    before = other.covariance
    seen.merge(other)
    assert np.array_equal(other.covariance, before)
    middle = seen.covariance
    assert np.array_equal(seen.covariance, middle)
    seen.update(X[2900:])
    assert np.array_equal(seen.covariance, Moments().update(X).covariance)
    assert np.array_equal(seen.merge(Moments()).covariance, Moments().update(X).covariance)


def test_a_missing_or_infinite_value_is_named_with_its_place(rng):
    for value, kind in ((np.nan, "NaN"), (np.inf, "infinite")):
        X = rng.normal(size=(3 * BLOCK, 2))
        X[BLOCK + 7, 1] = value
        seen = Moments(["dose", "age"]).update(rng.normal(size=(10, 2)))
        message = f"there are {kind} values in 'age'; the first is in row {BLOCK + 8} of chunk 2"
        with pytest.raises(ValueError, match=message):
            seen.update(X)
    for kind in (pa.float64(), pa.int16()):
        batch = pa.table({"a": pa.array([1, None, 2], kind), "b": [1, 2, 3]})
        with pytest.raises(ValueError, match=r"NaN values in 'a'; the first is in row 2 of chunk 1"):
            Moments().update(batch)


def test_a_chunk_unlike_the_others_is_refused():
    for chunk, text in (
        (np.ones((2, 3)), "chunk 2 has 3 columns, but those before have 2"),
        (np.ones(2), r"chunk 2 is an array of shape \(2,\), expected rows and columns"),
        (pd.DataFrame({"a": [1.0], "c": [2.0]}), "chunk 2 has a column 'c' where those before have 'b'"),
        (pd.DataFrame({"a": [1.0], "b": ["low"]}), "could not convert to numbers: column 'b' holds"),
        (pa.table({"a": [1.0], "b": ["low"]}), "could not convert to numbers: column 'b' holds"),
        ([["a", "b"]], "chunk 2 could not be converted to numbers"),
    ):
        seen = Moments().update(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}))
        with pytest.raises(ValueError, match=text):
            seen.update(chunk)
    with pytest.raises(ValueError, match="column names must be unique, but 'a' occurs more than once"):
        Moments().update(pa.table([[1.0], [2.0]], names=["a", "a"]))


def test_nothing_can_be_read_from_no_rows():
    for read, text in (("covariance", "no rows were taken in yet"), ("names", "no chunk was taken in yet")):
        with pytest.raises(ValueError, match=text):
            getattr(Moments(), read)


# ---------------------------------------------------------------------- error-free transformations

floats = st.floats(-1e100, 1e100).filter(
    lambda x: x == 0 or abs(x) > 1e-100
)  # products neither over- nor underflow
pairs = st.builds(two_sum, floats, st.floats(-1e90, 1e90))


def exact(number):
    return Fraction(float(number.high)) + Fraction(float(number.low))


def close(found, expected, bits):
    return abs(exact(found) - expected) <= abs(expected) * Fraction(1, 2**bits)


@given(floats, floats)
def test_a_sum_and_its_error_are_the_exact_sum(a, b):
    found = two_sum(a, b)
    assert found.high == a + b
    assert exact(found) == Fraction(a) + Fraction(b)


@given(floats, floats)
def test_a_product_and_its_error_are_the_exact_product(a, b):
    found = two_product(a, b)
    assert found.high == a * b
    if not 0 < abs(a * b) < 1e-200:  # or the error underflows
        assert exact(found) == Fraction(a) * Fraction(b)


@given(pairs, pairs, st.integers(1, 10**9))
def test_arithmetic_keeps_about_a_hundred_bits(a, b, n):
    # Sums of numbers of opposite sign keep them relative to the larger one.
    larger = max(abs(exact(a)), abs(exact(b)))
    assert abs(exact(a + b) - (exact(a) + exact(b))) <= larger * Fraction(1, 2**100)
    if all(1e-60 < abs(x.high) < 1e60 for x in (a, b)):
        assert close(a * b, exact(a) * exact(b), 100)
        assert close(a / float(n), exact(a) / n, 100)


@given(st.floats(1e-3, 1e3), st.integers(-3, 3))
def test_results_that_differ_far_below_the_last_bit_round_to_the_same(x, ulps):
    number = DoubleDouble(x, 0.0)
    short = number.round_to(46)
    mantissa = Fraction(float(short)) / Fraction(2) ** (int(np.frexp(x)[1]) - 46)
    assert mantissa.denominator == 1  # 46 bits
    near = DoubleDouble(float(short) + ulps * np.spacing(short), 0.0)
    assert near.round_to(46) == short


def test_sums_of_products_are_those_of_fractions_to_more_bits_than_floats_have(rng):
    x = rng.normal(size=(2, 700)) + np.array([[0.0], [100.0]])
    shift = round_shift(x)
    assert shift[0] == 0 != shift[1]
    moved = [[Fraction(value) - Fraction(c) for value in row] for row, c in zip(x.tolist(), shift, strict=True)]
    sums = DoubleDouble(np.zeros((2, 2)), np.zeros((2, 2)))
    largest = np.abs(x - shift[:, None]).max(axis=1)
    add_exact_products(sums, x, shift, largest, np.empty_like(x), np.empty_like(x))
    for i in range(2):
        for j in range(2):
            expected = sum(a * b for a, b in zip(moved[i], moved[j], strict=True))
            terms = sum(abs(a * b) for a, b in zip(moved[i], moved[j], strict=True))
            assert abs(exact(sums[i, j]) - expected) <= terms * Fraction(1, 2**70)
