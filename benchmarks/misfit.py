"""What becomes of graphs where the model is a little wrong? Edges by rows, on real tables, and weak ones.

Run ``python benchmarks/misfit.py --out docs/results/misfit --label after`` for all of it (some minutes), with
``--families``, ``--rows``, ``--real``, ``--sachs``, ``--syntren`` or ``--floor`` for parts, with
``--smoke`` for a quick pass.
Every part writes a line per fit and a table. A label tells versions or settings of the learner apart; rows of
other labels are kept as the folder has them. ``--set penalty=2.0`` changes the learner.

- families: the problems of ``defaults.py``, four of each family and size.
- rows: tables that are not additive with independent noise, and "gp-add", which is, from 300 to 100000 rows. Small
  tables are the first rows of large ones. A figure shows how many edges are found.
- real: how many edges the learner finds in ten tables of people, flowers, wines, tumours, schools and states.
- sachs: the observed rows, all rows pooled, and all rows with the column told that was intervened on.
- syntren: ten gene networks, from the folder of ``--data-home`` or fetched.
- floor: tables of the learner's own model with some edges that are weak: what is lost if those are left out?

"True order" is the learner told a right order. Seconds are those of the processor, on one thread.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.datasets import load_sachs, load_syntren
from daguerreotype.graphs import topological_order
from daguerreotype.metrics import f1, shd, sid
from daguerreotype.operators import FixedOrder
from daguerreotype.simulate import simulate_dag
from defaults import groups, parse_setting
from problems import MISSPECIFIED, drawn_bend, mixed_table, problem, standardized
from tables import PLACES, markdown, number

FOUND, CEILING = "found", "true order"
MEASURES = ("SHD", "SID", "F1", "edges")
ROWS = (300, 1000, 3000, 10000, 30000, 100000)
STRENGTHS = (0.03, 0.05, 0.08, 0.12, 0.2, 0.6)  # bounds of bins of partial correlations
WEAK = 0.75  # share of edges below the last bin
ABSENT = "no edge"
Row = dict[str, Any]
Changes = dict[str, Any]


def fit(X: Any, changes: Changes, interventions: Any = None) -> tuple[IntArray, float]:
    """The graph of a table, and its seconds."""
    with threadpool_limits(1):
        start = time.process_time()
        model = Daguerreotype().set_params(**changes).fit(X, interventions=interventions)
        return np.asarray(model.adjacency_matrix_), time.process_time() - start


def fits(
    X: Any, truth: IntArray, changes: Changes, interventions: Any = None
) -> Iterator[tuple[str, IntArray, float]]:
    """Method, graph and seconds of the learner, and of the learner told the order."""
    order = topological_order(truth)
    told = [X.columns[node] for node in order] if isinstance(X, pd.DataFrame) else order
    for method, more in ((FOUND, {}), (CEILING, {"operator": FixedOrder(told)})):
        yield method, *fit(X, changes | more, interventions)


def judge(truth: IntArray, found: IntArray, seconds: float) -> Row:
    """How right a graph is."""
    scores = {"SHD": shd(truth, found), "SID": sid(truth, found), "F1": round(f1(truth, found), 4)}
    return scores | {"edges": int(found.sum()), "seconds": round(seconds, 3)}


def family_fits(changes: Changes, smoke: bool, seeds: int = 4) -> Iterator[Row]:
    """Fits to tables that the model is for, and to tables whose model is a little wrong."""
    for name, group in groups(seeds, smoke).items():
        for family, seed, d, n in group.problems():
            X, truth = problem(family, seed, d, n)
            about = {"group": name, "table": family, "seed": seed, "n": n, "true edges": int(truth.sum())}
            for method, found, seconds in fits(X, truth, changes):
                yield about | {"method": method} | judge(truth, found, seconds)


def edges_by_rows(changes: Changes, smoke: bool) -> Iterator[Row]:
    """Fits to more and more rows of the same tables."""
    families, seeds, d, sizes = (*MISSPECIFIED, "gp-add"), 4, 10, ROWS
    if smoke:
        families, seeds, d, sizes = ("products", "gp-add"), 1, 5, (100, 200)
    for family in families:
        for seed in range(seeds):
            X, truth = problem(family, seed, d, sizes[-1])
            for n in sizes:
                about = {"table": family, "seed": seed, "n": n, "d": d, "true edges": int(truth.sum())}
                for method, found, seconds in fits(X[:n], truth, changes):
                    yield about | {"method": method} | judge(truth, found, seconds)


def real_tables() -> dict[str, Callable[[], pd.DataFrame]]:
    """Tables that scikit-learn and statsmodels ship, all but one cross-sections.

    Left out are columns that number persons or are functions of others. A row of "modechoice" is one of four ways
    to travel that a person had.
    """
    from sklearn import datasets
    from statsmodels import datasets as more

    def with_words(load: Callable[..., Any], name: str) -> pd.DataFrame:
        """Measurements, and the name of the class."""
        bunch = load(as_frame=True)
        return bunch.data.assign(**{name: np.asarray(bunch.target_names)[bunch.target]})

    def without(name: str, *columns: str) -> pd.DataFrame:
        return getattr(more, name).load_pandas().data.drop(columns=list(columns))

    return {
        "iris": lambda: with_words(datasets.load_iris, "species"),
        "wine": lambda: with_words(datasets.load_wine, "cultivar"),
        "diabetes": lambda: datasets.load_diabetes(as_frame=True, scaled=False).frame,
        "breast cancer": lambda: with_words(datasets.load_breast_cancer, "diagnosis"),
        "statecrime": lambda: without("statecrime"),
        "star98": lambda: more.star98.load_pandas().data.iloc[:, :14],  # the others are products
        "modechoice": lambda: without("modechoice", "individual"),
        "anes96": lambda: without("anes96", "logpopul"),
        "fair": lambda: without("fair"),
        "randhie": lambda: without("randhie"),
    }


def edges_of_real_tables(changes: Changes, smoke: bool) -> Iterator[Row]:
    """How many edges are found where nobody knows the graph; rows with gaps are left out."""
    for name, load in real_tables().items():
        if not smoke or name in ("iris", "statecrime"):
            X = load()
            whole = X.dropna().reset_index(drop=True)
            found, seconds = fit(whole, changes)
            yield {"table": name, "n": len(whole), "d": X.shape[1], "rows with gaps": len(X) - len(whole)} | {
                "edges": int(found.sum()),
                "most parents": int(found.sum(axis=0).max()),
                "seconds": round(seconds, 3),
            }


def proteins(changes: Changes, smoke: bool) -> Iterator[Row]:
    """Sachs: observed, pooled, and with interventions told."""
    first, full = load_sachs(), load_sachs(interventional=True)
    tables = [("observed", first, None), ("pooled", full, None), ("told", full, full.interventions)]
    for name, data, interventions in tables[:1] if smoke else tables:
        X, truth = data.X, np.asarray(data.adjacency)
        about = {"table": name, "n": len(X), "d": X.shape[1], "true edges": int(truth.sum())}
        for method, found, seconds in fits(X, truth, changes, interventions):
            yield about | {"method": method} | judge(truth, found, seconds)


def gene_networks(changes: Changes, smoke: bool, data_home: Path | None = None) -> Iterator[Row]:
    """SynTReN's networks."""
    for network in range(1, 2 if smoke else 11):
        data = load_syntren(network, data_home=data_home)
        truth = np.asarray(data.adjacency)
        about = {"table": data.name, "n": len(data.X), "d": data.X.shape[1], "true edges": int(truth.sum())}
        for method, found, seconds in fits(data.X, truth, changes):
            yield about | {"method": method} | judge(truth, found, seconds)


