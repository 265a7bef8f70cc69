from dataclasses import replace

import numpy as np
import pytest

from daguerreotype.edges import BicEdges, GamEdges, LarsEdges, LassoEdges
from daguerreotype.edges.base import LocalModels
from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.operators import sparsemap, top_k_sparsemax
from daguerreotype.training.objective import PenalizedLikelihood, make_objective
from daguerreotype.training.run import Run
from daguerreotype.training.scores import OrderScores
from support.fits import (
    direct_fits,
    direct_loss,
    linear_data,
    standard_table,
)

ESTIMATORS = {"lars": LarsEdges(), "lasso": LassoEdges(), "bic": BicEdges(), "gam": GamEdges()}
LOSSES = {
    "nll_ev": make_objective("nll_ev", 1.0),
    "bic": make_objective("bic", 1.5),
    "mse": make_objective("mse", 1.0),
    "free-shape": PenalizedLikelihood(1.0),
    "beyond chance": PenalizedLikelihood(1.0),
    "own": make_objective(lambda variance, dof, n: variance**2 + dof / n, 1.0),
}
N, D = 60, 5
NOISES = {"free-shape": (FreeShape(),) * D, "beyond chance": (FreeShape(CHANCE),) * D}  # others are Gaussian


def table(seed=0):
    return standard_table(linear_data(seed, N, D, "laplace"))


def scores_of(estimator, loss="bic", seed=0, **settings):
    models = ESTIMATORS[estimator].prepare(table(seed))
    return OrderScores(models, LOSSES[loss], n_rows=N, d=D, noise=NOISES.get(loss, ()), **settings)


def distributions(rng):
    """Spread and narrow, tied and untied, with and without a tree of swaps."""
    for theta in (np.zeros(D), 0.1 * rng.normal(size=D), 3 * rng.normal(size=D)):
        yield top_k_sparsemax(theta, 40)
        yield sparsemap(theta, 40)


class Counting(LocalModels):
    """Local models that count how often each node was fitted on each set."""

    def __init__(self, models):
        self.models, self.seen = models, []

    def fit(self, node, predecessors):
        self.seen.append((node, *predecessors))
        return self.models.fit(node, predecessors)


