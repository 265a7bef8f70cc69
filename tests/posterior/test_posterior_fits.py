"""Posteriors of learners: equal to enumeration, within knowledge, reproducible, resumable, interruptible."""

import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.posterior.parent_sets import Evidence
from daguerreotype.posterior.record import Posterior
from daguerreotype.training import Bilevel
from support.fits import additive_data, linear_data
from support.learners import make_learner
from support.posteriors import enumerate_posterior, gaussian_losses

LINEAR = {"edges": "bic", "scales": "none", "noise": "gaussian"}


def mixed_data(seed, n=200):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(50, 10, n).round()})
    X["ill"] = rng.random(n) < 1 / (1 + np.exp(-(X["age"] - 50) / 10))
    X["city"] = rng.choice(["Bonn", "Oslo", "Rome"], n)
    X["visits"] = rng.poisson(np.exp(0.3 + 0.5 * X["ill"]))
    return X


def with_gaps(X, share=0.1, seed=0):
    X = pd.DataFrame(X, columns=list("abcdefgh")[: X.shape[1]])
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


# ---------------------------------------------------------------------------- the same as counting


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "settings", [{}, {"penalty": 1.0, "trust": None}, {"trust": 40.0}], ids=["default", "bic", "little trust"]
)
def test_linear_posteriors_equal_those_of_all_dags_by_least_squares(seed, settings):
    X = linear_data(seed, 60 + 60 * (seed % 3), 3 + seed % 3)
    model = make_learner(**LINEAR, **settings).fit(X)
    penalty, gamma = (1.0, 0.0) if "penalty" in settings else (1.0, 1.0)
    losses = gaussian_losses(X, penalty, gamma, model.trust or np.inf)
    edges, ancestors = enumerate_posterior(losses)
    found = model.sample_posterior()
    np.testing.assert_allclose(found.probabilities, edges, atol=0.02)
    np.testing.assert_allclose(found.ancestors, ancestors, atol=0.04)
    np.testing.assert_allclose(model.edge_probabilities_, edges, atol=0.02)


@pytest.mark.parametrize(("seed", "trust"), [(0, None), (1, None), (2, 30.0)])
def test_a_loss_without_a_penalty_is_given_that_of_bic_per_degree_of_freedom(seed, trust):
    X = linear_data(seed, 60, 4)
    model = make_learner(loss="nll_nv", penalty=1.0, trust=trust, **LINEAR).fit(X)
    edges, _ = enumerate_posterior(gaussian_losses(X, 1.0, 0.0, trust or np.inf))
    np.testing.assert_allclose(model.sample_posterior().probabilities, edges, atol=0.003)


def judged_losses(model):
    """Losses of all parent sets in nats, as the models of a fit judge them one by one, in the user's numbering."""
    result = model._result
    training, d = result.training, model.n_features_in_
    table = training.table
    evidence = Evidence(training.scores, bool(table.discrete.any()))
    losses = [{} for _ in range(d)]
    for node in range(d):
        for bits in range(2**d):
            members = (bits >> np.arange(d)) & 1 > 0
            if not members[node]:
                mask = int(sum(1 << int(result.columns[i]) for i in np.flatnonzero(members)))
                losses[result.columns[node]][mask] = float(evidence.of_sets(node, members[None])[0])
    return losses


@pytest.mark.parametrize(
    ("X", "settings", "extra"),
    [
        (additive_data(1, 100, 4), {}, {}),
        (linear_data(2, 80, 4, "laplace"), {"noise": "free-shape"}, {}),
        (mixed_data(0), {}, {}),
        (with_gaps(linear_data(3, 150, 4)), {}, {}),
        (with_gaps(additive_data(4, 150, 4)), {}, {}),
        (linear_data(5, 90, 4), {"edges": "bic"}, {"interventions": [1] * 30 + [None] * 60}),
        (np.exp(linear_data(6, 200, 4) / 2), {}, {}),
    ],
    ids=["additive", "laplace", "mixed", "gaps", "bent gaps", "interventions", "scales"],
)
def test_posteriors_equal_those_of_all_dags_with_the_same_scores(X, settings, extra):
    model = make_learner(**settings).fit(X, **extra)
    edges, _ = enumerate_posterior(judged_losses(model))
    np.testing.assert_allclose(model.sample_posterior().probabilities, edges, atol=0.02)


