"""How fast are gradient-trained edges, and what memory do they take? Fits, single steps, and minibatches.

``python benchmarks/gradient.py`` fits the four neural configurations of the paper to Sachs, once each, and prints
seconds and peak memory; ``--fits converged`` brings every fit to its optimum, ``--device cuda`` uses a GPU, and
``--out docs/results/gradient`` writes the table for the page of gradient edges.
With ``--steps`` it prints the seconds per step of joint linear training, with ``--rows 1000000`` the memory of
training in minibatches. The graphs are those of ``daguerreotype reproduce sachs``.
"""

import argparse
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np

from daguerreotype import Daguerreotype
from daguerreotype.datasets import load_sachs
from daguerreotype.edges import Table
from tables import markdown

STEP_SECONDS = {20: 0.08, 50: 0.81, 100: 4.0}  # the authors' code, per step, on two shared cores


def print_fits(fits, device, max_iter, out=None, rows=None):
    """Seconds and peak memory of neural fits to Sachs: the device's own, or without one the whole process's."""
    lines = []
    import torch

    torch.set_num_threads(1)
    cuda = device != "cpu" and torch.cuda.is_available()
    X = load_sachs().X.iloc[:rows, :5] if rows else load_sachs().X
    print(f"Sachs, mlp edges, {fits} fits, {'GPU' if cuda else 'one core'}")
    for training, operator in product(("joint", "bilevel"), ("sparsemax", "sparsemap")):
        model = Daguerreotype.paper(operator, "mlp", training, fits=fits, training__max_iter=max_iter)
        model.edges = replace(model.edges, device=device)
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        start = time.process_time(), time.perf_counter()
        model.fit(X)
        cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
        memory = torch.cuda.max_memory_allocated() / 1e6 if cuda else getrusage(RUSAGE_SELF).ru_maxrss / 1e3
        n_edges = np.count_nonzero(model.adjacency_matrix_)
        print(
            f"{training:8} {operator:10} {cpu:6.1f} s of the processor, {wall:6.1f} s, "
            f"{len(model.history_)} steps, {memory:.0f} MB, {n_edges} edges"
        )
        lines.append(
            [f"{training} {operator}", f"{cpu:.1f}", str(len(model.history_)), f"{memory:.0f}", str(n_edges)]
        )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        heads = ("configuration", "seconds of the processor", "steps", "MB", "edges")
        (out / f"{fits}.md").write_text(markdown(heads, lines), encoding="utf-8")


def print_steps(sizes, steps):
    """Seconds per step of joint linear training with sparsemax, k = 10, n = 1000, on one core."""
    import torch

    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.operators import Sparsemax
    from daguerreotype.simulate import simulate_dag, simulate_data
    from daguerreotype.training import EqualVariance, Joint
    from daguerreotype.training.joint.train import train_joint

    torch.set_num_threads(1)
    training = Joint(max_iter=steps, tol=0.0, patience=steps)
    print("\njoint linear, sparsemax, k = 10, n = 1000, one core: seconds per step")
    for d in sizes:
        data = simulate_data(simulate_dag(d, 2 * d, "SF", random_state=0), 1000, standardize=True, random_state=0)
        table = Table(np.asarray(data.X), tuple(map(str, range(d))))
        seconds = np.inf
        for _ in range(3):
            start = time.perf_counter()
            trained = train_joint(
                table,
                LinearEdges(pruning=0.001, device="cpu"),
                Sparsemax(10),
                np.zeros(d),
                EqualVariance(),
                training,
                tau=1.0,
            )
            seconds = min(seconds, (time.perf_counter() - start) / len(trained.steps))
        print(f"d = {d:4d}: {seconds:.5f} s   authors {STEP_SECONDS[d]} s, ratio {STEP_SECONDS[d] / seconds:.0f}")


def print_rows(n, steps):
    """Memory of joint neural training in minibatches: that of the table, and what all the rest adds to it."""
    import torch

    from daguerreotype.edges.mlp import MlpEdges
    from daguerreotype.simulate import simulate_dag, simulate_data

    torch.set_num_threads(1)
    dag = simulate_dag(10, 20, "ER", random_state=0)
    edges = MlpEdges(batch_size=1000, device="cpu", pruning=0.01)
    print("\njoint mlp, sparsemax, d = 10, batches of 1000 rows, one core")
    for rows in (n // 100, n):
        X = np.asarray(simulate_data(dag, rows, standardize=True, random_state=0).X)
        model = Daguerreotype.paper("sparsemax", "mlp", "joint", training__max_iter=steps).set_params(edges=edges)
        before = getrusage(RUSAGE_SELF).ru_maxrss / 1e3
        start = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - start
        more = getrusage(RUSAGE_SELF).ru_maxrss / 1e3 - before
        print(
            f"n = {rows:8d}: {seconds:6.1f} s for {len(model.history_)} steps and the fit of the mode; table "
            f"{X.nbytes / 1e6:.0f} MB, peak memory {more:.0f} MB above what was used before"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", default="published", choices=["published", "converged"])
    parser.add_argument("--device", default="cpu", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--steps", action="store_true", help="time steps of joint linear training only")
    parser.add_argument("--rows", type=int, help="train on so many rows in minibatches only; shows peak memory")
    parser.add_argument("--out", type=Path, help="folder for the table of fits")
    parser.add_argument("--smoke", action="store_true", help="a few seconds")
    options = parser.parse_args()
    if options.smoke:
        print_steps((20,), 5)
        print_rows(2_000, 2)
        print_fits("published", "cpu", 2, rows=100)
    elif options.rows:
        print_rows(options.rows, 1000)
    elif options.steps:
        print_steps(tuple(STEP_SECONDS), 200)
    else:
        print_fits(options.fits, options.device, 5000, options.out)


if __name__ == "__main__":
    main()
