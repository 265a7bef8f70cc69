"""Numbers as the page shows them."""

import math

DIGITS = 6  # of a number that the page shows


def number(value: float) -> float | None:
    """A number for JSON, to the digits that are shown; None where there is none."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
