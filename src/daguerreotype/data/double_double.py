"""How do sums keep more digits than a float has? Numbers as a float and what its rounding left over.

A pair (high, low) stands for high + low with |low| at most half a unit in the last place of high: about 106 bits
(Dekker 1971). All functions work element by element.
"""

from typing import Any, NamedTuple

from daguerreotype._lib.typing import FloatArray

SPLITTER = 2.0**27 + 1.0


class Pair(NamedTuple):
    """An array of numbers high + low, or two of them that broadcast."""

    high: Any
    low: Any

    def __getitem__(self, key: Any) -> "Pair":
        return Pair(self.high.__getitem__(key), self.low.__getitem__(key))


def two_sum(a: Any, b: Any) -> Pair:
    """Sum of two floats, exactly (Knuth)."""
    total = a + b
    other = total - a
    return Pair(total, (a - (total - other)) + (b - other))


def two_product(a: Any, b: Any) -> Pair:
    """Product of two floats, exactly but for underflow (Veltkamp and Dekker)."""
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return Pair(product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low))


def add(a: Pair, b: Pair) -> Pair:
    """Sum, to about 104 bits of the larger."""
    total = two_sum(a.high, b.high)
    return _renormalised(total.high, total.low + (a.low + b.low))


def multiply(a: Pair, b: Pair) -> Pair:
    """Product, to about 104 bits."""
    product = two_product(a.high, b.high)
    return _renormalised(product.high, product.low + (a.high * b.low + a.low * b.high))


def divide(a: Pair, by: float) -> Pair:
    """Quotient by a plain number, to about 104 bits."""
    first = a.high / by
    back = two_product(first, by)
    return _renormalised(first, ((a.high - back.high) - back.low + a.low) / by)


def negative(a: Pair) -> Pair:
    """-a."""
    return Pair(-a.high, -a.low)


def rounded(a: Pair, bits: int) -> FloatArray:
    """Floats of fewer bits: two results that differ far below the last one round to the same."""
    near = a.high * (2.0 ** (53 - bits) + 1.0)
    short: FloatArray = near - (near - a.high)
    return short


def _upper_half(a: Any) -> Any:
    """The first 26 bits."""
    near = a * SPLITTER
    return near - (near - a)


def _renormalised(high: Any, low: Any) -> Pair:
    """The same number with a small low part, given |high| >= |low|."""
    total = high + low
    return Pair(total, low - (total - high))
