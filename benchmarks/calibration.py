"""Can probabilities be believed? Reliability of edge probabilities on tables with known graphs, and on Sachs.

Run ``python benchmarks/calibration.py --out docs/results/calibration`` for all of it (some minutes), with
``--families linear-150 mixed``, ``--sachs`` or ``--speed`` for parts, with ``--smoke`` for a quick pass. With
``--sumu PYTHON``, an interpreter that has sumu 0.1.2, the linear Gaussian tables are given to that as well (a
quarter of an hour more). Every family is written when it is measured, so that a run can be taken up with what
is left; ``--draw`` only writes tables and diagrams of what was measured. A label tells versions of the learner
apart: the lines of other labels are kept, the tables and diagrams show those of the label that was measured.

Four answers about every ordered pair of columns are judged:

- posterior: ``model.posterior()`` of default length.
- short: ``edge_probabilities_``, what a fit ends with.
- graph: ``adjacency_matrix_``, which is always sure.

The calibration error is the mean of \\|mean probability - share of edges that are right\\| over ten equal bins,
weighted by their pairs, of all pairs whose probability is above 0.01. The Brier score is the mean of
(probability - truth)² over all ordered pairs. Seconds are those of the processor, on one thread, fitting included.
"""

import argparse
import io
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype, pipeline
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.datasets import load_sachs
from daguerreotype.training import search
from misfit import say, write
from missing import gaps_at_random, with_gaps
from problems import mixed_table, on_grid, problem
from tables import markdown, number

N_BINS = 10
LEAST = 0.01  # probabilities above are looked at
N_REDRAWS = 1000  # of tables, for standard errors
SPARSE = (1, 2)  # seeds modulo 4 whose graphs have d edges in expectation; the others have 2 d
POSTERIOR, SHORT, SHARES, GRAPH = "posterior", "short", "shares", "graph"
SUMU, FEWER = "sumu", "sumu, K = 8"
CANDIDATES = {SUMU: None, FEWER: 8}  # parents that sumu chooses among: all columns, or eight that it preselects
BAGGED, BOOTSTRAP = "bagged", "bootstrap"
METHODS = (POSTERIOR, SHORT, BAGGED, BOOTSTRAP, SHARES, GRAPH, SUMU, FEWER)
DRAWN = (POSTERIOR, SHARES, SUMU)  # in the diagrams of families
PARTS_OF_BINS = ("pairs", "p", "right", "variance")
Row = dict[str, Any]


# ------------------------------------------------------------------ tables


@dataclass(frozen=True)
class Family:
    """Tables of one kind and size: what they are called, how one is drawn, and how many there are."""

    title: str
    draw: Callable[[int, int, int], tuple[Any, IntArray]]
    d: int
    n: int
    tables: int


def equations(family: str, *, missing: float = 0.0, rounded: bool = False) -> Callable[..., tuple[Any, IntArray]]:
    """Draws tables of numbers, with gaps completely at random, or rounded to a quarter of a standard deviation."""

    def draw(seed: int, d: int, n: int) -> tuple[FloatArray, IntArray]:
        X, truth = problem(family, seed, d, n)
        if rounded:
            X = np.column_stack([on_grid(column) for column in X.T])
        return (with_gaps(X, gaps_at_random(X.shape, missing, seed)) if missing else X), truth

    return draw


def mixed(seed: int, d: int, n: int) -> tuple[pd.DataFrame, IntArray]:
    """Numbers, truth values, words and counts, with lines and bends."""
    return mixed_table("bends", seed, d, n)


