"""Fits of random tables with random settings, and what must hold of every one of them."""

import re
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.linear_model import LassoLarsIC

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.edges import MlpEdges
from daguerreotype.operators import FixedOrder, RandomOrder, SparseMAP, Sparsemax, top_k_sparsemax
from daguerreotype.training import Bilevel, Joint
from fuzz.strategies import BrokenError, contain, hold, knowledge, make_frame, tables

TORCH = ("linear", "mlp")
QUICK = {"max_iter": 40, "n_restarts": 1}
SLOW = {"max_iter": 3, "n_restarts": 0, "refine": False}

# ------------------------------------------------------------------ cases


def maybe(*values: Any) -> st.SearchStrategy[Any]:
    """One of the values in one case of five; else None, for the default."""
    return st.integers(0, 4).flatmap(lambda k: st.sampled_from(values) if k == 4 else st.none())


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Settings, a table, and what is changed about it that must not change the result."""
    table = draw(tables())
    d = len(table["columns"])
    edges = draw(st.sampled_from(["gam"] * 4 + ["bic"] * 3 + ["lars", "lasso", "regressor", "linear", "mlp"]))
    plain = {
        "noise": maybe("gaussian", "free-shape", "poisson", "bernoulli"),
        "scales": maybe("none", "log", "yeo-johnson"),
        "penalty": maybe(1e-9, 0.5, 3.0, 1e9),
        "trust": maybe(10.0, 1e12),
        "min_gain": maybe(0.0, 0.2, 0.99),
        "standardize": maybe(False),
        "n_jobs": maybe(2, -1),
        "missing": maybe("drop", "error"),
        "posterior": maybe(0, 1, 100),
        "random_state": maybe(3),
    }
    operator = {"k": maybe(1, 2, 10, 1000), "tau": maybe(1e-8, 0.1, 10.0, 1e8)}
    training = {
        "loss": maybe("bic", "nll_ev", "nll_nv", "mse", "entropy", "callable"),
        "start": maybe("variances", "order", "scores"),
        "refine": maybe(False),
        "n_restarts": maybe(0, 3),
        "learning_rate": maybe(1e-6, 1.0, 100.0),
        "l2": maybe(0.0, 10.0),
        "max_iter": maybe(1, 2, 100),
        "tol": maybe(0.0, 1.0),
        "patience": maybe(1),
    }

    def chosen(settings: dict[str, Any]) -> dict[str, Any]:
        drawn = draw(st.fixed_dictionaries(settings))
        return {name: value for name, value in drawn.items() if value is not None}

    numeric = all(column["kind"] not in ("truth", "text", "ordered") for column in table["columns"])
    return {
        "table": table,
        "edges": edges,
        "settings": chosen(plain),
        "operator": draw(maybe("sparsemap", "peel", "fixed", "random", "callable")),
        "operator settings": chosen(operator),
        "training": "joint" if edges in TORCH and draw(st.booleans()) else "bilevel",
        "training settings": chosen(training),
        "knowledge": draw(maybe(True)) and draw(knowledge(d)),
        "interventions": draw(maybe(0.05, 0.3)),
        "by": draw(maybe("chunks", "moments")) if numeric else None,
        "change": draw(st.sampled_from(["rows", "columns", "layout", "jobs", "again"])),
    }


class Problem:
    """What a case stands for: a table, settings and knowledge, and the same thing said differently."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case, self.frame = case, make_frame(case["table"])
        self.names = list(self.frame.columns)
        self.start = case["training settings"].get("start")
        named = case["knowledge"] or self.start == "order" or case["operator"] == "fixed"
        self.container = "frame" if named else case["table"]["container"]
        self.rng = np.random.default_rng(case["table"]["seed"])
        share = case["interventions"]
        self.intervened = None if share is None else self.rng.random(self.frame.shape) < share
        self.scores = dict(zip(self.names, self.rng.normal(size=len(self.names)).tolist(), strict=True))
        self.moved = np.arange(len(self.names))

    def learner(self, columns: list[str], changes: dict[str, Any]) -> Daguerreotype:
        """The learner for these columns in this order."""
        case, edges = self.case, self.case["edges"]
        slow = edges == "regressor" or edges in TORCH
        order = sorted(columns, key=lambda name: self.scores[name])
        training = {**(SLOW if slow else QUICK), **({} if slow else case["training settings"])}
        if self.start is not None and not slow:
            named = {"order": order, "scores": [self.scores[name] for name in columns]}
            training["start"] = named.get(self.start, self.start)
        if training.get("loss") == "callable":
            training["loss"] = lambda variance, dof, n_rows: variance + dof / n_rows
        own = dict(case["operator settings"])
        operator: Any = {
            "sparsemap": lambda: SparseMAP(**{"tau": own["tau"]} if "tau" in own else {}),
            "peel": lambda: SparseMAP(method="peel"),
            "fixed": lambda: FixedOrder(order),
            "random": RandomOrder,
            "callable": lambda: lambda theta, tau: top_k_sparsemax(theta, 2, tau=tau),
            None: lambda: Sparsemax(**own | ({"k": 3} if slow else {})),
        }[case["operator"]]()
        settings: dict[str, Any] = {"posterior": 0 if slow else 20, **case["settings"], **changes}
        return Daguerreotype(
            edges={"regressor": LassoLarsIC(), "mlp": MlpEdges(hidden=3, max_iter=5)}.get(edges, edges),
            operator=operator,
            training=Joint(max_iter=3) if case["training"] == "joint" else Bilevel(**training),
            knowledge=case["knowledge"] or None,
            **settings,
        )

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
            self.moved = self.rng.permutation(len(self.names))
            frame = frame.iloc[:, self.moved]
            intervened = None if intervened is None else intervened[:, self.moved]
        elif change == "layout":
            container = {"array": "fortran", "fortran": "list", "list": "array"}.get(container, container)
        elif change == "jobs":
            changes = {"n_jobs": 2 if self.case["settings"].get("n_jobs") is None else None}
        return self._fit(frame, intervened, container, changes)

    def _fit(self, frame: pd.DataFrame, intervened: Any, container: str, changes: dict[str, Any]) -> Daguerreotype:
        learner = self.learner(list(frame.columns), changes)
        if self.case["by"] == "chunks":
            return learner.fit_chunks(np.array_split(frame.to_numpy(), 3))
        if self.case["by"] == "moments":
            with np.errstate(all="ignore"):  # of values that overflow: the learner is to refuse them
                covariance = frame.cov(ddof=0)
            return learner.fit_moments(covariance, len(frame))
        return learner.fit(contain(frame, container), interventions=intervened)


