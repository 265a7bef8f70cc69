"""Bad inputs to every public function and every verb of the command line."""

import datetime
import decimal
import gzip
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from daguerreotype import Daguerreotype, Knowledge
from fuzz.forked import run_command
from fuzz.part import BrokenError, Case, without_each

seconds = 240.0
QUICK = {"edges": "bic", "max_iter": 5, "n_restarts": 0, "posterior": 5, "k": 3}
NAMES = ["rain", "soil", "yield"]


# ------------------------------------------------------------------ good inputs


def _frame(rows: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rain, soil = rng.normal(size=(2, rows))
    return pd.DataFrame({"rain": rain, "soil": soil, "yield": rain + soil + rng.normal(size=rows)})


def _fitted() -> Daguerreotype:
    return Daguerreotype(**QUICK).fit(_frame())


GRAPH = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
ORDER = [0, 1, 2]


# ------------------------------------------------------------------ bad values

# Each by name, so that a case is plain JSON; made anew for every case.
VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "half": lambda: 0.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "huge": lambda: 10**30,
    "complex": lambda: 1j,
    "decimal": lambda: decimal.Decimal("0.5"),
    "numpy bool": lambda: np.True_,
    "numpy text": lambda: np.str_("gam"),
    "empty text": lambda: "",
    "text": lambda: "no such thing",
    "gamm": lambda: "gamm",
    "no": lambda: "no",
    "surrogate": lambda: "\ud800",
    "nul": lambda: "a\x00b",
    "bytes": lambda: b"gam",
    "date": lambda: datetime.date(2020, 1, 1),
    "object": object,
    "class": lambda: Daguerreotype,
    "function": lambda: lambda *_: None,
    "raising function": lambda: _raise,
    "module": lambda: np,
    "generator": lambda: (each for each in range(3)),
    "random generator": lambda: np.random.default_rng(0),
    "empty list": list,
    "list": lambda: [0, 1, 1],
    "short list": lambda: [0],
    "long list": lambda: [0] * 50,
    "list of texts": lambda: ["rain", "rain", "hail"],
    "list of lists": lambda: [[0, 1], [2]],
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "list of none": lambda: [None, None, None],
    "pair": lambda: (1.0, -1.0),
    "dict": lambda: {"hail": 1},
    "dict of nonsense": lambda: {"rain": object()},
    "empty dict": dict,
    "set": lambda: {"rain"},
    "array": lambda: np.zeros(3),
    "empty array": lambda: np.zeros((0, 3)),
    "no columns": lambda: np.zeros((5, 0)),
    "one column": lambda: np.arange(5.0)[:, None],
    "one row": lambda: np.arange(3.0)[None, :],
    "zeros": lambda: np.zeros((30, 3)),
    "cube": lambda: np.zeros((3, 3, 3)),
    "array of nan": lambda: np.full((30, 3), np.nan),
    "array of inf": lambda: np.where(_frame() > 2, np.inf, _frame()),
    "array of text": lambda: np.array([["a", "b", "c"]] * 10),
    "array of objects": lambda: np.array([[object()] * 3] * 10),
    "array of dicts": lambda: np.array([[{}] * 3] * 10),
    "array of complex": lambda: _frame().to_numpy() * 1j,
    "masked array": lambda: np.ma.masked_greater(_frame().to_numpy(), 2.0),
    "structured array": lambda: np.zeros(5, dtype=[("a", float), ("b", float)]),
    "wide integers": lambda: [[10**400, 1, 2]] * 10,
    "asymmetric": lambda: np.triu(np.ones((3, 3))),
    "negative covariance": lambda: -np.eye(3),
    "cycle": lambda: [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "self loop": lambda: np.eye(3),
    "series": lambda: _frame()["rain"],
    "empty frame": pd.DataFrame,
    "repeated names": lambda: _frame().set_axis(["a", "a", "b"], axis=1),
    "other names": lambda: _frame().set_axis(["a", "b", "c"], axis=1),
    "mixed names": lambda: _frame().set_axis(["a", 1, None], axis=1),
    "two levels of names": lambda: _frame().set_axis(
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), axis=1
    ),
    "dates": lambda: _frame().assign(soil=pd.date_range("2020", periods=30)),
    "lists in cells": lambda: _frame().assign(soil=[[1]] * 30),
    "texts in cells": lambda: _frame().assign(soil=[f"t{i}" for i in range(30)]),
    "numbers and texts": lambda: _frame().assign(soil=[1.0, "a"] * 15),
    "sparse frame": lambda: _frame().round().astype(pd.SparseDtype(float, 0.0)),
    "arrow": lambda: __import__("pyarrow").table(_frame()),
    "one category": lambda: _frame().assign(soil=pd.Categorical(["a"] * 30)),
    "undirected graph": lambda: nx.path_graph(3),
    "cyclic graph": lambda: nx.cycle_graph(3, create_using=nx.DiGraph),
    "namespace": SimpleNamespace,
    "unfitted": Daguerreotype,
    "missing file": lambda: "no/such/file.csv",
    "folder": lambda: ".",
    "path": lambda: Path("no-such-file"),
}


