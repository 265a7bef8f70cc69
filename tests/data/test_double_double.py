"""Error-free transformations are free of error, and what is built on them keeps its bits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data.moments import (
    BITS,
    BLOCK,
    DoubleDouble,
    add_exact_products,
    round_shift,
    split,
    two_product,
    two_sum,
)

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


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e4])
def test_the_upper_parts_of_a_block_multiply_without_error(rng, scale):
    x = scale * rng.normal(size=(3, BLOCK))
    both, upper, lower = x.copy(), np.empty_like(x), np.empty_like(x)
    largest = np.abs(x).max(axis=1)
    assert split(both, np.zeros(3), np.ldexp(1.5, np.frexp(largest)[1] + 52 - BITS), upper, lower)
    assert np.array_equal(upper + lower, x)
    assert np.array_equal(both, upper + x)
    products = [[sum(Fraction(a) * Fraction(b) for a, b in zip(u, v, strict=True)) for v in upper] for u in upper]
    assert (upper @ upper.T).tolist() == [[float(value) for value in row] for row in products]
    assert all(Fraction(float(value)) == value for row in products for value in row)


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
