"""Edges found in tables of few rows: of pure noise, of sparse lines, of curves.

``python benchmarks/few_rows.py`` prints, for tables of every size, how many edges the defaults find: those of
noise are all false; of the others it counts true adjacencies, and false ones, beside those that there are.
``--tables`` says how many tables of a size, ``--as-many`` what it would be if few rows were treated as many are.
"""

import argparse
import logging

import numpy as np

from daguerreotype import Daguerreotype
from daguerreotype.edges import GamEdges

SIZES = [(8, 5), (8, 40), (10, 40), (12, 40), (15, 30), (20, 5), (20, 20), (30, 10), (30, 60), (45, 20), (60, 40)]
KINDS = ("noise", "lines", "curves")


def draw(kind: str, n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table (n, d) and its graph (d, d): every column but the first has one strong cause, or none in noise."""
    rng = np.random.default_rng([seed, n, d])
    graph, X = np.zeros((d, d), dtype=bool), rng.normal(size=(n, d))
    if kind == "noise":
        return X, graph
    for j in range(1, d):
        if rng.random() < 0.7:
            cause = int(rng.integers(j))
            graph[cause, j] = True
            x = (X[:, cause] - X[:, cause].mean()) / X[:, cause].std()
            effect = 2 * x if kind == "lines" else 2 * np.tanh(2 * x) if rng.random() < 0.5 else 1.5 * (x**2 - 1)
            X[:, j] += effect
    columns = rng.permutation(d)
    return X[:, columns], graph[np.ix_(columns, columns)]


def count(kind: str, n: int, d: int, n_tables: int, as_many: bool = False) -> tuple[float, float, float]:
    """Mean number of true adjacencies that are found, of false ones, and of all that there are."""
    # An estimator of one's own has a price of its own.
    edges = GamEdges(gamma=1.0, trust=Daguerreotype().trust) if as_many else "gam"
    found = []
    for seed in range(n_tables):
        X, graph = draw(kind, n, d, seed)
        graph_found = np.asarray(Daguerreotype(edges=edges, posterior=0).fit(X).adjacency_matrix_) != 0
        either, true = graph_found | graph_found.T, graph | graph.T
        found.append([(either & true).sum() / 2, (either & ~true).sum() / 2, true.sum() / 2])
    hits, false, there = np.mean(found, axis=0)
    return float(hits), float(false), float(there)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--as-many", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="one table of one size")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    arguments = parser.parse_args()
    print("| rows | columns | table | true edges | found | false |")
    print("|---|---|---|---|---|---|")
    n_tables = 1 if arguments.smoke else arguments.tables
    for n, d in SIZES[:1] if arguments.smoke else SIZES:
        for kind in arguments.kinds:
            hits, false, there = count(kind, n, d, n_tables, arguments.as_many)
            print(f"| {n} | {d} | {kind} | {there:.1f} | {hits:.1f} | {false:.1f} |", flush=True)


if __name__ == "__main__":
    logging.getLogger("daguerreotype").setLevel(logging.ERROR)  # not in main, which a test calls in its process
    main()
