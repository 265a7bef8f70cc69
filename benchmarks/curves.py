"""Can curves be believed? Log-likelihoods of rows that a fit has not seen, and how far curves reach.

Run ``python benchmarks/curves.py`` (a minute on one core), with ``--families spread sachs`` for some, with
``--smoke`` for a quick pass. ``--set penalty=2.0`` changes the learner. "sachs" are the observed cells of that
table, shuffled; two thirds at most are learned from.

"Held out" is the log-likelihood of a fresh row, in nats: the mean over tables, and the median, as single rows
far out may decide a mean. "Training" is that of the rows themselves. "Widest curve" is the largest size of what a
cause contributes anywhere between its least and its largest value, in standard deviations of the effect, and
"widest in rows" the same in the training rows alone: means over tables of the widest of all edges.
"""

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray
from daguerreotype.datasets import load_sachs
from defaults import parse_setting
from problems import problem
from tables import markdown

FAMILIES = (
    "gp-add",
    "linear-gaussian",
    "distorted",
    "hill",
    "lognormal",
    "hidden",
    "spread",
    "waves",
    "products",
    "outliers",
    "sachs",
)
FRESH = 3000  # rows that a fit has not seen
GRID = 1000  # values of a cause that a curve is looked at
HEADS = ("family", "n", "held out", "median", "training", "widest curve", "widest in rows")


def rows_of(family: str, seed: int, d: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Rows to learn from, and fresh ones."""
    if family == "sachs":
        X = np.random.default_rng(seed).permutation(load_sachs().X.to_numpy(dtype=np.float64))
        n = min(n, 2 * len(X) // 3)
        return X[:n], X[n:]
    X, _ = problem(family, seed, d, n + FRESH)
    return X[:n], X[n:]


def reach(model: Daguerreotype, X: FloatArray) -> tuple[float, float]:
    """The largest contribution of a cause on a grid and in rows, in standard deviations of its effect."""
    result, widest = model._result, np.zeros(2)
    for cause, effect in zip(*np.nonzero(result.adjacency), strict=True):
        place, values = int(result.place[effect]), X[:, cause]
        spread = result.scaled.of_effects.column(place, X[:, effect]).std()
        grid = np.linspace(values.min(), values.max(), GRID)
        sizes = [np.abs(result.component(cause, effect, at)).max() for at in (grid, values)]
        widest = np.maximum(widest, np.array([max(sizes), sizes[1]]) / spread)
    return float(widest[0]), float(widest[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="only these")
    parser.add_argument("--d", type=int, default=10, help="columns (default: 10)")
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000], help="numbers of rows")
    parser.add_argument("--tables", type=int, default=4, help="of each family and number of rows (default: 4)")
    parser.add_argument("--seed", type=int, default=500, help="of the first table (default: 500)")
    parser.add_argument(
        "--set", type=parse_setting, action="append", default=[], metavar="NAME=VALUE", help="change the learner"
    )
    parser.add_argument("--smoke", action="store_true", help="small tables of few families, a few seconds")
    options = parser.parse_args()
    if options.smoke:
        options.families, options.d, options.rows, options.tables = ["waves", "sachs"], 5, [150], 1
    changes: dict[str, Any] = dict(options.set)
    heads, rule = markdown(HEADS, []).splitlines()
    print(heads, rule, sep="\n", flush=True)
    for family in options.families:
        for n in options.rows:
            seen = []
            for seed in range(options.seed, options.seed + options.tables):
                X, fresh = rows_of(family, seed, options.d, n)
                with threadpool_limits(1):
                    model = Daguerreotype().set_params(**changes).fit(X)
                    seen.append((model.score(fresh), model.score(X), *reach(model, X)))
            held, training, *widest = np.mean(seen, axis=0)
            shown = (
                f"{held:.3f}",
                f"{np.median(seen, axis=0)[0]:.3f}",
                f"{training:.3f}",
                *map("{:.1f}".format, widest),
            )
            print(f"| {' | '.join((family, str(len(X)), *shown))} |", flush=True)


if __name__ == "__main__":
    main()
