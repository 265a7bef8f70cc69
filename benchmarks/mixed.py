"""How right are graphs of tables with numbers, counts, truth values and words? Ours, causal-learn's and pgmpy's.

Run ``python benchmarks/mixed.py --out docs/results/mixed`` for all of it, with ``--pairs``, ``--tables``,
``--networks``, ``--timing`` or ``--kinds`` for some parts, with ``--smoke`` for a quick pass. ``--methods`` asks
only some learners again; rows of the others are kept as the folder has them. Every learner meets the same problems
(`problems`), in a process of its own, on one thread. Seconds are those of the processor. A fit that takes longer
than ``--limit`` such seconds is ended, and that learner gets no further problem of as many columns.

Ours get the DataFrame as it is. Peers get what they can read: "codes" are all columns as standardized numbers,
levels numbered in the order of their names; "bins" are levels, numbers of many values cut at quartiles.
"""

import argparse
import csv
import math
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype import Daguerreotype, baselines
from daguerreotype._lib.child_process import ChildPool, CrashError
from daguerreotype._lib.typing import IntArray
from daguerreotype.baselines.base import Learned
from daguerreotype.baselines.libraries import read_class
from daguerreotype.baselines.quiet import load, quiet, seeded
from daguerreotype.graphs import to_cpdag, topological_order
from daguerreotype.metrics import f1, shd, sid
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel
from problems import NETWORKS, PAIRS, TABLES, UNDECIDABLE, kinds_table, mixed_pair, mixed_table, network
from tables import Case, markdown, number

MEASURES = ("SHD", "SID", "F1", "CPDAG", "edges", "seconds")
LABELS = ("family", "d", "method", "seed", "end")
DIRECTIONS = ("right", "reversed", "undirected", "none")
FEW = 5  # values up to which each value of a number is a level
SIZES = range(9, 13)  # columns of the small tables, in turns
LARGE = {20: 3, 50: 2}  # columns: problems
FINISHED = "finished"
Row = dict[str, Any]
Method = Callable[[pd.DataFrame, IntArray], Learned]


@dataclass(frozen=True)
class Problem:
    """A table, and the graph behind it."""

    family: str
    seed: int
    frame: pd.DataFrame
    truth: IntArray


def ours(**settings: Any) -> Method:
    """The learner, given the table as it is."""

    def learn(frame: pd.DataFrame, _: IntArray) -> Learned:
        return Learned(np.asarray(Daguerreotype(**settings).fit(frame).adjacency_matrix_))

    return learn


def ours_on_codes(frame: pd.DataFrame, _: IntArray) -> Learned:
    """The learner for numbers, given codes in the place of levels."""
    numbers = dict.fromkeys(frame.columns, "continuous")
    model = Daguerreotype(scales="none", kinds=numbers, training=Bilevel(loss="bic")).fit(codes(frame))
    return Learned(np.asarray(model.adjacency_matrix_))


def ours_told_the_order(frame: pd.DataFrame, truth: IntArray) -> Learned:
    """The learner, told a right order: the ceiling of what the best order could give."""
    order = [frame.columns[node] for node in topological_order(truth)]
    return Learned(np.asarray(Daguerreotype(operator=FixedOrder(order)).fit(frame).adjacency_matrix_))


def pc(test: str, encode: Callable[[pd.DataFrame], pd.DataFrame]) -> Method:
    """PC of causal-learn with a test of independence."""

    def learn(frame: pd.DataFrame, _: IntArray) -> Learned:
        search = load("causallearn.search.ConstraintBased.PC").pc
        with quiet(), seeded(np.random.default_rng(0)):  # some tests draw random features
            return read_class(search(encode(frame).to_numpy(float), indep_test=test, show_progress=False).G)

    return learn


def ges(score: str, encode: Callable[[pd.DataFrame], pd.DataFrame]) -> Method:
    """GES of causal-learn with a score."""

    def learn(frame: pd.DataFrame, _: IntArray) -> Learned:
        search = load("causallearn.search.ScoreBased.GES").ges
        with quiet():
            return read_class(search(encode(frame).to_numpy(float), score_func=score)["G"])

    return learn


