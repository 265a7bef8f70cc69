"""Should the temperature stay as it is during training? Fixed temperatures and schedules, from the same starts.

Run ``nice python benchmarks/temperature.py --out docs/results/temperature`` (ten minutes on one core), or with
``--smoke`` for a quick pass. Every schedule trains for the same number of steps on the same
tables, without moves of single columns (``refine=False``), so that the temperature is all that differs:

- fixed: tau stays at one value. The paper's is 1.
- 10 to 0.1, geometric, linear or cosine: hot at first, cold in the end; the first is ``tau=(10, 0.1)``.
- 0.1 to 10, geometric: the other way round.

Tables are linear with Gaussian noise of equal variances, as they came; linear with Laplace noise; and additive
with curves drawn from Gaussian processes. The cost of a schedule is the number of local fits that its orders ask
for. Differences are paired: those of one table to tau = 1, with standard errors over tables.

A second part, alone with ``--refined``, trains with ``refine=True``, as the learner does by default.
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype.metrics import shd
from problems import problem
from tables import markdown

HOT, COLD = 10.0, 0.1
FIXED = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
REFERENCE = "tau = 1"
OPERATORS = ("sparsemax", "sparsemap")
# family -> what it is called, and the settings of a learner that can identify its graph
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear-gaussian": ("equal variances", {"edges": "bic", "training__loss": "nll_ev", "standardize": False}),
    "linear-laplace": ("Laplace noise", {"edges": "bic", "training__loss": "entropy"}),
    "gp-add": ("additive curves", {"edges": "gam", "training__loss": "bic"}),
}
REFINED = (REFERENCE, "tau = 0.1", "tau = 10", "tau = 100", "10 to 0.1, geometric")
SIZES = (10, 20)
ROWS = 500
STEPS = 300


def schedules(steps: int) -> dict[str, Any]:
    """The argument ``tau`` by name."""
    last = max(steps - 1, 1)

    def linear(step: int) -> float:
        return HOT + (COLD - HOT) * min(step, last) / last

    def cosine(step: int) -> float:
        return COLD + 0.5 * (HOT - COLD) * (1.0 + math.cos(math.pi * min(step, last) / last))

    fixed: dict[str, Any] = {f"tau = {tau:g}": tau for tau in FIXED}
    names = [f"{HOT:g} to {COLD:g}, {shape}" for shape in ("geometric", "linear", "cosine")]
    falling = dict(zip(names, ((HOT, COLD), linear, cosine), strict=True))
    return fixed | falling | {f"{COLD:g} to {HOT:g}, geometric": (COLD, HOT)}


def fits(seeds: int, sizes: Sequence[int], steps: int, refine: bool = False) -> Iterator[dict[str, Any]]:
    """One line per table, operator and schedule; refined ones for the default operator, at some temperatures."""
    operators, names = (OPERATORS[:1], REFINED) if refine else (OPERATORS, tuple(schedules(steps)))
    for family, (name, settings) in KINDS.items():
        for d in sizes:
            for seed in range(seeds):
                X, truth = problem(family, seed, d, ROWS)
                for operator in operators:
                    for schedule in names:
                        model = Daguerreotype(scales="none", posterior=0, operator=operator).set_params(
                            operator__tau=schedules(steps)[schedule],
                            training__refine=refine,
                            training__max_iter=steps,
                            training__patience=steps,  # all steps are made, so that schedules end
                            **settings,
                        )
                        start = time.process_time()
                        model.fit(X)
                        history = model.history_
                        yield {
                            "problem": name,
                            "d": d,
                            "seed": seed,
                            "operator": operator,
                            "schedule": schedule,
                            "SHD": shd(truth, model.adjacency_matrix_),
                            "loss": round(float(model.loss_), 6),
                            "orders": round(float(history.support.mean()), 1),
                            "last orders": int(history.support[-1]),
                            "fits": int(history.misses[-1]),
                            "seconds": round(time.process_time() - start, 3),
                        }


def differences(table: pd.DataFrame, measure: str = "SHD") -> pd.DataFrame:
    """What every fit has more than that of the same table at tau = 1."""
    keys = ["problem", "d", "seed", "operator"]
    reference = table[table.schedule == REFERENCE].set_index(keys)[measure]
    own = table.set_index(keys)
    return own.assign(difference=own[measure] - reference.reindex(own.index)).reset_index()


def mean_and_error(differences: pd.DataFrame) -> tuple[float, float]:
    """Mean of paired differences, tables of all kinds and sizes weighing the same, and its standard error."""
    groups = differences.groupby(["problem", "d"]).difference
    variances = groups.var(ddof=1).fillna(0.0) / groups.count()
    return float(groups.mean().mean()), float(np.sqrt(variances.sum()) / groups.ngroups)


def by_schedule(table: pd.DataFrame) -> str:
    """All tables together: SHD, what it differs by from tau = 1, orders and local fits; Markdown."""
    paired, lines = differences(table), []
    for (operator, schedule), chosen in paired.groupby(["operator", "schedule"], sort=False):
        mean, error = mean_and_error(chosen)
        lines.append(
            [
                operator,
                schedule,
                f"{chosen.SHD.mean():.1f} ± {chosen.SHD.std(ddof=0):.1f}",
                "" if schedule == REFERENCE else f"{mean:+.1f} ± {error:.1f}",
                f"{chosen.orders.mean():.0f}",
                f"{chosen['last orders'].mean():.0f}",
                f"{chosen.fits.mean():.0f}",
            ]
        )
    heads = ("operator", "temperature", "SHD", "SHD less that of tau = 1", "orders", "in the end", "local fits")
    return markdown(heads, lines)


def by_problem(table: pd.DataFrame) -> str:
    """Every kind and size of tables: SHD at tau = 1, and what other temperatures add to it; Markdown."""
    paired, lines = differences(table), []
    cases = list(dict.fromkeys(zip(table.problem, table.d, strict=True)))
    for (operator, schedule), chosen in paired.groupby(["operator", "schedule"], sort=False):
        cells = []
        for name, d in cases:
            of_case = chosen[(chosen.problem == name) & (chosen.d == d)]
            mean, error = mean_and_error(of_case)
            plain = f"{of_case.SHD.mean():.1f} ± {of_case.SHD.std(ddof=0):.1f}"
            cells.append(plain if schedule == REFERENCE else f"{mean:+.1f} ± {error:.1f}")
        lines.append([operator, schedule, *cells])
    return markdown(("operator", "temperature", *(f"{name}, d = {d}" for name, d in cases)), lines)


def draw(table: pd.DataFrame, path: Path) -> None:
    """What each temperature adds to the SHD of tau = 1: a panel for every operator, a mark for every kind."""
    from daguerreotype.experiments.figures import COLOURS, MARKERS
    from daguerreotype.plotting.backend import pyplot as plt

    paired = differences(table)
    names, kinds = (list(dict.fromkeys(table[column])) for column in ("schedule", "problem"))
    # the same rows give the same bytes; text of an SVG stays text
    with plt.rc_context({"svg.hashsalt": "daguerreotype", "svg.fonttype": "none", "font.size": 8}):
        shared = {"sharey": True, "squeeze": False}
        drawn, grid = plt.subplots(1, len(OPERATORS), figsize=(7.6, 3.4), layout="constrained", **shared)
        for axes, operator in zip(grid[0], OPERATORS, strict=True):
            axes.axvline(0.0, color="#000000", linestyle=(0, (5, 1.5)), linewidth=0.8)
            of_operator = paired[paired.operator == operator]
            for place, kind in enumerate(kinds):
                of_kind = of_operator[of_operator.problem == kind]
                found = np.array([mean_and_error(of_kind[of_kind.schedule == name]) for name in names])
                heights = np.arange(len(names)) + 0.2 * (place - 0.5 * (len(kinds) - 1))
                look = {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 4, "linestyle": ""}
                axes.errorbar(found[:, 0], heights, xerr=2.0 * found[:, 1], elinewidth=0.8, label=kind, **look)
            axes.set(title=operator, xlabel="SHD less that of tau = 1")
            axes.set_yticks(range(len(names)), names)
            axes.grid(alpha=0.2)
        grid[0, 0].invert_yaxis()
        drawn.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        drawn.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/temperature"), help="folder for the tables")
    parser.add_argument("--seeds", type=int, default=20, help="tables of each kind and size")
    parser.add_argument("--smoke", action="store_true", help="small tables, a few seconds")
    parser.add_argument("--refined", action="store_true", help="only training that refines")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = (2, (5,), 20) if options.smoke else (options.seeds, SIZES, STEPS)
    for part in ("refined",) if options.refined else ("fits", "refined"):
        rows = []
        with threadpool_limits(1):
            for row in fits(*sizes, refine=part == "refined"):
                rows.append(row)
                if row["schedule"] == REFERENCE:
                    print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        table = pd.DataFrame(rows)
        table.to_csv(options.out / f"{part}.csv", index=False)
        shown = (
            {"refined": by_schedule} if part == "refined" else {"schedules": by_schedule, "problems": by_problem}
        )
        for name, show in shown.items():
            text = show(table)
            (options.out / f"{name}.md").write_text(text, encoding="utf-8")
            print(f"\n{name}\n\n{text}", flush=True)
        if part == "fits":
            draw(table, options.out / "schedules.svg")


if __name__ == "__main__":
    main()
