"""Scores of given parent sets, against least squares over all shapes, and which others nearly pay."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.edges.grow_shrink.problem import new_problem
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.edges.penalty import Penalty
from support.fits import additive_data, linear_data, standard_table
from support.greedy import grow_shrink


def as_sets(d, *parents):
    sets = np.zeros((len(parents), d), dtype=bool)
    for row, each in zip(sets, parents, strict=True):
        row[list(each)] = True
    return sets


def test_lines_are_scored_as_least_squares_does():
    X = linear_data(0, 80, 6)
    table = standard_table(X)
    models = BicEdges().prepare(table)
    for parents in ([], [1], [1, 4], [1, 2, 3, 4, 5]):
        excess, dof = models.score_parents(0, as_sets(6, parents))[0]
        rest = table.values[:, 0]
        if parents:
            rest = rest - table.values[:, parents] @ np.linalg.lstsq(table.values[:, parents], rest, rcond=None)[0]
        assert excess == pytest.approx(0.5 * np.log(np.mean(rest**2)), abs=1e-9)
        assert dof == len(parents)
        fit = models.fit_parents(0, np.array(parents, dtype=np.int64))
        assert fit.excess == pytest.approx(excess, abs=1e-12)
        assert fit.parents.tolist() == parents


@pytest.mark.parametrize(("seed", "n"), [(0, 200), (1, 200), (2, 60), (4, 400), (5, 100), (7, 60)])
def test_given_parents_have_what_a_search_among_them_grows_and_what_it_lacks_in_full_as_far_as_that_pays(seed, n):
    models = GamEdges().prepare(standard_table(additive_data(seed, n, 4, density=0.8)))
    problem, penalty = models.problem, 0.5 * np.log(n) / n
    moments, response = problem.moments, problem.responses[3]
    first, last = problem.product_starts[3:5]
    pairs = [tuple(map(int, pair)) for pair in problem.products[first:last]]
    stops = [*problem.stops.tolist(), *([1] for _ in pairs)]

    def loss(used):
        columns = models.columns_of(3, np.array(list(used)), np.array(list(used.values())))
        inside, with_target = moments[np.ix_(columns, columns)], moments[columns, response]
        variance = moments[response, response] - with_target @ np.linalg.solve(inside, with_target)
        return 0.5 * np.log(variance) + penalty * sum(used.values())

    def members(used):
        return {k for owner in used for k in ([owner] if owner < 4 else pairs[owner - 4])}

    def loss_of_all(parents, used):
        return loss(used) if members(used) == parents else np.inf

    complete = 0
    for parents in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        owners = [*parents, *(4 + k for k, pair in enumerate(pairs) if set(pair) <= set(parents))]
        room = max(n // 10, len(parents))
        used = grow_shrink(loss, owners, stops, room=room)
        if members(used) != set(parents):
            used = grow_shrink(loss, owners, stops, room=room, shrinks=False)
            lacking = set(parents) - members(used)
            enough = sum(used.values()) + sum(stops[i][-1] for i in lacking) <= problem.max_nonlinear_dof
            used |= {i: stops[i][-1 if enough else 0] for i in lacking}
            used = grow_shrink(partial(loss_of_all, set(parents)), [], stops, start=used)
        else:
            complete += 1
        excess, dof = models.score_parents(3, as_sets(4, parents))[0]
        assert excess + penalty * dof == pytest.approx(loss(used), abs=1e-9)
    assert complete > 0


def test_what_fits_choose_is_scored_as_they_are():
    for X, edges in ((additive_data(3, 300, 6), GamEdges()), (linear_data(3, 300, 6), BicEdges())):
        models = edges.prepare(standard_table(X))
        for node in range(6):
            others = np.delete(np.arange(6), node)
            fit = models.fit(node, others)
            assert models.choose(node, others).tolist() == fit.parents.tolist()
            score = models.score_parents(node, as_sets(6, fit.parents))[0]
            np.testing.assert_allclose(score, [fit.excess, fit.dof], atol=1e-12)
        order = np.array([3, 1, 5, 0, 2, 4])
        chosen = models.parents_in(order)
        for place, node in enumerate(order):
            expected = models.fit(int(node), np.sort(order[:place])).parents
            assert np.flatnonzero(chosen[:, node]).tolist() == expected.tolist()


@pytest.mark.parametrize("edges", [BicEdges(gamma=1.0), GamEdges(gamma=1.0)], ids=["bic", "gam"])
@pytest.mark.parametrize("nats", [0.0, 2.0, 5.0])
def test_near_parents_are_those_whose_set_costs_no_more(edges, nats):
    n, d = 150, 7
    models = edges.prepare(standard_table(linear_data(5, n, d, density=0.3)))
    price = 0.5 * np.log(n) / n
    for node in range(d):
        for base in ([], [(node + 1) % d]):
            sets = as_sets(d, base)
            near = models.near_parents(node, sets, nats)[0]
            here = models.score_parents(node, sets)[0] @ [1, price]
            for other in range(d):
                if other == node or sets[0, other]:
                    assert not near[other]
                    continue
                cost = n * (models.score_parents(node, as_sets(d, [*base, other]))[0] @ [1, price] - here)
                if abs(cost - nats) > 0.3:  # shapes of the others may change with it
                    assert near[other] == (cost < nats)


def test_near_parents_are_the_same_however_often_rows_are_there(rng):
    n, d = 150, 7
    moments = np.cov(linear_data(5, n, d, density=0.3).T, bias=True)
    settings = moments, np.ones(d, dtype=np.int64), n, Penalty(gamma=1.0)
    once = GrowShrinkTrees(new_problem(*settings))
    often = GrowShrinkTrees(new_problem(*settings, copies=3), copies=3)
    sets = rng.random((20, d)) < 0.2
    sets[:, 0] = False
    assert (once.near_parents(0, sets, 5.0) != once.near_parents(0, sets, 5.0 / 3)).any()
    np.testing.assert_array_equal(often.near_parents(0, sets, 5.0), once.near_parents(0, sets, 5.0))


def test_levels_and_counts_are_scored_as_their_fits():
    rng, n = np.random.default_rng(0), 300
    X = pd.DataFrame({"x": rng.normal(size=n), "city": rng.choice(["Bonn", "Oslo", "Rome"], n)})
    X["ill"] = rng.random(n) < 1 / (1 + np.exp(-2 * X["x"]))
    X["visits"] = rng.poisson(np.exp(0.5 * X["x"]))
    model = Daguerreotype(posterior=0).fit(X)
    training = model._result.training
    assert sum(fit.parents.size for fit in training.fits) >= 2
    for node, fit in enumerate(training.fits):
        sets = as_sets(4, fit.parents)
        found = training.models.fit_parents(node, fit.parents)
        assert found.nll == pytest.approx(fit.nll, abs=1e-6)
        excess, dof = training.models.score_parents(node, sets)[0]
        priced = 0.5 * np.log(n) / n * np.array([found.dof, dof])
        assert found.excess + priced[0] == pytest.approx(excess + priced[1], abs=1e-6)


def test_two_rounded_columns_fit_alike_in_both_directions():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 0.9 * x + 0.4 * rng.normal(size=400)
    X = np.column_stack([x.round(2), (2 * y).round() / 2])  # the second is far coarser
    for columns in (X, X[:, ::-1]):
        model = Daguerreotype(edges="bic", scales="none", noise="gaussian").fit(columns)
        assert model._result.kinds_by_label[0].step > 0
        p = model.sample_posterior(n_sweeps=1000).pair(0, 1)
        assert p.forward == pytest.approx(0.5, abs=0.05)
        assert p.direction_open
