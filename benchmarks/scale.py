"""How does the learner grow with the number of variables? Seconds, memory and quality beside its peers'.

Run ``python benchmarks/scale.py`` (some 25 minutes; ``--sizes 20 50 100`` is quicker), or with ``--smoke`` for a
quick pass. Linear Gaussian data of n = 1000 rows, standardized, from scale-free and Erdős-Rényi graphs with 2 d
edges. Every fit runs in a process of its own, on one thread; seconds are CPU seconds, since other work on the
machine adds to those of the clock, and megabytes are the peak beyond a first small fit. A peer that takes longer
than ``--time-limit`` at one size is not asked at larger ones. ``--csv FILE`` writes the table to a file too.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype, baselines
from daguerreotype.arrays import FloatArray, IntArray
from daguerreotype.graphs import topological_order
from daguerreotype.metrics import f1, shd, sid
from daguerreotype.simulate import simulate_dag, simulate_data
from daguerreotype.training import learn
from learner import peak_megabytes

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
PEERS = {"boss": {}, "grasp": {}, "dagma": {"lambda1": 0.02}, "notears": {}}
LARGEST_GAM = 100  # variables; splines have six times the columns
PHASES = ("training", "growing", "walking", "other")
COLUMNS = ("graph", "d", "method", "seconds", "ratio", "SHD", "SID", "F1", "edges", "MB", *PHASES)
Row = dict[str, Any]


def draw(kind: str, d: int, seed: int, n: int = 1000) -> tuple[FloatArray, IntArray]:
    """Data (n, d), standardized, and their graph."""
    adjacency = simulate_dag(d, 2 * d, kind, random_state=seed)
    return np.asarray(simulate_data(adjacency, n, standardize=True, random_state=seed).X), adjacency


def learner(method: str, adjacency: IntArray) -> Daguerreotype:
    """Ours by edges, or with "true order" told the order."""
    settings = {"transform": "none", "loss": "bic"}
    if method == "true order":
        return Daguerreotype("fixed", "bic", init=topological_order(adjacency), **settings)
    return Daguerreotype("sparsemax", method, **settings)


class Clock:
    """Times the phases of a fit. Refining twice from one start tells growing the trees from walking them."""

    def __init__(self) -> None:
        self.spent = {"training": 0.0, "refining": 0.0, "again": 0.0}
        self._train, self._refine = learn.train_bilevel, learn.refine_order

    def __enter__(self) -> "Clock":
        learn.train_bilevel, learn.refine_order = self._timed_train, self._timed_refine
        return self

    def __exit__(self, *_: object) -> None:
        learn.train_bilevel, learn.refine_order = self._train, self._refine

    def _time(self, phase: str, function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        start = time.process_time()
        result = function(*args, **settings)
        self.spent[phase] += time.process_time() - start
        return result

    def _timed_train(self, *args: Any, **settings: Any) -> Any:
        return self._time("training", self._train, *args, **settings)

    def _timed_refine(self, *args: Any, **settings: Any) -> Any:
        result = self._time("refining", self._refine, *args, **settings)
        self._time("again", self._refine, *args, **settings | {"progress": None})
        return result

    def split(self, total: float) -> dict[str, float]:
        """Seconds of the fit itself, and of its phases."""
        training, refining, again = self.spent.values()
        seconds = total - again
        walking = min(again, refining)
        phases = (training, refining - walking, walking, seconds - training - refining)
        return {"seconds": seconds, **dict(zip(PHASES, phases, strict=True))}


def quality(truth: IntArray, estimated: IntArray) -> Row:
    """How right a graph is."""
    found = {"SHD": shd(truth, estimated), "SID": sid(truth, estimated), "F1": f1(truth, estimated)}
    return {name: float(value) for name, value in found.items()} | {"edges": int(estimated.sum())}


def measure(kind: str, d: int, seed: int, method: str) -> Row:
    """One fit of ours."""
    X, truth = draw(kind, d, seed)
    small, small_truth = draw(kind, 10, seed)
    learner(method, small_truth).fit(small)  # loads the kernels
    before = peak_megabytes()
    with Clock() as clock:
        start = time.process_time()
        estimated = learner(method, truth).fit(X).adjacency_matrix_
        row = clock.split(time.process_time() - start)
    return row | quality(truth, estimated) | {"MB": peak_megabytes() - before}


def ask(kind: str, d: int, seed: int, method: str) -> Row:
    """`measure` in a process of its own, so that its memory is its own."""
    case = json.dumps([kind, d, seed, method])
    run = subprocess.run([sys.executable, __file__, "--case", case], capture_output=True, check=True, text=True)
    return dict(json.loads(run.stdout))


def ask_peer(kind: str, d: int, seed: int, name: str, limit: float) -> Row | None:
    """One fit of a peer; None if it takes too long."""
    X, truth = draw(kind, d, seed)
    try:
        peer = baselines.get(name, time_limit=limit, **PEERS[name]).fit(X)
    except baselines.TimeLimitError:
        return None
    return {"seconds": peer.fit_cpu_seconds_, **quality(truth, peer.adjacency_matrix_)}


def print_table(rows: list[Row]) -> None:
    """Markdown."""
    print(f"\n| {' | '.join(COLUMNS)} |")
    print("|" + "---|" * len(COLUMNS))
    for row in rows:
        cells = (row.get(name, "") for name in COLUMNS)
        print("| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")


def print_growth(rows: list[Row], kinds: list[str]) -> None:
    """The exponent of d in the seconds, by least squares on logarithms from 100 variables on."""
    for kind in kinds:
        ours = [row for row in rows if row["graph"] == kind and row["method"] == "bic"]
        large = [row for row in ours if row["d"] >= 100]
        chosen = large if len(large) > 1 else ours
        d, seconds = (np.log([float(row[name]) for row in chosen]) for name in ("d", "seconds"))
        print(
            f"{kind}: seconds of bic grow as d^{np.polyfit(d, seconds, 1)[0]:.2f} (d = {chosen[0]['d']} and more)"
        )


def print_cores(d: int, resamples: int) -> None:
    """How much faster two threads make a bootstrap, by the clock."""
    X, truth = draw("ER", d, 0)
    seconds = []
    for n_jobs in (1, 2):
        model = learner("bic", truth).fit(X)
        start = time.perf_counter()
        model.bootstrap(X, n_resamples=resamples, n_jobs=n_jobs)
        seconds.append(time.perf_counter() - start)
    print(f"bootstrap of {resamples}, d = {d}: two cores are {seconds[0] / seconds[1]:.2f} times as fast as one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, a few seconds")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of variables")
    parser.add_argument("--graphs", nargs="+", default=["SF", "ER"], help="kinds of graphs")
    parser.add_argument(
        "--peers", nargs="*", default=list(PEERS), choices=list(PEERS), help="whom to compare with"
    )
    parser.add_argument("--time-limit", type=float, default=240.0, help="seconds that a peer may take for a fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=Path, help="file for the table")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.case:
            print(json.dumps(measure(*json.loads(options.case))))
            return
        smoke = options.smoke
        sizes, kinds, limit = (
            ([5, 8], ["SF"], 60.0) if smoke else (options.sizes, options.graphs, options.time_limit)
        )
        peers = [] if smoke else [name for name in options.peers if find_spec(_library(name))]
        rows: list[Row] = []
        for kind in kinds:
            asked = list(peers)
            for d in sorted(sizes):
                ours = ask(kind, d, options.seed, "bic")
                methods = ["true order"] + (["gam"] if d <= LARGEST_GAM else [])
                fit = measure if smoke else ask  # a process takes seconds to start
                found = {"bic": ours} | {name: fit(kind, d, options.seed, name) for name in methods}
                for name in list(asked):
                    row = ask_peer(kind, d, options.seed, name, limit)
                    if row is None:
                        asked.remove(name)
                    else:
                        found[name] = row
                for name, row in found.items():
                    labels = {"graph": kind, "d": d, "method": name, "ratio": row["seconds"] / ours["seconds"]}
                    rows.append(labels | row)
                    print(f"{kind} d={d} {name}: {row['seconds']:.3g} s, SHD {row['SHD']:.0f}", flush=True)
        print_table(rows)
        print_growth(rows, kinds)
        print_cores(*((5, 2) if smoke else (100, 16)))
        if options.csv:
            with options.csv.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)


def _library(peer: str) -> str:
    """Top-level name of the library that a peer needs; ours where it needs none."""
    libraries = baselines.get(peer).libraries
    return libraries[0].split(".")[0] if libraries else "daguerreotype"


if __name__ == "__main__":
    main()
