"""Does the benchmark reach what the README claims? Reads claims.toml and compares."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tables import Figures, number

CLAIMS = Path(__file__).with_name("claims.toml")


@dataclass(frozen=True)
class Claim:
    """A figure's bound, from below or from above, and the words of the README that state it."""

    figure: str
    readme: str
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"the claim about {self.figure!r} needs one of at_least and at_most.")

    @property
    def bound(self) -> float:
        """The number that the README names."""
        bound = self.at_most if self.at_least is None else self.at_least
        assert bound is not None
        return bound

    def reached(self, value: float) -> bool:
        """Whether a measured value keeps the claim."""
        return value <= self.bound if self.at_least is None else value >= self.bound


def read_claims(path: Path = CLAIMS) -> list[Claim]:
    """The claims of a TOML file."""
    return [Claim(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["claims"]]


def find_missed(claims: Iterable[Claim], figures: Figures) -> list[str]:
    """A line for every claim that the figures do not reach, or do not speak of."""
    missed = []
    for claim in claims:
        value = figures.get(claim.figure)
        if value is None or not claim.reached(value):
            bound = f"{'at most' if claim.at_least is None else 'at least'} {claim.bound:g}"
            measured = "was not measured" if value is None else f"is {number(value)}"
            missed.append(f"{claim.figure} {measured}; README.md claims {bound} ({claim.readme!r}).")
    return missed
