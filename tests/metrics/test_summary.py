"""All metrics at once, and whether graphs and metrics take a fitted learner in the place of its graph."""

import json
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, graphs, metrics
from daguerreotype.metrics import evaluate
from daguerreotype.operators import FixedOrder
from support.fits import linear_data

OF_ORDERS = {"order_divergence", "topological_order_correlation"}
OF_DATA = {"var_sortability", "r2_sortability", "sortability_warning"}


def test_every_metric_of_graphs_is_reported_under_its_name_with_its_value(random_dag, rng):
    true, estimated, order = random_dag(rng, 9, 0.3), random_dag(rng, 9, 0.3), rng.permutation(9)
    scores = evaluate(true, estimated, order)
    assert set(scores) == set(metrics.__all__) - OF_DATA - {"evaluate"}
    for name, value in scores.items():
        arguments = (estimated,) if name == "n_edges" else (true, order if name in OF_ORDERS else estimated)
        assert value == getattr(metrics, name)(*arguments)
    without = {name: value for name, value in scores.items() if name not in OF_ORDERS}
    assert evaluate(true, estimated) == without


def test_scores_are_strict_json_even_for_empty_graphs():
    for d in (1, 4):
        scores = evaluate(np.zeros((d, d)), np.zeros((d, d)), iter(range(d)))
        assert json.loads(json.dumps(scores, allow_nan=False)) == scores
        assert all(type(value) in (int, float) for value in scores.values())


def test_names_on_any_side_align_graphs_and_order():
    names = ["a", "b", "c"]
    true = pd.DataFrame([[0, 1, 0], [0, 0, 1], [0, 0, 0]], index=names, columns=names)
    perfect = {"shd": 0, "sid": 0, "f1": 1.0, "order_divergence": 0, "topological_order_correlation": 1.0}
    for first, second in (
        (true, nx.DiGraph([("b", "c"), ("a", "b")])),
        (true.to_numpy(), true),
        (true, true.loc[["c", "a", "b"], ["c", "a", "b"]]),
    ):
        scores = evaluate(first, second, order=names)
        assert {name: scores[name] for name in perfect} == pytest.approx(perfect)


X = pd.DataFrame(linear_data(0, 60, 3), columns=["a", "b", "c"])
MODEL = Daguerreotype(edges="bic", scales="none", posterior=0, operator=FixedOrder(["a", "b", "c"])).fit(X)
GRAPH = MODEL.adjacency_matrix_
TRUTH = pd.DataFrame(np.eye(3, k=1, dtype=int), index=list("abc"), columns=list("abc"))

OF_ONE = {
    "as_dag": lambda g: graphs.as_dag(g).adjacency,
    "to_cpdag": graphs.to_cpdag,
    "depths": graphs.depths,
    "topological_order": graphs.topological_order,
    "equivalence_class": graphs.equivalence_class,
    "to_dot": lambda g: graphs.to_dot(graphs.as_dag(g)),
    "order_divergence": lambda g: metrics.order_divergence(g, ["c", "b", "a"]),
    "n_edges": metrics.n_edges,
    "var_sortability": lambda g: metrics.var_sortability(X, g),
}
OF_TWO = ["shd", "shd_cpdag", "sid", "ancestor_aid", "oset_aid", "f1", "precision", "recall"]
ASK = OF_ONE | {name: (lambda g, name=name: getattr(metrics, name)(TRUTH, g)) for name in OF_TWO}


def test_a_fitted_learner_stands_for_its_graph_and_one_that_is_not_fitted_is_refused():
    for ask in ASK.values():
        np.testing.assert_equal(ask(MODEL), ask(GRAPH))
        with pytest.raises(TypeError, match="is a Daguerreotype that is not fitted, or of another library"):
            ask(Daguerreotype())


def test_only_adjustment_distances_need_gadjid(monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", None)  # Python's way to say that it is not there
    assert metrics.shd(TRUTH, GRAPH) >= 0
    with pytest.raises(ImportError, match=r"SID among them, are computed by gadjid\. Run: pip install gadjid"):
        metrics.sid(TRUTH, GRAPH)
