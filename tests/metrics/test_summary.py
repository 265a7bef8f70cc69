import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from daguerreotype import metrics
from daguerreotype.metrics import evaluate

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
