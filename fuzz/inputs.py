"""Bad inputs to every public function, found by introspection, and to every verb of the command line."""

import gzip
import inspect
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.operators import FixedOrder, SparseMAP, Sparsemax
from daguerreotype.training import Bilevel
from fuzz.forked import Child, command
from fuzz.strategies import BAD_VALUES, BrokenError, hold, small_frame

CODES = {0, 2, 3, 4, 5}
GRAPH = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
ORDER = [0, 1, 2]
NAMES = ["rain", "soil", "yield"]
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

# ------------------------------------------------------------------ public functions

MODULES = ("baselines", "bootstrap", "data", "edges", "experiments", "graphs", "metrics", "noise", "operators")
MODULES += ("plotting", "report", "simulate", "tune")
METHODS = ("fit", "fit_chunks", "fit_moments", "score", "impute", "curve", "sample_posterior", "bootstrap", "plot")
METHODS += ("report", "save", "load", "paper")


def learner() -> Daguerreotype:
    """A learner that is quick."""
    return Daguerreotype(
        edges="bic", operator=Sparsemax(k=3), training=Bilevel(max_iter=5, n_restarts=0), posterior=5
    )


# Good arguments by the names that they have everywhere; made anew for every case.
GOOD: dict[str, Callable[[], Any]] = {
    "X": small_frame,
    "adjacency": lambda: np.array(GRAPH, dtype=bool),
    "bagged": lambda: 0,
    "cause": lambda: "rain",
    "covariance": lambda: small_frame().cov(),
    "d": lambda: 3,
    "edges": lambda: "bic",
    "effect": lambda: "yield",
    "estimated": lambda: GRAPH,
    "graph": lambda: GRAPH,
    "k": lambda: 3,
    "known": dict,
    "learner": learner,
    "model": lambda: learner().fit(small_frame()),
    "n": lambda: 10,
    "n_edges": lambda: 3,
    "n_resamples": lambda: 2,
    "n_rows": lambda: 30,
    "n_sweeps": lambda: 5,
    "n_trials": lambda: 1,
    "name": lambda: "sachs",
    "names": lambda: NAMES,
    "noise": lambda: "gaussian",
    "operator": lambda: "sparsemax",
    "order": lambda: ORDER,
    "other": lambda: [0.1, 0.2, 0.3],
    "pairs": lambda: [(0, 1)],
    "path": lambda: "file.csv",
    "ranks": lambda: ORDER,
    "source": lambda: [small_frame(), small_frame()],
    "space": lambda: {"penalty": (0.5, 2.0)},
    "text": lambda: SPEC,
    "theta": lambda: np.array([0.3, 0.1, 0.2]),
    "training": lambda: "bilevel",
    "true": lambda: GRAPH,
}
OWN = {  # where a name means something else
    "from_networkx.graph": lambda: nx.DiGraph([(0, 1)]),
    "from_gml.text": lambda: "graph [ directed 1 ]",
    "from_edge_list.edges": lambda: pd.DataFrame({"cause": ["a"], "effect": ["b"]}),
    "get.name": lambda: "r2-sortnregress",
    "paper.edges": lambda: "lars",
}


