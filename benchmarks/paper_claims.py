"""The paper's qualitative claims, counted: small tables from the runs of the full experiments.

Run ``python benchmarks/paper_claims.py`` after ``daguerreotype reproduce`` and a copy of its results into
``docs/results``; it reads their ``runs.csv`` and writes ``docs/results/claims/*.md``, which the notebook shows.
Nothing is fitted. Differences are paired by table, with standard errors over tables.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from daguerreotype.experiments.results import load_published, pareto_front
from tables import markdown, number

RESULTS = Path(__file__).parents[1] / "docs" / "results"
MEASURES = ("shd", "sid", "n_edges")
SIZES = (10, 20, 30, 50, 100)
TABLES_EACH = 10  # draws of a cell; cells with fewer say how many
PRICES = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
CONFIGURATIONS = [
    f"DAGuerreotype-{operator}{joint} ({edges})"
    for joint, kinds in (("", ("linear", "LARS", "non-linear")), ("-joint", ("linear", "non-linear")))
    for edges in kinds
    for operator in ("spmax", "spMAP")
]


def runs_of(experiment: str, results: Path) -> pd.DataFrame:
    """Runs that ended well."""
    runs = pd.read_csv(results / experiment / "runs.csv")
    return runs[runs["status"] == "ok"]


def mean_and_error(values: pd.Series) -> str:
    """Mean and its standard error."""
    values = values.dropna()
    if values.empty:
        return "–"
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    fewer = "" if len(values) == TABLES_EACH else f" ({len(values)} tables)"
    return f"{values.mean():.1f}" + (f" ± {error:.1f}" if np.isfinite(error) else "") + fewer


def of_method(runs: pd.DataFrame, method: str, **where: float) -> pd.DataFrame:
    """The runs of one method, where what is varied has these values."""
    kept = runs[runs["method"] == method]
    for name, value in where.items():
        kept = kept[kept[name] == value]
    return kept


def difference(first: pd.DataFrame, second: pd.DataFrame, measure: str, by: list[str]) -> pd.Series:
    """What the first is above the second, table by table."""
    return first.set_index(by)[measure].sub(second.set_index(by)[measure]).dropna()


def published_cells(results: Path, labels: Sequence[str]) -> pd.DataFrame:
    """Every published mean of these rows, ours, and how many standard errors lie between."""
    rows = []
    for data, title in (("sachs", "Sachs"), ("syntren", "SynTReN")):
        runs, published = runs_of(data, results), load_published(data)
        for label in labels:
            for measure, name in zip(MEASURES, ("SHD", "SID", "edges"), strict=True):
                values, known = of_method(runs, label)[measure], published.loc[label, measure]
                error = values.std(ddof=1) * np.sqrt(2 / len(values))
                rows.append(
                    {
                        "data": title,
                        "configuration": label.removeprefix("DAGuerreotype-"),
                        "measure": name,
                        "ours": values.mean(),
                        "published": known,
                        "apart": (values.mean() - known) / error if error > 0 else np.nan,
                    }
                )
    return pd.DataFrame(rows)


def agreement(results: Path, labels: Sequence[str] = CONFIGURATIONS) -> pd.DataFrame:
    """The ten configurations beside the published means, in standard errors of a difference of two means."""
    rows, cells_of = [], published_cells(results, labels).groupby(["data", "configuration"], sort=False)
    for (data, configuration), cells in cells_of:
        row = {"data": data, "configuration": configuration}
        for cell in cells.itertuples():
            apart = f"{cell.apart:+.1f}" if np.isfinite(cell.apart) else "–"
            row[cell.measure] = f"{cell.ours:.1f} [{cell.published:g}], {apart}"
        rows.append(row)
    return pd.DataFrame(rows)


def agreement_baselines(results: Path) -> pd.DataFrame:
    """The same for the methods that the paper compares with."""
    rows = load_published("sachs").index
    found = agreement(results, [label for label in rows if label not in CONFIGURATIONS])
    return found.rename(columns={"configuration": "method"})


def agreement_counts(results: Path) -> pd.DataFrame:
    """How many cells lie beyond two standard errors, how many would by chance, and on which side cells lie."""
    cells = published_cells(results, CONFIGURATIONS)
    joint = cells["configuration"].str.contains("joint")
    groups = [("all", cells)]
    for data in ("Sachs", "SynTReN"):
        for training, chosen in (("bilevel", ~joint), ("joint", joint)):
            some = cells[(cells["data"] == data) & chosen]
            groups += [(f"{data}, {training}, {name}", some[some["measure"] == name]) for name in ("SHD", "SID")]
    rows = []
    for name, chosen in groups:
        apart = chosen["apart"].dropna()
        # the spread is that of ten runs: as many degrees of freedom less one
        chance = [2 * each * len(apart) for each in (norm.sf(2), student.sf(2, TABLES_EACH - 1))]
        above = chosen["ours"] - chosen["published"]
        row = {"cells": name, "number": str(len(apart)), "beyond two": str(int((apart.abs() > 2).sum()))}
        row["by chance"] = f"{chance[0]:.1f} to {chance[1]:.1f}"
        row["ours is larger in"] = f"{int((above > 0).sum())} of {len(above)}"
        row["ours less published"] = "" if name == "all" else f"{above.mean():+.1f}"
        rows.append(row)
    return pd.DataFrame(rows)


def authors_code(results: Path) -> pd.DataFrame:
    """Runs of the authors' code with the settings of its script, beside ours of the same tables, and the paper.

    A seed of theirs on SynTReN is a network, as a repeat of ours is. What was stopped before its first step has no
    graph; such runs are counted, and a configuration without any other has no row.
    """
    names = {"tk_sp_max": "spmax", "sp_map": "spMAP", "linear": "linear", "nonlinear": "non-linear"}
    theirs = pd.read_csv(results / "authors-code" / "runs.csv")
    rows = []
    for (data, configuration), made in theirs.groupby(["data", "configuration"], sort=False):
        runs = made[made["shd"].notna()]
        mode, *parts = configuration.split("/")
        edges = "LARS" if mode == "LARS" else names[parts[1]]
        label = f"DAGuerreotype-{names[parts[0]]}{'-joint' if mode == 'joint' else ''} ({edges})"
        ours, published = of_method(runs_of(data, results), label), load_published(data).loc[label]
        table = "Sachs"
        if data == "syntren":
            ours = ours[ours["repeat"].isin(runs["seed"])]
            table = "SynTReN " + " and ".join(str(seed + 1) for seed in made["seed"])
        steps = " and ".join(str(each) for each in made.loc[made["status"] == "capped", "outer_iterations"])
        row = {"table": table, "configuration": label.removeprefix("DAGuerreotype-"), "runs": str(len(made))}
        row["stopped at step"] = steps
        for measure, name in (("shd", "SHD"), ("sid", "SID"), ("n_edges", "edges")):
            code = runs["edges" if measure == "n_edges" else measure].mean()
            both = [f"{each:.1f}" if len(runs) else "–" for each in (code, ours[measure].mean())]
            row[f"{name}: code / ours [paper]"] = f"{' / '.join(both)} [{published[measure]:g}]"
        rows.append(row)
    return pd.DataFrame(rows)


def orders_over_k(results: Path) -> pd.DataFrame:
    """SHD over K and the number of columns."""
    runs = runs_of("k-sweep", results)
    rows = []
    for label in ("sparsemax", "sparseMAP"):
        rows += [(f"{label}, K = {k}", {"method": label, "k": k}) for k in (2, 5, 10, 20, 35, 100)]
    rows += [
        (f"{label}, K = 100", {"method": label, "k": 100}) for label in ("sparsemax, refine", "sparseMAP, refine")
    ]
    rows += [(label, {"method": label}) for label in ("true order", "random order")]
    table = [
        {"orders": name} | {f"d = {d}": mean_and_error(of_method(runs, **where, d=d)["shd"]) for d in SIZES}
        for name, where in rows
    ]
    return pd.DataFrame(table)


def against_random(results: Path) -> pd.DataFrame:
    """SHD of learned orders less that of a random order on the same tables, at small K."""
    runs = runs_of("k-sweep", results)
    rows = []
    for label in ("sparsemax", "sparseMAP"):
        for k in (2, 5, 10):
            row = {"orders": f"{label}, K = {k}"}
            for d in SIZES:
                pair = of_method(runs, label, k=k, d=d), of_method(runs, "random order", d=d)
                row[f"d = {d}"] = mean_and_error(difference(*pair, "shd", ["problem", "repeat"]))
            rows.append(row)
    return pd.DataFrame(rows)


def beyond_20(results: Path) -> pd.DataFrame:
    """SHD of SparseMAP at other K less that at K = 20 on the same tables; at 30 columns SID, too."""
    runs = runs_of("k-sweep", results)
    rows = []
    for k in (5, 10, 35, 50, 75, 100):
        row = {"K": str(k)}
        for measure, name, d in (*(("shd", "SHD", d) for d in SIZES), ("sid", "SID", 30)):
            pair = (of_method(runs, "sparseMAP", k=each, d=d) for each in (k, 20))
            row[f"{name}, d = {d}"] = mean_and_error(difference(*pair, measure, ["problem", "repeat"]))
        rows.append(row)
    return pd.DataFrame(rows)


def gaps(results: Path) -> pd.DataFrame:
    """How much of the way from a random order's SHD to the true order's is gone, in percent."""
    runs = runs_of("k-sweep", results)
    rows = []
    for name, where in (
        ("sparsemax, K = 100", {"method": "sparsemax", "k": 100}),
        ("sparseMAP, K = 100", {"method": "sparseMAP", "k": 100}),
        ("sparsemax, K = 100, refine", {"method": "sparsemax, refine", "k": 100}),
        ("sparseMAP, K = 100, refine", {"method": "sparseMAP, refine", "k": 100}),
    ):
        row = {"orders": name}
        for d in SIZES:
            means = [of_method(runs, each, d=d)["shd"].mean() for each in ("random order", "true order")]
            found = of_method(runs, **where, d=d)["shd"].mean()
            share = (means[0] - found) / (means[0] - means[1])
            row[f"d = {d}"] = f"{100 * share:.0f} %" if np.isfinite(share) else "–"
        rows.append(row)
    return pd.DataFrame(rows)


def operators(results: Path) -> pd.DataFrame:
    """SHD of sparsemax less that of SparseMAP on the same tables, and how much longer SparseMAP takes."""
    runs = runs_of("k-sweep", results)
    rows = []
    for k in (2, 5, 10, 20, 35, 50, 75, 100):
        row = {"K": str(k)}
        for d in SIZES:
            pair = [of_method(runs, label, k=k, d=d) for label in ("sparsemax", "sparseMAP")]
            row[f"d = {d}"] = mean_and_error(difference(*pair, "shd", ["problem", "repeat"]))
        rows.append(row)
    row = {"K": "seconds of SparseMAP / sparsemax, K = 100"}
    for d in SIZES:
        slow, fast = (of_method(runs, label, k=100, d=d)["seconds"].mean() for label in ("sparseMAP", "sparsemax"))
        row[f"d = {d}"] = f"{slow / fast:.0f}"
    return pd.DataFrame([*rows, row])


def over_rows(results: Path) -> pd.DataFrame:
    """SHD over the number of rows, at 20 columns."""
    runs = runs_of("n-sweep", results)
    sizes = sorted(runs["n"].unique())
    rows = [
        (f"{label}, K = {k}", {"method": label, "k": k}) for label in ("sparsemax", "sparseMAP") for k in (2, 100)
    ]
    rows += [
        (f"{label}, K = 100", {"method": label, "k": 100}) for label in ("sparsemax, refine", "sparseMAP, refine")
    ]
    rows += [(label, {"method": label}) for label in ("true order", "random order")]
    table = [
        {"orders": name} | {f"n = {n}": mean_and_error(of_method(runs, **where, n=n)["shd"]) for n in sizes}
        for name, where in rows
    ]
    return pd.DataFrame(table)


def supports(results: Path) -> pd.DataFrame:
    """Rankings with mass at K = 100: mean over all steps of training, and the most at any step."""
    runs = runs_of("k-sweep", results)
    rows = []
    for label in ("sparsemax", "sparseMAP"):
        row = {"operator": label}
        for d in SIZES:
            some = of_method(runs, label, k=100, d=d)
            row[f"d = {d}"] = f"{some['mean_rankings'].mean():.0f}, at most {some['max_rankings'].max():.0f}"
        rows.append(row)
    return pd.DataFrame(rows)


def operators_over_lambda(results: Path) -> pd.DataFrame:
    """SHD and SID of sparsemax less those of SparseMAP on the same table with the same seed, over lambda."""
    rows = []
    for data, title in (("pruning-sachs", "Sachs"), ("pruning-syntren", "SynTReN")):
        runs = runs_of(data, results)
        for fits in ("", ", converged"):
            for measure in ("shd", "sid"):
                row = {"data": title + fits, "sparsemax less SparseMAP": measure.upper()}
                for price in PRICES:
                    pair = (of_method(runs, f"{each}{fits}", pruning=price) for each in ("sparsemax", "sparseMAP"))
                    row[f"lambda = {price:g}"] = mean_and_error(difference(*pair, measure, ["problem", "repeat"]))
                rows.append(row)
    return pd.DataFrame(rows)


def over_lambda(results: Path) -> pd.DataFrame:
    """SHD, SID and edges over the price of an edge."""
    rows = []
    for data, title in (("pruning-sachs", "Sachs"), ("pruning-syntren", "SynTReN")):
        runs = runs_of(data, results)
        for label in ("sparsemax", "sparseMAP", "sparsemax, converged", "sparseMAP, converged"):
            row = {"data": title, "joint linear": label}
            for price in PRICES:
                some = of_method(runs, label, pruning=price)
                means = [f"{some['shd'].mean():.1f}", *(f"{some[each].mean():.0f}" for each in ("sid", "n_edges"))]
                row[f"lambda = {price:g}"] = " / ".join(means)
            rows.append(row)
    return pd.DataFrame(rows)


def joint_or_bilevel(results: Path) -> pd.DataFrame:
    """SHD, SID and seconds of both training modes."""
    rows = []
    for data, title in (("sachs", "Sachs"), ("syntren", "SynTReN")):
        runs = runs_of(data, results)
        for edges in ("linear", "non-linear"):
            for operator in ("spmax", "spMAP"):
                for fits in ("", ", converged"):
                    row = {"data": title, "edges": f"{operator} ({edges}){fits}"}
                    for mode, joint in (("bilevel", ""), ("joint", "-joint")):
                        some = of_method(runs, f"DAGuerreotype-{operator}{joint} ({edges}){fits}")
                        means = [f"{some[measure].mean():.0f}" for measure in ("shd", "sid")]
                        row[f"{mode}: SHD / SID / s"] = " / ".join([*means, number(some["seconds"].mean())])
                    rows.append(row)
    return pd.DataFrame(rows)


def starts(results: Path) -> pd.DataFrame:
    """SHD with theta from the variances less that from zeros, on the same tables, by the kind of equations."""
    runs = runs_of("synthetic", results)
    rows = []
    for operator in ("spmax", "spMAP"):
        for fits in ("", ", converged"):
            for sem in ("Gaussian", "Gumbel", "MLP"):
                row = {"operator": f"{operator}{fits}", "equations": sem}
                for d in SIZES:
                    pair = [
                        of_method(runs, f"DAGuerreotype-{operator}, {start}{fits}", sem=sem, d=d)
                        for start in ("variances", "zeros")
                    ]
                    row[f"d = {d}"] = mean_and_error(difference(*pair, "shd", ["problem", "repeat"]))
                rows.append(row)
    return pd.DataFrame(rows)


def rivals(results: Path) -> pd.DataFrame:
    """SHD, SID and precision of orders from variances and of other methods, over all kinds of equations."""
    runs = runs_of("synthetic", results)
    labels = [
        *(f"DAGuerreotype-{each}" for each in ("spmax, zeros", "spmax, zeros, K = 100", "spmax, variances")),
        *(f"DAGuerreotype-{each}" for each in ("spMAP, zeros", "spMAP, variances", "spMAP, variances, converged")),
        *("ours: bic, refine, equal variances", "ours: bic, refine", "ours: gam, refine"),
        *("NoTears (linear)", "NoTears (non-linear)", "Golem (NEV)", "DAGMA"),
        *("VI-DP-DAG (softsort)", "VI-DP-DAG (sinkhorn)", "BCDNets"),
        *("sortnregress", "CAM", "NPVAR (GAM)", "BOSS", "random order"),
    ]
    rows = []
    for label in labels:
        row = {"method": label}
        for d in SIZES:
            some = of_method(runs, label, d=d)
            parts = [f"{some['shd'].mean():.1f}", f"{some['sid'].mean():.0f}", f"{some['precision'].mean():.2f}"]
            fewer = "" if len(some) == 3 * TABLES_EACH else f" ({len(some)} of {3 * TABLES_EACH} tables)"
            row[f"d = {d}"] = " / ".join(parts) + fewer if len(some) else "–"
        some = of_method(runs, label, d=20)
        row["seconds, d = 20"] = number(some["seconds"].mean()) if len(some) else "–"
        rows.append(row)
    return pd.DataFrame(rows)


def fronts(results: Path) -> pd.DataFrame:
    """Rows that no other beats in both SHD and SID: of the methods of the paper, and of all."""
    rows = []
    for data, title in (("sachs", "Sachs"), ("syntren", "SynTReN")):
        means = runs_of(data, results).groupby("method", sort=False)[["shd", "sid"]].mean()
        published = means[means.index.isin(load_published(data).index)]
        for which, points in (("of the paper", published), ("all", means)):
            front = points[pareto_front(points.to_numpy())].sort_values("shd")
            shown = (f"{name} ({row.shd:.1f} / {row.sid:.0f})" for name, row in front.iterrows())
            rows.append({"data": title, "rows": which, "on the front (SHD / SID)": "; ".join(shown)})
    return pd.DataFrame(rows)


TABLES = {
    "agreement": agreement,
    "agreement-baselines": agreement_baselines,
    "agreement-counts": agreement_counts,
    "authors-code": authors_code,
    "orders-over-k": orders_over_k,
    "against-random": against_random,
    "beyond-20": beyond_20,
    "gaps": gaps,
    "operators": operators,
    "over-rows": over_rows,
    "supports": supports,
    "over-lambda": over_lambda,
    "operators-over-lambda": operators_over_lambda,
    "joint-or-bilevel": joint_or_bilevel,
    "starts": starts,
    "rivals": rivals,
    "fronts": fronts,
}


def main() -> None:
    """Write all tables, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help="which; all by default")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the experiments' results")
    parser.add_argument("--out", type=Path, help="folder for the tables; claims within the results by default")
    options = parser.parse_args()
    folder = options.out or options.results / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.tables or TABLES:
        table = TABLES[name](options.results)
        text = markdown(list(table), table.astype(str).to_numpy().tolist())
        (folder / f"{name}.md").write_text(text + "\n", encoding="utf-8")
        print(f"## {name}\n\n{text}\n")


if __name__ == "__main__":
    main()