def test_each_column_has_the_evidence_of_its_own_rows():
    X, trust = linear_data(5, 300, 4), 50.0
    kept = np.arange(300) >= 200  # the first 200 rows say nothing about column 1
    model = make_learner(**LINEAR, standardize=False, trust=trust)
    model.fit(X, interventions=[None if keep else 1 for keep in kept])
    losses = gaussian_losses(X, trust=trust)
    losses[1] = gaussian_losses(X[kept], trust=trust)[1]
    edges, _ = enumerate_posterior(losses)
    np.testing.assert_allclose(model.sample_posterior().probabilities, edges, atol=0.02)


@pytest.mark.parametrize("edges", ["lars", "lasso"])
def test_estimators_that_choose_have_the_graphs_that_they_can_make(edges):
    X = linear_data(7, 60, 4)
    model = Daguerreotype(edges=edges, scales="none", training=Bilevel(loss="bic")).fit(X)
    result = model._result
    scores = result.training.scores
    evidence = Evidence(scores)
    losses = [{} for _ in range(4)]
    for node in range(4):
        for bits in range(16):
            if not (bits >> node) & 1:
                fit = scores.models.fit(node, np.flatnonzero((bits >> np.arange(4)) & 1))
                mask = int(sum(1 << int(result.columns[i]) for i in fit.parents))
                known = losses[result.columns[node]]
                known[mask] = min(float(evidence.of_fits(node, [fit])[0]), known.get(mask, np.inf))
    np.testing.assert_allclose(model.sample_posterior().probabilities, enumerate_posterior(losses)[0], atol=0.02)


def test_larger_tables_come_close_to_lists_of_all_sets(monkeypatch):
    X = linear_data(11, 200, 8, density=0.3)
    model = make_learner(**LINEAR).fit(X)
    listed = model.sample_posterior()
    monkeypatch.setattr("daguerreotype.posterior.parent_sets.ALL_SETS", 2**8)
    full = model.sample_posterior()
    assert full.n_sets > listed.n_sets
    np.testing.assert_allclose(listed.probabilities, full.probabilities, atol=0.05)


# ---------------------------------------------------------------------------- what nobody can tell


def test_a_line_of_normal_columns_has_no_direction():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    b = a + rng.normal(size=400)
    X = pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=400)})
    model = make_learner(**LINEAR).fit(X)
    found = model.sample_posterior()
    # Three graphs of one class: no collider at b. Each is as likely, so b is a cause of a in two of three.
    assert found.pair("b", "a").forward == pytest.approx(2 / 3, abs=0.03)
    assert found.pair("b", "c").forward == pytest.approx(2 / 3, abs=0.03)
    assert found.pair("a", "b").direction_open
    assert found.pair("a", "c").none > 0.9
    assert found.pairs()["open"].tolist() == [True, True] + [True] * (len(found.pairs()) - 2)


def test_a_bent_effect_has_a_direction_after_any_number_of_sweeps():
    model = Daguerreotype(scales="none").fit(additive_data(0, 400, 2, density=1.0))
    for n_sweeps, n_chains in ((1, 1), (5, 1), (30, 1), (500, 4)):
        found = model.sample_posterior(n_sweeps=n_sweeps, n_chains=n_chains)
        assert found.pair(0, 1).forward > 0.99
        assert not found.pair(0, 1).direction_open
        assert 1 <= found.n_sweeps <= n_sweeps


def test_pairs_add_up_to_one_and_are_written_in_their_likelier_direction():
    found = Daguerreotype().fit(linear_data(1, 60, 6)).sample_posterior(n_sweeps=500)
    pairs = found.pairs(least=0.0)
    assert len(pairs) == 15
    np.testing.assert_allclose(pairs[["forward", "backward", "none"]].sum(axis=1), 1, atol=1e-9)
    assert (pairs["forward"] >= pairs["backward"]).all()
    assert pairs["none"].is_monotonic_increasing
    order = found.order_probabilities
    np.testing.assert_allclose(order + order.T + np.eye(6), 1)


# ---------------------------------------------------------------------------- knowledge