def additive_noise(frame: pd.DataFrame, _: IntArray) -> Learned:
    """ANM of causal-learn for a pair: the direction in which residuals look more independent of the cause."""
    model = load("causallearn.search.FCMBased.ANM.ANM").ANM()
    with quiet():
        forwards, backwards = model.cause_or_effect(*(codes(frame)[[name]].to_numpy() for name in frame))
    edge = np.array([[0, 1], [0, 0]])
    if forwards == backwards:
        return Learned(edge, cpdag=edge + edge.T)
    return Learned(edge if forwards > backwards else edge.T)


def direct_lingam(frame: pd.DataFrame, _: IntArray) -> Learned:
    """DirectLiNGAM of lingam on codes."""
    return Learned(np.asarray(baselines.get("direct-lingam").fit(codes(frame)).adjacency_matrix_))


def hill_climbing(score: str, encode: Callable[[pd.DataFrame], pd.DataFrame]) -> Method:
    """Hill climbing of pgmpy with a score; unless kinds are mixed it is that of an equivalence class."""

    def learn(frame: pd.DataFrame, _: IntArray) -> Learned:
        search = load("pgmpy.causal_discovery").HillClimbSearch
        encoded = encode(frame)
        with quiet():
            graph = search(score, return_type="dag", show_progress=False).fit(encoded).causal_graph_
        adjacency = np.array([[int(graph.has_edge(cause, effect)) for effect in frame] for cause in frame])
        mixed = encoded.dtypes.map(pd.api.types.is_numeric_dtype).nunique() > 1
        return Learned(adjacency, cpdag=None if mixed else to_cpdag(adjacency).astype(np.int64))

    return learn


def codes(frame: pd.DataFrame) -> pd.DataFrame:
    """All columns as numbers of mean 0 and standard deviation 1."""
    numbers = pd.DataFrame({name: as_number(column) for name, column in frame.items()})
    return (numbers - numbers.mean()) / numbers.std(ddof=0)


def as_number(column: pd.Series) -> pd.Series:
    """Numbers as they are; levels as 0, 1, 2, ..., by their order or that of their names."""
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    return column.astype("category").cat.codes.astype(float)


def bins(frame: pd.DataFrame) -> pd.DataFrame:
    """All columns as levels 0, 1, 2, ...; numbers of many values are cut at their quartiles."""
    return pd.DataFrame({name: as_level(column) for name, column in frame.items()})


def as_level(column: pd.Series) -> pd.Series:
    """Codes of all levels, of a number's values if they are few, else of the quarter that it is in."""
    if not pd.api.types.is_numeric_dtype(column) or column.nunique() <= FEW:
        return as_number(column).rank(method="dense").astype(np.int64) - 1
    return pd.qcut(column, 4, labels=False, duplicates="drop").astype("category").cat.codes.astype(np.int64)


def binned_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Levels as pgmpy wants them."""
    return bins(frame).astype("category")


def numbers_and_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Standardized numbers beside unordered levels: what pgmpy calls mixed data."""
    numbers = codes(frame)
    words = [
        name for name, column in frame.items() if column.dtype == bool or not pd.api.types.is_numeric_dtype(column)
    ]
    return numbers.assign(**{name: frame[name].astype(str).astype("category") for name in words})


