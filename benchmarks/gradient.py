"""How do the paper's eight gradient-trained configurations fare? SHD, SID and edges beside the published rows.

``python benchmarks/gradient.py`` runs them on Sachs (10 seeds) and on the ten SynTReN networks and prints the
table. The neural ones want a GPU: run ``--save graphs.npz --edges mlp`` where there is one (nothing beyond
torch, numba and scikit-learn is needed there) and ``--load graphs.npz`` where the metrics are installed.
Also prints seconds per fit and peak memory; with ``--steps`` the seconds per step of joint linear training, with
``--rows 1000000`` the memory of training in minibatches.
"""

import argparse
import sys
import time
from itertools import product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np

from daguerreotype import Daguerreotype
from daguerreotype.datasets import load_sachs, load_syntren
from daguerreotype.edges import Table

# SHD, SID and edges of the paper's tables.
PUBLISHED = {
    ("sachs", "bilevel", "sparsemax", "linear"): (13.8, 51.6, 7.7),
    ("sachs", "bilevel", "sparsemap", "linear"): (13.8, 49.1, 7.6),
    ("sachs", "bilevel", "sparsemax", "mlp"): (13.5, 50.9, 7.1),
    ("sachs", "bilevel", "sparsemap", "mlp"): (14.1, 48.1, 7.4),
    ("sachs", "joint", "sparsemax", "linear"): (16.9, 44.9, 16.1),
    ("sachs", "joint", "sparsemap", "linear"): (14.1, 51.5, 6.8),
    ("sachs", "joint", "sparsemax", "mlp"): (14.7, 50.7, 8.6),
    ("sachs", "joint", "sparsemap", "mlp"): (14.4, 51.1, 5.0),
    ("syntren", "bilevel", "sparsemax", "linear"): (51.4, 171.0, 44.5),
    ("syntren", "bilevel", "sparsemap", "linear"): (51.1, 161.0, 47.2),
    ("syntren", "bilevel", "sparsemax", "mlp"): (62.8, 121.0, 65.1),
    ("syntren", "bilevel", "sparsemap", "mlp"): (61.9, 134.0, 65.5),
    ("syntren", "joint", "sparsemax", "linear"): (152.0, 138.0, 161.0),
    ("syntren", "joint", "sparsemap", "linear"): (122.0, 131.0, 131.0),
    ("syntren", "joint", "sparsemax", "mlp"): (154.0, 90.9, 169.0),
    ("syntren", "joint", "sparsemap", "mlp"): (138.0, 118.0, 150.0),
}
STEP_SECONDS = {20: 0.08, 50: 0.81, 100: 4.0}  # the authors' code, per step, on two shared cores


def problems(data_home, seeds, networks):
    """(data set, seed, table, true graph) of every run."""
    sachs = load_sachs()
    yield from (("sachs", seed, sachs.X, sachs.adjacency) for seed in range(seeds))
    if networks:
        for seed, network in enumerate(load_syntren(data_home=data_home)[:networks]):
            yield "syntren", seed, network.X, network.adjacency


def run(options):
    """All graphs, with the seconds and the peak memory of each fit."""
    from dataclasses import replace

    import torch

    torch.set_num_threads(1)
    graphs = {}
    cuda = options.device != "cpu" and torch.cuda.is_available()
    part, parts = map(int, options.part.split("/"))
    for training, operator, edges in product(options.training, options.operator, options.edges):
        listed = list(problems(options.data_home, options.seeds, options.networks))
        for name, seed, X, _ in listed[part - 1 :: parts]:
            model = Daguerreotype.paper(operator, edges, training, random_state=seed, max_iter=options.max_iter)
            model.edges = replace(model.edges, device=options.device, random_state=seed)
            if options.pruning is not None:
                model.edges = replace(model.edges, pruning=options.pruning)
            if cuda:
                torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            model.fit(X)
            seconds = time.perf_counter() - start
            # Of the device; without one, of the whole process so far.
            memory = torch.cuda.max_memory_allocated() / 1e6 if cuda else getrusage(RUSAGE_SELF).ru_maxrss / 1e3
            key = "/".join((name, training, operator, edges, str(seed)))
            graphs[key] = np.asarray(model.adjacency_matrix_)
            graphs[key + "/cost"] = np.array([seconds, model.n_iter_, memory])
            print(
                f"{key}: {graphs[key].sum()} edges, {seconds:.1f} s, {model.n_iter_} steps, {memory:.0f} MB, "
                f"loss of the mode {model.history_.mode_loss[-20:].mean():.3f}",
                file=sys.stderr,
                flush=True,
            )
            if options.save:
                np.savez_compressed(options.save, **graphs)
    return graphs


