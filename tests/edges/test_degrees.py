"""Limits on the number of parents in the built-in estimators, against all sets that they allow."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.edges import LarsEdges, LassoEdges
from daguerreotype.edges.additive.estimators import BicEdges, GamEdges
from daguerreotype.edges.base import EdgeRules, Table
from daguerreotype.training import Bilevel
from support.fits import standard_table


def random_table(rng, n=200, d=7, curved=False):
    """Columns that have most of those before them as causes."""
    weights = np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.7), 1)
    values = np.zeros((n, d))
    for j in range(d):
        causes = np.tanh(2 * values) if curved and j % 2 else values
        values[:, j] = causes @ weights[:, j] + rng.normal(size=n)
    return standard_table(values)


def rules_for(most, d=7, required=()):
    needed = np.zeros((d, d), dtype=bool)
    for i, j in required:
        needed[i, j] = True
    return EdgeRules(~np.eye(d, dtype=bool), needed, np.full(d, most))


def all_sets(others, most, d=7):
    """All sets (m, d) of no more than ``most`` of others."""
    sets = [members for size in range(most + 1) for members in combinations(others, size)]
    return np.array([np.isin(np.arange(d), members) for members in sets])


def priced(fit, n):
    return fit.excess + 0.5 * np.log(n) / n * fit.dof


# ------------------------------------------------------------------ grow-shrink trees


@pytest.mark.parametrize("edges", [BicEdges(), GamEdges()], ids=["bic", "gam"])
def test_searches_nearly_always_find_the_best_of_all_sets_within_the_limit(edges):
    missed = []
    for seed in range(40):
        table = random_table(np.random.default_rng(seed), curved=seed % 2 == 0)
        for most in (1, 2, 3):
            models = edges.prepare(table, rules_for(most))
            fit = models.fit(6, np.arange(6))
            scores = models.score_parents(6, all_sets(range(6), most))
            best = (scores @ [1.0, 0.5 * np.log(200) / 200]).min()
            assert fit.parents.size <= most
            assert priced(fit, 200) > best - 1e-9
            missed.append(priced(fit, 200) > best + 1e-9)
    assert np.mean(missed) < 0.1


@pytest.mark.parametrize("edges", [BicEdges(), GamEdges()], ids=["bic", "gam"])
def test_a_limit_that_does_not_bind_changes_nothing_but_products(edges, rng):
    alike = 0
    table = random_table(rng, curved=True)
    free, limited = edges.prepare(table), edges.prepare(table, rules_for(5))
    for _ in range(30):
        node = int(rng.integers(7))
        others = np.flatnonzero((np.arange(7) != node) & (rng.random(7) < 0.7))
        one, other = free.fit(node, others), limited.fit(node, others)
        if one.parents.size <= 5 and not one.products.size:
            alike += 1
            assert one.parents.tolist() == other.parents.tolist()
            assert (one.nll, one.dof) == (other.nll, other.dof)
    assert alike > 10


def test_a_proxy_that_is_met_first_gives_way_to_the_causes_that_it_stands_for(rng):
    causes = rng.normal(size=(400, 3))
    proxy = causes.sum(axis=1) + 0.3 * rng.normal(size=400)
    values = np.column_stack([proxy, causes, causes.sum(axis=1) + 0.1 * rng.normal(size=400)])
    table = Table(values - values.mean(axis=0), tuple("pabcy"))
    chosen = {}
    for most in (1, 2, 3):
        models = BicEdges().prepare(table, rules_for(most, 5))
        chosen[most] = models.fit(4, np.arange(4)).parents.tolist()
    assert chosen[1] == [0]
    assert 0 in chosen[2]
    assert chosen[3] == [1, 2, 3]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_moves_and_sweeps_count_limited_fits_and_required_parents_stay(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 80, 6, curved=True)
    most = int(rng.integers(1, 4))
    rules = rules_for(most, 6, [(0, 5)])
    models = GamEdges().prepare(table, rules)
    node, order = 3, np.arange(6)
    others = np.delete(order, node)
    moves = models.fit_moves(node, others)
    for q in range(6):
        fit = models.fit(node, np.sort(others[:q]))
        assert fit.parents.size <= most
        assert moves.own[q] == pytest.approx([fit.excess, fit.dof])
    before = rules.required.copy()
    swept, loss = models.sweep(order, 0.5 * np.log(80) / 80, before)
    ranks = np.argsort(swept)
    fits = [models.fit(j, np.flatnonzero(ranks < ranks[j])) for j in range(6)]
    assert loss == pytest.approx(sum(priced(fit, 80) for fit in fits))
    assert 0 in fits[5].parents
    assert max(fit.parents.size for fit in fits) <= most


@pytest.mark.parametrize("kind", ["binary", "count", "categorical"])
def test_discrete_effects_have_the_best_few_causes(kind, rng):
    causes = rng.normal(size=(500, 4))
    strength = causes @ [0.4, 1.5, 0.7, 1.0]
    effect = {
        "binary": lambda: strength + rng.logistic(size=500) > 0,
        "count": lambda: rng.poisson(np.exp(0.4 * strength)),
        "categorical": lambda: np.digitize(strength + rng.logistic(size=500), [-1.0, 1.0]),
    }[kind]().astype(int)
    X = np.column_stack([causes, effect])
    for most in (1, 2, 3):
        known = Knowledge(max_parents={4: most}, leaves=[4])
        model = Daguerreotype(
            knowledge=known, scales="none", kinds={4: kind}, posterior=0, training=Bilevel(n_restarts=1)
        ).fit(X)
        result = model._result
        node, training = int(result.place[4]), result.training
        fits = [
            training.models.fit_parents(node, np.flatnonzero(members))
            for members in all_sets(np.delete(np.arange(5), node), most, 5)
        ]
        best = min(fits, key=lambda fit: priced(fit, 500))
        assert training.fits[node].parents.tolist() == best.parents.tolist()


# ------------------------------------------------------------------ paths


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["lars", "lasso", "strong", "weak"]))
def test_paths_are_cut_at_the_limit_and_fitted_again_on_those_alone(seed, kind):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 60)
    edges = {"lars": LarsEdges(), "lasso": LassoEdges(), "strong": LassoEdges(0.2), "weak": LassoEdges(0.01)}[kind]
    free = edges.prepare(table).fit(6, np.arange(6))
    for most in range(1, 7):
        models = edges.prepare(table, rules_for(most))
        fit = models.fit(6, np.arange(6))
        assert fit.parents.size <= most
        if free.parents.size <= most:
            assert fit.parents.tolist() == free.parents.tolist()
            assert fit.weights.tolist() == free.weights.tolist()
        again = edges.prepare(table).fit(6, fit.parents)
        if free.parents.size > most == fit.parents.size == again.parents.size:
            assert again.weights.tolist() == fit.weights.tolist()


def test_the_path_as_far_as_the_limit_is_that_of_scikit_learn(rng):
    linear_model = pytest.importorskip("sklearn.linear_model")
    for _ in range(20):
        table = random_table(rng, 100)
        X, y = table.values[:, :6], table.values[:, 6]
        _, _, path = linear_model.lars_path(X, y, method="lasso")
        for most in (1, 2):
            inside = [column for column in path.T if 0 < np.sum(np.abs(column) > 1e-12) <= most]
            models = LassoEdges(0.001).prepare(table, rules_for(most))
            fit = models.fit(6, np.arange(6))
            assert set(fit.parents) <= set(np.flatnonzero(np.abs(inside[-1]) > 1e-12))


def test_required_parents_count_and_stay(rng):
    table = random_table(rng)
    rules = rules_for(2, required=[(0, 6), (5, 6)])
    for edges in (LarsEdges(), LassoEdges(0.01), BicEdges(), GamEdges()):
        assert edges.prepare(table, rules).fit(6, np.arange(6)).parents.tolist() == [0, 5]