OURS: dict[str, Method] = {
    "default": ours(),
    "bic": ours(edges="bic"),
    "codes": ours_on_codes,
    "true order": ours_told_the_order,
}
PEERS: dict[str, Method] = {
    "pgmpy hill, cond. Gaussian": hill_climbing("bic-cg", numbers_and_words),
    "pgmpy hill, BIC, bins": hill_climbing("bic-d", binned_words),
    "PC, Fisher z, codes": pc("fisherz", codes),
    "PC, G², bins": pc("gsq", bins),
    "PC, RCIT, codes": pc("rcit", codes),
    "PC, KCI, codes": pc("kci", codes),
    "GES, BIC, codes": ges("local_score_BIC", codes),
    "GES, BDeu, bins": ges("local_score_BDeu", bins),
    "GES, kernels, codes": ges("local_score_marginal_general", codes),
    "DirectLiNGAM, codes": direct_lingam,
    "ANM, codes": additive_noise,
}
METHODS = OURS | PEERS
QUICK = ("default", "codes", "pgmpy hill, cond. Gaussian", "GES, BIC, codes")
# Methods that are asked about some parts only. A column of asia is the sum of two others, if all are numbers; ANM
# is for pairs; the exact kernels take a minute for a pair, which they cannot direct; the structure prior of
# causal-learn's BDeu is the logarithm of 0 for two columns.
ASKED = {
    "codes": ("pairs", "tables", "timing"),
    "DirectLiNGAM, codes": ("pairs", "tables", "timing"),
    "ANM, codes": ("pairs",),
    "PC, RCIT, codes": ("tables", "networks", "timing"),
    "PC, KCI, codes": ("tables",),
    "GES, BDeu, bins": ("tables", "networks", "timing"),
    "GES, kernels, codes": ("tables",),
}


def measure(method: str, frame: pd.DataFrame, truth: IntArray, limit: float | None = None) -> Row:
    """Seconds of a fit, and how right its graph is; a fit of more than ``limit`` seconds ends this process."""
    with threadpool_limits(1):
        start = time.process_time()
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a process that its limit ends leaves no file
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(start + limit), resource.RLIM_INFINITY))
        learned = METHODS[method](frame, truth)
        seconds = time.process_time() - start
    found = learned.adjacency
    cpdag = to_cpdag(found) if learned.cpdag is None else learned.cpdag.astype(bool)
    differs = cpdag != to_cpdag(truth)
    scores = {"SHD": shd(truth, found), "SID": sid(truth, found), "F1": f1(truth, found)}
    scores |= {"CPDAG": np.triu(differs | differs.T).sum(), "edges": found.sum(), "seconds": seconds}
    row: Row = {name: float(value) for name, value in scores.items()}
    if len(truth) == 2:
        row["direction"] = direction(truth, found if learned.cpdag is None else learned.cpdag)
    return row


def direction(truth: IntArray, found: IntArray) -> str:
    """What was found of a pair's edge, one of `DIRECTIONS`."""
    right, wrong = bool((found * truth).any()), bool((found * truth.T).any())
    return {(True, False): "right", (False, True): "reversed", (True, True): "undirected"}.get(
        (right, wrong), "none"
    )


class Worker:
    """A learner in a process of its own, which loads libraries and kernels once."""

    def __init__(self, method: str, limit: float) -> None:
        self.method, self.limit = method, limit
        self._child, self._warm = ChildPool(), False

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close()

    def ask(self, problems: Iterable[Problem]) -> Iterator[Row]:
        """Rows of its fits, without problems of as many columns as one that took too long, or more."""
        too_many = np.inf
        for problem in problems:
            if (d := len(problem.truth)) < too_many:
                row: Row = {"family": problem.family, "d": d, "method": self.method, "seed": problem.seed}
                row |= self._fit(problem)
                if row["end"] == "limit":
                    too_many = d
                say(row)
                yield row

    def _fit(self, problem: Problem) -> Row:
        """What was measured, or how a peer ended otherwise."""
        load_all = None if self._warm else partial(measure, self.method, *self._small_problem())
        self._warm = True
        try:
            found: Row = self._child.call(
                measure, self.method, problem.frame, problem.truth, self.limit, load=load_all
            )
            return {"end": FINISHED} | found
        except Exception as error:
            if isinstance(error, CrashError):  # the next call starts another process
                self._warm = False
                if error.code == -signal.SIGXCPU:
                    return {"end": "limit", "seconds": self.limit}
            if self.method in OURS:
                raise
            return {"end": f"{type(error).__name__}: {str(error).splitlines()[0]}"}

    def _small_problem(self) -> tuple[pd.DataFrame, IntArray]:
        """What loads everything: ours has kernels for each kind of column, some peers are slow beyond a pair."""
        return mixed_table("bends", 0, 8, 200) if self.method in OURS else mixed_pair("binary -> number", 0, 100)


