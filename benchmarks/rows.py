"""How much more than reading a file does learning from it cost? Time against a bare scan, and memory.

    python benchmarks/rows.py --rows 10000000
    python benchmarks/rows.py --residuals

Writes a Parquet file of a random linear problem to a temporary folder. One process scans it, batch by batch to
numpy arrays; another takes in its moments; a third learns the graph. All use one thread. Memory is the peak above
what the process held after its imports (from /proc, so on Linux). CPU seconds decide: other work on the machine
does not count for them; loading compiled kernels, a third of a second once a process, does not either. Then a
smaller file and the same rows in memory must lead to the same graph. The second command shows what is lost by
looking at the residuals of some rows instead of all.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from daguerreotype.training import Bilevel

PART = 2**18  # rows made at a time
MIXED = ("float64", "float32", "int32")  # columns of a mixed file, in turn


def make_rows(rows: int, columns: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Rows of a random linear model with about two parents a column, on means from 0 to 1000."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((columns, columns)) < 4 / columns, 1) * rng.uniform(0.3, 0.8, (columns, columns))
    mixing = np.linalg.inv(np.eye(columns) - weights)
    shuffled, means = rng.permutation(columns), rng.uniform(0, 1000, columns)
    for first in range(0, rows, PART):
        noise = rng.normal(size=(min(PART, rows - first), columns))
        yield (noise @ mixing)[:, shuffled] + means


def write_file(path: Path, rows: int, columns: int, dtype: str) -> None:
    """One row group for every part of the rows."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    kinds = [np.dtype(MIXED[j % len(MIXED)] if dtype == "mixed" else dtype) for j in range(columns)]
    need, free = rows * sum(kind.itemsize for kind in kinds), shutil.disk_usage(path.parent).free
    if need > 0.8 * free:
        raise SystemExit(
            f"{need / 1e9:.1f} GB do not fit into {path.parent}: give fewer --rows, or --dtype float32."
        )
    schema = pa.schema([(f"c{j}", pa.from_numpy_dtype(kind)) for j, kind in enumerate(kinds)])
    with ParquetWriter(path, schema, use_dictionary=False) as writer:
        for part in make_rows(rows, columns):
            cast = [column.astype(kind) for column, kind in zip(part.T, kinds, strict=True)]
            writer.write_table(pa.table(cast, schema=schema))


def scan(path: str) -> int:
    """Read every batch into one array of floats, and do nothing with it."""
    from pyarrow.parquet import ParquetFile

    count = 0
    with ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=2**16):
            values = np.empty((batch.num_columns, batch.num_rows))
            for row, column in zip(values, batch.columns, strict=True):
                row[:] = column.to_numpy()
            count += batch.num_rows
    return count


def take_in(path: str) -> int:
    """Second moments of the file."""
    from daguerreotype.data import Moments

    seen = Moments.from_chunks(path)
    assert np.isfinite(seen.covariance).all()
    return seen.n_rows


def learn(edges: str) -> Callable[[str], int]:
    """The number of edges of the graph that is learned from the file."""
    from daguerreotype import Daguerreotype

    model = Daguerreotype(edges=edges, scales="none", training=Bilevel(loss="bic"))
    return lambda path: int(np.asarray(model.fit_chunks(path).adjacency_matrix_).sum())