def _raise(*_: Any, **__: Any) -> None:
    raise ValueError("raised by a function of the user")


# ------------------------------------------------------------------ what is called

Target = tuple[Callable[..., Any], dict[str, Callable[[], Any]]]


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _learner_target(name: str) -> Target:
    return (lambda **given: Daguerreotype(**(QUICK | given)).fit(_frame())), {name: _constant(None)}


def _graphs(module: Any, *names: str) -> dict[str, Target]:
    return {name: (getattr(module, name), {"graph": _constant(GRAPH)}) for name in names}


def targets() -> dict[str, Target]:
    """Public functions by name: what to call, and good arguments, each of which is made bad in turn."""
    from daguerreotype import (
        baselines,
        bootstrap,
        data,
        edges,
        experiments,
        graphs,
        metrics,
        noise,
        operators,
        plotting,
        report,
        simulate,
        tune,
    )

    theta = {"theta": _constant(np.array([0.3, 0.1, 0.2]))}
    found: dict[str, Target] = {
        f"Daguerreotype({name})": _learner_target(name)
        for name in Daguerreotype._get_param_names()
        if name != "verbose"
    }
    found |= {
        "fit": (
            Daguerreotype(**QUICK).fit,
            {"X": _frame, "interventions": _constant(None), "resume": _constant(None)},
        ),
        "fit_chunks": (Daguerreotype(**QUICK).fit_chunks, {"source": lambda: [_frame(), _frame()]}),
        "fit_moments": (
            Daguerreotype(**QUICK).fit_moments,
            {
                "covariance": lambda: _frame().cov(),
                "n_rows": _constant(30),
                "names": _constant(NAMES),
                "means": _constant([0.0] * 3),
            },
        ),
        "with_kinds_of": (Daguerreotype(**QUICK).with_kinds_of, {"X": _frame, "interventions": _constant(None)}),
        "score": (_of_fit("score"), {"X": _frame, "interventions": _constant(None)}),
        "impute": (
            _of_fit("impute"),
            {"X": _frame, "n_draws": _constant(2), "interventions": _constant(None), "random_state": _constant(0)},
        ),
        "curve": (
            lambda **given: Daguerreotype(posterior=0).fit(_frame()).curve(**given),
            {"cause": _constant("rain"), "effect": _constant("yield"), "values": _constant([0.0, 1.0])},
        ),
        "posterior": (
            _of_fit("posterior"),
            {
                "n_sweeps": _constant(5),
                "n_chains": _constant(2),
                "bagged": _constant(0),
                "random_state": _constant(0),
                "n_jobs": _constant(None),
                "resume": _constant(None),
                "keep": _constant(False),
            },
        ),
        "bootstrap": (
            Daguerreotype(**QUICK).bootstrap,
            {
                "X": _frame,
                "n_resamples": _constant(2),
                "random_state": _constant(0),
                "n_jobs": _constant(None),
                "resume": _constant(None),
                "fraction": _constant(1.0),
                "replace": _constant(True),
                "threshold": _constant(0.5),
                "fit_params": _constant(None),
            },
        ),
        "bootstrap.bootstrap": (
            bootstrap.bootstrap,
            {"learner": lambda: Daguerreotype(**QUICK), "X": _frame, "n_resamples": _constant(2)},
        ),
        "plot": (
            _of_fit("plot"),
            {
                "kind": _constant("graph"),
                "truth": _constant(None),
                "X": _constant(None),
                "effect": _constant(None),
                "ax": _constant(None),
            },
        ),
        "report": (
            _of_fit("report"),
            {
                "path": _constant("report.html"),
                "X": _constant(None),
                "truth": _constant(None),
                "bootstrap": _constant(None),
                "title": _constant("title"),
            },
        ),
        "write_report": (report.write_report, {"model": _fitted, "path": _constant("report.html")}),
        "save": (_of_fit("save"), {"path": _constant("model.npz")}),
        "load": (Daguerreotype.load, {"path": _constant("model.npz")}),
        "paper": (
            lambda **given: Daguerreotype.paper(**given),
            {
                "operator": _constant("sparsemax"),
                "edges": _constant("lars"),
                "training": _constant("bilevel"),
                "fits": _constant("published"),
            },
        ),
        "Knowledge": (
            lambda **given: Daguerreotype(**QUICK, knowledge=Knowledge(**given)).fit(_frame()),
            {name: _constant(()) for name in ("forbidden", "required", "tiers", "roots", "leaves")}
            | {"max_parents": _constant(2), "max_children": _constant(2)},
        ),
        "Knowledge.from_dict": (Knowledge.from_dict, {"known": _constant({})}),
        "Knowledge.from_file": (Knowledge.from_file, {"path": _constant("known.toml")}),
        "top_k_sparsemax": (
            operators.top_k_sparsemax,
            theta
            | {
                "k": _constant(3),
                "tau": _constant(1.0),
                "precedence": _constant(None),
                "random_state": _constant(None),
            },
        ),
        "sparsemap": (
            operators.sparsemap,
            theta
            | {
                "max_iter": _constant(10),
                "tau": _constant(1.0),
                "method": _constant("active-set"),
                "warm_start": _constant(None),
                "precedence": _constant(None),
                "random_state": _constant(None),
            },
        ),
        "k_best_rankings": (operators.k_best_rankings, theta | {"k": _constant(3), "precedence": _constant(None)}),
        "project_permutahedron": (operators.project_permutahedron, theta),
        "score_intervals": (operators.score_intervals, theta),
        "hyperplanes_crossed": (operators.hyperplanes_crossed, theta | {"other": _constant([0.1, 0.2, 0.3])}),
        "order_to_ranks": (operators.order_to_ranks, {"order": _constant(ORDER)}),
        "ranks_to_order": (operators.ranks_to_order, {"ranks": _constant(ORDER)}),
        "complete_dag": (operators.complete_dag, {"ranks": _constant(ORDER)}),
        "Precedence": (operators.Precedence, {"pairs": _constant([(0, 1)]), "d": _constant(3)}),
        "align": (graphs.align, {"true": _constant(GRAPH), "estimated": _constant(GRAPH)}),
        "find_cycle": (graphs.find_cycle, {"adjacency": lambda: np.array(GRAPH, dtype=bool)}),
        "from_dot": (graphs.from_dot, {"text": _constant("digraph { a -> b }")}),
        "from_gml": (graphs.from_gml, {"text": _constant("graph [ directed 1 ]")}),
        "from_edge_list": (
            graphs.from_edge_list,
            {"edges": lambda: pd.DataFrame({"cause": ["a"], "effect": ["b"]}), "nodes": _constant(None)},
        ),
        "from_networkx": (graphs.from_networkx, {"graph": lambda: nx.DiGraph([(0, 1)])}),
        "simulate_dag": (
            simulate.simulate_dag,
            {"d": _constant(4), "n_edges": _constant(4), "kind": _constant("SF"), "random_state": _constant(0)},
        ),
        "simulate_data": (
            simulate.simulate_data,
            {
                "adjacency": _constant(GRAPH),
                "n": _constant(10),
                "mechanism": _constant("linear"),
                "noise": _constant("gaussian"),
                "weights": _constant(((0.5, 2.0),)),
                "noise_scale": _constant(1.0),
                "standardize": _constant(False),
                "interventions": _constant(None),
            },
        ),
        "read_table": (
            data.read_table,
            {
                "path": _constant("table.csv"),
                "delimiter": _constant(None),
                "header": _constant(None),
                "drop": _constant(()),
                "drop_non_numeric": _constant(False),
                "missing": _constant("auto"),
            },
        ),
        "make_noise": (noise.make_noise, {"noise": _constant("gaussian")}),
        "make_estimator": (edges.make_estimator, {"edges": _constant("bic"), "penalty": _constant(1.0)}),
        "load_spec": (experiments.load_spec, {"name": _constant("sachs")}),
        "read_spec": (experiments.read_spec, {"text": _constant(SPEC), "name": _constant("mine")}),
        "Store": (experiments.Store, {"path": _constant("runs.jsonl")}),
        "baselines.get": (
            lambda **given: baselines.get(**given).fit(_frame()),
            {"name": _constant("r2-sortnregress"), "standardize": _constant(True), "random_state": _constant(0)},
        ),
        "baseline fit": (baselines.get("r2-sortnregress").fit, {"X": _frame}),
        "default_space": (tune.default_space, {"learner": Daguerreotype}),
        "paper_problems": (
            tune.paper_problems,
            {
                "d": _constant(4),
                "n_edges": _constant((4,)),
                "n": _constant(10),
                "kinds": _constant(("SF",)),
                "noises": _constant(("gaussian",)),
                "n_datasets": _constant(1),
            },
        ),
        "tune_table": (
            tune.tune_table,
            {
                "learner": lambda: Daguerreotype(**QUICK),
                "X": _frame,
                "criterion": _constant("bic"),
                "space": _constant({"penalty": (0.5, 2.0)}),
                "n_trials": _constant(1),
                "study_name": _constant(None),
                "random_state": _constant(0),
            },
        ),
        "plot_graph": (
            plotting.plot_graph,
            {
                "adjacency": _constant(GRAPH),
                "truth": _constant(None),
                "weights": _constant(None),
                "order": _constant(None),
            },
        ),
        "plot_scores": (plotting.plot_scores, {"theta": _constant([0.1, 0.2, 0.3]), "names": _constant(NAMES)}),
        "order_divergence": (metrics.order_divergence, {"true": _constant(GRAPH), "order": _constant(ORDER)}),
        "topological_order_correlation": (
            metrics.topological_order_correlation,
            {"true": _constant(GRAPH), "order": _constant(ORDER)},
        ),
        "var_sortability": (metrics.var_sortability, {"X": _frame, "true": _constant(GRAPH)}),
        "r2_sortability": (metrics.r2_sortability, {"X": _frame, "true": _constant(GRAPH)}),
        "n_edges": (metrics.n_edges, {"true": _constant(GRAPH), "estimated": _constant(GRAPH)}),
    }
    for name in (
        "shd",
        "shd_cpdag",
        "sid",
        "f1",
        "precision",
        "recall",
        "skeleton_f1",
        "parent_aid",
        "oset_aid",
        "evaluate",
    ):
        found[name] = (getattr(metrics, name), {"true": _constant(GRAPH), "estimated": _constant(GRAPH)})
    return found | _graphs(
        graphs,
        *("to_dot", "to_gml", "to_edge_list", "to_networkx", "to_cpdag", "equivalence_class", "as_dag"),
        *("as_adjacency", "as_weighted", "depths", "topological_order", "consistent_extension"),
    )


