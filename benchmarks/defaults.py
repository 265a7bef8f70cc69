"""Which settings should ``Daguerreotype()`` have? Prints what each would do on synthetic problems of many kinds.

Run ``python benchmarks/defaults.py`` (some minutes on one core for each group), or with ``--smoke`` for a quick
pass. Every setting meets the same problems, so that differences are paired; no real data set takes part in the
choice. Problems come in two groups, which are printed one after the other: "additive" are the families that the
learner's model is for, "misspecified" those whose model is a little wrong, with more rows. ``--set penalty=2.0``
changes what "default" and all other settings start from.
"""

import argparse
import ast
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.graphs import topological_order
from daguerreotype.metrics import f1, shd, sid
from daguerreotype.operators import FixedOrder
from problems import FAMILIES, MISSPECIFIED, problem

PENALTIES = (None, 1.25, 1.5, 2.0, 2.5)  # None: by the number of rows and columns
TRANSFORMS = ("none", "log", "yeo-johnson", "auto")
CRITERIA = {"shd": min, "sid": min, "f1": max}  # which of several values is best
MEASURES = [*CRITERIA, "edges", "seconds"]
CEILING = "true order"
CHOSEN = ("edges", "penalty", "scales", "training")
Settings = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Group:
    """Families of problems, each with ``seeds`` problems of d columns for every number of rows."""

    families: Sequence[str]
    rows: Sequence[int]
    d: int = 20
    seeds: int = 2

    def problems(self) -> list[tuple[str, int, int, int]]:
        """Family, seed, columns and rows of each; every number of rows has graphs of its own."""
        return [
            (name, i * self.seeds + seed, self.d, n)
            for name in self.families
            for i, n in enumerate(self.rows)
            for seed in range(self.seeds)
        ]

    def __str__(self) -> str:
        rows = ", ".join(map(str, self.rows))
        return f"{len(self.families)} families, d = {self.d}, n = {rows}, {self.seeds} problems of each"


def groups(seeds: int, smoke: bool) -> dict[str, Group]:
    """Problems that the model is for, and problems whose model is a little wrong."""
    if smoke:
        return {"additive": Group(("gp-add", "hill"), (150,), 6), "misspecified": Group(("products",), (150,), 6)}
    return {
        "additive": Group(FAMILIES, (300, 500, 1000), seeds=seeds),
        "misspecified": Group(MISSPECIFIED, (300, 1000, 3000, 10000), seeds=seeds),
    }


def grid(penalties: Sequence[float | None], transforms: Sequence[str], given: dict[str, Any]) -> Settings:
    """Penalties and transforms that compete with each other, by label."""
    return {
        f"{penalty} {transform}": given | {"penalty": penalty, "scales": transform}
        for penalty, transform in product(penalties, transforms)
    }


def single_changes(given: dict[str, Any]) -> Settings:
    """The default, and what becomes of it when one choice is changed."""
    return {
        "default": given,
        "edges bic": given | {"edges": "bic"},
        "loss bic": given | {"training__loss": "bic"},
        "refine off": given | {"training__refine": False},
        "n_restarts 0": given | {"training__n_restarts": 0},
    }


def parse_setting(text: str) -> tuple[str, Any]:
    """A parameter's name and its value; what is no Python literal is a text."""
    name, equals, value = text.partition("=")
    if not equals or name.partition("__")[0] not in Daguerreotype().get_params():
        raise argparse.ArgumentTypeError(f"{text!r} sets no parameter of Daguerreotype: write name=value.")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def run_problem(family: str, seed: int, d: int, n: int, settings: Settings) -> list[dict[str, Any]]:
    """One row of measures per setting, and one for the true order under the default setting."""
    X, adjacency = problem(family, seed, d, n)
    given = settings["default"] | {"operator": FixedOrder(topological_order(adjacency))}
    found: dict[str, dict[str, float]] = {}  # by parameters: the default is one of the grid
    rows = []
    with threadpool_limits(1):
        for label, changes in (settings | {CEILING: given}).items():
            model = Daguerreotype().set_params(**changes)
            key = repr(model.get_params())
            if key not in found:
                found[key] = measure(model, X, adjacency)
            rows.append({"family": family, "seed": seed, "n": n, "setting": label} | found[key])
    return rows


def measure(model: Daguerreotype, X: FloatArray, adjacency: IntArray) -> dict[str, float]:
    """What one fit takes and finds."""
    start = time.process_time()
    estimated = model.fit(X).adjacency_matrix_
    seconds = time.process_time() - start
    found = {"shd": shd(adjacency, estimated), "sid": sid(adjacency, estimated), "f1": f1(adjacency, estimated)}
    return found | {"edges": int(estimated.sum()), "seconds": seconds}