@pytest.mark.parametrize("settings", [LINEAR, {}, {"edges": "lars", "scales": "none", "loss": "bic"}])
def test_no_graph_is_outside_knowledge(settings):
    X = pd.DataFrame(linear_data(4, 80, 6), columns=list("abcdef"))
    known = Knowledge(required=[("f", "a")], forbidden=[("a", "b"), ("b", "c")], tiers=[["d", "f"], ["e"]])
    model = make_learner(knowledge=known, **settings).fit(X)
    for found in (model.posterior_, model.sample_posterior(n_sweeps=300), model.sample_posterior(bagged=2)):
        p = found.edge_probabilities
        assert p.loc["f", "a"] == 1.0
        assert p.loc["a", "f"] == 0.0
        assert p.loc["a", "b"] == p.loc["b", "c"] == 0.0
        assert p.loc["e", "d"] == p.loc["e", "f"] == 0.0
        assert found.graphs[:, 5, 0].all()
        assert not found.graphs[:, 4, 3].any()


def test_along_a_given_order_only_edges_are_open():
    X = linear_data(0, 60, 5)
    model = make_learner(operator="fixed", start=[4, 2, 0, 1, 3], **LINEAR).fit(X)
    ranks = np.argsort([4, 2, 0, 1, 3])
    backwards = ranks[:, None] > ranks
    assert model.posterior_.probabilities[backwards].max() == 0.0
    assert model.posterior_.probabilities.max() > 0.9
    edges, _ = enumerate_posterior(
        gaussian_losses(X, trust=model.trust), lambda graph: not (graph & backwards).any()
    )
    np.testing.assert_allclose(model.sample_posterior().probabilities, edges, atol=0.02)


# ---------------------------------------------------------------------------- runs


def test_the_same_seed_gives_the_same_posterior_whatever_the_jobs():
    model = Daguerreotype().fit(linear_data(3, 80, 6))
    first, second = (model.sample_posterior(n_sweeps=300, random_state=5, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(first.edges, second.edges)
    np.testing.assert_array_equal(first.weights, second.weights)
    other = model.sample_posterior(n_sweeps=300, random_state=6)
    assert not np.array_equal(first.edges, other.edges)


def test_it_says_when_chains_differ():
    found = make_learner(trust=None, **LINEAR).fit(linear_data(3, 80, 6)).sample_posterior(n_sweeps=2000)
    assert found.settled
    assert "settled" in str(found)
    apart = replace(found, covered=False, edges=np.stack([found.probabilities, 0 * found.probabilities]))
    assert not apart.settled
    assert "not settled: chains differ by" in str(apart)


class Interrupted:
    """Lets a run of chains go on for some blocks, then interrupts it as Ctrl-C does."""

    def __init__(self, monkeypatch, blocks):
        from daguerreotype.posterior import sample

        self.left, run_chain = 2 * blocks, sample.run_chain  # two chains

        def run(*arguments):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            return run_chain(*arguments)

        monkeypatch.setattr(sample, "run_chain", run)


def test_an_interrupted_run_tells_what_it_saw_and_goes_on_later(tmp_path, monkeypatch, caplog):
    model = make_learner(**LINEAR).fit(linear_data(3, 80, 6))
    whole = model.sample_posterior(n_sweeps=400, n_chains=2)
    file = tmp_path / "posterior.npz"
    monkeypatch.setattr("daguerreotype.training.checkpoint.Checkpoint.due", lambda self: True)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "daguerreotype"):
        Interrupted(patch, 7)
        part = model.sample_posterior(n_sweeps=400, n_chains=2, resume=file)
    assert part.interrupted
    assert part.n_sweeps == 100  # five of twenty blocks; the first two do not count
    assert "interrupted" in str(part)
    assert "interrupted while sampling graphs" in caplog.text
    np.testing.assert_allclose(part.probabilities, whole.probabilities, atol=0.3)
    with monkeypatch.context() as patch:
        patch.setattr("daguerreotype.posterior.sample.list_sets", None)  # what is in the file is not made again
        rest = model.sample_posterior(n_sweeps=400, n_chains=2, resume=file)
    np.testing.assert_array_equal(rest.edges, whole.edges)
    assert not rest.interrupted
    again = model.sample_posterior(n_sweeps=400, n_chains=2, resume=file)
    np.testing.assert_array_equal(again.edges, whole.edges)


def test_a_file_of_another_run_is_refused(tmp_path):
    model = make_learner(**LINEAR).fit(linear_data(3, 80, 6))
    model.sample_posterior(n_sweeps=100, resume=tmp_path / "p.npz")
    with pytest.raises(ValueError, match="another"):
        model.sample_posterior(n_sweeps=100, random_state=1, resume=tmp_path / "p.npz")
    with pytest.raises(ValueError, match="another"):
        make_learner(**LINEAR).fit(linear_data(4, 80, 6)).sample_posterior(n_sweeps=100, resume=tmp_path / "p.npz")


def test_ctrl_c_during_the_short_posterior_keeps_the_graph(monkeypatch):
    X = linear_data(3, 80, 6)
    whole = make_learner(posterior=0, **LINEAR).fit(X)
    with monkeypatch.context() as patch:
        Interrupted(patch, 0)
        model = make_learner(**LINEAR).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, whole.adjacency_matrix_)
    assert model.posterior_ is None
    assert model.interrupted_


