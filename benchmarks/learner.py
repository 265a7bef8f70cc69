"""How good, how fast and how steady is the learner? Prints its figures beside the paper's and its peers'.

Run ``python benchmarks/learner.py --data-home FOLDER`` (some ten minutes; the folder, or that of the environment
variable DAGUERREOTYPE_DATA, has syntren/data1.npy and so on), or with ``--smoke`` for a quick pass. The peers
are those of ``pip install 'daguerreotype[baselines]'``, on the same data in the same run. One thread and CPU
seconds, since other work on the machine adds to those of the clock.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype, baselines
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.datasets import load_sachs, load_syntren
from daguerreotype.graphs import topological_order
from daguerreotype.metrics import f1, shd, sid
from daguerreotype.operators import FixedOrder
from problems import scale_free

Key = tuple[Any, ...]  # of a problem: ("sachs",), ("syntren", network, folder) or ("scale-free", d, seed)
Learner = Callable[[], Daguerreotype]

# SHD, SID, F1, edges: the best row of the paper by each of the three, its LARS rows, and what we aim at.
PUBLISHED = {
    "Sachs": {
        "paper: spmax (non-linear)": (13.5, 50.9, 0.348, 7.1),
        "paper: spmax-joint (linear)": (16.9, 44.9, 0.360, 16.1),
        "paper: spmax (LARS)": (13.8, 51.7, 0.316, 9.5),
        "paper: spMAP (LARS)": (14.4, 49.6, 0.275, 9.2),
        "aim": (11.7, 47.9, 0.46, np.nan),
    },
    "SynTReN": {
        "paper: spMAP (linear)": (51.1, 161.0, 0.211, 47.2),
        "paper: spmax-joint (non-linear)": (154.0, 90.9, 0.149, 169.0),
        "paper: spMAP (non-linear)": (61.9, 134.0, 0.255, 65.5),
        "paper: spmax (LARS)": (77.9, 103.0, 0.238, 86.0),
        "paper: spMAP (LARS)": (78.7, 116.0, 0.212, 83.8),
        "aim": (31.4, 95.0, 0.46, np.nan),
    },
}
PAPER: dict[str, Learner] = {
    "paper's settings, sparsemax": lambda: Daguerreotype.paper("sparsemax"),
    "paper's settings, SparseMAP": lambda: Daguerreotype.paper("sparsemap"),
}
# Seconds of the authors' code with top-k sparsemax (k = 100) and LARS, one thread, on a machine of this kind.
AUTHORS = {"syntren": 1200.0, "sachs": 65.0}


@cache
def data(key: Key) -> tuple[FloatArray, IntArray]:
    """Values (n, d) and the adjacency (d, d) held to be true."""
    if key[0] == "scale-free":
        return scale_free(key[2], key[1])
    record = load_sachs() if key[0] == "sachs" else load_syntren(key[1], data_home=key[2])
    return record.X.to_numpy(), record.adjacency.to_numpy()


def fit(learner: Learner, X: FloatArray) -> tuple[IntArray, float]:
    """The estimated adjacency and the seconds it took."""
    start = time.process_time()
    estimated = learner().fit(X).adjacency_matrix_
    return estimated, time.process_time() - start


def fit_all(learner: Learner, keys: Sequence[Key]) -> list[list[float]]:
    """Measures of one fit per problem."""
    return [measures(key, *fit(learner, data(key)[0])) for key in keys]


def fit_true_order(keys: Sequence[Key]) -> list[list[float]]:
    """Measures of the default when it is told the true order: as good as it could get."""
    orders = {key: topological_order(data(key)[1]) for key in keys}
    return [
        fit_all(lambda o=order: Daguerreotype(operator=FixedOrder(o)), [key])[0] for key, order in orders.items()
    ]


def measures(key: Key, estimated: IntArray, seconds: float) -> list[float]:
    """SHD, SID, F1, number of edges, seconds."""
    truth = data(key)[1]
    graph = [shd(truth, estimated), sid(truth, estimated), f1(truth, estimated), estimated.sum()]
    return [float(value) for value in (*graph, seconds)]


# DAGMA with the value of its documentation.
PEERS = {"BOSS": baselines.get("boss"), "DAGMA": baselines.get("dagma", lambda1=0.02)}


def installed() -> list[str]:
    """Peers that can be run here."""
    return [name for name, peer in PEERS.items() if find_spec(peer.libraries[0].split(".")[0])]


@cache
def fit_peer(name: str, key: Key) -> tuple[IntArray, float]:
    """What a peer finds in standardized columns, and its seconds: the best of three where it is quick."""
    peer, seconds = PEERS[name], []
    while not seconds or (len(seconds) < 3 and sum(seconds) < 1.0):
        seconds.append(peer.fit(data(key)[0]).fit_cpu_seconds_)
    return peer.adjacency_matrix_, min(seconds)


def print_header(title: str, *more: str) -> None:
    print(f"\n{title}")
    columns = "".join(f"{name:>15}" for name in ("SHD", "SID", "F1", "edges", "seconds"))
    print(f"{'':32}{columns}" + "".join(f"{name:>12}" for name in more))


def print_row(name: str, rows: Sequence[Sequence[float]], *more: float) -> float:
    """Means ± standard deviations of measures; returns the mean seconds."""
    mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0)
    cells = [f"{m:.{p}f} ±{s:.{p}f}" for m, s, p in zip(mean, deviation, (1, 1, 2, 1, 3), strict=True)]
    line = f"{name:32}" + "".join(f"{cell:>15}" for cell in cells)
    print(line + "".join(f"{value:12.3g}" for value in more), flush=True)
    return float(mean[-1])


def print_published(dataset: str) -> None:
    for name, (a, b, c, d) in PUBLISHED[dataset].items():
        print(f"{name:32}{a:15.1f}{b:15.1f}{c:15.2f}" + (f"{d:15.1f}" if np.isfinite(d) else ""))


def real_data(seeds: int, networks: Sequence[int], home: str | None) -> None:
    sachs: list[Key] = [("sachs",)]
    print_header(f"Sachs, mean ± standard deviation over {seeds} seeds")
    for name, make in ({"default": Daguerreotype} | PAPER).items():
        seeded = [lambda make=make, seed=seed: make().set_params(random_state=seed) for seed in range(seeds)]
        print_row(name, [fit_all(each, sachs)[0] for each in seeded])
    print_row("default, true order", fit_true_order(sachs))
    print_published("Sachs")
    if home is None:
        print("\nSynTReN skipped: no syntren/data1.npy beneath --data-home or DAGUERREOTYPE_DATA")
        return
    keys: list[Key] = [("syntren", network, home) for network in networks]
    print_header(f"SynTReN, mean ± standard deviation over {len(keys)} networks")
    for name, make in ({"default": Daguerreotype} | PAPER).items():
        print_row(name, fit_all(make, keys))
    print_row("default, true order", fit_true_order(keys))
    print_published("SynTReN")


def synthetic(sizes: dict[int, int]) -> None:
    for d, seeds in sizes.items():
        keys: list[Key] = [("scale-free", d, seed) for seed in range(seeds)]
        title = f"scale-free, linear Gaussian, standardized, n = 1000, d = {d}, {seeds} problems"
        print_header(f"{title}; ratios of seconds", "/ default", "/ bic")
        default = print_row("default", fit_all(Daguerreotype, keys))
        bic = print_row("edges bic", fit_all(lambda: Daguerreotype(edges="bic"), keys))
        print_row("default, true order", fit_true_order(keys))
        for peer in installed():
            rows = [measures(key, *fit_peer(peer, key)) for key in keys]
            seconds = np.mean([row[-1] for row in rows])
            print_row(peer, rows, seconds / default, seconds / bic)


def speed_cases(d: int, home: str | None) -> dict[str, tuple[Learner, Key, bool]]:
    """Learner, problem, and whether the authors' code was timed at the same."""
    paper, sachs, large = PAPER["paper's settings, sparsemax"], ("sachs",), ("scale-free", d, 0)
    cases: dict[str, tuple[Learner, Key, bool]] = {
        "Sachs, paper's settings": (paper, sachs, True),
        "Sachs, splines, one scale": (lambda: Daguerreotype(scales="none"), sachs, False),
        "Sachs, default": (Daguerreotype, sachs, False),
        f"d = {d}, edges bic, one scale": (lambda: Daguerreotype(edges="bic", scales="none"), large, False),
    }
    if home is not None:
        cases["SynTReN 1, paper's settings"] = (paper, ("syntren", 1, home), True)
    return cases


