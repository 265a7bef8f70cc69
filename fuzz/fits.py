"""Fits of random tables with random settings, and what must hold of every one of them."""

import re
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.linear_model import LassoLarsIC

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.edges import MlpEdges
from fuzz.part import BrokenError, Case, without_each
from fuzz.tables import NUMBERS, contain, draw_table, make_frame, simpler_tables

seconds = 120.0
TORCH = ("linear", "mlp")
LINEAR = ("bic", "lars", "lasso", "linear")
PLAIN = {"max_iter": 40, "n_restarts": 1, "posterior": 20}


# ------------------------------------------------------------------ cases


def draw(rng: np.random.Generator) -> Case:
    """Settings, a table, and what is changed about it that must not change the result."""
    table = draw_table(rng)
    kinds = {column["kind"] for column in table["columns"]}
    edges = str(
        rng.choice(
            ["gam", "bic", "lars", "lasso", "regressor", "linear", "mlp"],
            p=[0.4, 0.25, 0.12, 0.12, 0.05, 0.04, 0.02],
        )
    )
    settings: Case = dict(PLAIN)
    if edges != "gam":
        settings["edges"] = edges
    maybe: dict[str, list[Any]] = {
        "operator": ["sparsemap", "sparsemap-peel", "sparsemap-warm", "random", "fixed", "callable"],
        "loss": ["bic", "nll_ev", "nll_nv", "mse", "entropy", "callable"],
        "noise": ["gaussian", "free-shape", "gaussian", "free-shape", "poisson", "bernoulli"],
        "transform": ["none", "none", "log", "yeo-johnson"],
        "init": ["variances", "order", "scores"],
        "k": [1, 2, 10, 1000],
        "tau": [1e-8, 0.1, 10.0, 1e8, [2.0, 0.1], "callable"],
        "penalty": [1e-9, 0.5, 1.0, 3.0, 1e9],
        "min_gain": [0.0, 0.2, 0.99],
        "standardize": [False],
        "refine": [False],
        "n_restarts": [0, 3],
        "learning_rate": [1e-6, 1.0, 100.0],
        "l2_theta": [0.0, 10.0],
        "max_iter": [1, 2, 100],
        "tol": [0.0, 1.0],
        "patience": [1],
        "cache_size": [0.001],
        "n_jobs": [2, -1],
        "missing": ["drop", "error"],
        "posterior": [0, 1, 100],
        "random_state": [None, 3],
    }
    for name, values in maybe.items():
        if rng.random() < 0.2:
            settings[name] = values[rng.integers(len(values))]
    if settings.get("operator") == "fixed" and rng.random() < 0.9:
        settings["init"] = "order"
    if edges in TORCH:
        settings |= {"max_iter": 3, "k": 3, "n_restarts": 0, "posterior": 0, "refine": False}
        if rng.random() < 0.5:
            settings["training"] = "joint"
            settings["loss"] = ["auto", "nll_ev", "nll_nv", "mse"][rng.integers(4)]
    if edges == "regressor":
        settings |= {"max_iter": 3, "k": 3, "n_restarts": 0, "refine": False}
    case: Case = {"settings": settings, "table": table, "seed": int(rng.integers(2**31))}
    if rng.random() < 0.3:
        case["knowledge"] = _draw_knowledge(rng, [column["id"] for column in table["columns"]])
    if rng.random() < 0.12:
        case["interventions"] = float(rng.choice([0.05, 0.3]))
    if rng.random() < 0.08 and kinds <= set(NUMBERS):
        case["by"] = str(rng.choice(["chunks", "moments"]))
    case["change"] = str(rng.choice(["rows", "columns", "layout", "jobs", "again", "cache"]))
    return case


