"""Why do some cells of the paper's tables come out otherwise? What might be the cause is changed, one at a time.

Run ``OMP_NUM_THREADS=1 python benchmarks/paper_cells.py --data-home FOLDER --out docs/results/paper-cells`` (some
forty minutes on one core), or with ``--smoke`` for a quick pass; names of parts run these alone.
``--no-run`` makes the tables again from the CSV files that are there. FOLDER has ``syntren/data1.npy`` and so on;
without it the files are downloaded once.

- orders: bilevel training on Sachs, with seeds beyond those of the table; with the edges of the best order that
  training met and with those of the last one, which the authors' code keeps; and from a start whose ties are
  broken by the columns of the file, where our seeds draw them.
- rates: joint linear edges with sparsemax on Sachs, trained with the rate that the published numbers of edges ask
  for, with the one that the authors' code has by default, and with one between.
- networks: bilevel networks with SparseMAP on SynTReN: seeds beyond those of the table, and with the same seed on
  the first network the paper's active set in place of ``"sparsemap-peel"``, which takes minutes there.
- patience: final fits of bilevel edges along orders that were learned with LARS: how many steps they take, and how
  many edges they leave, by the number of steps without a lower objective that ends them.
- again: SparseMAP in the sweep over K at 30 columns, made once more on this processor, whose rounding is its own.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.datasets import Dataset, load_sachs, load_syntren
from daguerreotype.edges import Table
from daguerreotype.experiments import load_spec, make_plan
from daguerreotype.experiments.results import load_published
from daguerreotype.metrics import shd, sid
from daguerreotype.operators import FixedOrder, OrderDistribution, SparseMAP
from daguerreotype.training import EqualVariance, Joint
from daguerreotype.training.joint.train import train_joint
from daguerreotype.training.methods import order_to_theta
from problems import standardized
from tables import markdown

BILEVEL = {
    "spmax (linear)": ("sparsemax", "linear"),
    "spMAP (linear)": ("sparsemap", "linear"),
    "spmax (LARS)": ("sparsemax", "lars"),
    "spMAP (LARS)": ("sparsemap", "lars"),
    "spmax (non-linear)": ("sparsemax", "mlp"),
    "spMAP (non-linear)": ("sparsemap", "mlp"),
}
RATES = (0.01, 0.03, 0.1)
FINAL = {"linear": "linear", "mlp": "non-linear"}
PATIENCE = (50, 75, 100, 1000)  # the last is more than there are steps
RESULTS = Path(__file__).parents[1] / "docs" / "results"
PUBLISHED_RUNS = 10
TIES = 1e-6  # scores that are all but equal
Row = dict[str, Any]


def measured(truth: pd.DataFrame, model: Daguerreotype) -> Row:
    """Distances to the true graph, and the number of edges."""
    found = model.adjacency_matrix_
    return {"SHD": shd(truth, found), "SID": sid(truth, found), "edges": int(np.count_nonzero(found))}


def paper(operator: str, edges: str, training: str, seed: int, max_iter: int, **changes: Any) -> Daguerreotype:
    """A configuration of the paper; its final fit has no more steps than its search."""
    changes |= {"random_state": seed, "training__max_iter": max_iter}
    model = Daguerreotype.paper(operator, edges, training, **changes)  # type: ignore[arg-type]
    if edges != "lars":
        final = model.edges.final_fit
        model.edges = replace(model.edges, final_fit={**final, "max_iter": min(final["max_iter"], max_iter)})
    return model


def orders(data: Dataset, seeds: int, max_iter: int) -> Iterator[Row]:
    """Best and last orders of bilevel training, and those from a start without ties."""
    by_column = TIES * np.arange(data.X.shape[1], dtype=np.float64)
    for name, (operator, edges) in BILEVEL.items():
        for seed in range(2 * seeds):
            settings = operator, edges, "bilevel", seed, max_iter
            about = {"configuration": name, "seed": seed}
            model = paper(*settings).fit(data.X)
            best, last = model.causal_order_, np.argsort(model.history_.theta[-1], kind="stable")
            kept = "seeds of the table" if seed < seeds else "further seeds"
            yield about | {"variant": f"best order, {kept}"} | measured(data.adjacency, model)
            again = paper(*settings).set_params(operator=FixedOrder([data.X.columns[each] for each in last]))
            found = measured(data.adjacency, again.fit(data.X))
            same = [*best] == [*again.causal_order_]
            yield about | {"variant": f"last order, {kept}", "same order": same} | found
            if seed < seeds:
                moved = paper(*settings, training__start=by_column).fit(data.X)
                yield about | {"variant": "best order, ties by column"} | measured(data.adjacency, moved)
            print(f"{name}, seed {seed} is done", flush=True)


def rates(data: Dataset, seeds: int, max_iter: int) -> Iterator[Row]:
    """Joint linear edges with sparsemax, by the rate of theta, weights and gates."""
    for rate in RATES:
        for seed in range(3 * seeds):
            model = paper("sparsemax", "linear", "joint", seed, max_iter)
            model.set_params(training__learning_rate=rate, edges=replace(model.edges, learning_rate=rate))
            which = "seeds of the table" if seed < seeds else "further seeds"
            yield {"rate": rate, "seed": seed, "variant": which} | measured(data.adjacency, model.fit(data.X))


def networks(tables: list[Dataset], seeds: int, active: int, max_iter: int) -> Iterator[Row]:
    """Bilevel networks with SparseMAP: further seeds, and with these the active set on the first networks."""
    cases: list[tuple[str, Literal["peel", "active-set"], int]] = []
    cases += [("further seeds", "peel", network) for network in range(len(tables))]
    cases += [("active set", "active-set", network) for network in range(active)]
    for variant, method, network in cases:
        data, seed = tables[network], network + seeds
        model = (
            paper("sparsemap", "mlp", "bilevel", seed, max_iter)
            .set_params(operator=SparseMAP(method=method))
            .fit(data.X)
        )
        about = {"network": network + 1, "seed": seed, "variant": variant}
        fits = int(model.history_.misses[-1])
        yield about | measured(data.adjacency, model) | {"steps": len(model.history_), "fits": fits}
        print(f"network {network + 1}, {variant} is done", flush=True)


def final_fit(table: Table, order: IntArray, edges: Any, patience: int) -> tuple[int, int]:
    """Steps and edges of a fit of all nodes together along one order."""
    final = replace(edges.for_final_fit(), patience=patience)
    alone = OrderDistribution.of_order(order)
    training = Joint(l2=0.0, max_iter=final.max_iter, tol=final.tol, patience=patience)
    theta = order_to_theta(order, 1.0)
    found = train_joint(table, final, lambda theta, tau: alone, theta, EqualVariance(), training, tau=1.0)
    return len(found.steps), int(found.opened.sum())


def patience(cases: list[tuple[str, int, Dataset]], max_iter: int) -> Iterator[Row]:
    """Steps and edges of final fits along orders that were learned with LARS, by what ends them."""
    for title, seed, data in cases:
        table = Table(standardized(np.asarray(data.X)), tuple(map(str, data.X.columns)))
        found = paper("sparsemax", "lars", "bilevel", seed, max_iter).fit(data.X)
        order = data.X.columns.get_indexer(found.causal_order_)
        for name in FINAL if title == "Sachs" else ("linear",):  # networks of SynTReN take too long
            edges = paper("sparsemax", name, "bilevel", seed, max_iter).edges
            for limit in PATIENCE:
                steps, n_edges = final_fit(table, order, edges, limit)
                about = {"data": title, "edges": name, "seed": seed, "patience": limit}
                yield about | {"steps": steps, "open": n_edges}


def again(d: int, repeats: int) -> Iterator[Row]:
    """Runs of the sweep over K that the committed results have from another processor."""
    for run in make_plan(load_spec("k-sweep").resized(repeats=repeats)):
        k = run.method.varied.get("k", 0)
        if run.method.label == "sparseMAP" and run.problem.varied["d"] == d and k >= 10:
            data = run.problem.load(run.repeat, None)
            found = run.method.fit(data.X, run.repeat, data.adjacency)
            about = {"d": d, "K": k, "repeat": run.repeat}
            yield about | {"SHD": found["shd"], "SID": found["sid"], "steps": found["n_iter"]}


def spread(values: pd.Series) -> str:
    """Mean and its standard error."""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def apart(values: pd.Series, published: float) -> str:
    """Difference to a published mean of ten runs, in its standard errors if those spread as ours do."""
    error = values.std(ddof=1) * np.sqrt(1 / len(values) + 1 / PUBLISHED_RUNS)
    return f"{(values.mean() - published) / error:+.1f}" if error > 0 else ""


def beside(runs: pd.DataFrame, published: pd.Series) -> list[str]:
    """Number of runs, the three measures, and how far SHD and SID are from the published means."""
    cells = [spread(runs[measure]) for measure in ("SHD", "SID", "edges")]
    far = [apart(runs[measure], published[name]) for measure, name in (("SHD", "shd"), ("SID", "sid"))]
    return [str(len(runs)), *cells, ", ".join(far)]


def known(published: pd.Series) -> list[str]:
    """The published means, as a line of the same table."""
    return ["published", "", *(f"{published[name]:g}" for name in ("shd", "sid", "n_edges")), ""]


HEADS = ("variant", "runs", "SHD", "SID", "edges", "SHD, SID less published, in standard errors")


FAR = ("best order, further seeds", "best order, all seeds")


def variants(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Runs by what they vary."""
    kind = table.variant.str.split(", ").str
    best = table[(kind[0] == "best order") & (kind[1] != "ties by column")]
    return {
        "best order, seeds of the table": best[best.variant.str.endswith("table")],
        "best order, further seeds": best[best.variant.str.endswith("further seeds")],
        "best order, all seeds": best,
        "last order, all seeds": table[kind[0] == "last order"],
        "best order, ties by column": table[kind[1] == "ties by column"],
    }