def say(row: Row) -> None:
    """Print what was measured."""
    found = "ended by its limit" if row["end"] == "limit" else row["end"]
    if row["end"] == FINISHED:
        found = f"{number(row['seconds'])} s, {row.get('direction') or 'SHD ' + format(row['SHD'], '.0f')}"
    print(f"{row['family']}, d = {row['d']}, problem {row['seed']}, {row['method']}: {found}", flush=True)


def pairs(smoke: bool) -> list[Problem]:
    """Pairs of every kind."""
    seeds, n = (1, 200) if smoke else (10, 1000)
    return [Problem(kind, seed, *mixed_pair(kind, seed, n)) for kind in PAIRS for seed in range(seeds)]


def small_tables(smoke: bool) -> list[Problem]:
    """Twelve tables of every family, of 9 to 12 columns."""
    seeds, n, sizes = (1, 200, (5,)) if smoke else (12, 1000, SIZES)
    drawn = [(family, seed, sizes[seed % len(sizes)]) for family in TABLES for seed in range(seeds)]
    return [Problem(family, seed, *mixed_table(family, seed, d, n)) for family, seed, d in drawn]


def networks(smoke: bool) -> list[Problem]:
    """Rows of discrete networks."""
    names, seeds, n = (NETWORKS[:1], 1, 500) if smoke else (NETWORKS, 5, 2000)
    return [Problem(name, seed, *network(name, seed, n)) for name in names for seed in range(seeds)]


def large_tables(smoke: bool) -> list[Problem]:
    """Tables of many columns, the smaller ones first."""
    sizes, n = ({8: 1}, 200) if smoke else (LARGE, 1000)
    drawn = [(seed, d) for d, seeds in sizes.items() for seed in range(seeds)]
    return [Problem("bends", seed, *mixed_table("bends", seed, d, n)) for seed, d in drawn]


def kinds_tables(smoke: bool) -> list[Problem]:
    """Tables of 20 columns of ten kinds, the short ones first."""
    seeds, d, lengths = (1, 10, (200,)) if smoke else (6, 20, (1000, 10_000))
    drawn = [(n, seed) for n in lengths for seed in range(seeds)]
    return [Problem(f"ten kinds, n = {n}", seed, *kinds_table(seed, d, n)) for n, seed in drawn]


PARTS: dict[str, Callable[[bool], list[Problem]]] = {
    "pairs": pairs,
    "tables": small_tables,
    "networks": networks,
    "timing": large_tables,
    "kinds": kinds_tables,
}


def pairs_table(rows: list[Row]) -> str:
    """Of every kind of pair, how often each method finds the edge right, reversed and undirected: Markdown."""
    methods = sort_methods(row["method"] for row in rows)
    by_method = {method: [row for row in rows if row["method"] == method] for method in methods}
    lines = []
    for family in dict.fromkeys(row["family"] for row in rows):
        chosen = [[row for row in by_method[method] if row["family"] == family] for method in methods]
        name = f"{family} (undecidable)" if family in UNDECIDABLE else family
        lines.append([name, *map(count_directions, chosen)])
    decidable = [[row for row in by_method[method] if row["family"] not in UNDECIDABLE] for method in methods]
    lines.append(["all but undecidable", *map(count_directions, decidable)])
    cases = [
        Case("", 2, method, [row for row in by_method[method] if row["end"] == FINISHED]) for method in methods
    ]
    lines.append(["seconds", *(number(case.mean("seconds")) if case.rows else "" for case in cases)])
    return markdown(("cause -> effect", *methods), lines)


