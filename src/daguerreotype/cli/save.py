"""Which files does a fit leave in a folder?"""

import importlib.util
from pathlib import Path

import pandas as pd

from daguerreotype.cli.progress import Tell
from daguerreotype.cli.show import Outcome
from daguerreotype.graphs import to_dot


def save_outcome(outcome: Outcome, folder: Path, tell: Tell) -> list[str]:
    """Write the graph in several formats, the learner, the report and, with matplotlib, a picture; give paths."""
    model, paths = outcome.model, []

    def path(name: str) -> Path:
        paths.append(str(folder / name))
        return folder / name

    columns = ["cause", "effect", "weight", "probability"] + ["frequency"] * (outcome.bootstrap is not None)
    pd.DataFrame(outcome.edges, columns=columns).to_csv(path("graph.csv"), index=False)
    model.adjacency_matrix_.to_csv(path("adjacency.csv"))
    path("graph.dot").write_text(to_dot(model), encoding="utf-8")
    model.save(path("model.npz"))
    model.report(path("report.html"), X=outcome.task.table, truth=outcome.known, bootstrap=outcome.bootstrap)
    if importlib.util.find_spec("matplotlib") is None:
        tell.note('note: no graph.png without matplotlib. Run: pip install "daguerreotype[plot]"')
    else:
        figure = model.plot(truth=outcome.known).figure
        figure.savefig(path("graph.png"), dpi=150, bbox_inches="tight")
    return paths
