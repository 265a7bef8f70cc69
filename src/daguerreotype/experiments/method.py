"""Methods that are compared: our learner with the paper's settings or others, baselines, and anyone's class."""

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daguerreotype import baselines
from daguerreotype._lib.labels import label
from daguerreotype._lib.store import plain_setting
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.registry import EDGES
from daguerreotype.graphs import topological_order
from daguerreotype.learner import Daguerreotype
from daguerreotype.metrics import evaluate
from daguerreotype.metrics.summary import MEANINGS
from daguerreotype.operators import FixedOrder, SparseMAP
from daguerreotype.training import Bilevel

TRUE_ORDER = "true order"
LEFT_OUT = "too slow"  # why a method is not run on a problem, where the spec does not say
SOURCES = ("paper", "learner", "baseline", "estimator")
KNOWN_MEASURES = (*MEANINGS, "seconds", "wall_seconds", "n_rankings", "mean_rankings", "max_rankings", "n_iter")

_warm: set[str] = set()  # labels of the methods that this process has warmed up for


@dataclass(frozen=True)
class Method:
    """A learner and its settings, not yet given a seed.

    Attributes
    ----------
    label : str
        What tables and figures call it; a label of the published tables puts their numbers beside it.
    source : {"paper", "learner", "baseline", "estimator"}
        One of the paper's configurations, our learner, a baseline, or a class of anyone's.
    name : dict or str
        Arguments of `Daguerreotype.paper` for "paper", the baseline's name, or a class whose objects have
        ``fit(X)`` and then ``adjacency_matrix_``: ``package.module:Class``.
    settings : dict
        Arguments that differ from the source's own, those of parts as ``training__start``. For learners
        ``operator = "true order"`` keeps it, and ``k`` is the paper's K, whatever the operator calls it. "linear"
        and "mlp" edges are an object within the learner: ``pruning``, their lambda, and the seed are handed on
        to it, and all else of it stays as the paper's configuration has it.
    varied : dict
        Those of them that differ among methods of one label: what figures have on their axes.
    draws : bool
        Whether the result hangs on the seed. If not, one repeat says all about one table.
    where : dict
        Name of what is varied among problems to the values that it is run for; on other problems it is left out.
    left_out : str
        Why it is.
    """

    label: str
    source: str
    name: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    varied: Mapping[str, Any] = field(default_factory=dict)
    draws: bool = True
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    left_out: str = LEFT_OUT

    def runs_on(self, varied: Mapping[str, Any]) -> bool:
        """Whether it is run on a problem, by what is varied among problems."""
        return all(varied[name] in values for name, values in self.where.items() if name in varied)

    def make(self, seed: int, truth: pd.DataFrame | None) -> Any:
        """The estimator, not yet fitted; the true graph is for those that are told its order."""
        settings = dict(self.settings)
        if self.source == "baseline":
            return baselines.get(self.name, random_state=seed, **settings)
        if self.source == "estimator":
            module, _, cls = self.name.partition(":")
            made = getattr(import_module(module), cls)(**settings)
            if "random_state" in made.get_params():
                made.set_params(random_state=seed)
            return made
        if settings.get("operator") == TRUE_ORDER:
            assert truth is not None, "an experiment knows its true graphs"
            settings["operator"] = FixedOrder([str(truth.columns[node]) for node in topological_order(truth)])
        pruning = {"pruning": settings.pop("pruning")} if "pruning" in settings else {}
        learner = Daguerreotype.paper(**self.name) if self.source == "paper" else Daguerreotype()
        if "k" in settings:
            operator = settings.get("operator", learner.operator)
            sparsemap = operator == "sparsemap" or isinstance(operator, SparseMAP)
            settings["operator__max_iter" if sparsemap else "operator__k"] = settings.pop("k")
        learner.set_params(**settings, random_state=seed)
        if isinstance(learner.edges, str) and learner.edges in ("linear", "mlp"):
            learner.edges = EDGES[learner.edges].make()
        if isinstance(learner.edges, GradientEdges):
            learner.edges = dataclasses.replace(learner.edges, random_state=seed, **pruning)
        elif pruning:
            raise ValueError(f"pruning is a setting of 'linear' and 'mlp' edges, not of {learner.edges!r}.")
        return learner

    def describe(self, seed: int, truth: pd.DataFrame) -> dict[str, Any]:
        """Every setting of the estimator with this seed, defaults included, as JSON."""
        try:
            made = self.make(seed, truth)
        except ImportError:  # what cannot be made here is known by what was asked for
            asked = {"source": self.source, "name": self.name, "settings": dict(self.settings), "seed": seed}
            return {"asked": plain_setting(asked)}
        without_effect = {"n_jobs", "verbose", "time_limit"}
        given = made.get_params(deep=False).items()
        return {
            "class": f"{type(made).__module__}.{type(made).__qualname__}",
            **{name: plain_setting(value) for name, value in given if name not in without_effect},
        }

    def warm_up(self) -> None:
        """Import what a fit needs and load its kernels, once in a process, so that their seconds do not count."""
        if self.label not in _warm:
            with threadpool_limits(1):
                warm_up(self.make(0, pd.DataFrame(0, index=["a", "b"], columns=["a", "b"])))
            _warm.add(self.label)

    def fit(
        self, X: pd.DataFrame, seed: int, truth: pd.DataFrame | None = None, held_out: pd.DataFrame | None = None
    ) -> dict[str, Any]:
        """What one fit leads to: its edges and seconds, its metrics, the likelihood of the rows held out.

        Metrics need the true graph, the likelihood (``held_out_likelihood``, per row) our learner.
        """
        made = self.make(seed, truth)
        # As in the learner: threads of small products only wait for each other.
        with threadpool_limits(1):
            wall, cpu = time.perf_counter(), time.process_time()
            made.fit(X)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        graph = label(np.asarray(made.adjacency_matrix_), X.columns).astype(int)
        outcome: dict[str, Any] = {"n_edges": int(graph.to_numpy().sum())}
        if truth is not None:
            outcome = dict(evaluate(truth, graph, getattr(made, "causal_order_", None)))
        outcome |= {"seconds": getattr(made, "fit_cpu_seconds_", cpu)}
        outcome |= {"wall_seconds": getattr(made, "fit_seconds_", wall)}
        if isinstance(made, Daguerreotype):
            outcome |= {"n_rankings": len(made.order_distribution_.probs), "n_iter": len(made.history_)}
            if len(made.history_):
                support = made.history_.support
                outcome |= {"mean_rankings": float(support.mean()), "max_rankings": int(support.max())}
            if held_out is not None and len(held_out):
                outcome["held_out_likelihood"] = made.score(held_out)
        # NaN is no JSON: a metric that is not defined for this graph is left out
        defined = {name: value for name, value in outcome.items() if np.isfinite(value)}
        return defined | {"edges": list_edges(graph)}


