"""Is it as fast as the README says? Everything about speed in one run, and an error for a claim that is missed.

``make bench``, or ``python benchmarks/bench.py --out docs/results/speed``: under 30 minutes on two cores.
``--only`` takes some of the parts, ``--smoke`` is a quick pass over all of them. Each part prints its tables and
writes them to the folder: operators, many rows, two cores, many variables beside peers, in this order, one at a
time. What the README claims is in claims.toml.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import operators
import rows
from claims import find_missed, read_claims
from cores import cores_table, measure_cores
from scale import measure_all
from tables import Figures, find_figures, fits_table, markdown, number, phases_table, sort_cases, write_csv

README_NODES = (20, 100, 200, 500, 1000, 5000)


def bench_operators(out: Path, smoke: bool) -> Figures:
    """Milliseconds of the operators beside copying their output."""
    nodes, counts, seconds = ((20, 100), (100,), 0.01) if smoke else (operators.NODES, operators.COUNTS, 0.3)
    rng = np.random.default_rng(0)
    best = operators.benchmark_top_k(nodes, counts, seconds, rng)
    maps = operators.benchmark_sparsemap(nodes, seconds, rng)
    shown = [row for row in best if row[0] in README_NODES and row[1] == 100]
    columns = ("nodes", "k best rankings", "copy", "ratio", "sparsemax + gradient")
    columns += ("SparseMAP + gradient, active set", "SparseMAP + gradient, peeling")
    lines = []
    for d, _, forward, copy, both in shown:
        times = (both, maps["active-set", d], maps["peel", d])
        cells = (1e3 * forward, 1e3 * copy, forward / copy, *(1e3 * each for each in times))
        lines.append([str(d), *map(number, cells)])
    write(out / "operators.md", markdown(columns, lines))
    return {f"k best / copy, d = {d}": forward / copy for d, _, forward, copy, _ in shown}


def bench_rows(out: Path, smoke: bool) -> Figures:
    """Learning from a Parquet file beside merely scanning it."""
    n, columns, repeats = (20_000, 6, 1) if smoke else (5_000_000, 50, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        rows.write_file(path, n, columns, "float64")
        tasks = {"scan": "scan the file", "moments": "take in its moments", "bic": "learn the graph"}
        runs = [{task: rows.in_own_process(task, path) for task in tasks} for _ in range(repeats)]
    seconds = {task: min(run[task]["cpu"] for run in runs) for task in tasks}
    ratios = {task: seconds[task] / seconds["scan"] for task in tasks}
    megabytes = {task: max(run[task]["megabytes"] for run in runs) for task in tasks}
    lines = [[tasks[task], *map(number, (seconds[task], ratios[task], megabytes[task]))] for task in tasks]
    title = f"{n:,} rows, {columns} columns"
    write(out / "rows.md", markdown((title, "CPU seconds", "ratio", "MB"), lines))
    return {"learning from a file / scanning it": ratios["bic"], "MB of learning from a file": megabytes["bic"]}


def bench_cores(out: Path, smoke: bool) -> Figures:
    """What a second core adds."""
    found = measure_cores(smoke)
    write(out / "cores.md", cores_table(found))
    return {f"two cores, {name}": value for name, value in found.items()}


def bench_variables(out: Path, smoke: bool) -> Figures:
    """Seconds, memory and quality by number of variables, ours and the peers'."""
    cases = sort_cases(measure_all({8: 2}, ["ER"], [8], {"boss": 60.0}) if smoke else measure_all())
    figures = find_figures(cases)
    write_csv(out / "table.csv", cases)
    write(out / "table.md", fits_table(cases))
    write(out / "phases.md", phases_table(cases))
    growth = ([name, number(value)] for name, value in figures.items() if not name.startswith("seconds of"))
    write(out / "growth.md", markdown(("figure", "value"), growth))
    return figures


def write(path: Path, table: str) -> None:
    """Print a table, and keep it."""
    print(f"\n{path.name}\n{table}", flush=True)
    path.write_text(table, encoding="utf-8")


PARTS: dict[str, Callable[[Path, bool], Figures]] = {
    "operators": bench_operators,
    "rows": bench_rows,
    "cores": bench_cores,
    "variables": bench_variables,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder for the tables")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts to run")
    parser.add_argument("--smoke", action="store_true", help="small sizes, no claims, less than a minute")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start, figures = time.perf_counter(), {}
    for part in options.only:
        figures |= PARTS[part](options.out, options.smoke)
    print(f"{(time.perf_counter() - start) / 60:.1f} minutes; tables in {options.out}")
    if options.smoke:
        return
    claims = read_claims()
    if len(options.only) < len(PARTS):
        claims = [claim for claim in claims if claim.figure in figures]
    missed = find_missed(claims, figures)
    if missed:
        raise SystemExit("\n".join(["The README claims more than was measured.", *missed]))
    print(f"all {len(claims)} claims of README.md hold")


if __name__ == "__main__":
    main()
