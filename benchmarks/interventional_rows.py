"""How many observations is an experiment worth? Tables in which interventional rows replace observed ones.

Run ``nice python benchmarks/interventional_rows.py --out docs/results/interventional-rows`` (ten minutes on one
core), or with ``--smoke`` for a quick pass.

A table has n rows. Of these, m rows each are experiments on one column: its value is drawn as if it had no
causes, and the learner is told (``interventions=``). The experiments are on every column in turn, or on three
columns drawn at random. The other n - M rows are observed; M is the number of all experiments. Beside them stand
tables of observations alone, up to many more rows: where their mean SHD is that of a table with experiments is
what these are worth. One interventional row then replaces (that number of rows - (n - M)) / M observed ones.

- "linear": linear Gaussian equations, noise of unequal variances, standardized. Observations tell such a graph up
  to its equivalence class, whatever their number. Which of its members comes out depends on ``random_state``:
  every number is a mean over five of them. Every row counts (``trust=None``, ``min_gain=0``): the model is right.
- "additive": Gaussian noise and curves drawn from Gaussian processes. Observations tell the graph.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.isotonic import isotonic_regression
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.metrics import f1, shd, shd_cpdag, sid
from daguerreotype.simulate import simulate_dag, simulate_data
from daguerreotype.training import Bilevel
from tables import markdown

KINDS: dict[str, dict[str, Any]] = {
    "linear": {"mechanism": "linear", "edges": "bic", "trust": None, "min_gain": 0.0, "states": 5},
    "additive": {"mechanism": "gp-add", "edges": "gam", "states": 1},
}
MEASURES = {"SHD": shd, "class SHD": shd_cpdag, "SID": sid, "F1": f1}
COLUMNS, EDGES = 10, 10
SIZES = (100, 500, 2000)
PER_TARGET = (1, 2, 5, 10, 20, 50)
LADDER = (50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
LEFT = 0.5  # share of rows that stay observed, at least
TARGETS = {"every column": COLUMNS, "three columns": 3}
OBSERVED = "none"
RESAMPLES = 1000
Row = dict[str, Any]


def fit(kind: str, seed: int, n: int, targets: Sequence[int], per_target: int) -> Row:
    """One table, and how right its graph is."""
    rng = np.random.default_rng([seed, 1])
    truth = simulate_dag(COLUMNS, EDGES, random_state=seed)
    spreads = rng.uniform(0.5, 2.0, COLUMNS)
    told: list[Any] = [None] * (n - per_target * len(targets)) + list(targets) * per_target
    settings = {
        "mechanism": KINDS[kind]["mechanism"],
        "noise_scale": spreads,
        "standardize": True,
        "random_state": seed,
    }
    X = np.asarray(simulate_data(truth, n, interventions=told, **settings).X)
    measured = []
    for state in range(KINDS[kind]["states"]):
        learner = {name: KINDS[kind][name] for name in ("edges", "trust", "min_gain") if name in KINDS[kind]}
        model = Daguerreotype(
            scales="none", training=Bilevel(loss="bic"), posterior=0, random_state=state, **learner
        )
        found = np.asarray(model.fit(X, interventions=told if targets else None).adjacency_matrix_)
        measured.append([measure(truth, found) for measure in MEASURES.values()])
    return dict(zip(MEASURES, np.mean(measured, axis=0).round(4).tolist(), strict=True))


def targets_of(design: str, seed: int) -> list[int]:
    """The columns that are experimented on."""
    drawn = np.random.default_rng([seed, 2]).permutation(COLUMNS)[: TARGETS.get(design, 0)]
    return np.sort(drawn).tolist()


def fits(seeds: int, sizes: Sequence[int], per_target: Sequence[int], ladder: Sequence[int]) -> Iterator[Row]:
    """Observations alone, and tables with experiments in their place."""
    for kind in KINDS:
        for seed in range(seeds):
            cases = [(n, OBSERVED, 0) for n in sorted({*ladder, *sizes})]
            for n in sizes:
                for design, count in TARGETS.items():
                    cases += [(n, design, m) for m in per_target if m * count <= (1.0 - LEFT) * n]
            for n, design, m in cases:
                targets = targets_of(design, seed)
                case = {"kind": kind, "seed": seed, "n": n, "targets": design, "m": m, "M": m * len(targets)}
                yield case | fit(kind, seed, n, targets, m)


@dataclass(frozen=True)
class Observed:
    """SHD (seeds, sizes) of observations alone, by the number of rows."""

    rows: FloatArray
    shd: FloatArray

    @classmethod
    def of(cls, table: pd.DataFrame) -> "Observed":
        """The observations of one kind of tables."""
        by_rows = table[table.m == 0].pivot_table(index="seed", columns="n", values="SHD")
        return cls(by_rows.columns.to_numpy(dtype=float), by_rows.to_numpy())

    def rows_needed(self, wanted: float, seeds: IntArray) -> float:
        """Rows at which the mean SHD comes down to ``wanted``, between logarithms; else infinite.

        Means over seeds are made to fall with the number of rows (isotonic regression): what rises is chance.
        """
        means = isotonic_regression(self.shd[seeds].mean(axis=0), increasing=False)
        there = np.flatnonzero(means <= wanted)
        if not there.size:
            return float(np.inf)
        last = int(there[0])
        if last == 0:
            return float(self.rows[0])
        share = (means[last - 1] - wanted) / (means[last - 1] - means[last])
        return float(self.rows[last - 1] * (self.rows[last] / self.rows[last - 1]) ** share)


def worth(observed: Observed, chosen: pd.DataFrame) -> tuple[float, float, float]:
    """Observed rows that one interventional row replaces, and between what in nine of ten resamples of graphs."""
    n, total = int(chosen.n.iloc[0]), int(chosen.M.iloc[0])
    scores = chosen.sort_values("seed").SHD.to_numpy()
    rng, found = np.random.default_rng(0), []
    for resample in range(RESAMPLES + 1):
        seeds = np.arange(len(scores)) if resample == 0 else rng.choice(len(scores), len(scores))
        found.append((observed.rows_needed(float(scores[seeds].mean()), seeds) - (n - total)) / total)
    low, high = np.quantile(found[1:], [0.05, 0.95], method="nearest")
    return found[0], float(low), float(high)


def show_worth(value: float) -> str:
    """A number of rows, or that no number is enough."""
    return f"{value:.0f}" if np.isfinite(value) else "any number"


def by_design(table: pd.DataFrame) -> str:
    """What replacing rows does, and how many observed ones would do the same: Markdown.

    What differs by no more than two standard errors from as many observed rows replaces these one by one.
    """
    lines, most = [], int(table.n.max())
    for (kind, n, targets, m), chosen in table[table.m > 0].groupby(["kind", "n", "targets", "m"], sort=False):
        of_kind = table[table.kind == kind]
        observed = Observed.of(of_kind)
        alone = of_kind[(of_kind.m == 0) & (of_kind.n == n)].set_index("seed")
        total = int(chosen.M.iloc[0])
        paired = chosen.set_index("seed").SHD - alone.SHD
        error = paired.std(ddof=1) / np.sqrt(len(paired))
        needed, replaced = "", "1: no difference"
        if abs(paired.mean()) > 2.0 * error:
            value, low, high = worth(observed, chosen)
            needed = f"{value * total + n - total:.0f}" if np.isfinite(value) else f"more than {most}"
            replaced = " to ".join(show_worth(end) for end in dict.fromkeys((low, high)))
            replaced = show_worth(value) if low == high else f"{show_worth(value)} ({replaced})"
        lines.append(
            [
                str(kind),
                str(n),
                str(targets),
                f"{m} ({total})",
                f"{alone.SHD.mean():.1f}",
                f"{chosen.SHD.mean():.1f}",
                f"{paired.mean():+.1f} ± {error:.1f}",
                f"{chosen.SID.mean():.0f}",
                f"{chosen.F1.mean():.2f}",
                needed,
                replaced,
            ]
        )
    heads = ("table", "rows", "targets", "each (all)", "SHD, observed", "SHD", "difference", "SID", "F1")
    return markdown((*heads, "observed rows for that SHD", "one replaces"), lines)


def by_rows(table: pd.DataFrame) -> str:
    """Observations alone: Markdown."""
    lines = []
    for (kind, n), chosen in table[table.m == 0].groupby(["kind", "n"], sort=False):
        means = chosen[["SHD", "class SHD", "SID", "F1"]].mean()
        cells = [f"{means.SHD:.1f} ± {chosen.SHD.std(ddof=0):.1f}", f"{means['class SHD']:.1f}"]
        lines.append([str(kind), str(n), *cells, f"{means.SID:.0f}", f"{means.F1:.2f}"])
    return markdown(("table", "observed rows", "SHD", "SHD of equivalence classes", "SID", "F1"), lines)


def draw(table: pd.DataFrame, path: Path) -> None:
    """SHD by the number of interventional rows: a panel for each kind and design, a line for each size."""
    from daguerreotype.experiments.figures import COLOURS, MARKERS
    from daguerreotype.plotting.backend import pyplot as plt

    kinds = list(dict.fromkeys(table.kind))
    sizes = sorted(table[table.m > 0].n.unique())
    # the same rows give the same bytes; text of an SVG stays text
    with plt.rc_context({"svg.hashsalt": "daguerreotype", "svg.fonttype": "none", "font.size": 8}):
        shared = {"sharey": "row", "squeeze": False}
        size = (3.2 * len(TARGETS) + 0.4, 2.1 * len(kinds) + 0.5)
        drawn, grid = plt.subplots(len(kinds), len(TARGETS), figsize=size, layout="constrained", **shared)
        for line, kind in zip(grid, kinds, strict=True):
            of_kind = table[table.kind == kind]
            observed = of_kind[of_kind.m == 0].groupby("n").SHD.mean()
            for axes, targets in zip(line, TARGETS, strict=True):
                last = observed.index[-1]
                level = {"color": "#000000", "linestyle": (0, (5, 1.5)), "linewidth": 0.8}
                axes.axhline(observed.iloc[-1], label=f"{last} observed rows", **level)
                for place, n in enumerate(sizes):
                    chosen = of_kind[(of_kind.n == n) & of_kind.targets.isin([targets, OBSERVED])]
                    over = chosen.groupby("M").SHD
                    mean, error = over.mean(), over.std(ddof=1) / np.sqrt(over.count())
                    look = {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 3, "linewidth": 1.2}
                    axes.errorbar(mean.index, mean, yerr=error, elinewidth=0.8, label=f"{n} rows in all", **look)
                axes.set_xscale("symlog", linthresh=3)
                ticks = [0, 3, 10, 30, 100, 300, 1000]
                axes.set_xticks([tick for tick in ticks if tick <= table.M.max()])
                axes.set_xticks([], minor=True)
                axes.xaxis.set_major_formatter("{x:g}")
                axes.set_title(f"{kind}, experiments on {targets}")
                axes.grid(alpha=0.2)
                axes.set_ylim(0, None)
            line[0].set_ylabel("SHD")
        for axes in grid[-1]:
            axes.set_xlabel("interventional rows among them")
        drawn.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        drawn.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/interventional-rows"), help="folder for tables")
    parser.add_argument("--seeds", type=int, default=20, help="graphs of each kind")
    parser.add_argument("--smoke", action="store_true", help="few tables, some seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes: tuple[Any, ...] = (options.seeds, SIZES, PER_TARGET, LADDER)
    if options.smoke:
        sizes = (2, (100,), (2,), (100, 200))
    rows = []
    with threadpool_limits(1):
        for row in fits(*sizes):
            rows.append(row)
            if row["m"] == 0:
                print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    table = pd.DataFrame(rows)
    table.to_csv(options.out / "fits.csv", index=False)
    for name, show in (("observed", by_rows), ("replaced", by_design)):
        text = show(table)
        (options.out / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"\n{name}\n\n{text}", flush=True)
    draw(table, options.out / "rows.svg")


if __name__ == "__main__":
    main()
