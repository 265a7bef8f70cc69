"""How fast are the operators? Times, ratios to merely copying the output, growth in d and k, start-up.

Run ``python benchmarks/operators.py`` (a few minutes), or with ``--smoke`` for a quick pass over small sizes.
Single-threaded; the best of several repetitions, since other work on the machine only ever adds time.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import daguerreotype
from daguerreotype.operators import k_best_rankings, sparsemap, top_k_sparsemax

NODES = (10, 20, 50, 100, 200, 500, 1000, 5000)
COUNTS = (10, 100, 1000)
# Milliseconds, forward and backward, of the authors' code at d = 100 and 500 (k or iterations: 100), as
# measured on two shared cores of a machine of this kind.
AUTHORS = {("top-k sparsemax", 100): 12.4, ("top-k sparsemax", 500): 62.0}
AUTHORS |= {("active set", 100): 0.60, ("active set", 500): 5.0}


def best_time(function, seconds=0.3, least=5):
    """Seconds of the fastest call within a time budget."""
    function()
    best, spent, calls = np.inf, 0.0, 0
    while spent < seconds or calls < least:
        start = time.perf_counter()
        function()
        elapsed = time.perf_counter() - start
        best, spent, calls = min(best, elapsed), spent + elapsed, calls + 1
    return best


def growth(rows, axis):
    """Fitted exponent of time in column ``axis`` of rows (d, k, seconds), the other held fixed by a dummy."""
    table = np.array(rows, dtype=float)
    logs = np.log(table)
    other = logs[:, 1 - axis]
    dummies = (other[:, None] == np.unique(other)[None, :]).astype(float)
    design = np.column_stack([logs[:, axis], dummies])
    return np.linalg.lstsq(design, logs[:, 2], rcond=None)[0][0]


def benchmark_top_k(nodes, counts, seconds, rng):
    """Rows (d, k, seconds of the k best, of a copy, of sparsemax and its gradient)."""
    print("\nThe k best rankings and top-k sparsemax (tau large enough that all k carry mass); milliseconds")
    print(f"{'d':>6} {'k':>6} {'k best':>9} {'copy':>9} {'ratio':>7} {'sparsemax':>10} {'+ vjp':>9}")
    rows = []
    for d in nodes:
        theta = rng.normal(size=d)
        for k in counts:
            ranks, scores = k_best_rankings(theta, k)
            tau = 10.0 * k * max(scores[0] - scores[-1], 1e-3)
            gradient = rng.normal(size=len(ranks))
            forward = best_time(lambda theta=theta, k=k: k_best_rankings(theta, k), seconds)
            copy = best_time(ranks.copy, seconds)
            sparse = best_time(lambda theta=theta, k=k, tau=tau: top_k_sparsemax(theta, k, tau=tau), seconds)
            both = best_time(
                lambda theta=theta, k=k, tau=tau, g=gradient: top_k_sparsemax(theta, k, tau=tau).vjp(g),
                seconds,
            )
            rows.append((d, k, forward, copy, both))
            print(
                f"{d:6d} {k:6d} {1e3 * forward:9.4f} {1e3 * copy:9.4f} {forward / copy:7.1f} "
                f"{1e3 * sparse:10.4f} {1e3 * both:9.4f}" + against("top-k sparsemax", d, both, k == 100)
            )
    large = [row for row in rows if row[0] >= 100] or rows
    print(f"time of the k best grows as d^{growth(large, 0):.2f} and k^{growth(large, 1):.2f} (d >= 100)")
    return rows


def benchmark_sparsemap(nodes, seconds, rng):
    """Seconds of SparseMAP and its gradient by (method, d)."""
    found = {}
    print("\nSparseMAP of standard normal scores, tau = 1, at most 100 iterations; milliseconds")
    print(f"{'d':>6} {'method':>11} {'rankings':>9} {'forward':>9} {'+ vjp':>9} {'copy':>9} {'ratio':>7}")
    for method in ("active-set", "peel"):
        rows = []
        for d in nodes:
            theta = rng.normal(size=d)
            distribution = sparsemap(theta, 100, method=method)
            gradient = rng.normal(size=len(distribution))
            forward = best_time(lambda theta=theta, m=method: sparsemap(theta, 100, method=m), seconds)
            both = best_time(
                lambda theta=theta, m=method, g=gradient: sparsemap(theta, 100, method=m).vjp(g), seconds
            )
            copy = best_time(distribution.ranks.copy, seconds)
            rows.append((d, 1, both))
            found[method, d] = both
            print(
                f"{d:6d} {method:>11} {len(distribution):9d} {1e3 * forward:9.4f} {1e3 * both:9.4f} "
                f"{1e3 * copy:9.4f} {both / copy:7.1f}" + against("active set", d, both, method == "active-set")
            )
        large = [row for row in rows if row[0] >= 100] or rows
        print(f"time of {method} grows as d^{growth(large, 0):.2f} (d >= 100)")
    return found


def against(name, d, seconds, comparable):
    """The ratio to the authors' code, where it was measured."""
    theirs = AUTHORS.get((name, d)) if comparable else None
    return f"   authors {theirs} ms, ratio {theirs / (1e3 * seconds):.0f}" if theirs else ""


def benchmark_start():
    """Seconds of the first call of all operators after installing, and of a later process."""
    call = (
        "import time; start = time.perf_counter()\n"
        "import numpy as np\n"
        "from daguerreotype.operators import *\n"
        "top_k_sparsemax(np.zeros(3)).vjp(np.ones(6))\n"
        "first = time.perf_counter() - start\n"
        "for method in ('active-set', 'peel'):\n"
        "    for theta in (np.zeros(3), np.array([0.0, 0.3, 0.7])):\n"
        "        d = sparsemap(theta, method=method); d.vjp(d.probs)\n"
        "project_permutahedron(np.zeros(3))\n"
        "print(first, time.perf_counter() - start)"
    )
    source = Path(daguerreotype.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "daguerreotype"
        shutil.copytree(source / "operators", target / "operators", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(source / "__init__.py", target)
        environment = os.environ | {"PYTHONPATH": folder}
        print("\nStart of a process, imports included; seconds")
        for label in ("fresh install", "later process"):
            run = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, check=True)
            first, everything = map(float, run.stdout.split())
            print(f"{label:>14}: first result {first:6.2f}, all operators {everything:6.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, a few seconds")
    smoke = parser.parse_args().smoke
    rng = np.random.default_rng(0)
    nodes, counts, seconds = ((10, 100), (10, 100), 0.01) if smoke else (NODES, COUNTS, 0.3)
    benchmark_top_k(nodes, counts, seconds, rng)
    benchmark_sparsemap(nodes, seconds, rng)
    if not smoke:
        benchmark_start()


if __name__ == "__main__":
    main()
