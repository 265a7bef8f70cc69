"""What does one fit cost, and how right is its graph? Ours and the peers', each in a process of its own.

Run ``python benchmarks/fits.py SF 100 bic boss`` for a line per method. Linear Gaussian data of n = 1000 rows,
standardized, from graphs of about 2 d edges. One thread and CPU seconds, since other work on the machine adds to
those of the clock. Megabytes are the peak beyond imports and a first small fit, for the first seed.
"""

import argparse
import copy
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype, baselines
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.graphs import topological_order
from daguerreotype.metrics import f1, shd, sid
from daguerreotype.operators import FixedOrder
from daguerreotype.simulate import simulate_dag, simulate_data
from daguerreotype.training import Bilevel, search
from learner import peak_megabytes

PEERS: dict[str, dict[str, Any]] = {"boss": {}, "grasp": {}, "dagma": {"lambda1": 0.02}, "notears": {}}
PHASES = ("training", "growing", "walking", "other")
HUB_SIZE = 50  # parents
Row = dict[str, Any]


def draw(kind: str, d: int, seed: int, n: int = 1000) -> tuple[FloatArray, IntArray]:
    """Data (n, d), standardized, and their graph: scale-free "SF", Erdős-Rényi "ER", or "hubs"."""
    adjacency = add_hubs(d, seed) if kind == "hubs" else simulate_dag(d, 2 * d, kind, random_state=seed)
    return np.asarray(simulate_data(adjacency, n, standardize=True, random_state=seed).X), adjacency


def add_hubs(d: int, seed: int) -> IntArray:
    """An Erdős-Rényi graph of d edges, and d more into some nodes of its later half: 50 parents for each."""
    adjacency = simulate_dag(d, d, "ER", random_state=seed)
    order, rng = topological_order(adjacency), np.random.default_rng([seed, 1])
    hub_size = min(HUB_SIZE, d // 2)
    for place in np.linspace(d // 2, d - 1, d // hub_size).astype(int):
        adjacency[rng.choice(order[:place], hub_size, replace=False), order[place]] = 1
    return adjacency


def learner(method: str, adjacency: IntArray) -> Daguerreotype:
    """Ours by edges, or with "true order" told the order."""
    settings = {"scales": "none", "training": Bilevel(loss="bic")}
    if method == "true order":
        return Daguerreotype(edges="bic", operator=FixedOrder(topological_order(adjacency)), **settings)
    return Daguerreotype(edges=method, **settings)


class Clock:
    """Times the phases of a fit. Refining twice from one start tells growing the trees from walking them."""

    def __init__(self) -> None:
        self.spent = {"training": 0.0, "refining": 0.0, "again": 0.0}
        self._train, self._refine = search.train_bilevel, search.refine_order

    def __enter__(self) -> "Clock":
        search.train_bilevel, search.refine_order = self._timed_train, self._timed_refine
        return self

    def __exit__(self, *_: object) -> None:
        search.train_bilevel, search.refine_order = self._train, self._refine

    def _time(self, name: str, function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        start = time.process_time()
        result = function(*args, **settings)
        self.spent[name] += time.process_time() - start
        return result

    def _timed_train(self, *args: Any, **settings: Any) -> Any:
        return self._time("training", self._train, *args, **settings)

    def _timed_refine(self, moves: Any, *args: Any) -> None:
        start = copy.deepcopy(moves)  # refining keeps the best order in it
        self._time("refining", self._refine, moves, *args)
        self._time("again", self._refine, start, *args)

    def split(self, total: float) -> dict[str, float]:
        """Seconds of the fit itself, and of its phases."""
        training, refining, again = self.spent.values()
        seconds = total - again
        walking = min(again, refining)
        phases = (training, refining - walking, walking, seconds - training - refining)
        return {"seconds": seconds, **dict(zip(PHASES, phases, strict=True))}


def fit(method: str, X: FloatArray, truth: IntArray) -> tuple[Row, IntArray]:
    """Seconds, of ours by phase too, and the graph."""
    if method in PEERS:
        peer = baselines.get(method, **PEERS[method]).fit(X)
        return {"seconds": peer.fit_cpu_seconds_}, peer.adjacency_matrix_
    with Clock() as clock:
        start = time.process_time()
        estimated = learner(method, truth).fit(X).adjacency_matrix_
        return clock.split(time.process_time() - start), estimated


def measure(kind: str, d: int, seeds: Sequence[int], method: str, limit: float | None) -> Iterator[Row]:
    """A row per seed, until half of ``limit`` is spent; a fit of more CPU seconds ends this process."""
    spent = 0.0
    with threadpool_limits(1):
        fit(method, *draw("ER", 10, 0))  # loads libraries and kernels
        before = peak_megabytes()
        for seed in seeds:
            X, truth = draw(kind, d, seed)
            if limit is not None:
                end = math.ceil(time.process_time() + limit)
                resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
            row, estimated = fit(method, X, truth)
            memory = {"MB": peak_megabytes() - before} if seed == seeds[0] else {}  # later ones inherit its peak
            scores = {"SHD": shd(truth, estimated), "SID": sid(truth, estimated), "F1": f1(truth, estimated)}
            row |= {name: float(value) for name, value in scores.items()}
            label = {"graph": kind, "d": d, "method": method, "seed": seed, "finished": True}
            yield label | row | {"edges": int(estimated.sum())} | memory
            spent += row["seconds"]
            if limit is not None and spent > limit / 2:
                break


def ask(kind: str, d: int, seeds: int, method: str, limit: float | None = None) -> list[Row]:
    """What `measure` finds in a process of its own; one row that is not finished if a fit exceeds the limit."""
    case = json.dumps([kind, d, list(range(seeds)), method, limit])
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--case", case]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | threads)
    if run.returncode == -signal.SIGXCPU:
        return [{"graph": kind, "d": d, "method": method, "seed": 0, "finished": False, "seconds": limit}]
    if run.returncode:
        raise RuntimeError(f"{method} failed on {kind}, d = {d}:\n{run.stderr[-2000:]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def installed() -> list[str]:
    """Peers that can be run here."""
    return [name for name in PEERS if find_spec(baselines.get(name).libraries[0].split(".")[0])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", choices=("SF", "ER", "hubs"), default="SF")
    parser.add_argument("d", type=int, nargs="?", default=100, help="number of variables")
    parser.add_argument("methods", nargs="*", default=["bic", "true order"], help="ours or peers")
    parser.add_argument("--seeds", type=int, default=1, help="number of problems")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a process that its limit ends leaves no file
        with os.fdopen(os.dup(1), "w") as replies:
            os.dup2(2, 1)  # what a library prints must not mix with the rows
            for row in measure(*json.loads(options.case)):
                print(json.dumps(row), file=replies, flush=True)
        return
    for method in options.methods:
        for row in ask(options.graph, options.d, options.seeds, method):
            print(row, flush=True)


if __name__ == "__main__":
    main()