LINEAR, ADDITIVE, LAPLACE = "linear-gaussian", "gp-add", "linear-laplace"
FAMILIES = {
    "linear-150": Family("linear Gaussian", equations(LINEAR), 12, 150, 20),
    "linear-500": Family("linear Gaussian", equations(LINEAR), 12, 500, 20),
    "linear-2000": Family("linear Gaussian", equations(LINEAR), 12, 2000, 20),
    "additive-12": Family("additive", equations(ADDITIVE), 12, 500, 20),
    "additive-30": Family("additive", equations(ADDITIVE), 30, 500, 8),
    "laplace-12": Family("linear Laplace", equations(LAPLACE), 12, 500, 20),
    "laplace-30": Family("linear Laplace", equations(LAPLACE), 30, 500, 8),
    "mixed": Family("mixed kinds", mixed, 9, 1000, 20),
    "linear-rounded": Family("linear Gaussian, rounded", equations(LINEAR, rounded=True), 12, 500, 20),
    "additive-rounded": Family("additive, rounded", equations(ADDITIVE, rounded=True), 12, 500, 20),
    "linear-missing-10": Family("linear Gaussian, 10 % missing", equations(LINEAR, missing=0.1), 12, 500, 20),
    "linear-missing-30": Family("linear Gaussian, 30 % missing", equations(LINEAR, missing=0.3), 12, 500, 20),
    "additive-missing-10": Family("additive, 10 % missing", equations(ADDITIVE, missing=0.1), 12, 500, 20),
    "additive-missing-30": Family("additive, 30 % missing", equations(ADDITIVE, missing=0.3), 12, 500, 20),
}
# family -> settings of sumu, which knows linear Gaussian tables only, and of how many tables it is asked
COMPARED = {"linear-150": ((SUMU,), 8), "linear-500": ((SUMU, FEWER), 20), "linear-2000": ((SUMU,), 8)}


# ------------------------------------------------------------------ answers and how right they are


def answers(X: Any) -> Iterator[tuple[str, FloatArray, Row]]:
    """Method, probabilities (d, d), and seconds with what else is known of them."""
    with threadpool_limits(1):
        start = time.process_time()
        plain = Daguerreotype(posterior=0).fit(X)
        seconds = time.process_time() - start
        yield GRAPH, np.asarray(plain.adjacency_matrix_, dtype=np.float64), {"seconds": round(seconds, 3)}
        start = time.process_time()
        model = Daguerreotype().fit(X)
        yield SHORT, np.asarray(model.edge_probabilities_), told(model.posterior_, time.process_time() - start)
        start = time.process_time()
        longer = model.sample_posterior()
        yield POSTERIOR, longer.probabilities, told(longer, seconds + time.process_time() - start)


def told(posterior: Any, seconds: float) -> Row:
    """Seconds, and by how much chains differ."""
    return {"seconds": round(seconds, 3), "agreement": round(posterior.agreement, 4), "settled": posterior.settled}


def ask_sumu(python: str, method: str, X: FloatArray) -> tuple[str, FloatArray, Row]:
    """The same of sumu, in a process of its own."""
    file = io.BytesIO()
    np.save(file, X)
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [
        python,
        str(Path(__file__).with_name("sumu_posterior.py")),
        str(CANDIDATES[method] or X.shape[1] - 1),
    ]
    run = subprocess.run(command, input=file.getvalue(), capture_output=True, check=False, env=os.environ | one)
    if run.returncode:
        raise RuntimeError(f"sumu failed:\n{run.stderr.decode()[-2000:]}")
    reply = json.loads(run.stdout)
    return method, np.array(reply["probabilities"]), {"seconds": round(reply["seconds"], 3)}


def judge(probabilities: FloatArray, truth: IntArray) -> Row:
    """Brier score of all ordered pairs, and what is in each bin."""
    apart = ~np.eye(len(truth), dtype=bool)
    return judge_pairs(probabilities[apart], truth[apart])


def judge_pairs(p: FloatArray, right: IntArray) -> Row:
    """Brier score; pairs, sums of probabilities, edges that are right, and sums of p (1 - p), by bin."""
    row: Row = {"Brier": round(float(np.mean((p - right) ** 2)), 6)}
    bins = np.minimum((p * N_BINS).astype(np.int64), N_BINS - 1)
    for place in range(N_BINS):
        inside = (bins == place) & (p > LEAST)
        sums = (inside.sum(), p[inside].sum(), right[inside].sum(), (p * (1.0 - p))[inside].sum())
        row |= {
            bin_name(part, place): round(float(sum_), 6) for part, sum_ in zip(PARTS_OF_BINS, sums, strict=True)
        }
    return row


def bin_name(part: str, place: int) -> str:
    """Column of the results that holds a part of a bin."""
    return f"{part} {place / N_BINS:.1f}"


def bins_of(table: pd.DataFrame) -> dict[str, FloatArray]:
    """Parts of the bins (tables, bins)."""
    return {
        part: table[[bin_name(part, place) for place in range(N_BINS)]].to_numpy(dtype=np.float64)
        for part in PARTS_OF_BINS
    }


