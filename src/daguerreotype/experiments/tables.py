"""Tables of results in Markdown, CSV and LaTeX, from one summary."""

from pathlib import Path

import numpy as np
import pandas as pd

from daguerreotype._lib.csv_files import write_csv
from daguerreotype._lib.replacement import replace_text
from daguerreotype.experiments.results import collect, plan_of, summarize, varied_names
from daguerreotype.experiments.store import Store
from daguerreotype.metrics.titles import title_of

DIGITS = {"f1": 3, "precision": 3, "recall": 3, "skeleton_f1": 3, "seconds": 2, "wall_seconds": 2}
ESCAPED = {
    **{letter: f"\\{letter}" for letter in "&%#_${}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "±": r"$\pm$",
    "–": "--",
}


def write_tables(store: Store, experiment: str, folder: Path) -> list[Path]:
    """Write table.md, table.tex, table.csv (means) and runs.csv (every run); returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarize(store, experiment)
    cells = table_cells(store, experiment, summary)
    title = str(plan_of(store, experiment)["title"])
    texts = {"table.md": f"{title}\n\n{to_markdown(cells)}\n", "table.tex": to_latex(cells, title)}
    frames = {"table.csv": summary, "runs.csv": collect(store, experiment).drop(columns=["key"])}
    for name, text in texts.items():
        replace_text(folder / name, text)
    for name, frame in frames.items():
        write_csv(folder / name, frame.round(4), index=False)
    return [folder / name for name in (*texts, *frames)]


def table_cells(store: Store, experiment: str, summary: pd.DataFrame) -> pd.DataFrame:
    """Text of every cell: mean ± standard deviation, the published value in brackets."""
    plan = plan_of(store, experiment)
    cells = pd.DataFrame(index=summary.index)
    if summary.empty:
        return cells
    if summary["problem"].nunique() > 1:
        cells["problem"] = summary["problem"]
    cells["method"] = summary["method"]
    for name in varied_names(store, experiment):
        cells[name] = [_plain(value) for value in summary[name]]
    for measure in plan["measures"]:
        published = summary.get(f"{measure}_published", pd.Series(np.nan, index=summary.index))
        columns = zip(summary[measure], summary[f"{measure}_sd"], published, summary["runs"], strict=True)
        cells[title_of(measure)] = [_cell(*values, digits=DIGITS.get(measure, 1)) for values in columns]
    counts = zip(summary["runs"], summary["failed"], summary["reason"], strict=True)
    cells["runs"] = [_count(*values) for values in counts]
    return cells


def to_markdown(cells: pd.DataFrame) -> str:
    """A table of Markdown."""
    header = [str(name) for name in cells.columns]
    lines = [header, ["---"] * len(header), *([str(cell) for cell in row] for row in cells.to_numpy())]
    return "\n".join(f"| {' | '.join(_in_markdown(cell) for cell in line)} |" for line in lines)


def _in_markdown(cell: str) -> str:
    """A cell that ends neither itself nor the table, and holds no markup."""
    return " ".join(cell.split()).replace("|", "/").replace("<", "&lt;")


def to_latex(cells: pd.DataFrame, title: str) -> str:
    """A table of LaTeX, for the package booktabs."""
    rows = [" & ".join(_escaped(str(cell)) for cell in row) + r" \\" for row in [cells.columns, *cells.to_numpy()]]
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(title)}}}",
        r"\centering",
        rf"\begin{{tabular}}{{{'l' * cells.shape[1]}}}",
        r"\toprule",
        rows[0],
        r"\midrule",
        *rows[1:],
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(mean: float, deviation: float, published: float, runs: int, *, digits: int) -> str:
    """One cell."""
    ours = "–" if np.isnan(mean) else f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if runs > 1 else "")
    return ours if np.isnan(published) else f"{ours} [{published:.{digits}f}]"


def _count(good: int, bad: int, reason: str) -> str:
    """How many runs there were, and what was wrong with others."""
    if bad:
        return f"{good}; {bad} failed: {reason}"
    return str(good) if good else f"left out: {reason}"


def _plain(value: object) -> str:
    """A varied value, blank where a method does not have it."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:g}"
    return str(value)


def _escaped(text: str) -> str:
    """Text that LaTeX takes as it is."""
    return "".join(ESCAPED.get(letter, letter) for letter in " ".join(text.split()))
