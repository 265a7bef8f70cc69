"""Kinds of columns: continuous, count, binary, ordinal and categorical.

A kind says how a column is measured, and with that which noise models may describe it. A table holds numbers
whatever its kinds: levels are held as their codes 0, 1, 2, ..., counts and continuous columns as they are.
"""

from dataclasses import dataclass
from typing import Any

KINDS = {
    "continuous": "a number that could take any value in between",
    "count": "how often something happened: 0, 1, 2, ...",
    "binary": "one of two levels",
    "ordinal": "one of a few levels that have an order",
    "categorical": "one of a few levels without an order",
}
WITH_LEVELS = ("binary", "ordinal", "categorical")


@dataclass(frozen=True)
class Kind:
    """The kind of one column, and why it is that.

    Attributes
    ----------
    name : str
        One of ``KINDS``.
    reason : str
        What told: "given", "dtype bool", "whole numbers from 0 to 17".
    levels : tuple
        What the codes 0, 1, 2, ... stand for, in the user's words; empty for continuous columns and counts.
    step : float
        Distance of neighbouring values of a column on a grid, such as rounded or whole numbers; 0 without one.
    """

    name: str = "continuous"
    reason: str = ""
    levels: tuple[Any, ...] = ()
    step: float = 0.0

    @property
    def discrete(self) -> bool:
        """Whether its likelihood is a probability mass of codes or counts, and not a density."""
        return self.name != "continuous"

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name