def _draw_knowledge(rng: np.random.Generator, ids: list[int]) -> Case:
    """Something that is known of these columns; some of it contradicts itself."""
    names = [f"c{number}" for number in ids]

    def pairs(n: int) -> list[list[str]]:
        drawn = rng.integers(len(names), size=(n, 2))
        return [[names[i], names[j]] for i, j in drawn if i != j or rng.random() < 0.02]

    known: Case = {}
    if rng.random() < 0.4:
        known["forbidden"] = pairs(int(rng.integers(1, 2 * len(names))))
    if rng.random() < 0.4:
        known["required"] = pairs(int(rng.integers(1, 4)))
    if rng.random() < 0.3:
        order = rng.permutation(names).tolist()
        cut = int(rng.integers(1, len(names)))
        known["tiers"] = [order[:cut], order[cut:]]
    if rng.random() < 0.15:
        known["roots"] = [names[rng.integers(len(names))]]
    if rng.random() < 0.15:
        known["leaves"] = [names[rng.integers(len(names))]]
    if rng.random() < 0.3:
        known["max_parents"] = int(rng.integers(4)) if rng.random() < 0.5 else {names[0]: int(rng.integers(3))}
    if rng.random() < 0.2:
        known["max_children"] = int(rng.integers(4)) if rng.random() < 0.5 else {names[0]: int(rng.integers(3))}
    return known


def simpler(case: Case) -> Iterator[Case]:
    """Fewer rows and columns, fewer settings, less knowledge."""
    for key in ("knowledge", "interventions", "by"):
        if key in case:
            yield {name: value for name, value in case.items() if name != key}
    for table in simpler_tables(case["table"]):
        yield case | {"table": table}
    settings = case["settings"]
    for name in settings:
        if name not in PLAIN or settings[name] != PLAIN[name]:
            plain = {key: value for key, value in settings.items() if key != name}
            yield case | {"settings": plain | {key: PLAIN[key] for key in PLAIN if key == name}}
    for kind, entries in case.get("knowledge", {}).items():
        rest = {key: value for key, value in case["knowledge"].items() if key != kind}
        yield case | {"knowledge": rest}
        if isinstance(entries, list) and len(entries) > 1:
            for fewer in without_each(entries):
                yield case | {"knowledge": rest | {kind: fewer}}


# ------------------------------------------------------------------ one case


def warm() -> None:
    """Load all kernels, and torch, before workers are forked: loading takes longer than many cases."""
    frame = make_frame(
        {
            "seed": 0,
            "rows": 60,
            "columns": [
                {"id": number, "kind": kind, "causes": [0] if number else []}
                for number, kind in enumerate(["normal", "binary", "text", "count", "ordered", "skewed"])
            ],
        }
    )
    numbers = frame[["c0", "c5"]].assign(c9=np.linspace(0, 1, 60) ** 2)
    gaps = numbers.where(np.random.default_rng(0).random(numbers.shape) > 0.1)
    for table, changes in (
        (numbers, {}),
        (numbers, {"edges": "bic", "operator": "sparsemap"}),
        (numbers, {"edges": "lars", "operator": "sparsemap-peel", "loss": "nll_ev"}),
        (numbers, {"edges": "lasso", "operator": "sparsemap-warm", "loss": "entropy"}),
        (numbers, {"edges": "linear", "training": "joint", "max_iter": 2}),
        (frame, {}),
        (gaps, {}),
        (gaps, {"edges": "bic"}),
        (numbers, {"edges": LassoLarsIC(), "k": 2, "max_iter": 2, "refine": False}),
        (numbers, {"edges": MlpEdges(hidden=2, max_iter=2), "k": 2, "max_iter": 2, "refine": False}),
    ):
        Daguerreotype(**{**PLAIN, **changes}).fit(table)


def run(case: Case) -> str:
    """Fit, check, and fit once more what must end the same."""
    import torch

    torch.set_num_threads(1)
    problem = Problem(case)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model = problem.fit()
        except Exception as error:
            _check_refusal(error, problem)
            _check_warnings(warned)
            return "refused"
        _check_fit(model, problem)
        _check_saved(model, problem)
        other = problem.fit_changed()
        _check_same(model, other, problem)
    _check_warnings(warned)
    return "fitted"


