"""What does the local score see? One line per family: noise shapes, products, spread, waves, networks and others.

Run ``python benchmarks/one_score.py`` (some minutes on one core), with ``--families waves pairs`` for some, with
``--smoke`` for a quick pass. ``--set penalty=2.0`` changes the learner. Settings are searched on one ``--seed``
and tested on tables of another, which no choice has seen: a family has the tables of twelve seeds from there on,
four each of 400, 1000 and 2000 rows. "pairs" are ten tables of y = x + e with x Laplace and e uniform.

"True order" is the learner told a right order. CPDAG is the distance of equivalence classes, of linear Gaussian
tables alone, whose directions nobody can tell. "Sure" is the share of arrows with a probability of 0.95 or more
that are right, and how many of these there are. Seconds are those of the processor, on one thread.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.graphs import topological_order
from daguerreotype.metrics import shd, shd_cpdag, sid
from daguerreotype.operators import FixedOrder
from defaults import parse_setting
from problems import problem
from tables import markdown, number

FAMILIES = {
    "noise-shapes": "straight, noise shapes differ by column",
    "products": "products of causes",
    "spread": "spread depends on causes",
    "waves": "waves (sin 2x to sin 3.5x)",
    "thresholds": "thresholds",
    "relu": "relu networks",
    "gp": "joint Gaussian processes",
    "linear-gaussian": "straight Gaussian",
    "linear-laplace": "straight Laplace",
    "gp-add": "additive",
    "distorted": "post-nonlinear",
    "hill": "Hill kinetics",
    "hidden": "hidden causes",
    "pairs": "pairs, x Laplace, noise uniform",
}
CLASSES = ("linear-gaussian",)  # families whose directions nobody can tell
SURE = 0.95
HEADS = ("family", "SHD", "SID", "true order: SHD", "SID", "CPDAG", "sure and right", "sure", "seconds")
Table = tuple[FloatArray, IntArray]
Row = dict[str, float]


def tables(family: str, d: int, sizes: list[int], each: int, seed: int) -> Iterator[Table]:
    """The tables of a family, ``each`` of every number of rows; of pairs ten from 500 to 2000 rows."""
    if family == "pairs":
        for turn, n in enumerate(np.linspace(500, 2000, 10).astype(int).tolist()):
            yield pair(seed + turn, n)
        return
    for turn, n in enumerate(np.repeat(sizes, each).tolist()):
        yield problem(family, seed + turn, d, n)


def pair(seed: int, n: int) -> Table:
    """A Laplace cause and its effect, with uniform noise of the same variance; odd seeds put the effect first."""
    rng = np.random.default_rng([seed, 10])
    cause = rng.laplace(0.0, np.sqrt(0.5), n)
    both = np.column_stack([cause, cause + rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), n)])
    adjacency = np.array([[0, 1], [0, 0]])
    return (both[:, ::-1], adjacency.T) if seed % 2 else (both, adjacency)


def measure(X: FloatArray, truth: IntArray, changes: dict[str, Any]) -> Row:
    """How right a fit is, with and without the order told, and what its sure arrows are worth."""
    with threadpool_limits(1):
        start = time.process_time()
        model = Daguerreotype().set_params(**changes).fit(X)
        seconds = time.process_time() - start
        told = {"operator": FixedOrder(topological_order(truth))}
        ceiling = Daguerreotype().set_params(**changes, **told).fit(X).adjacency_matrix_
    found, sure = model.adjacency_matrix_, model.edge_probabilities_ >= SURE
    row = {"SHD": shd(truth, found), "SID": sid(truth, found), "CPDAG": shd_cpdag(truth, found)}
    row |= {"true SHD": shd(truth, ceiling), "true SID": sid(truth, ceiling), "seconds": seconds}
    return row | {"sure": int(sure.sum()), "right": int(truth[sure].sum())}


def line(family: str, rows: list[Row]) -> list[str]:
    """Means over the tables of a family, as they are shown."""
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    sure, right = (sum(row[name] for row in rows) for name in ("sure", "right"))
    return [
        FAMILIES[family],
        *(f"{mean[name]:.1f}" for name in ("SHD", "SID", "true SHD", "true SID")),
        f"{mean['CPDAG']:.1f}" if family in CLASSES else "",
        f"{right / sure:.2f}" if sure else "",
        str(sure),
        number(mean["seconds"]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="only these")
    parser.add_argument("--d", type=int, default=15, help="columns (default: 15)")
    parser.add_argument("--rows", type=int, nargs="+", default=[400, 1000, 2000], help="numbers of rows")
    parser.add_argument("--tables", type=int, default=4, help="of each family and number of rows (default: 4)")
    parser.add_argument("--seed", type=int, default=0, help="of the first table; a multiple of 4 (default: 0)")
    parser.add_argument(
        "--set", type=parse_setting, action="append", default=[], metavar="NAME=VALUE", help="change the learner"
    )
    parser.add_argument("--smoke", action="store_true", help="small tables of few families, a few seconds")
    options = parser.parse_args()
    if options.smoke:
        options.families, options.d, options.rows, options.tables = ["waves", "linear-gaussian"], 5, [150], 1
    changes = dict(options.set)
    measure(*problem("gp-add", 0, 5, 100), changes)  # loads the kernels before anything is timed
    heads, rule = markdown(HEADS, []).splitlines()
    print(heads, rule, sep="\n", flush=True)
    for family in options.families:
        drawn = tables(family, options.d, options.rows, options.tables, options.seed)
        shown = line(family, [measure(X, truth, changes) for X, truth in drawn])
        print(f"| {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