def calibration_error(table: pd.DataFrame) -> float:
    """Mean difference between probabilities and shares of edges that are right, over the bins of all tables."""
    bins = bins_of(table)
    return float(pooled_error(bins["pairs"].sum(axis=0), (bins["p"] - bins["right"]).sum(axis=0)))


def pooled_error(pairs: FloatArray, excess: FloatArray) -> FloatArray:
    """The same of sums (..., bins)."""
    return np.asarray(np.abs(excess).sum(axis=-1) / np.maximum(pairs.sum(axis=-1), 1.0))


def error_of_calibration(table: pd.DataFrame) -> float:
    """Standard error of the calibration error, by drawing tables again."""
    bins = bins_of(table)
    drawn = np.random.default_rng(0).multinomial(len(table), np.full(len(table), 1 / len(table)), N_REDRAWS)
    return float(np.std(pooled_error(drawn @ bins["pairs"], drawn @ (bins["p"] - bins["right"])), ddof=1))


def error_by_chance(table: pd.DataFrame) -> float:
    """Calibration error that right probabilities of independent pairs would show, since a bin has few pairs."""
    bins = bins_of(table)
    deviations = np.sqrt(2.0 / np.pi * bins["variance"].sum(axis=0))  # means of absolute normal draws
    return float(deviations.sum() / max(bins["pairs"].sum(), 1.0))


def expected_brier(table: pd.DataFrame) -> float:
    """Brier score that right probabilities would have, mean p (1 - p); those of at most 0.01 are left out."""
    return float((bins_of(table)["variance"].sum(axis=1) / (table.d * (table.d - 1))).mean())


def edges_below(table: pd.DataFrame) -> str:
    """Edges among the pairs of a probability of at most 0.01, which the calibration error leaves out."""
    bins = bins_of(table)
    pairs = (table.d * (table.d - 1)).sum() - bins["pairs"].sum()
    return f"{100 * (table.edges.sum() - bins['right'].sum()) / max(pairs, 1.0):.2f} %"


# ------------------------------------------------------------------ parts


def fits_of(name: str, family: Family, sumu: str | None) -> Iterator[Row]:
    """What was measured of each table of a family."""
    for seed in range(family.tables):
        X, truth = family.draw(seed, family.d, family.n)
        found = list(answers(X))
        asked, tables = COMPARED.get(name, ((), 0))
        if sumu is not None and seed < tables:
            found += [ask_sumu(sumu, method, X) for method in asked]
        about = {"family": name, "d": family.d, "n": family.n, "seed": seed, "edges": int(truth.sum())}
        for method, probabilities, more in found:
            yield about | {"method": method} | more | judge(probabilities, truth)


def proteins(smoke: bool) -> Iterator[Row]:
    """Sachs: probabilities and frequencies of edges, and of pairs whichever way, beside the consensus graph."""
    data = load_sachs()
    X, truth = data.X.head(200) if smoke else data.X, np.asarray(data.adjacency)
    n_bagged, n_resamples = (2, 3) if smoke else (50, 100)
    found = list(answers(X))
    with threadpool_limits(1):
        start = time.process_time()
        bagged = Daguerreotype(posterior=0).fit(X).sample_posterior(bagged=n_bagged)
        found.append((BAGGED, bagged.probabilities, {"seconds": round(time.process_time() - start, 3)}))
        start = time.process_time()
        resampled = Daguerreotype(posterior=0).bootstrap(X, n_resamples=n_resamples)
        frequencies = np.asarray(resampled.edge_frequencies)
        found.append((BOOTSTRAP, frequencies, {"seconds": round(time.process_time() - start, 3)}))
    above = np.triu_indices(len(truth), 1)
    for method, p, more in sorted(found, key=lambda each: METHODS.index(each[0])):
        yield {"method": method, "of": "edges"} | more | judge(p, truth)
        either = np.minimum(p + p.T, 1.0)
        yield {"method": method, "of": "pairs"} | more | judge_pairs(either[above], (truth + truth.T)[above])


class Stages:
    """Times refining and the short posterior of a fit."""

    def __init__(self) -> None:
        self.seconds = {"refining": 0.0, "short": 0.0}
        self._refine, self._posterior = search.refine_order, pipeline.draw_graphs

    def __enter__(self) -> "Stages":
        search.refine_order = self._timed("refining", self._refine)
        pipeline.draw_graphs = self._timed("short", self._posterior)
        return self

    def __exit__(self, *_: object) -> None:
        search.refine_order, pipeline.draw_graphs = self._refine, self._posterior

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **settings: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **settings)
            finally:
                self.seconds[name] += time.process_time() - start

        return timed