def print_table(graphs, data_home):
    """Means and standard deviations over seeds or networks, beside the published rows."""
    from daguerreotype.metrics import f1, shd, sid

    truth = {("sachs", 0): load_sachs().adjacency.to_numpy()}
    if any(key.startswith("syntren") for key in graphs):
        truth |= {
            ("syntren", i): net.adjacency.to_numpy() for i, net in enumerate(load_syntren(data_home=data_home))
        }
    rows = {}
    for key, graph in graphs.items():
        if key.endswith("/cost"):
            continue
        name, *setting, seed = key.split("/")
        true = truth[name, 0 if name == "sachs" else int(seed)]
        scores = (shd(true, graph), sid(true, graph), f1(true, graph), graph.sum(), *graphs[key + "/cost"])
        rows.setdefault((name, *setting), []).append(scores)
    print(
        f"{'':38}{'SHD':>13}{'SID':>15}{'F1':>12}{'edges':>13}{'seconds':>9}{'steps':>7}{'MB':>8}"
        "  published SHD/SID/edges"
    )
    for setting, scores in sorted(rows.items()):
        mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0)
        cells = [f"{mean[i]:.{p}f} ±{spread[i]:.{p}f}" for i, p in ((0, 1), (1, 1), (2, 2), (3, 1))]
        published = "/".join(f"{value:g}" for value in PUBLISHED[setting])
        print(
            f"{' '.join(setting):30}{len(scores):4d} runs{cells[0]:>12}{cells[1]:>15}{cells[2]:>12}{cells[3]:>13}"
            f"{mean[4]:9.1f}{mean[5]:7.0f}{mean[6]:8.0f}  {published}"
        )


def print_steps(sizes, steps):
    """Seconds per step of joint linear training with sparsemax, k = 10, n = 1000, on one core."""
    import torch

    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.operators.sparsemax import Sparsemax
    from daguerreotype.simulate import simulate_dag, simulate_data
    from daguerreotype.training import EqualVariance
    from daguerreotype.training.joint.train import train_joint
    from daguerreotype.training.schedule import Schedule

    torch.set_num_threads(1)
    rates = {"tau": lambda _: 1.0, "rate": 0.1, "l2": 0.0005}
    ends = {"max_iter": steps, "tolerance": 0.0, "patience": steps}
    schedule = Schedule(**rates, **ends, refine=False, n_restarts=0, seed=0)
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
                schedule,
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
        model = Daguerreotype.paper("sparsemax", "mlp", "joint", max_iter=steps).set_params(edges=edges)
        before = getrusage(RUSAGE_SELF).ru_maxrss / 1e3
        start = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - start
        more = getrusage(RUSAGE_SELF).ru_maxrss / 1e3 - before
        print(
            f"n = {rows:8d}: {seconds:6.1f} s for {model.n_iter_} steps and the fit of the mode; table "
            f"{X.nbytes / 1e6:.0f} MB, peak memory {more:.0f} MB above what was used before"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-home", help="folder that holds syntren/")
    parser.add_argument("--edges", nargs="+", default=["linear"], choices=["linear", "mlp"])
    parser.add_argument("--training", nargs="+", default=["joint", "bilevel"], choices=["joint", "bilevel"])
    parser.add_argument("--operator", nargs="+", default=["sparsemax", "sparsemap"])
    parser.add_argument("--pruning", type=float, help="lambda, instead of the paper's")
    parser.add_argument("--part", default="1/1", help="I/N: only each N-th problem, from the I-th on")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--max-iter", type=int, default=5000)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--save", type=Path, help="write the graphs to this file as they come, and print no table")
    parser.add_argument("--load", type=Path, nargs="+", help="print the table of saved graphs")
    parser.add_argument("--steps", action="store_true", help="time steps of joint linear training only")
    parser.add_argument("--rows", type=int, help="train on so many rows in minibatches only; shows peak memory")
    parser.add_argument("--smoke", action="store_true", help="a few seconds")
    options = parser.parse_args()
    if options.smoke:
        options.seeds, options.networks, options.max_iter, options.device = 1, 0, 20, "cpu"
        print_steps((20,), 20)
        print_rows(10_000, 20)
    elif options.rows:
        print_rows(options.rows, 1000)
        return
    elif options.steps:
        print_steps(tuple(STEP_SECONDS), 200)
        return
    if options.load:
        graphs = {key: array for path in options.load for key, array in np.load(path).items()}
    else:
        graphs = run(options)
    if not options.save:
        print_table(graphs, options.data_home)


if __name__ == "__main__":
    main()