class Problem:
    """What a case stands for: a table, settings and knowledge, and the same thing said differently."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.frame = make_frame(case["table"])
        self.names = list(self.frame.columns)
        self.container = case["table"]["container"]
        # Numbered columns cannot be named in knowledge, so that what names them takes a frame.
        if "knowledge" in case or case["settings"].get("init") == "order":
            self.container = "frame"
        self.rng = np.random.default_rng(case["seed"])
        self.intervened = None
        if "interventions" in case:
            self.intervened = self.rng.random(self.frame.shape) < case["interventions"]
        known = case.get("knowledge")
        self.known = None if known is None else _only(known, self.names)
        self.scores = dict(zip(self.names, self.rng.normal(size=len(self.names)).tolist(), strict=True))
        self.changed_columns = np.arange(len(self.names))

    def settings(self, columns: list[str]) -> dict[str, Any]:
        """Arguments of the learner for these columns in this order."""
        settings = dict(self.case["settings"])
        if settings.get("edges") == "regressor":
            settings["edges"] = LassoLarsIC()
        elif settings.get("edges") == "mlp":
            settings["edges"] = MlpEdges(hidden=3, max_iter=5)
        if settings.get("operator") == "callable":
            settings["operator"] = _narrow
        if settings.get("loss") == "callable":
            settings["loss"] = _price
        if settings.get("tau") == "callable":
            settings["tau"] = _cooling
        elif isinstance(settings.get("tau"), list):
            settings["tau"] = tuple(settings["tau"])
        if settings.get("init") == "order":
            settings["init"] = sorted(columns, key=lambda name: self.scores[name])
        elif settings.get("init") == "scores":
            settings["init"] = [self.scores[name] for name in columns]
        if self.known is not None:
            settings["knowledge"] = self.known
        return settings

    def fit(self) -> Daguerreotype:
        """The fit as the case has it."""
        return self._fit(self.frame, self.intervened, self.container, {})

    def fit_changed(self) -> Daguerreotype:
        """The same fit with something changed that must not matter."""
        frame, intervened, container, changes = self.frame, self.intervened, self.container, {}
        change = self.case["change"]
        if change == "rows":
            rows = self.rng.permutation(len(frame))
            frame = frame.iloc[rows].reset_index(drop=True)
            intervened = None if intervened is None else intervened[rows]
        elif change == "columns":
            self.changed_columns = self.rng.permutation(len(self.names))
            frame = frame.iloc[:, self.changed_columns]
            intervened = None if intervened is None else intervened[:, self.changed_columns]
        elif change == "layout" and container in ("array", "fortran", "list"):
            container = {"array": "fortran", "fortran": "list", "list": "array"}[container]
        elif change == "jobs":
            changes = {"n_jobs": 2 if self.case["settings"].get("n_jobs") is None else None}
        elif change == "cache":
            changes = {"cache_size": 128.0}
        return self._fit(frame, intervened, container, changes)

    def _fit(self, frame: pd.DataFrame, intervened: Any, container: str, changes: dict[str, Any]) -> Daguerreotype:
        learner = Daguerreotype(**(self.settings(list(frame.columns)) | changes))
        by = self.case.get("by")
        if by == "chunks":
            return learner.fit_chunks(np.array_split(frame.to_numpy(), 3))
        if by == "moments":
            with np.errstate(all="ignore"):  # of values that overflow: the learner is to refuse them
                covariance = frame.cov(ddof=0)
            return learner.fit_moments(covariance, len(frame))
        return learner.fit(contain(frame, container), interventions=intervened)


def _narrow(theta: Any, tau: float) -> Any:
    from daguerreotype.operators import top_k_sparsemax

    return top_k_sparsemax(theta, 2, tau=tau)


def _price(variance: Any, dof: Any, n_rows: int) -> Any:
    return variance + dof / n_rows


def _cooling(step: int) -> float:
    return 1.0 / (1 + step)


def _only(known: Case, names: list[str]) -> Case:
    """What is known of columns that are there: shrinking takes some away."""
    left: Case = {}
    for kind, entries in known.items():
        if kind in ("forbidden", "required"):
            left[kind] = [pair for pair in entries if set(pair) <= set(names)]
        elif kind == "tiers":
            left[kind] = [kept for tier in entries if (kept := [each for each in tier if each in names])]
        elif isinstance(entries, dict):
            left[kind] = {name: limit for name, limit in entries.items() if name in names}
        else:
            left[kind] = [each for each in entries if each in names] if isinstance(entries, list) else entries
    return left


# ------------------------------------------------------------------ properties


def _check_refusal(error: Exception, problem: Problem) -> None:
    """Only what is documented is raised, by the library itself, and it names a column or a parameter."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error)
    kind = type(error)
    ours = kind.__module__.startswith("daguerreotype")
    if not ours and kind not in (ValueError, TypeError):
        raise error
    inside = "/daguerreotype/" in frame.filename or "sklearn/utils" in frame.filename
    if not inside:
        raise BrokenError(f"refused by {Path(frame.filename).name}, not by the library: {text}") from error
    words = set(re.findall(r"\w+", text))
    parameters = set(Daguerreotype._get_param_names()) | {
        "X",
        "interventions",
        "source",
        "n_rows",
        "covariance",
        "posterior",
    }
    numbered = {f"x{number}" for number in range(len(problem.names))}
    if not words & (parameters | set(problem.names) | numbered):
        raise BrokenError(f"a refusal names no column and no parameter: {text}") from error


