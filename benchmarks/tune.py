"""Is it worth while to choose settings by stability where no graph is known? Prints the true SHD of what it picks.

Run ``python benchmarks/tune.py`` (some ten minutes on one core), or with ``--smoke`` for a quick pass. Beside the
setting of the most stable graph stand the best, which only the true graph can tell, and the learner as it comes.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype.edges import EDGES, LassoEdges
from daguerreotype.metrics import shd
from daguerreotype.training import Bilevel
from daguerreotype.tune.objectives import fit_copy, graph_stability
from problems import problem

PENALTIES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
# learner -> (the setting that is chosen, its values, how the learner is made with one; None: as it comes)
LEARNERS: dict[str, tuple[str, tuple[float, ...], Callable[[float | None], Any]]] = {
    "bic": ("penalty", PENALTIES, lambda penalty: Daguerreotype(edges="bic", penalty=penalty)),
    "gam": ("penalty", PENALTIES, lambda penalty: Daguerreotype(edges="gam", penalty=penalty)),
    "lasso": (
        "edges.alpha",
        (0.001, 0.01, 0.03, 0.1, 0.2, 0.4),
        lambda alpha: Daguerreotype(edges=LassoEdges(alpha or "bic")),
    ),
    "linear": (
        "edges.pruning",
        (1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1),
        lambda pruning: Daguerreotype(
            edges=EDGES["linear"].make(pruning=pruning or 0.01), training=Bilevel(loss="nll_nv")
        ),
    ),
}
CONTESTS = (
    ("bic", "linear-gaussian"),
    ("bic", "linear-exponential"),
    ("gam", "gp-add"),
    ("lasso", "linear-gaussian"),
    ("linear", "linear-gaussian"),
)


def run_problem(learner: str, family: str, seed: int, d: int, n: int, few: bool) -> dict[str, Any]:
    """True SHD of the setting that is picked on one problem, and the setting."""
    X, adjacency = problem(family, seed, d, n)
    _, values, make = LEARNERS[learner]
    values = values[1::3] if few else values
    row: dict[str, Any] = {"learner": learner, "family": family, "seed": seed, "n": n}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # One scale and few restarts: settings are compared, and each is fitted 17 times.
        candidates = {
            value: make(value).set_params(scales="none", training__n_restarts=1) for value in (None, *values)
        }
        errors = {
            value: shd(adjacency, fit_copy(model, X).adjacency_matrix_) for value, model in candidates.items()
        }
        row["as it comes"] = errors.pop(None)
        row["best possible"] = min(errors.values())
        stability = graph_stability(X, np.random.default_rng(seed))
        row["setting"] = max(values, key=lambda value: stability(candidates[value]))
        row["stability"] = errors[row["setting"]]
    return row


def print_means(table: pd.DataFrame) -> None:
    """Mean SHD per learner, family and size, and over all."""
    shown = ["as it comes", "best possible", "stability", "setting"]
    print(f"{'mean SHD, median setting':40}" + "".join(f"{name:>16}" for name in shown))
    for (learner, family, n), rows in table.groupby(["learner", "family", "n"], sort=False):
        label = f"{learner} {LEARNERS[learner][0]}, {family}, n = {n}"
        cells = "".join(f"{rows[name].mean():16.1f}" for name in shown[:-1])
        print(f"{label:40}{cells}{rows['setting'].median():16g}")
    print(f"{'all':40}" + "".join(f"{table[name].mean():16.2f}" for name in shown[:-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small problems and few settings, a few seconds")
    parser.add_argument("--seeds", type=int, default=4, help="problems of each kind and size (default: 4)")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args()
    contests, seeds, d, sizes = CONTESTS, options.seeds, 15, (200, 1000)
    if options.smoke:
        contests, seeds, d, sizes = CONTESTS[:1], 1, 5, (100,)
    start = time.perf_counter()
    print(f"d = {d}, {seeds} problems of each kind")
    rows = Parallel(n_jobs=options.n_jobs)(
        delayed(run_problem)(learner, family, seed, d, n, options.smoke)
        for learner, family in contests
        for n in sizes
        for seed in range(seeds)
    )
    print_means(pd.DataFrame(rows))
    print(f"\n{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
