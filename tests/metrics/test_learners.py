"""Do graphs and metrics take a fitted learner in the place of its graph, and refuse one that is not fitted?"""

import sys

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, graphs, metrics
from daguerreotype.operators import FixedOrder
from support.fits import linear_data

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