def show_orders(table: pd.DataFrame) -> str:
    """SHD and SID of variants of bilevel training, and what all rows are above the published ones: Markdown."""
    lines = []
    above: dict[str, list[FloatArray]] = {}
    for name, chosen in table.groupby("configuration", sort=False):
        published = load_published("sachs").loc[f"DAGuerreotype-{name}"]
        line = [str(name), f"{published.shd:g} / {published.sid:g}"]
        for variant, runs in variants(chosen).items():
            line.append(f"{spread(runs.SHD)} / {spread(runs.SID)}")
            means = runs[["SHD", "SID"]].mean().to_numpy()
            above.setdefault(variant, []).append(means - published[["shd", "sid"]].to_numpy(float))
        same = chosen["same order"].dropna()
        for variant in FAR:
            runs = variants(chosen)[variant]
            line.append(" / ".join(apart(runs[each], published[each.lower()]) for each in ("SHD", "SID")))
        lines.append([*line, f"{int(same.sum())} of {len(same)}"])
    cells = [" / ".join(f"{each:+.1f}" for each in np.mean(rows, axis=0)) for rows in above.values()]
    lines.append(["mean, less published", "", *cells, *([""] * len(FAR)), ""])
    far = (f"{variant}, less published, in standard errors" for variant in FAR)
    return markdown(("SHD / SID", "published", *above, *far, "last order is the best"), lines)