def warm() -> None:
    """Load what fits load once."""
    import torch

    torch.set_num_threads(1)


def check(case: dict[str, Any]) -> str:
    """Fit, check, and fit once more what must end the same."""
    problem = Problem(case)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model = problem.fit()
        except Exception as error:
            check_refusal(error, problem.names)
            _check_warnings(warned)
            return "refused"
        _check_fit(model, problem)
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.npz")
            loaded = Daguerreotype.load(Path(folder) / "model.npz")
        check_same(model, loaded, "after saving and loading", exact=True)
        _check_same_after_change(model, problem.fit_changed(), problem)
    _check_warnings(warned)
    return "fitted"


# ------------------------------------------------------------------ properties


def check_refusal(error: Exception, names: list[str]) -> None:
    """Only what is documented is raised, by the library itself, and it names a column or a parameter."""
    last, text = traceback.extract_tb(error.__traceback__)[-1], str(error)
    kind = type(error)
    if not kind.__module__.startswith("daguerreotype") and kind not in (ValueError, TypeError):
        raise error
    inside = "/daguerreotype/" in last.filename or "sklearn/utils" in last.filename
    hold(inside, f"refused by {Path(last.filename).name}, not by the library: {text}")
    parameters = {"X", "interventions", "source", "n_rows", "covariance", *Daguerreotype._get_param_names()}
    for part in (Sparsemax(), SparseMAP(), FixedOrder([]), Bilevel(), Joint()):
        parameters |= part.get_params().keys()
    numbered = {f"x{number}" for number in range(len(names))}
    words = set(re.findall(r"\w+", text))
    hold(words & (parameters | set(names) | numbered), f"a refusal names no column and no parameter: {text}")


def _check_warnings(warned: list[warnings.WarningMessage]) -> None:
    for warning in warned:
        if "/sklearn/linear_model/" in warning.filename:  # of the regressor that the user brings
            continue
        if issubclass(warning.category, RuntimeWarning | DeprecationWarning | FutureWarning):
            where = f"{Path(warning.filename).name}, line {warning.lineno}"
            raise BrokenError(f"warned: {str(warning.message).splitlines()[0]} ({where})")