# ---------------------------------------------------------------------------- equal to fitting anew


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_losses_of_a_distribution_are_those_of_its_rankings_fitted_one_by_one(estimator, loss, rng):
    scores, fresh = scores_of(estimator, loss), ESTIMATORS[estimator].prepare(table())
    for distribution in distributions(rng):
        direct = [
            direct_loss(fresh, LOSSES[loss], order, N, *NOISES.get(loss, ())[:1]) for order in distribution.orders
        ]
        np.testing.assert_allclose(scores.losses(distribution), direct, rtol=1e-10, atol=1e-12)
        one_by_one = [scores.loss_of(order) for order in distribution.orders]
        np.testing.assert_allclose(one_by_one, direct, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", ["nll_ev", "bic", "free-shape"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_losses_of_moves_are_those_of_each_moved_order(estimator, loss, rng):
    scores, fresh = scores_of(estimator, loss), scores_of(estimator, loss)
    for _ in range(2):
        order = rng.permutation(D)
        for at, node in enumerate(order):
            others = np.delete(order, at)
            moved = [fresh.loss_of(np.insert(others, place, node)) for place in range(D)]
            np.testing.assert_allclose(scores.move_losses(int(node), others), moved, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fits_of_an_order_are_those_of_each_node_on_all_before_it(estimator, rng):
    order = rng.permutation(D)
    direct = direct_fits(ESTIMATORS[estimator].prepare(table()), order)
    for fit, other in zip(scores_of(estimator).fits_of(order), direct, strict=True):
        np.testing.assert_array_equal(fit.parents, other.parents)
        np.testing.assert_allclose(fit.weights, other.weights)


# ---------------------------------------------------------------------------- the cache


def all_calls(scores, rng):
    """Use everything there is, and tell the results and the bytes held after each call."""
    results, held = [], []
    for distribution in distributions(rng):
        results.append(scores.losses(distribution))
        held.append(scores.n_bytes)
        order = distribution.mode
        results += [scores.loss_of(order), scores.move_losses(int(order[0]), order[1:])]
        held.append(scores.n_bytes)
        results.append(np.array([fit.nll for fit in scores.fits_of(order)]))
        held.append(scores.n_bytes)
    return results, held


def test_no_node_is_fitted_twice_on_one_set_and_every_look_up_is_a_hit_or_a_miss(rng):
    models = Counting(LarsEdges().prepare(table()))
    scores = OrderScores(models, LOSSES["nll_ev"], n_rows=N, d=D)
    all_calls(scores, rng)
    assert len(models.seen) == len(set(models.seen)) == scores.misses
    assert scores.misses <= D * 2 ** (D - 1)
    assert scores.hits > scores.misses


def test_a_ranking_costs_d_look_ups_at_the_root_of_the_tree_and_two_at_every_other(rng):
    scores = scores_of("lars")
    distribution = top_k_sparsemax(0.1 * rng.normal(size=D), 40)
    scores.losses(distribution)
    assert scores.hits + scores.misses == D + 2 * (len(distribution) - 1)
    hits, misses = scores.hits, scores.misses
    scores.losses(distribution)
    assert (scores.hits - hits, scores.misses) == (D + 2 * (len(distribution) - 1), misses)


@pytest.mark.parametrize("loss", ["bic", "free-shape"])
@pytest.mark.parametrize("estimator", ["lars", "gam"])
def test_the_cache_never_holds_more_than_its_bound_and_results_are_the_same(estimator, loss):
    free, _ = all_calls(scores_of(estimator, loss), np.random.default_rng(0))
    for bound in (0, 1_000, 20_000):
        scores = scores_of(estimator, loss, run=Run(cache_bytes=bound))
        bounded, held = all_calls(scores, np.random.default_rng(0))
        assert max(held) <= bound
        for result, expected in zip(bounded, free, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)


def test_many_columns_are_told_apart_by_their_hashes(rng):
    wide = standard_table(rng.normal(size=(30, 40)))
    scores = OrderScores(BicEdges().prepare(wide), LOSSES["bic"], n_rows=30, d=40)
    distribution = top_k_sparsemax(0.01 * rng.normal(size=40), 50)
    fresh = BicEdges().prepare(wide)
    direct = [direct_loss(fresh, LOSSES["bic"], order, 30) for order in distribution.orders[::10]]
    np.testing.assert_allclose(scores.losses(distribution)[::10], direct, rtol=1e-10)


def test_noise_of_any_shape_is_refused_where_the_estimator_has_no_residuals():
    models = Counting(LarsEdges().prepare(table()))
    message = r"this noise model looks at residuals.*give it a method residuals\(node, fit\)"
    with pytest.raises(ValueError, match=message):
        OrderScores(models, LOSSES["free-shape"], n_rows=N, d=D, noise=(FreeShape(),) * D)


def test_a_line_and_a_curve_of_one_slope_keep_losses_of_their_own():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=200)
    data = standard_table(np.column_stack([cause, cause + cause**2 + 0.5 * rng.normal(size=200)]))
    models = GamEdges().prepare(data)
    curve = models.fit(1, np.array([0]))
    used, norms = np.array([1]), abs(curve.weights)
    line = replace(curve, used=used, coefficients=curve.coefficients[:2], norms=norms)
    settings = {"n_rows": 200, "d": 2, "noise": NOISES["free-shape"][:2]}
    both, alone = (OrderScores(models, LOSSES["free-shape"], **settings) for _ in range(2))
    terms = both.terms_of([1, 1], [line, curve])
    assert terms[0].sum() > terms[1].sum() + 0.1
    np.testing.assert_array_equal(terms[1], alone.terms_of([1], [curve])[0])
