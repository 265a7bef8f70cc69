"""How do the baselines do on Sachs and SynTReN? Prints their figures beside the rows that the paper published.

Run ``python benchmarks/baselines.py --data-home FOLDER`` (the folder, or that of the environment variable
DAGUERREOTYPE_DATA, has syntren/data1.npy and so on), with ``--methods`` for some of them only, or with ``--smoke``
for a quick pass. ``--methods golem-nv:lambda1=0.02,threshold=0.2`` changes settings. Every fit is appended to
``--results`` as it ends; a run that was interrupted goes on from there. A fit that fails, or runs longer than
``--time-limit`` seconds of the clock, is a result too, and the others go on. With a limit every fit has a process
of its own, whose start takes longer than quick methods do; 0 is no limit. One thread, and CPU seconds, since other
work on the machine adds to those of the clock. published.csv has the rows of the tables in the paper's appendix.
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from daguerreotype import baselines
from daguerreotype.datasets import load_sachs, load_syntren
from daguerreotype.datasets.record import Dataset
from daguerreotype.metrics import f1, shd, sid

MEASURES = ["shd", "sid", "f1", "edges", "seconds"]
WIDTHS = [22, 24, 20, 22, 16]  # of their columns
COLUMNS = ["dataset", "problem", "method", "seed", "time_limit", *MEASURES, "outcome"]
KEY = ["problem", "method", "seed", "time_limit"]
# Methods whose result hangs on random_state; of the others one seed says all.
DRAWING = {
    "random",
    "sortnregress",
    "boss",
    "grasp",
    "notears-mlp",
    "npvar",
    "bcd-nets",
    "vi-dp-dag-softsort",
    "vi-dp-dag-sinkhorn",
}
PUBLISHED = pd.read_csv(Path(__file__).with_name("published.csv")).set_index(["dataset", "method"])


def problems(networks: Sequence[int], home: str | None) -> Iterator[Dataset]:
    """Sachs, then the networks of SynTReN."""
    yield load_sachs()
    for network in networks:
        yield load_syntren(network, data_home=home)


def name_of(method: str) -> str:
    """Registered name of a method that may carry settings."""
    return method.split(":")[0]


def make(method: str, **shared: Any) -> baselines.Baseline:
    """The baseline of ``name`` or ``name:setting=value,setting=value``, values as in JSON."""
    settings = dict(pair.split("=") for part in method.split(":")[1:] for pair in part.split(","))
    return baselines.get(name_of(method), **{key: json.loads(value) for key, value in settings.items()}, **shared)


def measure(data: Dataset, method: str, seed: int, time_limit: float) -> dict[str, Any]:
    """One row: the measures of a fit, or why there are none."""
    row = dict(zip(KEY, (data.name, method, seed, time_limit), strict=True)) | {"dataset": data.name.split("-")[0]}
    try:
        model = make(method, random_state=seed, time_limit=time_limit or None).fit(data.X)
    except Exception as error:  # whatever a library raises is the result of that method
        return row | {"outcome": f"{type(error).__name__}: {error}"}
    found, truth = model.adjacency_matrix_, data.adjacency
    graph = {"shd": shd(truth, found), "sid": sid(truth, found), "f1": f1(truth, found)}
    return row | graph | {"edges": int(found.to_numpy().sum()), "seconds": model.fit_cpu_seconds_, "outcome": "ok"}


def read(results: Path) -> pd.DataFrame:
    """Rows of earlier runs."""
    return pd.read_csv(results) if results.exists() else pd.DataFrame(columns=COLUMNS)


def append(row: dict[str, Any], results: Path) -> None:
    """Add one row to the file, whole."""
    pd.DataFrame([row], columns=COLUMNS).to_csv(results, mode="a", header=not results.exists(), index=False)


def run(methods: Sequence[str], data: Sequence[Dataset], seeds: int, time_limit: float, results: Path) -> None:
    """Make every fit that the file does not have yet."""
    done = set(read(results)[KEY].itertuples(index=False, name=None))
    for method in methods:
        for problem in data:
            repeats = seeds if name_of(method) in DRAWING and problem.name == "sachs" else 1
            for seed in range(repeats):
                if (problem.name, method, seed, time_limit) not in done:
                    append(measure(problem, method, seed, time_limit), results)


def print_table(dataset: str, rows: pd.DataFrame, methods: Sequence[str]) -> None:
    """Means over seeds or networks, failures by their reason, and what was published."""
    fits = rows[rows["dataset"] == dataset]
    print(f"\n{dataset}: mean ± standard deviation over seeds or networks; in brackets the published row")
    print(f"{'':32}" + "".join(f"{name:>{width}}" for name, width in zip(MEASURES, WIDTHS, strict=True)))
    for method in methods:
        of_method = fits[fits["method"] == method]
        good = of_method[of_method["outcome"] == "ok"][MEASURES].astype(float)
        if len(good):
            print(f"{method:32}" + "".join(cells(good, dataset, method)) + f"   of {len(good)}", flush=True)
        for outcome, failed in of_method[of_method["outcome"] != "ok"].groupby("outcome"):
            print(f"{method:32}   {len(failed)} failed: {outcome}", flush=True)


def cells(good: pd.DataFrame, dataset: str, method: str) -> Iterator[str]:
    """One cell per measure."""
    for name, digits, width in zip(MEASURES, (1, 1, 2, 1, 2), WIDTHS, strict=True):
        cell = f"{good[name].mean():.{digits}f} ±{good[name].std(ddof=0):.{digits}f}"
        if name in PUBLISHED and (dataset, name_of(method)) in PUBLISHED.index:
            cell += f" [{PUBLISHED.loc[(dataset, name_of(method)), name]:.{digits}f}]"
        yield f"{cell:>{width}}"


def checked(method: str) -> str:
    """The argument itself, if a baseline can be made of it."""
    try:
        make(method)
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return method


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", type=checked, default=baselines.available())
    parser.add_argument("--networks", nargs="*", type=int, choices=range(1, 11), default=list(range(1, 11)))
    parser.add_argument("--seeds", type=int, default=10, help="on Sachs, for methods that draw at random")
    parser.add_argument("--time-limit", type=float, default=600.0, help="for one fit; 0: none")
    parser.add_argument("--data-home", default=os.environ.get("DAGUERREOTYPE_DATA"), help="folder of syntren/")
    parser.add_argument("--results", type=Path, default=Path("baselines.csv"), help="appended to")
    parser.add_argument("--smoke", action="store_true", help="three quick methods on Sachs, some seconds")
    options = parser.parse_args()
    methods, networks, seeds = options.methods, options.networks, options.seeds
    if options.smoke:
        methods, networks, seeds = ["r2-sortnregress", "golem-nv", "empty"], [], 1
    home = options.data_home
    if networks and (home is None or not (Path(home) / "syntren" / "data1.npy").is_file()):
        print("SynTReN skipped: no syntren/data1.npy beneath --data-home or DAGUERREOTYPE_DATA")
        networks = []
    run(methods, list(problems(networks, home)), seeds, options.time_limit, options.results)
    rows = read(options.results)
    for dataset in ("sachs", "syntren")[: 1 + bool(networks)]:
        print_table(dataset, rows[rows["time_limit"] == options.time_limit], methods)


if __name__ == "__main__":
    main()