def list_edges(adjacency: pd.DataFrame) -> list[list[int]]:
    """Positions [i, j] of the edges i -> j."""
    pairs: list[list[int]] = np.argwhere(adjacency.to_numpy()).tolist()
    return pairs


def matrix_of(edges: Iterable[Sequence[int]], names: Sequence[str]) -> pd.DataFrame:
    """The 0/1 matrix that `list_edges` lists."""
    matrix = np.zeros((len(names), len(names)), dtype=np.int64)
    for cause, effect in edges:
        matrix[cause, effect] = 1
    return label(matrix, names)


def warm_up(learner: Any) -> None:
    """Import what a fit of ``learner`` needs and load its kernels, so that their seconds do not count.

    A baseline names its libraries; ours is fitted to a small table, as far as one step. Of a learner of anyone
    else's nothing is known.
    """
    load_libraries = getattr(learner, "load_libraries", None)
    if callable(load_libraries):
        load_libraries()
    elif isinstance(learner, Daguerreotype):
        from sklearn.base import clone

        names = ["a", "b", "c"]
        small = clone(learner).set_params(training__max_iter=1, knowledge=None, verbose=0)
        if isinstance(small.training, Bilevel):
            small.training.n_restarts = 0
        if not isinstance(small.training.start, str):  # an order of other columns
            small.training.start = names
        if isinstance(small.operator, FixedOrder):
            small.operator.order = names
        if isinstance(small.edges, str) and small.edges in ("linear", "mlp"):
            small.edges = EDGES[small.edges].make()
        if isinstance(small.edges, GradientEdges):
            small.edges = dataclasses.replace(small.edges, max_iter=1)
        small.fit(pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=names))
