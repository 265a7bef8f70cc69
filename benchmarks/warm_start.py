"""What does SparseMAP gain by beginning each training step with the orders of the step before?

Run ``OMP_NUM_THREADS=1 nice python benchmarks/warm_start.py --out docs/results/warm-start`` (some minutes on one
core), or with ``--smoke`` (or ``--quick``) for a quick pass. Two things are measured, on the observational rows of
Sachs (11 columns) and on linear scale-free tables of 20, 50 and 100 columns, with K = 100 and linear edges by BIC:

- steps: the scores of a whole training run with ``operator="sparsemap"`` are given to the operator once more, from
  nothing at every step, and from the step before. Milliseconds per step are the best of five rounds, in turns.
- fits: whole training runs with "sparsemap", "sparsemap-warm" and "sparsemap-peel": 300 steps, the local fits that
  their orders ask for, processor seconds with edges by BIC, and what they find.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.datasets import load_sachs
from daguerreotype.metrics import shd
from daguerreotype.operators import OrderDistribution, sparsemap
from problems import scale_free
from tables import markdown, number

OPERATORS = ("sparsemap", "sparsemap-warm", "sparsemap-peel")
COLUMNS = (11, 20, 50, 100)
K = 100
Row = dict[str, Any]


def table_of(d: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Sachs for 11 columns, else a linear table with a scale-free graph."""
    if d == 11:
        data = load_sachs()
        return np.asarray(data.X), np.asarray(data.adjacency)
    return scale_free(seed, d)


def train(X: FloatArray, operator: str, steps: int) -> tuple[Daguerreotype, float]:
    """A training run of so many steps without refining, and its seconds."""
    settings = {"edges": "bic", "loss": "nll_ev", "transform": "none", "refine": False, "posterior": 0, "k": K}
    start = time.process_time()
    model = Daguerreotype(operator, max_iter=steps, patience=steps, **settings).fit(X)  # type: ignore[arg-type]
    return model, time.process_time() - start


def cold(scores: FloatArray) -> list[OrderDistribution]:
    """The distribution of every step from nothing."""
    return [sparsemap(theta, K) for theta in scores]


def warm(scores: FloatArray) -> list[OrderDistribution]:
    """The distribution of every step from that of the step before."""
    found: list[OrderDistribution] = []
    for theta in scores:
        found.append(sparsemap(theta, K, warm_start=found[-1] if found else None))
    return found


def seconds(run: Callable[[FloatArray], Any], scores: FloatArray) -> float:
    """Time of one round."""
    start = time.perf_counter()
    run(scores)
    return time.perf_counter() - start


def kept(found: list[OrderDistribution]) -> float:
    """Share of the rankings of a step that the step before had, on average."""
    sets = [set(map(bytes, distribution.ranks)) for distribution in found]
    return float(np.mean([len(now & before) / len(now) for before, now in pairwise(sets)]))


def steps_of(d: int, X: FloatArray, steps: int) -> Iterator[Row]:
    """The operator alone, along the scores of one training run."""
    scores = train(X, "sparsemap", steps)[0].history_.theta
    runs = {"cold": cold, "warm": warm}
    found = {name: run(scores) for name, run in runs.items()}
    rounds = [{name: seconds(run, scores) for name, run in runs.items()} for _ in range(5)]
    times = {name: min(each[name] for each in rounds) for name in runs}
    apart = max(abs(a.mean_ranks - b.mean_ranks).max() for a, b in zip(found["cold"], found["warm"], strict=True))
    for name, distributions in found.items():
        sorted_first = [
            (each.mode == theta.argsort(kind="stable")).all()
            for each, theta in zip(distributions, scores, strict=True)
        ]
        yield {
            "d": d,
            "start": name,
            "steps": len(scores),
            "ms": round(1e3 * times[name] / len(scores), 4),
            "speed": round(times["cold"] / times[name], 2),
            "orders": round(float(np.mean([len(each) for each in distributions])), 1),
            "kept": round(kept(distributions), 3),
            "mode is the sorted order": round(float(np.mean(sorted_first)), 3),
            "means differ by": float(f"{apart:.1e}"),
        }


def fits_of(d: int, X: FloatArray, truth: IntArray, seed: int, steps: int) -> Iterator[Row]:
    """Whole training runs."""
    for operator in OPERATORS:
        model, spent = train(X, operator, steps)
        history = model.history_
        yield {
            "d": d,
            "seed": seed,
            "operator": operator,
            "steps": len(history),
            "orders": round(float(history.support.mean()), 1),
            "fits": int(history.misses[-1]),
            "seconds": round(spent, 3),
            "loss": round(float(model.loss_), 4),
            "SHD": shd(truth, model.adjacency_matrix_),
        }


def show_steps(table: pd.DataFrame) -> str:
    """Cold and warm steps side by side: Markdown."""
    lines = []
    for row, mode in zip(table.itertuples(), table["mode is the sorted order"], strict=True):
        measured = (f"{row.ms:.3f}", f"{row.speed:.2f}", f"{row.orders:.0f}", f"{row.kept:.0%}", f"{mode:.0%}")
        lines.append([str(row.d), str(row.start), *measured])
    heads = ("d", "start", "ms per step", "speed", "orders", "of the step before", "mode is the sorted order")
    return markdown(heads, lines)


def show_fits(table: pd.DataFrame) -> str:
    """Means over tables of whole training runs: Markdown."""
    lines = []
    for (d, operator), chosen in table.groupby(["d", "operator"], sort=False):
        mean = chosen[["orders", "fits", "seconds", "loss", "SHD"]].mean()
        lines.append(
            [
                str(d),
                f'"{operator}"',
                f"{mean.orders:.0f}",
                f"{mean.fits:.0f}",
                number(mean.seconds),
                f"{mean.loss:.2f}",
                f"{mean.SHD:.1f} ± {chosen.SHD.std(ddof=0):.1f}",
            ]
        )
    return markdown(("d", "operator", "orders", "local fits", "seconds", "loss", "SHD"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/warm-start"), help="folder for the tables")
    parser.add_argument("--seeds", type=int, default=5, help="tables of each size; of Sachs there is one")
    parser.add_argument("--smoke", "--quick", action="store_true", help="small tables, a few seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    columns, steps, seeds = ((11, 20), 20, 1) if options.smoke else (COLUMNS, 300, options.seeds)
    rows: dict[str, list[Row]] = {"steps": [], "fits": []}
    with threadpool_limits(1):
        for operator in OPERATORS:
            train(table_of(11, 0)[0], operator, 5)  # loads the kernels before anything is timed
        warm(np.zeros((2, 5)))
        for d in columns:
            rows["steps"] += steps_of(d, table_of(d, 0)[0], steps)
            for seed in range(1 if d == 11 else seeds):
                rows["fits"] += fits_of(d, *table_of(d, seed), seed, steps)
            print(f"d = {d} is done", flush=True)
    for name, show in (("steps", show_steps), ("fits", show_fits)):
        table = pd.DataFrame(rows[name])
        table.to_csv(options.out / f"{name}.csv", index=False)
        text = show(table)
        (options.out / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"\n{name}\n\n{text}", flush=True)
    print(f"means differ by at most {pd.DataFrame(rows['steps'])['means differ by'].max():.0e}")


if __name__ == "__main__":
    main()
