"""What do missing values cost? Graphs, seconds and imputed values of tables with gaps, beside the complete tables.

Run ``python benchmarks/missing.py --out docs/results/missing`` for all of it (a quarter of an hour), with
``--random``, ``--given``, ``--intervened`` or ``--imputed`` for parts, with ``--smoke`` for a quick pass.
Every part writes a line per fit and its tables. A label tells versions of the learner apart: the lines of other
labels are kept, the tables show those of the label that was measured.

- random: values are missing completely at random, 10 % and 30 % of all cells. The learner of all rows, of the rows
  without gaps, and of tables that others imputed.
- given: two thirds of the columns have gaps that depend on columns which are always seen. The learner of all rows,
  beside the same share of gaps in the same columns completely at random.
- intervened: in a third of the rows one column was set to a value, and 10 % of all cells are missing.
- imputed: 10 % of the cells are hidden. How far off are imputed values, and how often do their intervals hold?

Seconds are those of the processor, on one thread, of imputing and learning.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.simulate import simulate_dag, simulate_data
from misfit import judge, say, write
from problems import TABLES, mixed_table, problem, standardized
from tables import markdown, number

# family -> mechanism, noise, edges for each column
EQUATIONS = {
    "linear": ("linear", "gaussian", 1),
    "linear-dense": ("linear", "gaussian", 2),
    "additive": ("gp-add", "gaussian", 1),
    "additive-dense": ("gp-add", "gaussian", 2),
    "laplace": ("linear", "laplace", 1),
}
FAMILIES = (*EQUATIONS, "lognormal", "hill")
SHARES = (0.1, 0.3)
SLOPE = 2.0  # of the logits of gaps, for a standard deviation of what they depend on
N_DRAWS = 100  # of which imputed values are means
WITHIN = 1.96
COMPLETE, OURS, DROPPED, MEAN = "complete", "ours", "dropped rows", "mean"
ITERATIVE, SAMPLED = "iterative", "iterative, sampled"
MEASURES = ("SHD", "SID", "edges")
Row = dict[str, Any]
Learner = dict[str, Any]
Impute = Callable[[Any], Any]


# ------------------------------------------------------------------ tables and their gaps


def table_of(family: str, seed: int, d: int, n: int) -> tuple[FloatArray, IntArray]:
    """Numbers (n, d), and the graph (d, d) behind them; kinds of graphs take turns."""
    if family not in EQUATIONS:
        return problem(family, seed, d, n)
    mechanism, noise, density = EQUATIONS[family]
    adjacency = simulate_dag(d, density * d, ("ER", "SF")[seed % 2], random_state=seed)
    drawn = simulate_data(adjacency, n, mechanism=mechanism, noise=noise, random_state=seed)
    return np.asarray(drawn.X), adjacency


def mixed_tables(seeds: int, smoke: bool) -> Iterator[tuple[int, pd.DataFrame, IntArray]]:
    """Tables of 9 to 12 columns of all kinds, a quarter of the seeds for each family."""
    for place, family in enumerate(TABLES[:1] if smoke else TABLES):
        for repeat in range(max(seeds // len(TABLES), 1)):
            seed = place * (seeds // len(TABLES)) + repeat
            X, truth = mixed_table(family, seed, 5 if smoke else 9 + seed % 4, 200 if smoke else 1000)
            yield seed, X, truth


def size(smoke: bool) -> tuple[int, int]:
    """Columns and rows."""
    return (5, 200) if smoke else (15, 800)


def gaps_at_random(shape: tuple[int, int], share: float, seed: int) -> BoolArray:
    """Cells (n, d) that are missing whatever the table holds."""
    return np.random.default_rng([seed, 5]).random(shape) < share


def gaps_given_others(X: FloatArray, share: float, seed: int) -> tuple[BoolArray, BoolArray]:
    r"""Cells (n, d) that are missing depending on others, and as many in the same columns completely at random.

    A third of the columns is always seen. Each other column is missing with the probability

    .. math:: 1 / (1 + e^{-b - 2 z})

    for z a standardized column that is always seen, and b such that the share is right.
    """
    rng = np.random.default_rng([seed, 6])
    order = rng.permutation(X.shape[1])
    seen, others = np.split(order, [X.shape[1] // 3])
    chance, plain = np.zeros(X.shape), np.zeros(X.shape)
    for column in others:
        logits = SLOPE * standardized(X[:, rng.choice(seen)])
        intercept = brentq(lambda b, z=logits: float(expit(b + z).mean()) - share, -30.0, 30.0)
        chance[:, column], plain[:, column] = expit(intercept + logits), share
    drawn = rng.random(X.shape)
    return drawn < chance, drawn < plain


def with_gaps(X: Any, gaps: BoolArray) -> Any:
    """The table without some of its cells; columns of a DataFrame are of types that know gaps."""
    if not isinstance(X, pd.DataFrame):
        return np.where(gaps, np.nan, X)
    nullable = X.astype({name: known_gaps(X[name]) for name in X})
    return nullable.mask(pd.DataFrame(gaps, columns=X.columns, index=X.index))


def known_gaps(column: "pd.Series[Any]") -> Any:
    """The type of a column that may have gaps."""
    if column.dtype == bool:
        return "boolean"
    return "Int64" if pd.api.types.is_integer_dtype(column) else column.dtype


# ------------------------------------------------------------------ what others impute


def impute_means(X: Any) -> Any:
    """Means, of whole numbers the nearest one; of truth values and words the most frequent level."""
    if not isinstance(X, pd.DataFrame):
        return np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    filled = X.copy()
    for name, column in X.items():
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            value = column.mode().iloc[0]
        else:
            value = column.mean()
            value = round(value) if pd.api.types.is_integer_dtype(column) else value
        filled[name] = column.fillna(value)
    return filled


def impute_in_turns(X: FloatArray, *, sample: bool = False) -> FloatArray:
    """scikit-learn's IterativeImputer: a Bayesian ridge of each column on all others, in turns."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged in ten turns
        return np.asarray(IterativeImputer(sample_posterior=sample, random_state=0).fit_transform(X))


