"""Numbers as the page shows them."""

import math

DIGITS = 6  # of a number that the page shows


def number(value: float) -> float | None:
    """A number for JSON, to the digits that are shown; None where there is none."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def rounded(probability: float | None) -> float | None:
    """A probability for JSON, to the places that are shown; None where there is none."""
    return None if probability is None else round(probability, DIGITS)