def mean_and_error(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Means over families and sizes, all weighing the same, and standard errors given these."""
    groups = table.groupby(["family", "n"])[MEASURES]
    error = (groups.var(ddof=1).fillna(0.0) / groups.count()).sum() ** 0.5 / groups.ngroups
    return groups.mean().mean(), error


def difference(table: pd.DataFrame, setting: str, reference: str) -> tuple[pd.Series, pd.Series]:
    """Mean and standard error of the paired differences of two settings."""
    keys = ["family", "seed", "n"]
    first, second = (table[table.setting == name].set_index(keys)[MEASURES] for name in (setting, reference))
    return mean_and_error((first - second).reset_index())


def print_by(table: pd.DataFrame, column: str, settings: Sequence[str]) -> None:
    """SHD / SID / F1 of some settings, one row for each value of a column."""
    print(f"\nSHD / SID / F1 by {column}")
    print(f"{'':19}" + "".join(f"{name:>20}" for name in settings))
    means = table.groupby([column, "setting"])[list(CRITERIA)].mean()
    for value in table[column].unique():
        cells = (means.loc[(value, name)] for name in settings)
        texts = (f"{cell.shd:.1f} / {cell.sid:.1f} / {cell.f1:.2f}" for cell in cells)
        print(f"{value!s:19}" + "".join(f"{text:>20}" for text in texts))


def print_means(table: pd.DataFrame) -> None:
    """Means with standard errors, and paired differences to the default."""
    print("\nmeans over families and n ± standard error (paired difference to the default ± its standard error)")
    print(f"{'':17}{'SHD':>29}{'SID':>31}{'F1':>34}{'edges':>8}{'CPU s':>9}")
    for name in table.setting.unique():
        mean, error = mean_and_error(table[table.setting == name])
        change, change_error = difference(table, name, "default")
        cells = [
            f"{mean[c]:{form}} ±{error[c]:{form}} ({change[c]:+{form}} ±{change_error[c]:{form}})"
            for c, form in (("shd", ".2f"), ("sid", ".2f"), ("f1", ".3f"))
        ]
        print(f"{name:17}{cells[0]:>29}{cells[1]:>31}{cells[2]:>34}{mean.edges:8.1f}{mean.seconds:9.3f}")


def print_winners(table: pd.DataFrame, contests: dict[str, Sequence[str]]) -> None:
    """The best setting of every contest on every criterion, and how far the default is from it."""
    print("\nwinners, and how much worse the default is ± standard error of the paired difference")
    for contest, settings in contests.items():
        means = {name: mean_and_error(table[table.setting == name])[0] for name in settings}
        for criterion, pick in CRITERIA.items():
            best = pick(settings, key=lambda name, c=criterion, means=means: means[name][c])
            gap, error = (part[criterion] for part in difference(table, "default", best))
            behind = f"default {abs(gap):.3f} ±{error:.3f} worse" if gap else "as the default"
            print(f"{contest:22} {criterion:4} {best:16} {means[best][criterion]:8.3f}   {behind}")


def report(
    table: pd.DataFrame, changes: Settings, penalties: Sequence[float | None], transforms: Sequence[str]
) -> None:
    """All tables of a group of problems; without a grid only those of the default and the true order."""
    print_by(table, "family", [*changes, CEILING])
    if not penalties:
        print_by(table, "n", [*changes, CEILING])
        print_means(table)
        return
    for penalty in penalties:
        print_by(table, "family", list(grid([penalty], transforms, {})))
    print_by(table, "n", [*changes, CEILING])
    print_by(table, "n", list(grid(penalties, TRANSFORMS[-1:], {})))
    print_means(table)
    contests = {"penalty and transform": list(grid(penalties, transforms, {}))}
    contests |= {name.split()[0]: ["default", name] for name in changes if name != "default"}
    print_winners(table, contests)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="small problems and grid, a few seconds")
    parser.add_argument("--alone", action="store_true", help="the default and the true order only")
    parser.add_argument("--group", choices=("additive", "misspecified", "all"), default="all", help="problems")
    parser.add_argument("--seeds", type=int, default=2, help="problems of each family and size (default: 2)")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument(
        "--set", type=parse_setting, action="append", default=[], metavar="NAME=VALUE", help="change the default"
    )
    parser.add_argument("--csv", type=Path, help="file for a line per fit")
    options = parser.parse_args()
    start = time.perf_counter()
    given = dict(options.set)
    used = Daguerreotype().set_params(**given).get_params()
    penalties, transforms = list(dict.fromkeys([*PENALTIES, used["penalty"]])), TRANSFORMS
    if options.smoke:
        penalties, transforms = list(dict.fromkeys([2.0, used["penalty"]])), ("none", "auto")
    changes = single_changes(given)
    if options.alone:
        penalties, changes = [], {"default": given}
    print("default: " + ", ".join(f"{name}={used[name]!r}" for name in dict.fromkeys([*CHOSEN, *given])))
    run_problem("gp-add", 0, 5, 100, changes)  # loads the kernels before anything is timed
    tables = []
    for name, group in groups(options.seeds, options.smoke).items():
        if options.group in (name, "all"):
            print(f"\n{name}: {group}", flush=True)
            settings = changes | grid(penalties, transforms, given)
            run = Parallel(n_jobs=options.n_jobs)
            done = run(delayed(run_problem)(*each, settings) for each in group.problems())
            table = pd.DataFrame([{"group": name} | row for rows in done for row in rows])
            report(table, changes, penalties, transforms)
            tables.append(table)
    if options.csv:
        pd.concat(tables).to_csv(options.csv, index=False)
    print(f"\n{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
