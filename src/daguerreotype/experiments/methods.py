"""Which learners are compared? Ours, with the paper's settings or others; baselines; and anyone's class."""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype import baselines
from daguerreotype._lib.fingerprint import plain_setting
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.registry import EDGES
from daguerreotype.experiments.problems import Data, list_edges
from daguerreotype.graphs import topological_order
from daguerreotype.learner import Daguerreotype
from daguerreotype.metrics.summary import GRAPH_METRICS, ORDER_METRICS, evaluate

TRUE_ORDER = "true order"
SOURCES = ("paper", "learner", "baseline", "estimator")
KNOWN_MEASURES = (
    *(metric.__name__ for metric in (*GRAPH_METRICS, *ORDER_METRICS)),
    *("n_edges", "seconds", "wall_seconds", "n_rankings", "n_iter"),
)


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
        Operator, edges and training for "paper", the baseline's name, or ``package.module:Class``, whose objects
        have ``fit(X)`` and then ``adjacency_matrix_``.
    settings : dict
        Arguments that differ from the source's own. For learners ``init = "true order"`` tells it, and
        ``pruning`` is the lambda of "linear" and "mlp" edges.
    varied : dict
        Those of them that differ among methods of one label: what figures have on their axes.
    group : str
        Methods of one group share a colour.
    draws : bool
        Whether the result hangs on the seed. If not, one repeat says all about one table.
    time_limit : float or None
        Seconds of one run; None for those of the experiment.
    """

    label: str
    source: str
    name: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    varied: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    draws: bool = True
    time_limit: float | None = None

    def make(self, seed: int, truth: pd.DataFrame) -> Any:
        """The estimator, not yet fitted."""
        settings = dict(self.settings)
        if self.source == "baseline":
            return baselines.get(self.name, random_state=seed, **settings)
        if self.source == "estimator":
            module, _, cls = self.name.partition(":")
            made = getattr(import_module(module), cls)(**settings)
            if "random_state" in made.get_params():
                made.set_params(random_state=seed)
            return made
        if settings.get("init") == TRUE_ORDER:
            settings["init"] = [str(truth.columns[node]) for node in topological_order(truth)]
        pruning = {"pruning": settings.pop("pruning")} if "pruning" in settings else {}
        learner = Daguerreotype.paper(**self.name) if self.source == "paper" else Daguerreotype()
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
        """Import what a fit needs and load its kernels, so that their seconds do not count."""
        names = ["a", "b", "c"]
        made = self.make(0, pd.DataFrame(0, index=names, columns=names))
        if isinstance(made, baselines.Baseline):
            made.load_libraries()
        elif isinstance(made, Daguerreotype):
            made.set_params(max_iter=1, n_restarts=0)
            if isinstance(made.edges, GradientEdges):
                made.edges = dataclasses.replace(made.edges, max_iter=1)
            made.fit(pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=names))

    def fit(self, data: Data, seed: int) -> dict[str, Any]:
        """All metrics of one fit, its edges and its seconds."""
        made = self.make(seed, data.truth)
        wall, cpu = time.perf_counter(), time.process_time()
        made.fit(data.X)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        found = pd.DataFrame(
            np.asarray(made.adjacency_matrix_), index=data.truth.index, columns=data.truth.columns
        ).astype(int)
        outcome = evaluate(data.truth, found, getattr(made, "causal_order_", None))
        outcome |= {"seconds": getattr(made, "fit_cpu_seconds_", cpu)}
        outcome |= {"wall_seconds": getattr(made, "fit_seconds_", wall)}
        if isinstance(made, Daguerreotype):
            outcome |= {"n_rankings": len(made.order_distribution_.probs), "n_iter": made.n_iter_}
        # NaN is no JSON: a metric that is not defined for this graph is left out
        defined = {name: value for name, value in outcome.items() if np.isfinite(value)}
        return defined | {"edges": list_edges(found)}
