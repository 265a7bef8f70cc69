"""What experiments are worth: fits that are told which columns were intervened on, and fits that are not.

    OMP_NUM_THREADS=1 python benchmarks/interventions.py --seeds 5

On synthetic problems three tables of the same number of rows are compared: observations alone; half observations,
half experiments on one column each, all taken as observations (pooled); and the same rows with ``interventions=``
(told). On Sachs: the 853 observational rows, all 7466 rows pooled, and all of them told. Default settings.
"""

import argparse
import time
from typing import Any

import numpy as np

from daguerreotype import Daguerreotype
from daguerreotype.datasets import load_sachs
from daguerreotype.metrics import evaluate
from daguerreotype.simulate import simulate_dag, simulate_data
from daguerreotype.training import Bilevel

KINDS = {"linear, Gaussian": "linear", "additive curves": "gp-add", "networks": "mlp"}
SHOWN = ("shd", "sid", "f1", "n_edges")


def measure(X: Any, truth: Any, interventions: Any, seed: int, **settings: Any) -> tuple[float, ...]:
    """Distances of one fit, and how long it took."""
    start = time.perf_counter()
    model = Daguerreotype(random_state=seed, **settings).fit(X, interventions=interventions)
    seconds = time.perf_counter() - start
    found = evaluate(np.asarray(truth), np.asarray(model.adjacency_matrix_))
    return (*(float(found[name]) for name in SHOWN), seconds)


def show(name: str, measured: list[tuple[float, ...]]) -> None:
    """One line: means and standard deviations."""
    table = np.array(measured)
    cells = [f"{mean:7.2f} ±{spread:5.2f}" for mean, spread in zip(table.mean(0), table.std(0), strict=True)]
    print(f"  {name:<28}{''.join(f'{cell:>18}' for cell in cells)}", flush=True)


def head(title: str) -> None:
    print(f"\n{title}\n  {'':<28}{''.join(f'{each:>18}' for each in ('SHD', 'SID', 'F1', 'edges', 'seconds'))}")


def synthetic(kind: str, seeds: int, d: int, n: int) -> None:
    """Observed, pooled and told on random graphs with two edges per column."""
    rows: dict[str, list[tuple[float, ...]]] = {"observed": [], "pooled": [], "told": []}
    for seed in range(seeds):
        truth = simulate_dag(d, 2 * d, random_state=seed)
        targets = [None] * (n // 2) + [row % d for row in range(n - n // 2)]
        settings = {"mechanism": KINDS[kind], "standardize": True, "random_state": seed}
        observed = np.asarray(simulate_data(truth, n, **settings).X)
        X = np.asarray(simulate_data(truth, n, interventions=targets, **settings).X)
        rows["observed"].append(measure(observed, truth, None, seed))
        rows["pooled"].append(measure(X, truth, None, seed))
        rows["told"].append(measure(X, truth, targets, seed))
    head(f"{kind}: {d} columns, {2 * d} edges, {n} rows, {seeds} graphs")
    for name, measured in rows.items():
        show(name, measured)


def sachs(seeds: int, **settings: Any) -> None:
    """The three tables of Sachs et al.; seeds of the learner."""
    first, full = load_sachs(), load_sachs(interventional=True)
    head(f"Sachs: 11 columns, 17 edges, {seeds} seeds of the learner")
    for name, data, told in (
        ("observational, 853 rows", first, None),
        ("pooled, 7466 rows", full, None),
        ("told, 7466 rows", full, full.interventions),
    ):
        show(name, [measure(data.X, data.adjacency, told, seed, **settings) for seed in range(seeds)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--smoke", action="store_true", help="small, to see that it runs")
    arguments = parser.parse_args()
    if arguments.smoke:
        synthetic("linear, Gaussian", 1, 6, 200)
        sachs(1, scales="log", edges="bic", training=Bilevel(loss="bic"))
        return
    for kind in KINDS:
        synthetic(kind, arguments.seeds, arguments.columns, arguments.rows)
    sachs(arguments.seeds)


if __name__ == "__main__":
    main()