def show_rates(table: pd.DataFrame) -> str:
    """Joint training by its rate: Markdown."""
    published = load_published("sachs").loc["DAGuerreotype-spmax-joint (linear)"]
    lines = [["", *known(published)]]
    for rate, chosen in table.groupby("rate", sort=False):
        for variant, runs in (*chosen.groupby("variant", sort=False), ("all", chosen)):
            lines.append([str(rate), str(variant), *beside(runs, published)])
    return markdown(("rate", *HEADS), lines)


def show_networks(table: pd.DataFrame) -> str:
    """All networks with the committed seeds and with further ones, and both operators on the first: Markdown."""
    label = "DAGuerreotype-spMAP (non-linear)"
    published = load_published("syntren").loc[label]
    committed = pd.read_csv(RESULTS / "syntren" / "runs.csv").query("method == @label")
    committed = committed.rename(columns={"shd": "SHD", "sid": "SID", "n_edges": "edges"})
    committed = committed.assign(network=committed.repeat + 1, variant="seeds of the table")
    table = pd.concat([committed[["network", "variant", "SHD", "SID", "edges"]], table])
    peeled, lines = table[table.variant != "active set"], [["all", *known(published)]]
    for variant, runs in (*peeled.groupby("variant", sort=False), ("all seeds", peeled)):
        lines.append(["all", str(variant), *beside(runs, published)])
    first = table[table.network.isin(table.loc[table.variant == "active set", "network"])]
    some = ", ".join(str(network) for network in first.network.unique())
    for variant, runs in first.groupby("variant", sort=False):
        lines.append([some, str(variant), *beside(runs, published)[:-1], ""])
    return markdown(("networks", *HEADS), lines)


