"""Do names of columns, of any type, come out as they went in?"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.graphs import as_dag, to_edge_list
from support.fits import linear_data
from support.learners import make_learner

QUICK = {"edges": "bic", "scales": "none", "k": 5, "max_iter": 20, "n_restarts": 0, "posterior": 20}
NAMES = {
    "years": [2019, 2020, 2021],
    "numbers that look like positions": [2, 0, 1],
    "numpy integers": list(np.array([7, 8, 9])),
    "floats": [0.5, 1.5, 2.5],
    "tuples of a MultiIndex": [("dose", 1), ("dose", 2), ("age", 1)],
    "times": list(pd.date_range("2024-01-01", periods=3)),
    "dates": [pd.Timestamp(f"2024-01-0{i}").date() for i in (1, 2, 3)],
    "text": ["a", "b", "c"],
}


def table(names, n=80):
    return pd.DataFrame(linear_data(0, n, 3), columns=pd.Index(names))


def model(**settings):
    return make_learner(**{**QUICK, **settings})


@pytest.mark.parametrize("kind", NAMES)
def test_results_and_files_call_columns_what_the_table_calls_them(kind, tmp_path):
    X = table(NAMES[kind])
    names = X.columns.tolist()
    m = model(knowledge=Knowledge(roots=[names[0]]), kinds={names[1]: "continuous"}, start=names).fit(X)
    assert m.adjacency_matrix_.columns.tolist() == m.weights_.index.tolist() == names
    assert m.edge_probabilities_.columns.tolist() == names
    for labels in (m.causal_order_, m.causal_graph_, m._result.kinds_by_label, m.columns_["scale"].to_dict()):
        assert set(labels) == set(names)
    assert all(m.adjacency_matrix_.loc[cause, effect] for cause, effect in m.causal_graph_.edges)
    assert len(m.causal_graph_.edges) > 0
    edges = m.equivalence_class()
    assert set(edges.compelled + edges.reversible) == set(m.causal_graph_.edges)
    assert set(to_edge_list(m)["source"]) <= set(names)
    assert m.posterior_.pair(names[0], names[1])
    assert hasattr(m, "feature_names_in_") == (kind == "text")

    m.save(tmp_path / "model.npz")
    again = Daguerreotype.load(tmp_path / "model.npz")
    if kind == "dates":  # which a file cannot hold, and has as text
        assert again.adjacency_matrix_.columns.tolist() == list(map(str, X))
        return
    pd.testing.assert_frame_equal(again.adjacency_matrix_, m.adjacency_matrix_)
    assert again.causal_order_ == m.causal_order_
    assert nx.utils.graphs_equal(again.causal_graph_, m.causal_graph_)
    assert again.posterior_.names == m.posterior_.names
    assert (again.kinds, again.training) == (m.kinds, m.training)
    assert again.knowledge.roots == m.knowledge.roots
    assert again.score(X) == m.score(X)


@pytest.mark.parametrize("kind", NAMES)
def test_settings_name_columns_as_the_table_does(kind):
    X = table(NAMES[kind])
    first, second, third = names = X.columns.tolist()
    m = model(
        operator="fixed",
        start=[third, second, first],
        knowledge=Knowledge(required=[(third, first)], roots=[second], max_parents={first: 1}),
        kinds={first: "continuous"},
        noise={second: "gaussian"},
    ).fit(X, interventions=[first] * 10 + [None] * 70)
    assert m.causal_order_ == [third, second, first]
    assert list(m.causal_graph_.edges) == [(third, first)]
    assert m._result.interventions == {first: 10}
    mask = pd.DataFrame(np.arange(80)[:, None] < [10], columns=pd.Index([first]))
    assert model().fit(X, interventions=mask)._result.interventions == {first: 10}
    assert sorted(m.with_kinds_of(X).kinds, key=str) == sorted(names, key=str)


@pytest.mark.parametrize("kind", ["years", "tuples of a MultiIndex", "times"])
def test_chunks_moments_bootstraps_and_curves_know_the_names(kind):
    X = table(NAMES[kind])
    names = X.columns.tolist()
    whole = model().fit(X)
    streamed = model().fit_chunks([X[:40], X[40:]])
    given = model().fit_moments(X.cov(), len(X))
    assert streamed.adjacency_matrix_.columns.tolist() == given.adjacency_matrix_.columns.tolist() == names
    sure = model().bootstrap(X, 2)
    assert sure.edge_frequencies.columns.tolist() == names
    assert set(sure.consensus_order) == set(sure.consensus_graph.nodes) == set(names)
    assert whole.score(X.iloc[:5]) < 0.0
    curved = model(edges="gam").fit(X)
    cause, effect = next(iter(curved.causal_graph_.edges))
    assert curved.curve(cause, effect, [0.0]).shape == (1,)
    assert len(curved.plot("curves", X=X, effect=effect)) == len(curved.causal_graph_.in_edges(effect))


def test_a_number_that_names_no_column_is_no_position_but_its_text_is_the_name():
    X = table([2019, 2020, 2021])
    with pytest.raises(ValueError, match="roots names '0', which is no column; the columns are '2019'"):
        model(knowledge=Knowledge(roots=[0])).fit(X)
    with pytest.raises(ValueError, match="start holds 0, which is no column"):
        model(start=[0, 1, 2]).fit(X)
    with pytest.raises(ValueError, match="interventions names '0' in row 1, which is no column"):
        model().fit(X, interventions=[0] * 80)
    m = model(knowledge={"roots": ["2020"]}, start=["2021", "2019", "2020"]).fit(X)
    assert m.adjacency_matrix_[2020].sum() == 0
    numbered = model().fit(pd.DataFrame(X.to_numpy()))
    assert numbered.adjacency_matrix_.columns.tolist() == [0, 1, 2]
    assert as_dag(numbered.adjacency_matrix_).names is None


def test_rows_to_score_must_have_the_columns_of_the_fit_in_their_sequence():
    X = table([2019, 2020, 2021])
    m = model().fit(X)
    with pytest.raises(ValueError, match="X has a column 2021 where the fitted table has 2019"):
        m.score(X[[2021, 2020, 2019]])
    assert m.score(X.to_numpy()) == m.score(X)


def test_names_that_cannot_be_told_apart_are_refused():
    for names, error, text in (
        (["a", 1, "b"], TypeError, r"some column names are text, as 'a', and some are not, as 1\. Make all"),
        ([1, 2, 1], ValueError, "column names must be unique, but '1' occurs more than once"),
        (["a", "b", "a"], ValueError, "but 'a' occurs more than once. Rename them"),
        ([1, 2, np.nan], ValueError, "column 3 of 3 has no name"),
        (["a", None, "b"], ValueError, "column 2 of 3 has no name"),
    ):
        X = table(["x", "y", "z"]).set_axis(pd.Index(names, dtype=object), axis=1)
        for learn in (model().fit, lambda X: model().fit_chunks([X])):
            with pytest.raises(error, match=text):
                learn(X)