def megabytes(field: str) -> float:
    """Memory of this process by a line of its status: VmRSS is what it holds, VmHWM the most it ever did."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measure(what: str, path: str) -> None:
    """Print what one of the three costs, as JSON, in a process of its own."""
    import pyarrow as pa

    import daguerreotype.learner  # noqa: F401
    from daguerreotype.data import Moments
    from daguerreotype.data import streams as sources  # noqa: F401

    pa.set_cpu_count(1)
    work: Callable[[str], int] = {"scan": scan, "moments": take_in}.get(what) or learn(what)
    before = megabytes("VmRSS")
    if what != "scan":
        Moments().update(np.random.default_rng(0).normal(size=(3000, 2)))
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(path)
    record = {
        "result": result,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "megabytes": megabytes("VmHWM") - before,
    }
    print(json.dumps(record))


def in_own_process(what: str, path: Path) -> dict[str, float]:
    """What `measure` printed."""
    command = [sys.executable, __file__, "--measure", what, str(path)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | threads)
    record: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return record


def compare_graphs(folder: Path, rows: int, columns: int) -> None:
    """Whether file and memory lead to the same graph, weights and scores, to the last bit."""
    import pandas as pd

    from daguerreotype import Daguerreotype

    path = folder / "small.parquet"
    write_file(path, rows, columns, "float64")
    frame = pd.read_parquet(path)
    for edges in ("bic", "lars", "gam"):
        model = Daguerreotype(edges=edges, scales="none", training=Bilevel(loss="bic", n_restarts=0))
        held = model.fit(frame)
        graph, weights, theta = held.adjacency_matrix_, held.weights_, held.theta_
        read = model.fit_chunks(path)
        same = graph.equals(read.adjacency_matrix_)
        bits = weights.equals(read.weights_) and np.array_equal(theta, read.theta_)
        print(f"{edges:<8}{rows} rows, {columns} columns: same graph {same}, same weights and scores {bits}")


def print_errors(sizes: tuple[int, ...], repeats: int = 20) -> None:
    """How well some rows tell the entropy of noise, and which of two columns, correlated by 0.1, is the cause."""
    from daguerreotype.training.objective import residual_entropy

    rng = np.random.default_rng(0)
    draws = {"laplace": rng.laplace, "t(5)": lambda size: rng.standard_t(5, size), "uniform": rng.uniform}
    print(f"{'noise':<10}{'rows':>8}{'entropy':>16}{'wrong less right direction, nats':>36}")
    for name, draw in draws.items():
        for size in sizes:
            found = []
            for _ in range(repeats):
                cause, noise = draw(size=size), draw(size=size)
                effect = 0.1 * cause + noise
                back = np.cov(cause, effect, bias=True)[0, 1] / effect.var()
                both = (cause, noise, effect, cause - back * effect)
                entropies = [residual_entropy(each, "spacings") for each in both]
                found.append((entropies[0], entropies[2] + entropies[3] - entropies[0] - entropies[1]))
            (entropy, gap), (error, spread) = np.mean(found, axis=0), np.std(found, axis=0)
            print(f"{name:<10}{size:>8}{entropy:>8.4f} ±{error:.4f}{gap:>28.4f} ±{spread:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--dtype", choices=("float64", "float32", "mixed"), default="float64")
    parser.add_argument("--folder", help="where the file is written; a temporary folder by default")
    parser.add_argument("--edges", nargs="*", default=["bic"], help="what to learn a graph of the whole file with")
    parser.add_argument("--residuals", action="store_true", help="print how many rows of residuals are enough")
    parser.add_argument("--smoke", action="store_true", help="a small file, to see that it runs")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    if arguments.residuals:
        print_errors((2**12,) if arguments.smoke else (2**12, 2**14, 2**16, 2**18))
        return
    rows, columns = (20_000, 6) if arguments.smoke else (arguments.rows, arguments.columns)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "rows.parquet"
        write_file(path, rows, columns, arguments.dtype)
        print(f"{rows} rows, {columns} columns of {arguments.dtype}, {path.stat().st_size / 1e9:.2f} GB")
        print(f"{'':<10}{'CPU s':>9}{'wall s':>9}{'MB above':>10}{'CPU ratio':>11}")
        bare = in_own_process("scan", path)
        for what in ("scan", "moments", *arguments.edges):
            found = bare if what == "scan" else in_own_process(what, path)
            print(
                f"{what:<10}{found['cpu']:>9.2f}{found['wall']:>9.2f}{found['megabytes']:>10.0f}"
                f"{found['cpu'] / bare['cpu']:>11.2f}"
            )
        compare_graphs(Path(folder), min(rows, 40_000), min(columns, 12))


if __name__ == "__main__":
    main()