def show_patience(table: pd.DataFrame) -> str:
    """Steps and edges of final fits, by what ends them: Markdown."""
    lines = []
    for (title, name, limit), chosen in table.groupby(["data", "edges", "patience"]):
        steps, published = chosen.steps, load_published(title.lower())
        known = (published.loc[f"DAGuerreotype-{each} ({FINAL[name]})", "n_edges"] for each in ("spmax", "spMAP"))
        lines.append(
            [
                f"{title}, {name}",
                "never" if limit == max(PATIENCE) else str(limit),
                f"{steps.median():.0f} ({steps.min()} to {steps.max()})",
                f"{(steps < 500).sum()} of {len(steps)}",
                spread(chosen.open),
                " and ".join(f"{each:g}" for each in known),
            ]
        )
    heads = ("data, edges", "stops after", "steps: median (range)", "fewer than 500", "open gates", "published")
    return markdown(heads, lines)


def show_again(table: pd.DataFrame) -> str:
    """SHD and SID over K, less those at K = 20, and how far SHD is from the committed runs: Markdown."""
    lines = []
    committed = pd.read_csv(RESULTS / "k-sweep" / "runs.csv")
    committed = committed[(committed.method == "sparseMAP") & (committed.d == table.d.iloc[0])]
    at_20 = table[table.K == 20].set_index("repeat")
    for k, chosen in table.groupby("K"):
        own = chosen.set_index("repeat")
        cells = [spread(own[measure]) for measure in ("SHD", "SID")]
        cells += [spread(own[measure] - at_20[measure]) if k != 20 else "" for measure in ("SHD", "SID")]
        far = (own.SHD - committed[committed.k == k].set_index("repeat").shd).abs().max()
        lines.append([str(k), *cells, f"{far:.0f}"])
    heads = ("K", "SHD", "SID", "SHD less that at K = 20", "SID less that at K = 20", "SHD of a table differs by")
    return markdown(heads, lines)


SHOWN = {
    "orders": show_orders,
    "rates": show_rates,
    "networks": show_networks,
    "patience": show_patience,
    "again": show_again,
}


def runs_of(part: str, smoke: bool, data_home: Path | None) -> Iterator[Row]:
    """All runs of one part."""
    seeds, max_iter = (1, 1) if smoke else (10, 5000)
    if part == "again":
        return again(10, 2) if smoke else again(30, seeds)
    data = load_sachs()
    if part in ("orders", "rates"):
        return {"orders": orders, "rates": rates}[part](data, seeds, max_iter)
    tables = [data] if smoke else load_syntren(data_home=data_home)
    if part == "networks":
        return networks(tables, seeds, 1, max_iter)
    cases = [("Sachs", seed, data) for seed in range(seeds)]
    return patience([*cases, *(("SynTReN", *each) for each in enumerate(tables))], max_iter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"which of {', '.join(SHOWN)}; all by default")
    parser.add_argument("--out", type=Path, default=Path("results/paper-cells"), help="folder for the tables")
    parser.add_argument("--data-home", type=Path, help="folder that has syntren/data1.npy and so on")
    parser.add_argument("--no-run", action="store_true", help="make the tables from the CSV files that are there")
    parser.add_argument("--smoke", action="store_true", help="one seed, a few steps, no SynTReN")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        for part in options.parts or SHOWN:
            path = options.out / f"{part}.csv"
            if not options.no_run:
                rows: list[Row] = []
                for row in runs_of(part, options.smoke, options.data_home):  # each is kept as it comes
                    rows.append(row)
                    pd.DataFrame(rows).to_csv(path, index=False)
            table = pd.read_csv(path)
            text = SHOWN[part](table)
            (options.out / f"{part}.md").write_text(text, encoding="utf-8")
            print(f"\n{part}\n\n{text}", flush=True)


if __name__ == "__main__":
    main()