def impute_frame_in_turns(X: pd.DataFrame) -> pd.DataFrame:
    """The same of a DataFrame: words as a column for each level, the largest of which is taken."""
    words = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    encoded = pd.get_dummies(X, columns=words, dtype=float).astype(float)
    for name in words:
        encoded.loc[X[name].isna(), [column for column in encoded if column.startswith(f"{name}_")]] = np.nan
    imputed = pd.DataFrame(impute_in_turns(encoded.to_numpy()), columns=encoded.columns, index=X.index)
    filled = X.copy()
    for name, column in X.items():
        if name in words:
            levels = imputed[[each for each in imputed if each.startswith(f"{name}_")]]
            new = levels.idxmax(axis=1).str.removeprefix(f"{name}_")
        elif pd.api.types.is_bool_dtype(column):
            new = (imputed[name] > 0.5).astype("boolean")
        else:
            new = imputed[name].round().astype("Int64") if column.dtype == "Int64" else imputed[name]
        filled[name] = column.where(column.notna(), new)
    return filled


IMPUTERS: dict[str, Impute] = {
    MEAN: impute_means,
    ITERATIVE: impute_in_turns,
    SAMPLED: lambda X: impute_in_turns(X, sample=True),
}


# ------------------------------------------------------------------ fits


def fit(X: Any, truth: IntArray, learner: Learner, impute: Impute | None = None, interventions: Any = None) -> Row:
    """How right the graph of a table is, and its seconds; or why what is left of it was refused."""
    with threadpool_limits(1):
        start = time.process_time()
        try:
            model = Daguerreotype(**learner).fit(X if impute is None else impute(X), interventions=interventions)
        except ValueError as error:
            if learner.get("missing") != "drop":
                raise
            return {"refused": str(error)}
        seconds = time.process_time() - start
    found = judge(truth, np.asarray(model.adjacency_matrix_), seconds)
    if model.missing_ is None or model.missing_.n_dropped:
        return found
    return found | {"rounds": model.missing_.n_rounds, "changed": model.missing_.n_changed}