def _of_fit(method: str) -> Callable[..., Any]:
    return lambda **given: getattr(_fitted(), method)(**given)


SPEC = """
title = "small"
repeats = 1
time_limit = 60
[[problems]]
data = "simulated"
settings = { n = 30, d = 4, edges_per_node = 1.0 }
[[methods]]
label = "none"
baseline = "empty"
draws = false
"""


# ------------------------------------------------------------------ the command line

CSV = "rain,soil,yield\n" + "\n".join(",".join(f"{x:.3f}" for x in row) for row in _frame().to_numpy()) + "\n"
FILES: dict[str, bytes] = {
    "good.csv": CSV.encode(),
    "empty.csv": b"",
    "header.csv": b"rain,soil,yield\n",
    "one-row.csv": b"a,b\n1,2\n",
    "one-column.csv": b"a\n1\n2\n3\n4\n",
    "ragged.csv": b"a,b,c\n1,2\n3,4,5,6\n7,8,9\n",
    "text.csv": b"a,b\n" + b"x,y\n" * 10,
    "constant.csv": b"a,b\n" + b"1,2\n" * 10,
    "gaps.csv": CSV.replace("0.", "").replace("1.", "NA").encode(),
    "infinite.csv": CSV.replace("0.1", "inf").encode(),
    "repeated.csv": CSV.replace("soil", "rain").encode(),
    "binary.csv": bytes(range(256)) * 20,
    "nul.csv": b"a,b\n" + b"1,\x00\n" * 20,
    "utf-16.csv": CSV.encode("utf-16"),
    "latin-1.csv": CSV.replace("rain", "Höhe").encode("latin-1"),
    "bom.csv": b"\xef\xbb\xbf" + CSV.encode(),
    "quotes.csv": b'a,b\n"1,2\n3,4\n',
    "long-line.csv": b"a,b\n" + b"1" * 200_000 + b",2\n",
    "crlf.csv": CSV.replace("\n", "\r\n").encode(),
    "semicolons.csv": CSV.replace(",", ";").replace(".", ",").encode(),
    "table.json": b'{"rain": [1, 2, 3]}',
    "table.xlsx": b"PK\x03\x04nonsense",
    "table.parquet": b"PAR1nonsensePAR1",
    "table.pkl": b"\x80\x04N.",
    "table.csv.gz": gzip.compress(CSV.encode()),
    "cut.csv.gz": gzip.compress(CSV.encode())[:-20],
    "not-zipped.csv.gz": b"nonsense",
    "truth.csv": b"cause,effect\nrain,yield\n",
    "cyclic.csv": b"cause,effect\nrain,yield\nyield,rain\n",
    "strange-truth.csv": b"cause,effect\nhail,frost\n",
    "known.toml": b'forbidden = [["yield", "rain"]]\n',
    "broken.toml": b"forbidden = [[",
    "strange.toml": b'forbiden = [["hail", 3]]\n',
    "wrong.toml": b"max_parents = -1\nrequired = 3\n",
    "known.json": b'{"required": [["rain", "yield"], ["yield", "rain"]]}',
    "list.json": b"[1, 2]",
    "no.npz": b"nonsense",
    "spec.toml": SPEC.encode(),
    "strange-spec.toml": SPEC.replace("empty", "no-such-method").encode(),
    "broken-spec.toml": SPEC.replace("[[methods]]", "[[methods").encode(),
    "odd-spec.toml": SPEC.replace('"simulated"', "3").encode(),
    "no-methods.toml": SPEC.partition("[[methods]]")[0].encode(),
}
TABLES = [name for name in FILES if "." in name and not name.endswith((".toml", ".npz"))] + [
    "no-such.csv",
    "folder",
    "-",
]
VERBS: dict[str, list[list[str]]] = {
    # Each option with its value is one entry, which a case may leave out or spoil.
    "fit": [
        ["good.csv"],
        ["--posterior", "5"],
        ["--edges", "bic"],
        ["--operator", "sparsemax"],
        ["--transform", "none"],
        ["--penalty", "1"],
        ["--min-gain", "0.02"],
        ["--knowledge", "known.toml"],
        ["--max-parents", "2"],
        ["--max-children", "rain=2"],
        ["--interventions", "soil"],
        ["--kind", "rain=continuous"],
        ["--seed", "0"],
        ["--bootstrap", "1"],
        ["--jobs", "1"],
        ["--truth", "truth.csv"],
        ["--out", "out"],
        ["--json"],
        ["--quiet"],
        ["--drop", "soil"],
        ["--drop-non-numeric"],
        ["--missing", "auto"],
        ["--delimiter", ","],
        ["--header"],
    ],
    "compare": [
        ["good.csv"],
        ["--methods", "bic,empty"],
        ["--truth", "truth.csv"],
        ["--seeds", "1"],
        ["--seed", "0"],
        ["--time-limit", "60"],
        ["--held-out", "0.2"],
        ["--json"],
        ["--missing", "error"],
    ],
    "evaluate": [["truth.csv"], ["truth.csv"], ["--json"]],
    "simulate": [["--out", "made"], ["--quiet"]],
    "report": [["no.npz"], ["--out", "page.html"]],
    "reproduce": [
        ["spec.toml"],
        ["--out", "results"],
        ["--seeds", "1"],
        ["--n-jobs", "1"],
        ["--no-run"],
        ["--quiet"],
    ],
    "tune": [
        ["good.csv"],
        ["--edges", "bic"],
        ["--trials", "1"],
        ["--criterion", "bic"],
        ["--space", "penalty=0.5:2"],
        ["--seed", "0"],
    ],
}
HUGE = "99999999999999999999"
ENDLESS = ("--trials", "--seeds", "--bootstrap")  # of which a huge number is right, and takes as long as it says
WORDS = [
    "",
    "-1",
    "0",
    "x",
    "nan",
    "inf",
    "1e400",
    HUGE,
    "rain=",
    "=3",
    "hail=1",
    "a\nb",
    "é",
    "--",
    "no/such/folder/x",
    "/dev/null",
    "true",
]
CODES = {0, 2, 3, 4, 5}