def weak_edges(bent: bool, seed: int, d: int, n: int) -> tuple[FloatArray, FloatArray]:
    r"""Draw an additive table (n, d), and the strengths (d, d) of its edges, 0 where there is none.

    .. math:: x_j = \sum_{i \to j} b_{ij} f_{ij}(z_i) + \epsilon_j,  \qquad  \epsilon_j \sim N(0, 1)

    with z_i the standardized parents and f a line, or with ``bent`` a `drawn_bend` as often. The strength is the
    partial correlation of x_j and f_{ij}(z_i) given the same of all other parents: three of four are log-uniform
    between the first bound of `STRENGTHS` and the last but one, the others uniform up to the last. Graphs are
    Erdős-Rényi with 1.5 d edges in expectation.
    """
    adjacency = simulate_dag(d, 1.5 * d, "ER", random_state=seed)
    columns, strengths = np.empty((n, d)), np.zeros((d, d))
    for node in topological_order(adjacency).tolist():
        rng = np.random.default_rng([seed, 8, node])
        parents = np.flatnonzero(adjacency[:, node])
        terms = standardized(columns[:, parents])  # (n, p)
        for place in range(len(parents)):
            if bent and rng.random() < 0.5:
                terms[:, place] = drawn_bend(rng, terms[:, place])
        strengths[parents, node] = [draw_strength(rng) for _ in parents]
        signs = rng.choice([-1.0, 1.0], len(parents))
        # 1 / (inverse covariance)_ii is the variance of term i that the other terms leave
        left = 1.0 / np.diag(np.linalg.inv(np.atleast_2d(np.cov(terms.T)))) if len(parents) else np.ones(0)
        partial = strengths[parents, node]
        columns[:, node] = terms @ (signs * partial / np.sqrt((1 - partial**2) * left)) + rng.standard_normal(n)
    return columns, strengths