def times(smoke: bool) -> Iterator[Row]:
    """Seconds of fits with and without a posterior, and of longer ones."""
    families, sizes, tables = ((LINEAR,), (8,), 1) if smoke else ((LINEAR, ADDITIVE, LAPLACE), (50, 100), 3)
    for family in families:
        for d in sizes:
            for seed in range(tables):
                X, _ = problem(family, seed, d, 1000)
                yield {"table": family, "d": d, "n": 1000, "seed": seed} | time_fits(X)


def time_fits(X: FloatArray) -> Row:
    """Seconds of each stage."""
    with threadpool_limits(1):
        start = time.process_time()
        Daguerreotype(posterior=0).fit(X)
        row = {"fit": time.process_time() - start}
        with Stages() as stages:
            start = time.process_time()
            model = Daguerreotype().fit(X)
            row |= {"fit with posterior": time.process_time() - start} | stages.seconds
        start = time.process_time()
        longer = model.sample_posterior()
        row["posterior()"] = time.process_time() - start
    return {name: round(seconds, 3) for name, seconds in row.items()} | {"agreement": round(longer.agreement, 4)}


# ------------------------------------------------------------------ what is shown


def groups(table: pd.DataFrame, *, sparse: bool = True) -> Iterator[tuple[str, pd.DataFrame]]:
    """Fits by family, of linear Gaussian tables also those with about d edges alone, if wanted."""
    for name, family in FAMILIES.items():
        chosen = table[table.family == name]
        if chosen.empty:
            continue
        title = f"{family.title}, d = {chosen.d.iloc[0]}, n = {chosen.n.iloc[0]}"
        yield title, chosen
        few = chosen[chosen.seed.mod(4).isin(SPARSE)]
        if sparse and name in COMPARED and not few.empty:
            yield f"{title}, about d edges", few