# ------------------------------------------------------------------ cases


def warm() -> None:
    """Import what calls and commands import, before workers are forked."""
    import matplotlib

    matplotlib.use("agg")

    targets()
    _fitted().plot()
    Daguerreotype(posterior=0).fit(_frame())
    with tempfile.TemporaryDirectory() as folder:
        _fitted().report(Path(folder) / "page.html", _frame())


def draw(rng: np.random.Generator) -> Case:
    """A call with one or two bad arguments, or a command with bad words and files."""
    if rng.random() < 0.65:
        known = targets()
        name = str(rng.choice(sorted(known)))
        arguments = sorted(known[name][1])
        chosen = rng.choice(arguments, size=min(len(arguments), 1 + int(rng.random() < 0.15)), replace=False)
        return {"call": name, "bad": {str(each): str(rng.choice(sorted(VALUES))) for each in chosen}}
    verb = str(rng.choice(sorted(VERBS), p=[0.1, 0.1, 0.5, 0.1, 0.08, 0.06, 0.06]))
    entries = VERBS[verb]
    first = [entry for entry in entries if not entry[0].startswith("--")]
    words: list[list[str]] = [list(entry) for entry in first]
    for entry in entries[len(first) :]:
        if rng.random() < 0.2 or entry[0] in ("--trials", "--posterior", "--methods", "--out"):
            words.append(list(entry))
    for _ in range(1 + int(rng.random() < 0.3)):
        spoiled = int(rng.integers(len(words)))
        entry = words[spoiled]
        if not entry[0].startswith("--") or entry[-1] in FILES:
            pool = [*list(FILES), "no-such.csv", "folder", "-"] if rng.random() < 0.3 else TABLES
            entry[-1] = str(rng.choice(pool))
        elif len(entry) > 1 and rng.random() < 0.9:
            entry[1] = str(rng.choice(WORDS))
            if entry[0] in ENDLESS and entry[1] == HUGE:
                entry[1] = "-1"
        else:
            words.append([str(rng.choice(["--no-such-option", "--edges", "extra", "-x", "--out"]))])
    return {"verb": verb, "words": words}