def draw_strength(rng: np.random.Generator) -> float:
    """A partial correlation, three of four times a weak one."""
    if rng.random() < WEAK:
        return float(np.exp(rng.uniform(*np.log([STRENGTHS[0], STRENGTHS[-2]]))))
    return float(rng.uniform(*STRENGTHS[-2:]))


def edges_by_strength(changes: Changes, smoke: bool) -> Iterator[Row]:
    """How many edges of each strength are found, and how many pairs are joined that have none."""
    seeds, d, sizes = (1, 6, (500,)) if smoke else (10, 10, (10000, 100000))
    for table in ("linear", "additive"):
        for n in sizes:
            for seed in range(seeds):
                X, strengths = weak_edges(table == "additive", seed, d, n)
                for method, found, seconds in fits(X, (strengths > 0).astype(np.int64), changes):
                    about = {"table": table, "seed": seed, "n": n, "d": d, "method": method}
                    for counted in count_by_strength(strengths, found):
                        yield about | counted | {"seconds": round(seconds, 3)}


def count_by_strength(strengths: FloatArray, found: IntArray) -> Iterator[Row]:
    """Of each bin of edges: how many there are, are joined either way, and have the right direction."""
    joined = (found + found.T) > 0
    for low, high in pairwise(STRENGTHS):
        chosen = (strengths >= low) & (strengths < high)
        counts = {"pairs": chosen.sum(), "joined": joined[chosen].sum(), "directed": found[chosen].sum()}
        yield {"strength": f"{low} to {high}"} | {name: int(count) for name, count in counts.items()}
    absent = np.triu((strengths + strengths.T) == 0, 1)
    yield {"strength": ABSENT, "pairs": int(absent.sum()), "joined": int(joined[absent].sum()), "directed": 0}


def scores_by_family(table: pd.DataFrame) -> str:
    """SHD / SID / F1 and seconds by family, labels and true order beside each other: Markdown."""
    pooled = table.assign(table="mean of the " + table.group)
    both = pd.concat([table, pooled])
    methods = list(dict.fromkeys(zip(both.label, both.method, strict=True)))
    means = both.groupby(["table", "label", "method"])[[*MEASURES, "seconds"]].mean()
    lines = []
    for name, chosen in both.groupby("table", sort=False):
        line = [str(name), f"{chosen['true edges'].mean():.1f}"]
        for method in methods:
            mean = means.loc[(name, *method)] if (name, *method) in means.index else None
            shown = "" if mean is None else f"{mean.SHD:.1f} / {mean.SID:.1f} / {mean.F1:.2f}"
            line += [shown] if method[1] == CEILING else [shown, "" if mean is None else number(mean.seconds)]
        lines.append(line)
    heads = [title for each in methods for title in ([head(*each)] + ["seconds"] * (each[1] == FOUND))]
    return markdown(("table", "true edges", *heads), lines)