def peak_megabytes() -> float:
    """Most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux the ru_maxrss of a child starts from its parent's peak
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text())
        assert found is not None
        return float(found[1]) / 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0**2


def measure_memory(learner: Learner, key: Key) -> None:
    """Print peak megabytes of one fit: beyond imports and data, and beyond a first small fit too."""
    X = data(key)[0]
    imported = peak_megabytes()
    learner().fit(scale_free(0, 5, 100)[0])
    started = peak_megabytes()
    learner().fit(X)
    print(json.dumps([peak_megabytes() - imported, peak_megabytes() - started]))


def speed(repeats: int, d: int, home: str | None, n_cases: int | None = None) -> None:
    print(f"\nspeed: CPU seconds, the best of {repeats}, and how many times as long others take; peak megabytes")
    print("beyond imports, and beyond a first small fit that loads the compiled code")
    names = (*installed(), "authors")
    print(f"{'':32}{'seconds':>10}" + "".join(f"{n:>12}{'ratio':>10}" for n in names) + f"{'MB':>9}{'MB':>9}")
    for label, (learner, key, comparable) in list(speed_cases(d, home).items())[:n_cases]:
        seconds = min(fit(learner, data(key)[0])[1] for _ in range(repeats))
        others = [fit_peer(peer, key)[1] for peer in installed()]
        others.append(AUTHORS[key[0]] if comparable else np.nan)
        cells = (f"{o:10.3g} s{o / seconds:10,.2f}" if np.isfinite(o) else " " * 22 for o in others)
        call = [sys.executable, __file__, "--memory", label, "--nodes", str(d)]
        call += [] if home is None else ["--data-home", home]
        run = subprocess.run(call, capture_output=True, check=True)
        peaks = "".join(f"{value:9.1f}" for value in json.loads(run.stdout))
        print(f"{label:32}{seconds:10.3f}" + "".join(cells) + peaks, flush=True)


def spread(count: int) -> None:
    print_header(f"spread on Sachs with the paper's settings, theta from zeros, over {count} fits", "graphs")
    X, _ = data(("sachs",))
    rng, same = np.random.default_rng(0), np.arange(X.shape[1])
    cases = {
        "seeds": [(seed, same) for seed in range(count)],
        "permutations": [(0, rng.permutation(same)) for _ in range(count)],
    }
    for name, make in PAPER.items():
        for what, settings in cases.items():
            rows, graphs = [], set()
            for seed, columns in settings:
                found, seconds = fit(lambda m=make, s=seed: m().set_params(random_state=s), X[:, columns])
                back = np.argsort(columns)
                estimated = found[np.ix_(back, back)]
                rows.append(measures(("sachs",), estimated, seconds))
                graphs.add(estimated.tobytes())
            print_row(f"{name.split(', ')[1]}, {what}", rows, len(graphs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, a few seconds")
    parser.add_argument("--data-home", default=os.environ.get("DAGUERREOTYPE_DATA"), help="folder of syntren/")
    parser.add_argument("--nodes", type=int, default=100, help=argparse.SUPPRESS)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    home = options.data_home
    if home is not None and not (Path(home) / "syntren" / "data1.npy").is_file():
        home = None
    with threadpool_limits(1):
        if options.memory:
            return measure_memory(*speed_cases(options.nodes, home)[options.memory][:2])
        for make in (*PAPER.values(), Daguerreotype, lambda: Daguerreotype(edges="bic")):
            fit(make, data(("sachs",))[0])  # loads the kernels before anything is timed
        missing = [name for name in PEERS if name not in installed()]
        if missing:
            print(f"{', '.join(missing)} skipped: pip install 'daguerreotype[baselines]'")
        smoke = options.smoke
        real_data(1 if smoke else 10, range(1, 2) if smoke else range(1, 11), home)
        synthetic({8: 1} if smoke else {20: 5, 50: 5, 100: 3})
        speed(1 if smoke else 5, 8 if smoke else options.nodes, home, n_cases=1 if smoke else None)
        spread(2 if smoke else 20)


if __name__ == "__main__":
    main()