def _check_fit(model: Daguerreotype, problem: Problem) -> None:
    """A DAG along its order that obeys what is known, with probabilities and finite numbers."""
    d = len(problem.names)
    matrix, weights = np.asarray(model.adjacency_matrix_), np.asarray(model.weights_)
    graph = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    hold(nx.is_directed_acyclic_graph(graph), "the graph has a cycle")
    names = [str(name) for name in getattr(model, "feature_names_in_", range(d))]
    order = [names.index(str(name)) for name in model.causal_order_]
    hold(sorted(order) == list(range(d)), "the causal order is no permutation")
    place = np.argsort(order)
    cause, effect = np.nonzero(matrix)
    hold((place[cause] < place[effect]).all(), "an edge goes against the order")
    hold(np.isfinite(weights).all(), "weights are not finite")
    hold(((weights == 0) | (matrix == 1)).all(), "a weight without an edge")
    hold(len(model.edges_) == matrix.sum(), "the table of edges is not the graph")
    hold(np.isfinite(np.asarray(model.history_.objective)).all(), "the history is not finite")
    hold(np.isfinite(model.theta_).all(), "theta is not finite")
    probs = model.order_distribution_.probs
    hold((probs > 0).all() and abs(probs.sum() - 1) < 1e-9, "probabilities of orders do not sum to one")
    probabilities = [] if model.posterior_ is None else [np.asarray(model.edge_probabilities_)]
    for probability in probabilities:
        hold(np.isfinite(probability).all(), "a probability is not finite")
        hold(((probability >= 0) & (probability <= 1)).all(), "a probability outside 0 and 1")
        hold((np.diag(probability) == 0).all(), "an edge from a column to itself")
        hold((probability + probability.T <= 1 + 1e-12).all(), "both directions are likelier than 1")
    hold(not model.interrupted_, "interrupted, though nobody did")
    if problem.case["knowledge"]:
        _check_knowledge(problem.case["knowledge"], matrix, probabilities, place, problem.names)


def _check_knowledge(knowledge: Any, matrix: Any, probabilities: list[Any], place: Any, names: list[str]) -> None:
    """The graph, all probabilities and the order obey."""
    resolved = Knowledge.of(knowledge).resolve(tuple(names), numbered=False)
    for values in (matrix, *probabilities):
        hold(not values[~resolved.allowed].any(), "an edge that knowledge does not allow")
        hold((np.abs(values[resolved.required] - 1) < 1e-9).all(), "a required edge is not there")
    tier = np.asarray(resolved.tier)
    for i, j in np.argwhere((tier[:, None] >= 0) & (tier[:, None] < tier[None, :])):
        hold(place[i] < place[j], "the order goes against the tiers")
    if resolved.max_parents is not None:
        hold((matrix.sum(axis=0) <= np.asarray(resolved.max_parents)).all(), "more parents than allowed")


def _check_same_after_change(model: Daguerreotype, other: Daguerreotype, problem: Problem) -> None:
    """Where it is promised, to the last bit: see tests/learner/test_learner_invariance.py."""
    case, change = problem.case, problem.case["change"]
    shuffled = change in ("rows", "columns")
    discrete = bool((model.columns_["kind"].astype(str) != "continuous").any())
    drawn = case["table"]["missing"] > 0 and case["settings"].get("missing") != "drop"
    # Stochastic descent draws rows, and draws of what is missing come row by row.
    if shuffled and (case["edges"] in TORCH or drawn or case["by"] is not None):
        return
    check_same(model, other, f"after a change of {change}", exact=not (shuffled and discrete), moved=problem.moved)


def check_same(model: Daguerreotype, other: Daguerreotype, when: str, *, exact: bool, moved: Any = None) -> None:
    """The same fit; column i of the second is column ``moved[i]`` of the first."""
    moved = np.arange(model.n_features_in_) if moved is None else moved
    both = np.ix_(moved, moved)
    for name in ("adjacency_matrix_", "weights_", "edge_probabilities_"):
        first, second = np.asarray(getattr(model, name)), np.asarray(getattr(other, name))
        if first.ndim == 0 or second.ndim == 0:
            hold(first.ndim == second.ndim, f"{name} differs {when}")
        elif exact or name == "adjacency_matrix_":
            hold(np.array_equal(first[both], second), f"{name} differs {when}")
        elif name == "weights_":
            hold(np.allclose(first[both], second, rtol=0, atol=1e-4), f"{name} differs {when}")
    if exact:
        hold(np.array_equal(model.theta_[moved], other.theta_), f"theta_ differs {when}")