def scores_by_rows(table: pd.DataFrame) -> str:
    """Edges, and SHD / SID / F1, by family and rows, labels beside each other: Markdown."""
    pooled = table.assign(table="mean of the misspecified")[table.table != "gp-add"]
    both = pd.concat([table, pooled])
    methods = list(dict.fromkeys(zip(both.label, both.method, strict=True)))
    means = both.groupby(["table", "n", "label", "method"])[list(MEASURES)].mean()
    lines = []
    for (name, n), chosen in both.groupby(["table", "n"], sort=False):
        line = [name, str(n), f"{chosen['true edges'].mean():.1f}"]
        for method in methods:
            if (name, n, *method) in means.index:
                mean = means.loc[(name, n, *method)]
                line += [f"{mean.edges:.1f}", f"{mean.SHD:.1f} / {mean.SID:.1f} / {mean.F1:.2f}"]
            else:
                line += ["", ""]
        lines.append(line)
    heads = [title for method in methods for title in (f"{head(*method)}: edges", "SHD / SID / F1")]
    return markdown(("table", "rows", "true edges", *heads), lines)


def head(label: str, method: str) -> str:
    """Title of what was learned under a label."""
    return label if method == FOUND else f"{label}, {method}"


def real_edges(table: pd.DataFrame) -> str:
    """Edges of real tables, labels beside each other: Markdown."""
    labels = list(dict.fromkeys(table.label))
    lines = []
    for name, chosen in table.groupby("table", sort=False):
        about, by_label = chosen.iloc[0], chosen.set_index("label")
        line = [str(name), *(str(about[column]) for column in ("n", "d", "rows with gaps"))]
        for label in labels:
            row = by_label.loc[label] if label in by_label.index else None
            line += (
                ["", "", ""] if row is None else [str(row.edges), str(row["most parents"]), number(row.seconds)]
            )
        lines.append(line)
    heads = [title for label in labels for title in (f"{label}: edges", "most parents of a column", "seconds")]
    return markdown(("table", "rows", "columns", "rows with gaps", *heads), lines)


def scores(table: pd.DataFrame) -> str:
    """Mean ± standard deviation of every measure, a line for each label and method: Markdown."""
    lines = []
    for (name, n, label, method), chosen in table.groupby(["table", "n", "label", "method"], sort=False):
        cells = [spread_of(chosen[measure], PLACES[measure]) for measure in MEASURES]
        truth = spread_of(chosen["true edges"], 0)
        lines.append([str(name), str(n), label, method, *cells, truth, number(chosen.seconds.mean())])
    return markdown(("table", "rows", "label", "method", *MEASURES, "true edges", "seconds"), lines)


def spread_of(values: "pd.Series[float]", places: int) -> str:
    """Mean, ± the standard deviation of several."""
    spread = f" ± {values.std(ddof=0):.{places}f}" if len(values) > 1 else ""
    return f"{values.mean():.{places}f}{spread}"


def recall(table: pd.DataFrame) -> str:
    """Share of edges of each strength that are joined, and joined the right way: Markdown."""
    methods = list(dict.fromkeys(zip(table.label, table.method, strict=True)))
    lines = []
    for (name, n, strength), chosen in table.groupby(["table", "n", "strength"], sort=False):
        of_methods = chosen.groupby(["label", "method"])[["pairs", "joined", "directed"]].sum()
        cells = [
            show_recall(of_methods.loc[each], strength) if each in of_methods.index else "" for each in methods
        ]
        lines.append([str(name), str(n), strength, str(of_methods["pairs"].iloc[0]), *cells])
    return markdown(("table", "rows", "partial correlation", "pairs", *(head(*each) for each in methods)), lines)


def show_recall(counts: "pd.Series[int]", strength: str) -> str:
    """Per cent of pairs that are joined, and of those with the right direction."""
    if not counts.pairs:
        return ""
    joined, directed = (f"{100 * counts[name] / counts.pairs:.0f}" for name in ("joined", "directed"))
    return f"{joined} %" if strength == ABSENT else f"{joined} % ({directed} %)"