# ---------------------------------------------------------------------------- bagged


def test_bagged_posteriors_are_less_sure_and_the_same_for_any_jobs(tmp_path):
    X = pd.DataFrame(linear_data(8, 60, 5), columns=list("abcde"))
    model = make_learner(**LINEAR).fit(X)
    bagged = model.sample_posterior(bagged=8)
    assert bagged.n_bagged == 8
    assert "average over 8 resamples" in str(bagged)
    alone = model.sample_posterior(n_sweeps=500)

    def doubt(found):
        return float(np.sum(found.probabilities * (1 - found.probabilities)))

    assert doubt(bagged) > doubt(alone)
    assert bagged.weights.sum() <= 1 + 1e-9
    np.testing.assert_array_equal(model.sample_posterior(bagged=8, n_jobs=2).edges, bagged.edges)
    first = model.sample_posterior(bagged=3, resume=tmp_path / "bag.npz")
    assert first.n_bagged == 3
    more = model.sample_posterior(bagged=8, resume=tmp_path / "bag.npz")
    for name in ("edges", "errors", "ancestors", "graphs", "weights", "n_sets", "n_sweeps"):
        np.testing.assert_array_equal(getattr(more, name), getattr(bagged, name), err_msg=name)


@pytest.mark.parametrize("X", [mixed_data(1), with_gaps(linear_data(9, 100, 4))], ids=["mixed", "gaps"])
def test_tables_of_any_kind_can_be_bagged(X):
    found = Daguerreotype(edges="bic").fit(X).sample_posterior(bagged=2)
    assert found.names == tuple(X.columns)
    assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()


# ---------------------------------------------------------------------------- where there is none


def test_without_a_posterior_nothing_is_called_a_probability():
    X = linear_data(0, 60, 4)
    model = Daguerreotype(posterior=0).fit(X)
    assert model.posterior_ is None
    assert model.edge_probabilities_ is None
    assert all("probability" not in of for *_, of in model.causal_graph_.edges(data=True))
    assert isinstance(model.sample_posterior(n_sweeps=200), Posterior)


def test_losses_that_are_no_sum_over_columns_have_none():
    model = make_learner(loss="nll_ev", **LINEAR).fit(linear_data(0, 60, 4))
    assert model.posterior_ is None
    with pytest.raises(TypeError, match="a loss that is a sum over columns, such as 'bic'"):
        model.sample_posterior()


def test_a_loaded_learner_says_the_same_of_its_posterior_but_makes_no_other(tmp_path):
    model = Daguerreotype().fit(pd.DataFrame(linear_data(0, 60, 4), columns=list("abcd")))
    model.save(tmp_path / "m.npz")
    found = Daguerreotype.load(tmp_path / "m.npz")
    assert str(found.posterior_) == str(model.posterior_)
    for how in ({}, {"bagged": 2}):
        with pytest.raises(ValueError, match="loaded from a file"):
            found.sample_posterior(**how)
    with pytest.raises(ValueError, match="'x' is no column"):
        found.posterior_.pair("a", "x")
