"""Weak edges: left out of the graph, and listed."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel

SETTINGS = {"scales": "none", "trust": None}


def weak_table(rng, n=20_000, partial=0.1):
    """``weak`` explains ``partial`` squared of what ``strong`` leaves of ``effect``."""
    strong, weak = rng.normal(size=(2, n))
    effect = strong + partial / np.sqrt(1 - partial**2) * weak + rng.normal(size=n)
    return pd.DataFrame({"strong": strong, "weak": weak, "effect": effect})


def weak_pairs(model):
    return list(zip(model.weak_edges_["cause"], model.weak_edges_["effect"], strict=True))


@pytest.mark.parametrize("edges", ["gam", "bic"])
def test_an_edge_that_explains_too_little_is_left_out_and_listed_with_what_it_explains(edges, rng):
    X = weak_table(rng)
    for min_gain, expected in ((0.0, [1, 1, 0]), (0.005, [1, 1, 0]), (0.02, [1, 0, 0])):
        model = Daguerreotype(edges=edges, min_gain=min_gain, operator=FixedOrder([0, 1, 2]), **SETTINGS).fit(X)
        assert model.adjacency_matrix_["effect"].tolist() == expected
        assert len(model.edges_) == sum(expected)
        assert weak_pairs(model) == ([("weak", "effect")] if sum(expected) == 1 else [])
    least_squares = [
        np.linalg.lstsq(X[causes], X["effect"], rcond=None)[1][0] for causes in (["strong"], ["strong", "weak"])
    ]
    assert model.weak_edges_["explains"][0] == pytest.approx(1.0 - least_squares[1] / least_squares[0], rel=0.05)
    assert model.weak_edges_["probability"][0] == model.edge_probabilities_.loc["weak", "effect"] > 0.99


def test_mechanisms_are_those_of_the_graph_that_is_shown(rng):
    X = weak_table(rng)
    order = FixedOrder([0, 1, 2])
    shown = Daguerreotype(operator=order, **SETTINGS).fit(X)
    forbidden = Knowledge(forbidden=[("weak", "effect")])
    without = Daguerreotype(operator=order, knowledge=forbidden, **SETTINGS).fit(X)
    assert weak_pairs(shown) == [("weak", "effect")]
    assert shown.score(X) == pytest.approx(without.score(X))
    pd.testing.assert_frame_equal(shown.weights_, without.weights_)
    with pytest.raises(ValueError, match="'weak' is not a parent of 'effect'"):
        shown.curve("weak", "effect", [0.0])


def test_all_ways_to_fit_leave_them_out(rng):
    X = weak_table(rng, 5000)
    for min_gain, n_edges in ((0.0, 2), (0.02, 1)):
        model = Daguerreotype(edges="bic", min_gain=min_gain, training=Bilevel(loss="bic"), **SETTINGS)
        assert len(model.fit(X).edges_) == n_edges
        assert len(model.fit_chunks([X[:3000], X[3000:]]).edges_) == n_edges
        assert len(model.fit_moments(X.cov(), 5000).edges_) == n_edges
        intervened = [None] * 4500 + ["strong"] * 500
        assert len(model.fit(X, interventions=intervened).edges_) == n_edges


def test_the_share_is_that_of_the_likelihood_for_levels(rng):
    n = 4000
    cause = rng.normal(size=n)
    level = rng.random(n) < 1 / (1 + np.exp(-0.15 * cause))  # gains .0028 nats per row
    X = np.column_stack([cause, level])
    models = [
        Daguerreotype(min_gain=min_gain, trust=None, operator=FixedOrder([0, 1])).fit(X)
        for min_gain in (0.0, 0.002, 0.02)
    ]
    assert [len(model.edges_) for model in models] == [1, 1, 0]
    assert 0.002 < models[2].weak_edges_["explains"][0] < 0.02


def test_of_two_causes_that_stand_for_each_other_one_stays(rng):
    n = 20_000
    first = rng.normal(size=n)
    second = first + 0.1 * rng.normal(size=n)
    X = np.column_stack([first, second, first + second + rng.normal(size=n)])
    model = Daguerreotype(operator=FixedOrder([0, 1, 2]), **SETTINGS).fit(X)
    both = Daguerreotype(operator=FixedOrder([0, 1, 2]), min_gain=0.0, **SETTINGS).fit(X)
    assert both.adjacency_matrix_[:, 2].tolist() == [1, 1, 0]
    assert model.adjacency_matrix_[:, 2].sum() == 1
    assert len(model.weak_edges_) == 1


def test_required_edges_stay_however_weak(rng):
    X = weak_table(rng)
    model = Daguerreotype(knowledge=Knowledge(required=[("weak", "effect")]), **SETTINGS).fit(X)
    assert model.adjacency_matrix_.loc["weak", "effect"] == 1
    assert model.weak_edges_.empty


def test_files_hold_what_was_left_out(rng, tmp_path):
    model = Daguerreotype(operator=FixedOrder([0, 1, 2]), **SETTINGS).fit(weak_table(rng, 5000))
    assert len(model.weak_edges_) == 1
    model.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.weak_edges_, model.weak_edges_)
    pd.testing.assert_frame_equal(loaded.edges_, model.edges_)


def test_what_is_no_share_is_refused():
    for min_gain in (-0.1, 1.0, np.nan, "much"):
        with pytest.raises(ValueError, match="min_gain must be"):
            Daguerreotype(min_gain=min_gain).fit(np.eye(3))
