"""What did the benchmark find? All fits as one table, and ratios of theirs as figures by name."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fits import PEERS, PHASES, Row

GRAPHS = ("SF", "ER", "hubs")
METHODS = ("bic", "gam", "true order", *PEERS)
MEASURES = ("seconds", "ratio", "SHD", "SID", "F1", "edges", "MB")
PLACES = {"SHD": 1, "CPDAG": 1, "SID": 0, "F1": 2, "edges": 0}  # after the point; of others three digits are shown
Figures = dict[str, float]


@dataclass(frozen=True)
class Case:
    """Fits of one method to problems of one kind and size; one that exceeded its limit has a single row."""

    graph: str
    d: int
    method: str
    rows: list[Row]

    @property
    def finished(self) -> bool:
        """Whether all fits ended within the limit."""
        return all(row["finished"] for row in self.rows)

    def values(self, measure: str) -> list[float]:
        """What was measured, problem by problem."""
        return [row[measure] for row in self.rows if measure in row]

    def mean(self, measure: str) -> float:
        """Mean over problems."""
        return float(np.mean(self.values(measure)))

    def show(self, measure: str) -> str:
        """Mean, ± the standard deviation of several."""
        values = self.values(measure)
        if not values:
            return ""
        mean = self.mean(measure)
        places = PLACES.get(measure, decimals(mean))
        spread = f" ± {np.std(values):.{places}f}" if len(values) > 1 else ""
        return f"{'' if self.finished else '> '}{mean:.{places}f}{spread}"


Cases = dict[tuple[str, int, str], Case]


def sort_cases(rows: Iterable[Row]) -> Cases:
    """Rows by graph, size and method, as the table has them, each with its ratio to ours of the same problem."""
    rows = list(rows)
    ours = {(row["graph"], row["d"], row["seed"]): row["seconds"] for row in rows if row["method"] == "bic"}
    cases: Cases = {}
    for row in sorted(
        rows, key=lambda row: (GRAPHS.index(row["graph"]), row["d"], METHODS.index(row["method"]), row["seed"])
    ):
        key = (row["graph"], row["d"], row["method"])
        ratio = row["seconds"] / ours[row["graph"], row["d"], row["seed"]]
        cases.setdefault(key, Case(*key, [])).rows.append({**row, "ratio": ratio})
    return cases


def find_figures(cases: Cases) -> Figures:
    """Seconds of peers over ours, cost of hubs, and exponents of d by least squares on logarithms."""
    found = {}
    for (graph, d, method), case in cases.items():
        if method in PEERS and case.finished:
            found[f"seconds of {method} / ours, {graph}, d = {d}"] = case.mean("ratio")
        if (graph, method) == ("hubs", "bic"):
            for measure in ("seconds", "MB"):
                plain = cases["ER", d, "bic"].mean(measure)
                found[f"{measure} with hubs / without, d = {d}"] = case.mean(measure) / plain
    for graph in ("SF", "ER"):
        ours = [case for case in cases.values() if (case.graph, case.method) == (graph, "bic")]
        large = [case for case in ours if case.d >= 100]
        if len(chosen := large if len(large) > 1 else ours) > 1:
            logs = np.log([[case.d, case.mean("seconds")] for case in chosen])
            found[f"exponent of d in seconds, {graph}, d >= {chosen[0].d}"] = np.polyfit(*logs.T, 1)[0]
    return found


def fits_table(cases: Cases) -> str:
    """Graphs, methods, costs and quality: Markdown."""
    lines = ([c.graph, str(c.d), c.method, *(c.show(name) for name in MEASURES)] for c in cases.values())
    return markdown(("graph", "d", "method", *MEASURES), lines)


def phases_table(cases: Cases) -> str:
    """Where the time of ours goes: Markdown."""
    ours = [case for case in cases.values() if case.method == "bic"]
    lines = (
        [c.graph, str(c.d), c.show("seconds"), *(f"{c.mean(name) / c.mean('seconds'):.0%}" for name in PHASES)]
        for c in ours
    )
    return markdown(("graph", "d", "seconds", *PHASES), lines)


def decimals(value: float) -> int:
    """Places after the point that show three digits."""
    return max(0, 2 - int(np.floor(np.log10(abs(value))))) if value else 0


def number(value: float) -> str:
    """Three digits, and all that stand before the point."""
    return f"{value:.{decimals(value)}f}"


def markdown(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def write_csv(path: Path, cases: Cases) -> None:
    """A line per fit."""
    columns = ("graph", "d", "method", "seed", "finished", *MEASURES, *PHASES)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(row for case in cases.values() for row in case.rows)