def _check_warnings(warned: list[warnings.WarningMessage]) -> None:
    for each in warned:
        if "/sklearn/linear_model/" in each.filename:  # of the regressor that the user brings
            continue
        if issubclass(each.category, RuntimeWarning | DeprecationWarning | FutureWarning):
            where = f"{Path(each.filename).name}, line {each.lineno}"
            raise BrokenError(f"warned: {each.category.__name__}: {str(each.message).splitlines()[0]} ({where})")


def _check_fit(model: Daguerreotype, problem: Problem) -> None:
    """A DAG along its order that obeys what is known, with probabilities and finite numbers."""
    d = len(problem.names)
    matrix = np.asarray(model.adjacency_matrix_)
    weights, norms = np.asarray(model.weights_), np.asarray(model.norms_)
    graph = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    _hold(nx.is_directed_acyclic_graph(graph), "the graph has a cycle")
    names = [str(each) for each in getattr(model, "feature_names_in_", range(d))]
    order = [names.index(str(each)) for each in model.causal_order_]
    _hold(sorted(order) == list(range(d)), "the causal order is no permutation")
    place = np.argsort(order)
    cause, effect = np.nonzero(matrix)
    _hold(bool((place[cause] < place[effect]).all()), "an edge goes against the order")
    _hold(bool(np.isfinite(weights).all() and np.isfinite(norms).all()), "weights are not finite")
    _hold(bool(((weights == 0) | (matrix == 1)).all()), "a weight without an edge")
    _hold(bool(np.isfinite(model.loss_)), "the loss is not finite")
    _hold(bool(np.isfinite(np.asarray(model.history_.objective)).all()), "the history is not finite")
    _hold(bool(np.isfinite(model.theta_).all()), "theta is not finite")
    probs = model.order_distribution_.probs
    _hold(bool((probs > 0).all() and abs(probs.sum() - 1) < 1e-9), "probabilities of orders do not sum to one")
    shares = np.asarray(model.edge_shares_)
    known = [shares] if model.posterior_ is None else [shares, np.asarray(model.edge_probabilities_)]
    for each in known:
        _hold(bool(np.isfinite(each).all()), "a probability is not finite")
        _hold(bool(((each >= 0) & (each <= 1)).all()), "a probability outside 0 and 1")
        _hold(bool((np.diag(each) == 0).all()), "an edge from a column to itself")
    if model.posterior_ is not None:
        _hold(bool((known[1] + known[1].T <= 1 + 1e-12).all()), "both directions are likelier than 1")
    _hold(not model.interrupted_, "interrupted, though nobody did")
    if problem.known is not None:
        _check_knowledge(problem.known, matrix, known, place, problem.names)


