"""By which criterion should settings be chosen where no graph is known? Prints the true SHD of what each chooses.

Run ``python benchmarks/tune.py`` (some ten minutes on one core), or with ``--smoke`` for a quick pass. On every
problem each criterion picks one of the same settings; beside it stand the best of them, which only the true graph
can tell, and the learner as it comes.
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
from daguerreotype.tune.criteria import fit_copy, without_truth
from daguerreotype.tune.workers import Workers
from problems import problem

CRITERIA = ("held-out", "bic", "stability")
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
        lambda pruning: Daguerreotype(edges=EDGES["linear"].make(pruning=pruning or 0.01), loss="nll_nv"),
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
    """True SHD of the setting that each criterion picks on one problem, the setting, and the seconds it took."""
    X, adjacency = problem(family, seed, d, n)
    _, values, make = LEARNERS[learner]
    values = values[1::3] if few else values
    row: dict[str, Any] = {"learner": learner, "family": family, "seed": seed, "n": n}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # One scale and few restarts: settings are compared, and each is fitted 17 times.
        candidates = {value: make(value).set_params(transform="none", n_restarts=1) for value in (None, *values)}
        errors = {
            value: shd(adjacency, fit_copy(model, X).adjacency_matrix_) for value, model in candidates.items()
        }
        row["as it comes"] = errors.pop(None)
        row["best possible"] = min(errors.values())
        for name in CRITERIA:
            start = time.process_time()
            parts = without_truth(name, X, np.random.default_rng(seed)).parts
            with Workers(parts, None, None) as workers:
                scores = {value: workers.measure(candidates[value])[0] for value in values}
            picked = max(scores, key=lambda value: scores[value])
            row |= {name: errors[picked], f"{name} picks": picked}
            row[f"{name} seconds"] = (time.process_time() - start) / len(values)
    return row


def print_means(table: pd.DataFrame) -> None:
    """Mean SHD per learner, family and size, and over all."""
    shown = ["as it comes", "best possible", *CRITERIA]
    print(f"{'mean SHD':40}" + "".join(f"{name:>16}" for name in shown))
    for (learner, family, n), rows in table.groupby(["learner", "family", "n"], sort=False):
        label = f"{learner} {LEARNERS[learner][0]}, {family}, n = {n}"
        print(f"{label:40}" + "".join(f"{rows[name].mean():16.1f}" for name in shown))
    print(f"{'all':40}" + "".join(f"{table[name].mean():16.2f}" for name in shown))
    for name in CRITERIA[1:]:
        change = table[name] - table[CRITERIA[0]]
        error = change.std(ddof=1) / len(change) ** 0.5
        print(f"{name} less {CRITERIA[0]}: {change.mean():+.2f} ± {error:.2f} (standard error, paired)")
    seconds = ", ".join(f"{name} {table[f'{name} seconds'].mean():.2f}" for name in CRITERIA)
    print(f"CPU seconds per setting: {seconds}")
    print("\nmedian of the settings picked")
    picks = table.groupby(["learner", "family", "n"], sort=False)[[f"{name} picks" for name in CRITERIA]].median()
    print(picks.to_string())


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