def fits_of_methods(
    about: Row, X: Any, truth: IntArray, shares: tuple[float, ...], interventions: Any = None
) -> Iterator[Row]:
    """Fits to a complete table, and to what is left of it where cells are missing completely at random."""
    linear = about["table"].startswith("linear")
    learners: dict[str, Learner] = {"": {}} | ({"bic, ": {"edges": "bic"}} if linear else {})
    imputers = (MEAN,) if isinstance(X, pd.DataFrame) else tuple(IMPUTERS)
    complete = {}
    for name, learner in learners.items():
        complete[name] = fit(X, truth, learner, interventions=interventions)
        yield about | {"missing": 0.0, "method": name + COMPLETE} | complete[name] | {"ratio": 1.0}
    for share in shares:
        left = with_gaps(X, gaps_at_random(X.shape, share, about["seed"]))
        rows = {name + OURS: fit(left, truth, each, None, interventions) for name, each in learners.items()}
        rows[DROPPED] = fit(left, truth, {"missing": "drop"}, None, interventions)
        for name in imputers:
            rows[name] = fit(left, truth, {}, IMPUTERS[name], interventions)
        for method, row in rows.items():
            base = complete["bic, " if method.startswith("bic") else ""]
            yield about | {"missing": share, "method": method} | row | ratio(row, base)


def ratio(row: Row, complete: Row) -> Row:
    """Seconds by those of the complete table."""
    return {} if "seconds" not in row else {"ratio": round(row["seconds"] / max(complete["seconds"], 1e-3), 2)}


def completely_at_random(seeds: int, smoke: bool) -> Iterator[Row]:
    """Fits to tables whose cells are missing completely at random."""
    for family in ("linear", "additive") if smoke else FAMILIES:
        for seed in range(seeds):
            X, truth = table_of(family, seed, *size(smoke))
            yield from fits_of_methods({"table": family, "seed": seed}, X, truth, SHARES)
    for seed, frame, truth in mixed_tables(seeds, smoke):
        yield from fits_of_methods({"table": "mixed", "seed": seed}, frame, truth, SHARES[:1])


def given_others(seeds: int, smoke: bool) -> Iterator[Row]:
    """Fits to tables whose gaps depend on what is seen."""
    for family in ("linear", "additive"):
        for seed in range(seeds):
            X, truth = table_of(family, seed, *size(smoke))
            complete = fit(X, truth, {})
            about = {"table": family, "seed": seed}
            yield about | {"missing": 0.0, "method": COMPLETE} | complete | {"ratio": 1.0}
            for share in SHARES:
                depends, plain = gaps_given_others(X, share, seed)
                for method, gaps, learner in (
                    (f"{OURS}, given others", depends, {}),
                    (f"{OURS}, completely at random", plain, {}),
                    (f"{DROPPED}, given others", depends, {"missing": "drop"}),
                    (f"{DROPPED}, completely at random", plain, {"missing": "drop"}),
                ):
                    row = fit(with_gaps(X, gaps), truth, learner)
                    yield about | {"missing": share, "method": method} | row | ratio(row, complete)