def draw_edges(table: pd.DataFrame, path: Path) -> None:
    """Edges by rows: a panel for every family, a line for the mean of every label, and one for the truth."""
    from daguerreotype.experiments.figures import COLOURS, MARKERS
    from daguerreotype.plotting.backend import pyplot as plt

    found = table[table.method == FOUND]
    families, labels, rows = (list(dict.fromkeys(found[name])) for name in ("table", "label", "n"))
    # the same rows give the same bytes; text of an SVG stays text
    with plt.rc_context({"svg.hashsalt": "daguerreotype", "svg.fonttype": "none", "font.size": 8}):
        across = min(4, len(families))
        down = -(-len(families) // across)
        size = (2.3 * across + 0.4, 1.9 * down + 0.4)
        shared = {"sharex": True, "sharey": True, "squeeze": False}
        drawn, grid = plt.subplots(down, across, figsize=size, layout="constrained", **shared)
        for axes, family in zip(grid.flat, families, strict=False):
            of_family = found[found.table == family]
            true = of_family["true edges"].mean()
            axes.axhline(true, color="#000000", linestyle=(0, (5, 1.5)), linewidth=1.0, label="true")
            for place, label in enumerate(labels):
                mean = of_family[of_family.label == label].groupby("n").edges.mean()
                look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
                axes.plot(mean.index, mean, markersize=3, linewidth=1.2, label=label, **look)
            axes.set_xscale("log")
            axes.set_xticks(rows, [f"{n // 1000}k" if n >= 1000 else str(n) for n in rows])
            axes.set_xticks([], minor=True)
            axes.set_title(family)
            axes.grid(alpha=0.2)
        grid[0, 0].set_ylim(0, None)  # of all panels, once all of them are drawn
        for axes in list(grid.flat)[len(families) :]:
            axes.set_axis_off()
        for axes in grid[-1]:
            axes.set_xlabel("rows")
        for axes in grid[:, 0]:
            axes.set_ylabel("edges")
        handles, names = grid[0, 0].get_legend_handles_labels()
        drawn.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
        drawn.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(drawn)


PARTS: dict[str, tuple[Callable[..., Iterator[Row]], Callable[[pd.DataFrame], str]]] = {
    "families": (family_fits, scores_by_family),
    "rows": (edges_by_rows, scores_by_rows),
    "real": (edges_of_real_tables, real_edges),
    "sachs": (proteins, scores),
    "syntren": (gene_networks, lambda table: scores(table.assign(table="ten networks"))),
    "floor": (edges_by_strength, recall),
}


def say(row: Row) -> Row:
    """Print what was measured, and hand it on."""
    print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return row


def write(path: Path, label: str, rows: Sequence[Row]) -> pd.DataFrame:
    """Put the rows of a label into a file in the place of its former ones; all rows are handed on."""
    table = pd.DataFrame([{"label": label} | row for row in rows])
    if path.is_file():
        kept = pd.read_csv(path)
        labels = list(dict.fromkeys([*kept.label, label]))
        table = pd.concat([kept[kept.label != label], table], ignore_index=True)
        table = table.sort_values("label", key=lambda names: names.map(labels.index), kind="stable")
    table.to_csv(path, index=False)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/misfit"), help="folder for the tables")
    parser.add_argument("--label", default="after", help="name of what is measured, such as before or after")
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"only {part}, or the parts that are given")
    parser.add_argument(
        "--set", type=parse_setting, action="append", default=[], metavar="NAME=VALUE", help="change the learner"
    )
    parser.add_argument("--data-home", type=Path, help="folder of SynTReN's files")
    parser.add_argument("--smoke", action="store_true", help="small tables, and no SynTReN, a few seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    changes = dict(options.set)
    asked = [part for part in PARTS if getattr(options, part)]
    fit(mixed_table("bends", 0, 8, 200)[0], {})  # loads the kernels before anything is timed
    for part in asked or [part for part in PARTS if part != "syntren" or not options.smoke]:
        learn, show = PARTS[part]
        more = {"data_home": options.data_home} if part == "syntren" else {}
        rows = [say(row) for row in learn(changes, options.smoke, **more)]
        table = write(options.out / f"{part}.csv", options.label, rows)
        text = show(table)
        (options.out / f"{part}.md").write_text(text, encoding="utf-8")
        if part == "rows":
            draw_edges(table, options.out / "edges.svg")
        print(f"\n{part}\n\n{text}", flush=True)


if __name__ == "__main__":
    main()