def simpler(case: Case) -> Iterator[Case]:
    """Fewer bad arguments, fewer words."""
    if "call" in case:
        for name in case["bad"]:
            if len(case["bad"]) > 1:
                yield case | {"bad": {key: value for key, value in case["bad"].items() if key != name}}
    else:
        for words in without_each(case["words"]):
            yield case | {"words": words}


def run(case: Case) -> str:
    """Call, and see how it ends."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            (Path(folder) / name).write_bytes(content)
        (Path(folder) / "folder").mkdir()
        if "call" in case:
            return _call(case)
        return _command(case, Path(folder))


def _call(case: Case) -> str:
    function, good = targets()[case["call"]]
    given = {name: make() for name, make in good.items()} | {
        name: VALUES[bad]() for name, bad in case["bad"].items()
    }
    if case["call"].startswith("Daguerreotype("):
        given = {name: VALUES[bad]() for name, bad in case["bad"].items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            function(**given)
    except Exception as error:
        _check_error(error, case)
        return "refused"
    finally:
        import matplotlib.pyplot as plt

        plt.close("all")
    return "taken"


def _check_error(error: Exception, case: Case) -> None:
    """A documented error, raised by the library, whose text is one line that is worth reading."""
    kind, text = type(error), str(error)
    ours = kind.__module__.startswith("daguerreotype")
    by_user = "raised by a function of the user" in text
    if not ours and not by_user and not isinstance(error, ValueError | TypeError | OSError):
        raise error
    if isinstance(error, np.linalg.LinAlgError | UnicodeError):
        raise error
    if not text.strip() or "\n" in text.strip():
        raise BrokenError(f"{kind.__name__} without a text in one piece: {text!r}")
    last = traceback.extract_tb(error.__traceback__)[-1]
    inside = "/daguerreotype/" in last.filename or "/sklearn/" in last.filename
    called = re.search(r"argument|positional", text) is not None and kind is TypeError
    if not (inside or called or by_user or isinstance(error, OSError)):
        raise BrokenError(
            f"{case['call']}: refused by {Path(last.filename).name}, {last.name}, not by the library: {text}"
        )


def _command(case: Case, folder: Path) -> str:
    arguments = [case["verb"], *(word for words in case["words"] for word in words)]
    ended = run_command(arguments, folder, stdin=CSV.encode())
    err = ended.err.decode(errors="replace")
    if ended.signal is not None:
        raise BrokenError(f"{case['verb']} died of signal {ended.signal}: {err[-500:]}")
    if "Traceback" in err or "Traceback" in ended.out.decode(errors="replace"):
        raise BrokenError(f"{case['verb']} prints a traceback: {err[-2000:]}")
    if ended.code not in CODES:
        raise BrokenError(f"{case['verb']} ends with {ended.code}: {err[-500:].strip()}")
    if ended.code and not err.strip():
        raise BrokenError(f"{case['verb']} ends with {ended.code} and says nothing")
    if ended.code == 3 and len(re.findall(r"^error: ", err, re.MULTILINE)) != 1:
        raise BrokenError(f"{case['verb']} does not end with one line of error: {err[-500:].strip()}")
    if re.search(r"Warning: |Warning\n", err):
        raise BrokenError(f"{case['verb']} shows a warning of Python: {err[-500:].strip()}")
    return f"exit {ended.code}"
