"""Shrinking: the smallest case that still fails in the same way."""

import re
from collections.abc import Callable, Iterator

from fuzz.part import Case
from fuzz.workers import FAILED, Outcome


def shrink(
    case: Case,
    outcome: Outcome,
    simpler: Callable[[Case], Iterator[Case]],
    tried: Callable[[Case], Outcome],
    most: int = 200,
) -> tuple[Case, Outcome]:
    """Go to simpler cases as long as they fail in the same way; ``most`` trials in all."""
    improved = True
    while improved and most > 0:
        improved = False
        for candidate in simpler(case):
            if most <= 0:
                break
            most -= 1
            found = tried(candidate)
            if found.verdict == FAILED and kind(found) == kind(outcome):
                case, outcome, improved = candidate, found, True
                break
    return case, outcome


def kind(outcome: Outcome) -> str:
    """What failures of one cause have in common: the words without numbers and without what is quoted."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*", "_", outcome.word)[:80]