@cache
def targets() -> dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]]:
    """Public functions by name: what to call, the arguments that it needs, and all that it takes."""
    public: dict[str, Callable[..., Any]] = {}
    for module in (import_module(f"daguerreotype.{name}") for name in MODULES):
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if callable(value) and not name.startswith("_") and "daguerreotype" in (value.__module__ or ""):
                public[name] = value
    for name in METHODS:
        public[f"learner.{name}"] = getattr(Daguerreotype, name)
    for part in (Daguerreotype, Sparsemax, SparseMAP, FixedOrder, Bilevel, Knowledge):
        public[part.__name__] = part
    usable = {}
    for name, function in public.items():
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        named = [p for p in parameters if p.name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        needed = tuple(p.name for p in named if p.default is p.empty)
        labels = {"what"} if f"{name}.name" in OWN else {"name", "what"}  # which messages begin with
        spoiled = tuple(p.name for p in named if p.name not in labels)
        if all(f"{name}.{p}" in OWN or p in GOOD for p in needed) and spoiled:
            usable[name] = function, needed, spoiled
    return usable


def _call(name: str, bad: dict[str, str]) -> str:
    """Call a function with some of its arguments made bad, and see how it ends."""
    function, needed, _ = targets()[name]
    own = name.removeprefix("learner.")
    given = {p: OWN.get(f"{own}.{p}", GOOD.get(p, lambda: None))() for p in needed}
    given |= {p: BAD_VALUES[value]() for p, value in bad.items()}
    if name.startswith("learner.") and own not in ("load", "paper"):
        model = learner() if own.startswith("fit") or own == "bootstrap" else learner().fit(small_frame())
        function = getattr(model, own)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            result = function(**given)
            if isinstance(result, Daguerreotype) and name == "Daguerreotype":
                result.set_params(posterior=0).fit(small_frame())
            elif isinstance(result, Sparsemax | SparseMAP | FixedOrder):
                learner().set_params(operator=result).fit(small_frame())
            elif isinstance(result, Bilevel):
                learner().set_params(training=result).fit(small_frame())
            elif isinstance(result, Knowledge):
                learner().set_params(knowledge=result).fit(small_frame())
    except Exception as error:
        check_error(error, name)
        return "refused"
    finally:
        import matplotlib.pyplot as plt

        plt.close("all")
    return "taken"


def check_error(error: BaseException, called: str) -> None:
    """A documented error, raised by the library, whose text is one line that is worth reading."""
    kind, text = type(error), str(error)
    ours = kind.__module__.startswith("daguerreotype")
    by_user = "raised by a function of the user" in text
    if not (ours or by_user or isinstance(error, ValueError | TypeError | OSError | ImportError)):
        raise error
    if isinstance(error, np.linalg.LinAlgError | UnicodeError):
        raise error
    hold(text.strip() and "\n" not in text.strip(), f"{kind.__name__} without a text in one piece: {text!r}")
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:  # of another process
        return
    inside = "/daguerreotype/" in frames[-1].filename or "/sklearn/" in frames[-1].filename
    wrongly_called = kind is TypeError and re.search(r"argument|positional", text) is not None
    if not (inside or wrongly_called or by_user or isinstance(error, OSError)):
        where = f"{Path(frames[-1].filename).name}, {frames[-1].name}"
        raise BrokenError(f"{called}: refused by {where}, not by the library: {text}")


# ------------------------------------------------------------------ the command line

CSV = small_frame().to_csv(index=False, float_format="%.3f")
FILES: dict[str, bytes] = {
    "good.csv": CSV.encode(),
    "empty.csv": b"",
    "one-row.csv": b"a,b\n1,2\n",
    "text.csv": b"a,b\n" + b"x,y\n" * 10,
    "missing.csv": CSV.replace("0.", "").replace("1.", "NA").encode(),
    "binary.csv": bytes(range(256)) * 20,
    "latin-1.csv": CSV.replace("rain", "Höhe").encode("latin-1"),
    "cut.csv.gz": gzip.compress(CSV.encode())[:-20],
    "table.parquet": b"PAR1nonsensePAR1",
    "truth.csv": b"cause,effect\nrain,yield\n",
    "cyclic.csv": b"cause,effect\nrain,yield\nyield,rain\n",
    "known.toml": b'forbidden = [["yield", "rain"]]\n',
    "wrong.toml": b"max_parents = -1\nrequired = 3\n",
    "no.npz": b"nonsense",
    "spec.toml": SPEC.encode(),
    "odd-spec.toml": SPEC.replace('"simulated"', "3").encode(),
}
HUGE = "99999999999999999999"
WORDS = ("", "-1", "0", "x", "nan", "inf", "1e400", HUGE, "rain=", "=3", "hail=1", "a\nb", "é", "--", "true")
PLACES = (*FILES, "no-such.csv", "folder", "-", "no/such/folder/x")
ENDLESS = ("--trials", "--seeds", "--bootstrap", "--posterior")  # a huge number is right, and takes as long
# The least that every verb needs; the rest of its options is asked of the command line itself.
VERBS: dict[str, tuple[str, ...]] = {
    "fit": ("good.csv", "--edges", "bic", "--posterior", "5"),
    "compare": ("good.csv", "--methods", "bic,empty"),
    "evaluate": ("truth.csv", "truth.csv"),
    "simulate": ("--out", "made"),
    "report": ("no.npz", "--out", "page.html"),
    "reproduce": ("spec.toml", "--out", "results"),
    "tune": ("good.csv", "--trials", "1"),
}


@cache
def options() -> dict[str, list[str]]:
    """The options of every verb."""
    import typer

    from daguerreotype.cli.main import app

    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {
        name: sorted(flag for p in verb.params for flag in p.opts if flag.startswith("--"))
        for name, verb in verbs.items()
    }


def _command(verb: str, words: list[str]) -> str:
    """Run a verb, and see how it ends."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            (Path(folder) / name).write_bytes(content)
        (Path(folder) / "folder").mkdir()
        ended = Child(lambda: command(verb, *words), Path(folder), stdin=CSV.encode()).wait()
    err = ended.err.decode(errors="replace")
    hold(ended.signal is None, f"{verb} died of signal {ended.signal}: {err[-500:]}")
    hold("Traceback" not in err + ended.out.decode(errors="replace"), f"{verb} prints a traceback: {err[-2000:]}")
    hold(ended.code in CODES, f"{verb} ends with {ended}")
    hold(not ended.code or err.strip(), f"{verb} ends with {ended.code} and says nothing")
    one_line = ended.code != 3 or len(re.findall(r"^error: ", err, re.MULTILINE)) == 1
    hold(one_line, f"{verb} does not end with one line of error: {err[-500:].strip()}")
    hold(not re.search(r"Warning: |Warning\n", err), f"{verb} shows a warning of Python: {err[-500:].strip()}")
    return f"exit {ended.code}"


# ------------------------------------------------------------------ cases


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """A call with one or two bad arguments, or a command with bad words and files."""
    if draw(st.integers(0, 2)):
        name = draw(st.sampled_from(sorted(targets())))
        arguments = st.sampled_from(targets()[name][2])
        bad = st.dictionaries(arguments, st.sampled_from(sorted(BAD_VALUES)), min_size=1, max_size=2)
        return {"call": name, "bad": draw(bad)}
    verb = draw(st.sampled_from(sorted(VERBS)))
    words = list(VERBS[verb])
    if draw(st.booleans()):
        words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(PLACES + WORDS))
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.sampled_from([*options()[verb], "--no-such-option"]))
        word = draw(st.sampled_from([name for name in WORDS if option not in ENDLESS or name != HUGE] + [*PLACES]))
        words += [option, word] if draw(st.integers(0, 4)) else [option]
    return {"verb": verb, "words": words}


def warm() -> None:
    """Import what calls and commands import."""
    import matplotlib

    matplotlib.use("agg")
    learner().fit(small_frame()).plot()


def check(case: dict[str, Any]) -> str:
    """Call or run, and see how it ends."""
    if "verb" in case:
        return _command(case["verb"], case["words"])
    return _call(case["call"], case["bad"])
