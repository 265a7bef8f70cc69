"""Missing values in the report: how many, what was done about them, where they are, and what they depend on."""

from itertools import pairwise
from typing import Any

from daguerreotype._lib.labels import listed
from daguerreotype.report.numbers import number

UNKNOWN = (
    "If values are missing because of what they are themselves, nobody can tell from the table: the graph may "
    "then be wrong about these columns, whatever was done."
)


def collect_gaps(model: Any) -> dict[str, Any] | None:
    """All that the page shows of gaps; None if there were none."""
    missing = getattr(model, "missing_", None)
    if missing is None:
        return None
    labels = list(model.kinds_)
    total = sum(missing.counts.values())
    blocks = len(missing.shares)
    ends = [missing.n_rows * block // blocks for block in range(blocks + 1)] if blocks else []
    facts = [
        ["missing values", f"{total} ({total / (missing.n_rows * len(labels)):.1%} of the table)"],
        ["rows without any", f"{missing.n_complete} of {missing.n_rows}"],
        ["most in", listed([f"{label} ({count})" for label, count in _most(missing.counts)], quote=False)],
        ["what was done", str(missing).split(": ", 1)[1]],
    ]
    done = "Rows with gaps were left out, which may mislead." if missing.n_dropped else "That is taken care of."
    notes = [
        f"Whether {label} is missing depends on {listed(list(map(str, others)), quote=False)}. {done}"
        for label, others in missing.depends_on.items()
    ]
    return {
        "facts": facts,
        "notes": [*notes, UNKNOWN],
        "columns": [labels.index(label) for label in missing.counts],
        "shares": [[number(share) for share in block] for block in missing.shares],
        "rows": [[first + 1, last] for first, last in pairwise(ends)],
    }


def _most(counts: dict[Any, int]) -> list[tuple[Any, int]]:
    """Columns with gaps, those with most of them first."""
    return sorted(counts.items(), key=lambda item: -item[1])