def _check_knowledge(known: Case, matrix: Any, probabilities: list[Any], place: Any, names: list[str]) -> None:
    """The graph, all probabilities and the order obey."""
    resolved = Knowledge.of(known).resolve(tuple(names), numbered=False)
    for each in (matrix, *probabilities):
        _hold(not np.asarray(each)[~resolved.allowed].any(), "an edge that knowledge does not allow")
        _hold(bool((np.abs(np.asarray(each)[resolved.required] - 1) < 1e-9).all()), "a required edge is not there")
    tier = np.asarray(resolved.tier)
    for i, j in np.argwhere((tier[:, None] >= 0) & (tier[:, None] < tier[None, :])):
        _hold(place[i] < place[j], "the order goes against the tiers")
    for limits, counts in (
        (resolved.max_parents, matrix.sum(axis=0)),
        (resolved.max_children, matrix.sum(axis=1)),
    ):
        if limits is not None:
            _hold(bool((counts <= np.asarray(limits)).all()), "more parents or children than allowed")


def _check_saved(model: Daguerreotype, problem: Problem) -> None:
    """A file holds the same fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        _same(model, Daguerreotype.load(path), "after saving and loading", exact=True)


def _check_same(model: Daguerreotype, other: Daguerreotype, problem: Problem) -> None:
    """Where it is promised, to the last bit: see tests/learner/test_learner_invariance.py."""
    change = problem.case["change"]
    table, settings = problem.case["table"], problem.case["settings"]
    shuffled = change in ("rows", "columns")
    discrete = any(kind.name != "continuous" for kind in model.kinds_.values())
    edges = settings.get("edges", "gam")
    # Stochastic descent draws rows, and draws of what is missing come row by row.
    if shuffled and (edges in TORCH or ("gaps" in table and settings.get("missing") != "drop")):
        return
    if change == "cache" and settings.get("cache_size") is not None:
        _same(model, other, "with another cache", exact=False)
        return
    if problem.case.get("by") is not None and shuffled:
        return
    numbers = problem.changed_columns
    _same(model, other, f"after a change of {change}", exact=not (shuffled and discrete), numbers=numbers)


def _same(model: Daguerreotype, other: Daguerreotype, when: str, *, exact: bool, numbers: Any = None) -> None:
    """The same fit; column i of the second is column ``numbers[i]`` of the first."""
    numbers = np.arange(model.n_features_in_) if numbers is None else numbers
    both = np.ix_(numbers, numbers)

    def matrix(fit: Daguerreotype, name: str) -> Any:
        return np.asarray(getattr(fit, name))

    for name in ("adjacency_matrix_", "weights_", "norms_", "edge_shares_", "edge_probabilities_"):
        first, second = matrix(model, name), matrix(other, name)
        if first.ndim == 0 or second.ndim == 0:
            _hold(first.ndim == second.ndim, f"{name} differs {when}")
            continue
        if exact or name == "adjacency_matrix_":
            _hold(np.array_equal(first[both], second), f"{name} differs {when}")
        elif name == "weights_":
            _hold(np.allclose(first[both], second, rtol=0, atol=1e-4), f"{name} differs {when}")
    if exact:
        _hold(np.array_equal(model.theta_[numbers], other.theta_), f"theta_ differs {when}")
        _hold(model.loss_ == other.loss_, f"loss_ differs {when}")
    else:
        _hold(abs(model.loss_ - other.loss_) <= 1e-9 * (1 + abs(model.loss_)), f"loss_ differs {when}")
    _hold(model.transform_ == other.transform_, f"transform_ differs {when}")


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BrokenError(otherwise)