def count_directions(rows: list[Row]) -> str:
    """How many edges are right / reversed / undirected; the other pairs have none, or no answer."""
    return " / ".join(str(sum(row.get("direction") == name for row in rows)) for name in DIRECTIONS[:3])


def graphs_table(rows: list[Row]) -> str:
    """Means ± standard deviations over the problems of a family and size: Markdown."""
    families: dict[tuple[str, str], list[Row]] = {}
    small = {row["d"] for row in rows} <= set(SIZES)
    for row in rows:
        size = "9 to 12" if small else str(row["d"])
        families.setdefault((row["family"], size), []).append(row)
    lines = []
    for (family, size), chosen in families.items():
        for method in sort_methods(row["method"] for row in chosen):
            of_method = [row for row in chosen if row["method"] == method]
            done = [row | {"finished": True} for row in of_method if row["end"] == FINISHED]
            case = Case(family, of_method[0]["d"], method, done)
            cells = [case.show(name) for name in MEASURES]
            if not done and of_method[0]["end"] == "limit":
                cells[-1] = f"> {number(of_method[0]['seconds'])}"
            asked = len({row["seed"] for row in chosen})
            lines.append([family, size, method, f"{len(done)} of {asked}", *cells])
    return markdown(("table", "columns", "method", "finished", *MEASURES), lines)


def sort_methods(names: Iterable[str]) -> list[str]:
    """Ours first, then the peers."""
    return sorted(set(names), key=list(METHODS).index)


def read_rows(path: Path) -> list[Row]:
    """Rows of a file that `write_rows` wrote, none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [read_row(line) for line in csv.DictReader(file)]


def read_row(line: dict[str, str]) -> Row:
    """A row with its numbers as numbers, without what was not measured."""
    row: Row = {name: text for name, text in line.items() if text}
    whole = {name: int(row[name]) for name in ("d", "seed")}
    return row | whole | {name: float(row[name]) for name in MEASURES if name in row}


def write_rows(path: Path, rows: list[Row]) -> None:
    """A line per fit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, (*LABELS, "direction", *MEASURES))
        writer.writeheader()
        writer.writerows(rows)


def write(path: Path, problems: Sequence[Problem], rows: list[Row]) -> str:
    """Keep the rows of these problems and their table, which is handed on."""
    places = [(problem.family, len(problem.truth), problem.seed) for problem in problems]
    methods = list(METHODS)
    shown = [row for row in rows if row["method"] in methods and place(row) in places]
    shown.sort(key=lambda row: (places.index(place(row)), methods.index(row["method"])))
    write_rows(path, shown)
    table = pairs_table(shown) if path.stem == "pairs" else graphs_table(shown)
    path.with_suffix(".md").write_text(table, encoding="utf-8")
    return table


def place(row: Row) -> tuple[str, int, int]:
    """Which problem a row is about."""
    return row["family"], row["d"], row["seed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/mixed"), help="folder for the tables")
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"only {part}, or the parts that are given")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), help="whom to ask")
    parser.add_argument(
        "--limit", type=float, default=120.0, help="CPU seconds that a fit may take (default: 120)"
    )
    parser.add_argument("--smoke", action="store_true", help="small problems and quick learners, a few seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONHASHSEED"] = "0"  # pgmpy breaks ties by the order of a set
    parts = [part for part in PARTS if getattr(options, part)] or list(PARTS)
    problems = {part: PARTS[part](options.smoke) for part in parts}
    tables = {}
    for method in options.methods if not options.smoke else QUICK:
        with Worker(method, options.limit) as worker:
            for part in (part for part in parts if part in ASKED.get(method, PARTS)):
                path = options.out / f"{part}.csv"
                kept = [row for row in read_rows(path) if row["method"] != method]
                tables[part] = write(path, problems[part], kept + list(worker.ask(problems[part])))
    for part, table in tables.items():
        print(f"\n{part}\n\n{table}", flush=True)


if __name__ == "__main__":
    main()