def intervened(seeds: int, smoke: bool) -> Iterator[Row]:
    """Fits to linear tables with interventions: in a third of the rows a random column is twice a normal draw."""
    d, n = size(smoke)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 7])
        truth = simulate_dag(d, d, ("ER", "SF")[seed % 2], random_state=seed)
        targets = [int(rng.integers(d)) if row < n // 3 else None for row in range(n)]
        values = [None if target is None else {target: 2.0 * rng.standard_normal()} for target in targets]
        X = np.asarray(simulate_data(truth, n, interventions=values, random_state=seed).X)
        yield from fits_of_methods({"table": "linear, intervened", "seed": seed}, X, truth, SHARES[:1], targets)


# ------------------------------------------------------------------ imputed values


def imputed(seeds: int, smoke: bool) -> Iterator[Row]:
    """Values that were hidden, and what is imputed for them."""
    for seed in range(seeds):
        X, _ = table_of("additive", seed, *size(smoke))
        frame = pd.DataFrame(X, columns=[f"number{place}" for place in range(X.shape[1])])
        yield from imputations({"table": "additive", "seed": seed}, frame)
    for seed, frame, _ in mixed_tables(seeds, smoke):
        yield from imputations({"table": "mixed", "seed": seed}, frame)


def imputations(about: Row, frame: pd.DataFrame) -> Iterator[Row]:
    """Errors of each method, with those of numbers, counts and levels told apart."""
    gaps = gaps_at_random(frame.shape, SHARES[0], about["seed"])
    left = with_gaps(frame, gaps)
    with threadpool_limits(1):
        start = time.process_time()
        ours = Daguerreotype().fit(left).impute(left, N_DRAWS)
        filled = {OURS: (ours.table, time.process_time() - start)}
        for method, impute in ((MEAN, impute_means), (ITERATIVE, impute_frame_in_turns)):
            start = time.process_time()
            filled[method] = impute(left), time.process_time() - start
    for method, (table, seconds) in filled.items():
        found = errors(frame, gaps, table) | {"seconds": round(seconds, 3)}
        if method == OURS:
            found["within"] = round(coverage(frame, gaps, table, ours.spread), 4)
        yield about | {"method": method} | found


def errors(frame: pd.DataFrame, gaps: BoolArray, table: pd.DataFrame) -> Row:
    """Root mean squared error in standard deviations of columns, and the share of levels that are right."""
    squares: dict[str, list[FloatArray]] = {"numbers": [], "counts": []}
    right = []
    for place, name in enumerate(frame):
        hidden, guess = frame[name].to_numpy()[gaps[:, place]], table[name].to_numpy()[gaps[:, place]]
        if name.startswith(("number", "count")):
            off = (guess.astype(np.float64) - hidden) / frame[name].std()
            squares["numbers" if name.startswith("number") else "counts"].append(off**2)
        else:
            right.append(guess == hidden)
    found = {kind: round(float(np.sqrt(np.concatenate(each).mean())), 4) for kind, each in squares.items() if each}
    return found | ({"levels": round(float(np.concatenate(right).mean()), 4)} if right else {})


def coverage(frame: pd.DataFrame, gaps: BoolArray, table: pd.DataFrame, spread: pd.DataFrame) -> float:
    """Share of hidden numbers that are within 1.96 spreads of what is imputed."""
    numbers = [name for name in frame if name.startswith("number")]
    off = np.abs(table[numbers].to_numpy(dtype=np.float64) - frame[numbers].to_numpy(dtype=np.float64))
    within = off <= WITHIN * spread[numbers].to_numpy()
    return float(within[gaps[:, [frame.columns.get_loc(name) for name in numbers]]].mean())


# ------------------------------------------------------------------ what is shown


def scores(table: pd.DataFrame) -> str:
    """Mean ± standard error of every measure, a line for each share and method: Markdown."""
    lines = []
    for (name, share, method), chosen in table.groupby(["table", "missing", "method"], sort=False):
        fitted = chosen[chosen.SHD.notna()]
        line = [str(name), f"{100 * share:.0f} %", str(method)]
        if fitted.empty:
            lines.append([*line, "no rows left", *[""] * len(MEASURES)])
        else:
            some = "" if len(fitted) == len(chosen) else f" ({len(fitted)} of {len(chosen)})"
            cells = [mean_and_error(fitted[measure]) for measure in MEASURES]
            lines.append([*line, cells[0] + some, *cells[1:], number(fitted.seconds.mean())])
    return markdown(("table", "missing", "method", *MEASURES, "seconds"), lines)


def mean_and_error(values: "pd.Series[float]") -> str:
    """Mean, ± the standard error of several."""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def ratios(table: pd.DataFrame) -> str:
    """Seconds of the learner of all rows by those of the complete table: Markdown."""
    ours = table[table.method.isin((OURS, f"bic, {OURS}"))]
    lines = []
    for (name, method, share), chosen in ours.groupby(["table", "method", "missing"], sort=False):
        settled = chosen[["rounds", "changed"]].assign(settled=chosen.changed <= 1)
        shown = (chosen.seconds.median(), chosen.ratio.median(), chosen.ratio.max(), settled.rounds.mean())
        cells = [f"{100 * share:.0f} %", *map(number, shown), f"{settled.settled.sum()} of {len(chosen)}"]
        lines.append([str(name), "bic" if method.startswith("bic") else "default", *cells])
    heads = ("seconds, median", "by the complete table's, median", "largest", "rounds, mean", "settled")
    return markdown(("table", "learner", "missing", *heads), lines)


def imputed_errors(table: pd.DataFrame) -> str:
    """Errors of what is imputed: Markdown."""
    lines = []
    for (name, method), chosen in table.groupby(["table", "method"], sort=False):
        of_numbers = [show_mean(chosen[kind], ".2f") for kind in ("numbers", "counts") if kind in chosen]
        of_levels = [show_mean(chosen[kind], ".1%") for kind in ("levels", "within") if kind in chosen]
        lines.append([str(name), str(method), *of_numbers, *of_levels, number(chosen.seconds.mean())])
    heads = ("error of numbers", "error of counts", "levels that are right", "numbers within 1.96 spreads")
    return markdown(("table", "method", *heads, "seconds"), lines)


def show_mean(values: "pd.Series[float]", form: str) -> str:
    """The mean of what there is."""
    return f"{values.mean():{form}}".replace("%", " %") if values.notna().any() else ""


# part -> its fits, and what they are shown as
PARTS: dict[str, tuple[Callable[[int, bool], Iterator[Row]], dict[str, Callable[[pd.DataFrame], str]]]] = {
    "random": (completely_at_random, {"random": scores, "seconds": ratios}),
    "given": (given_others, {"given": scores}),
    "intervened": (intervened, {"intervened": scores}),
    "imputed": (imputed, {"imputed": imputed_errors}),
}


def load_kernels() -> None:
    """Learn from small tables, so that no kernel is loaded while anything is timed."""
    mixed, _ = mixed_table("bends", 0, 8, 200)
    Daguerreotype().fit(with_gaps(mixed, gaps_at_random(mixed.shape, 0.1, 0)))
    for family in ("linear", "laplace", "lognormal"):
        X, _ = table_of(family, 0, 5, 200)
        for learner in ({}, {"edges": "bic"}):
            Daguerreotype(**learner).fit(with_gaps(X, gaps_at_random(X.shape, 0.1, 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/missing"), help="folder for the tables")
    parser.add_argument("--label", default="now", help="name of what is measured, such as a version")
    parser.add_argument("--seeds", type=int, default=12, help="tables of each family")
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"only {part}, or the parts that are given")
    parser.add_argument("--smoke", action="store_true", help="a small table of few families, some seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    load_kernels()
    for part in [part for part in PARTS if getattr(options, part)] or PARTS:
        learn, shows = PARTS[part]
        rows = [say(row) for row in learn(1 if options.smoke else options.seeds, options.smoke)]
        table = write(options.out / f"{part}.csv", options.label, rows)
        for name, show in shows.items():
            text = show(table[table.label == options.label])
            (options.out / f"{name}.md").write_text(text, encoding="utf-8")
            print(f"\n{name}\n\n{text}", flush=True)


if __name__ == "__main__":
    main()