def of_methods(chosen: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Fits by method, in one order."""
    for method in METHODS:
        if not (fits := chosen[chosen.method == method]).empty:
            yield method, fits


def scores(table: pd.DataFrame) -> str:
    """Calibration error, Brier score and seconds of each family and method: Markdown."""
    lines = []
    for title, chosen in groups(table):
        for method, fits in of_methods(chosen):
            settled = (
                f"{int(fits.settled.astype(bool).sum())} of {len(fits)}" if fits.settled.notna().all() else ""
            )
            calibration = f"{calibration_error(fits):.3f} ± {error_of_calibration(fits):.3f}"
            brier = (mean_and_error(fits.Brier), f"{expected_brier(fits):.4f}")
            cells = (calibration, f"{error_by_chance(fits):.3f}", edges_below(fits), *brier)
            lines.append([title, str(len(fits)), method, *cells, number(fits.seconds.mean()), settled])
    heads = (
        "calibration error",
        "by chance alone",
        "edges below 0.01",
        "Brier score",
        "expected",
        "seconds",
        "settled",
    )
    return markdown(("tables", "number", "method", *heads), lines)


def mean_and_error(values: "pd.Series[float]") -> str:
    """Mean, ± the standard error of several."""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{error}"


def beside_sumu(table: pd.DataFrame) -> str:
    """The longer posterior and sumu's, on the tables that sumu was asked about: Markdown."""
    lines = []
    for title, chosen in groups(table):
        same = chosen[chosen.seed.isin(chosen.seed[chosen.method == SUMU])]
        ours = same[same.method == POSTERIOR].set_index("seed").seconds
        for method, fits in of_methods(same[same.method.isin((POSTERIOR, *CANDIDATES))]):
            ratio = fits.set_index("seed").seconds / ours
            calibration = f"{calibration_error(fits):.3f} ± {error_of_calibration(fits):.3f}"
            cells = [calibration, mean_and_error(fits.Brier), number(fits.seconds.mean())]
            spread = (
                "" if method == POSTERIOR else f"{ratio.median():.1f} ({ratio.min():.1f} to {ratio.max():.1f})"
            )
            lines.append([title, str(len(fits)), method, *cells, spread])
    heads = ("calibration error", "Brier score", "seconds", "seconds / ours: median (range)")
    return markdown(("tables", "number", "method", *heads), lines)


def proteins_table(table: pd.DataFrame) -> str:
    """The same of Sachs, of edges and of pairs whichever way: Markdown."""
    lines = []
    for method, fits in of_methods(table):
        cells = []
        for of in ("edges", "pairs"):
            chosen = fits[fits.of == of]
            cells += [f"{calibration_error(chosen):.3f}", f"{chosen.Brier.iloc[0]:.3f}"]
        lines.append([method, *cells, number(fits.seconds.iloc[0])])
    heads = ("calibration error, edges", "Brier score, edges", "calibration error, pairs", "Brier score, pairs")
    return markdown(("method", *heads, "seconds"), lines)


def times_table(table: pd.DataFrame) -> str:
    """Seconds by family and size: Markdown."""
    lines = []
    for (name, d), chosen in table.groupby(["table", "d"], sort=False):
        stages = [number(chosen[stage].mean()) for stage in ("fit", "fit with posterior", "posterior()")]
        ratios = (chosen["fit with posterior"] / chosen.fit, chosen.short / chosen.refining)
        lines.append(
            [str(name), str(d), *stages, number(chosen["posterior()"].max()), *(f"{r.mean():.2f}" for r in ratios)]
        )
    heads = ("fit, posterior=0", "fit", "posterior()", "slowest", "fit / without", "short posterior / refining")
    return markdown(("table", "d", *heads), lines)


def draw_reliability(panels: Sequence[tuple[str, Sequence[tuple[str, pd.DataFrame]]]], path: Path) -> None:
    """Share of edges that are right by mean probability: a panel for each title, a colour for each method.

    Points are as large as their bins have pairs; bars are Wilson's 95 % intervals, as if pairs were independent.
    """
    from daguerreotype.experiments.figures import COLOURS, MARKERS
    from daguerreotype.plotting.backend import pyplot as plt

    # the same rows give the same bytes; text of an SVG stays text
    with plt.rc_context({"svg.hashsalt": "daguerreotype", "svg.fonttype": "none", "font.size": 8}):
        across = min(4 if len(panels) % 4 != 1 else 3, len(panels))  # no panel alone in the last line
        down = -(-len(panels) // across)
        size = (2.0 * across + 0.4, 2.2 * down + 0.5)
        shared = {"sharex": True, "sharey": True, "squeeze": False}
        drawn, grid = plt.subplots(down, across, figsize=size, layout="constrained", **shared)
        handles = {}
        for axes, (title, methods) in zip(grid.flat, panels, strict=False):
            axes.plot([0, 1], [0, 1], color="#000000", linestyle=(0, (5, 1.5)), linewidth=0.8)
            for method, fits in methods:
                place = METHODS.index(method)
                sums = {part: values.sum(axis=0) for part, values in bins_of(fits).items()}
                seen = sums["pairs"] > 0
                pairs, p, right = (sums[part][seen] for part in ("pairs", "p", "right"))
                look = {"color": COLOURS[place], "marker": MARKERS[place], "zorder": 3}
                low, high = wilson(right, pairs)
                axes.vlines(p / pairs, low, high, color=COLOURS[place], linewidth=0.8, alpha=0.7)
                area = 6.0 + 60.0 * pairs / pairs.sum()
                handles[method] = axes.scatter(p / pairs, right / pairs, s=area, label=method, **look)
            axes.set_title(title.replace(", d =", "\nd ="), fontsize=7)
            axes.set_xlim(-0.02, 1.02)
            axes.set_ylim(-0.02, 1.02)
            axes.set_aspect("equal")
            axes.grid(alpha=0.2)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        for axes in list(grid.flat)[: len(panels)][-across:]:
            axes.set_xlabel("mean probability")
            axes.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("share that is right")
        legend = drawn.legend(handles=list(handles.values()), loc="outside lower center", ncols=4, frameon=False)
        for handle in legend.legend_handles:
            handle.set_sizes([20.0])
        drawn.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(drawn)


def wilson(right: FloatArray, pairs: FloatArray, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Interval of a share."""
    z = ndtri(0.5 + confidence / 2)
    centre = (right + z**2 / 2) / (pairs + z**2)
    half = z * np.sqrt(right * (pairs - right) / pairs + z**2 / 4) / (pairs + z**2)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


# ------------------------------------------------------------------ the command


def keep(path: Path, label: str, name: str, rows: Iterable[Row]) -> pd.DataFrame:
    """Put a family of a label into a file in the place of its former rows; all rows of the label are handed on."""
    table = pd.DataFrame([{"label": label} | row for row in rows])
    if path.is_file():
        kept = pd.read_csv(path)
        table = pd.concat([kept[(kept.label != label) | (kept.family != name)], table], ignore_index=True)
        labels = list(dict.fromkeys([*kept.label, label]))
        places = table.label.map(labels.index) * len(FAMILIES) + table.family.map(list(FAMILIES).index)
        table = table.iloc[np.argsort(places, kind="stable")]
    table.to_csv(path, index=False)
    return table[table.label == label]


def save(path: Path, text: str) -> None:
    """Write a table and print it."""
    path.write_text(text, encoding="utf-8")
    print(f"\n{path.stem}\n\n{text}", flush=True)


def measure_families(options: argparse.Namespace) -> None:
    """All that is asked for of the tables with known graphs."""
    for name in options.families:
        family = FAMILIES[name]
        tables = options.seeds or (2 if options.smoke else family.tables)
        d, n = (5, 200) if options.smoke else (family.d, family.n)
        rows = []
        for row in fits_of(name, Family(family.title, family.draw, d, n, tables), options.sumu):
            say({key: row[key] for key in ("family", "seed", "method", "Brier", "seconds")})
            rows.append(row)
        show_families(keep(options.out / "families.csv", options.label, name, rows), options.out)


def show_families(table: pd.DataFrame, out: Path) -> None:
    """Tables and diagrams of the families that there are."""
    save(out / "families.md", scores(table))
    if SUMU in set(table.method):
        save(out / "sumu.md", beside_sumu(table))
    panels = [
        (title, [(method, fits) for method, fits in of_methods(chosen) if method in DRAWN])
        for title, chosen in groups(table, sparse=False)
    ]
    draw_reliability(panels, out / "families.svg")


def show_sachs(table: pd.DataFrame, out: Path) -> None:
    """The table and diagrams of Sachs."""
    save(out / "sachs.md", proteins_table(table))
    edges = table[table.of == "edges"]
    panels = [(method, [(method, fits)]) for method, fits in of_methods(edges) if method != GRAPH]
    draw_reliability(panels, out / "sachs.svg")


def show_times(table: pd.DataFrame, out: Path) -> None:
    """The table of seconds."""
    save(out / "speed.md", times_table(table))


# part -> what is shown of it
SHOWN: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "families": show_families,
    "sachs": show_sachs,
    "speed": show_times,
}


def show(part: str, table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Tables and diagrams of the label that is asked for."""
    SHOWN[part](table[table.label == options.label], options.out)


def load_kernels() -> None:
    """Learn from small tables, so that no kernel is loaded while anything is timed."""
    frame, _ = mixed(0, 8, 200)
    for X in (frame, *(problem(family, 0, 5, 200)[0] for family in (LINEAR, ADDITIVE, LAPLACE))):
        for table in (X, with_gaps(X, gaps_at_random(X.shape, 0.1, 0))):
            Daguerreotype().fit(table).sample_posterior(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/calibration"), help="folder for the tables")
    parser.add_argument("--label", default="now", help="name of what is measured, such as a version")
    parser.add_argument(
        "--seeds", type=int, default=0, help="tables of each family (default: 20, 8 of 30 columns)"
    )
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), help="only these, or the parts given")
    parser.add_argument("--sachs", action="store_true", help="only Sachs, or the parts that are given")
    parser.add_argument("--speed", action="store_true", help="only seconds, or the parts that are given")
    parser.add_argument("--sumu", metavar="PYTHON", help="an interpreter that has sumu 0.1.2")
    parser.add_argument("--draw", action="store_true", help="measure nothing, show what was measured before")
    parser.add_argument("--smoke", action="store_true", help="small tables of two families, some seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.draw:
        for part in SHOWN:
            if (file := options.out / f"{part}.csv").is_file():
                show(part, pd.read_csv(file), options)
        return
    everything = not (options.families or options.sachs or options.speed)
    if everything:
        options.families = ["linear-150", "mixed"] if options.smoke else list(FAMILIES)
    if not options.smoke:
        load_kernels()
    if options.families:
        measure_families(options)
    if options.sachs or everything:
        show("sachs", write(options.out / "sachs.csv", options.label, list(proteins(options.smoke))), options)
    if options.speed or everything:
        rows = [say(row) for row in times(options.smoke)]
        show("speed", write(options.out / "speed.csv", options.label, rows), options)


if __name__ == "__main__":
    main()
