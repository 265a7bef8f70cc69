import numpy as np
import pytest
from scipy import optimize

from daguerreotype.noise import FreeShape
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.training.objective import LOSSES, PenalizedLikelihood, Smooth, make_objective

PLAIN = ("nll_ev", "nll_nv", "mse", "bic")
SMOOTH = ("nll_ev", "nll_nv", "mse")


def loss_of(name, variances, dof=None, n_rows=100, penalty=1.0):
    objective = make_objective(name, penalty)
    excess = 0.5 * np.log(np.asarray(variances, dtype=float))
    dof = np.zeros_like(excess) if dof is None else np.asarray(dof, dtype=float)
    return float(objective.total(objective.terms(excess, dof, n_rows).sum(axis=0), excess.size))


def weighted_total(objective, excess, shares):
    """Losses of orderings by the likelihoods of their nodes (m, d), of which each counts by its share."""
    terms = shares[:, None] * objective.terms(excess, np.zeros_like(excess), 100)
    return objective.total(terms.sum(axis=1), shares.sum())


def gaussian_cost(noise, variances):
    """Negative log-likelihood per row of residuals with these variances, but for constants."""
    return np.sum(0.5 * np.log(noise) + variances / (2 * noise)) - 0.5 * variances.size


def test_nll_ev_is_the_likelihood_at_the_best_common_noise_variance(rng):
    variances = rng.uniform(0.1, 3.0, size=6)
    best = optimize.minimize_scalar(lambda noise: gaussian_cost(noise, variances), bounds=(1e-3, 10.0))
    assert loss_of("nll_ev", variances) == pytest.approx(best.fun, abs=1e-8)


def test_nll_nv_is_the_likelihood_at_the_best_noise_variance_of_every_node(rng):
    variances = rng.uniform(0.1, 3.0, size=6)
    best = sum(
        optimize.minimize_scalar(lambda noise, v=v: gaussian_cost(noise, np.array([v])), bounds=(1e-3, 10.0)).fun
        for v in variances
    )
    assert loss_of("nll_nv", variances) == pytest.approx(best, abs=1e-8)


def test_mse_is_half_the_sum_of_squared_errors_per_row():
    assert loss_of("mse", [0.5, 1.5, 3.0]) == pytest.approx(2.5)


def test_bic_is_half_the_bayesian_information_criterion_per_row():
    variances, dof, n = np.array([0.5, 0.8]), np.array([1.0, 3.0]), 50
    bic = n * np.log(variances).sum() + np.log(n) * dof.sum()
    assert loss_of("bic", variances, dof, n) == pytest.approx(bic / (2 * n))


@pytest.mark.parametrize("name", [*PLAIN, lambda v, dof, n: v + dof / n])
def test_many_orderings_at_once_lose_what_each_loses_alone(name, rng):
    objective = make_objective(name, 1.5)
    excess, dof = rng.normal(size=(7, 4)), rng.integers(0, 5, size=(7, 4)).astype(float)
    together = objective.total(objective.terms(excess, dof, 80).sum(axis=1), 4)
    alone = [objective.total(objective.terms(v, p, 80).sum(axis=0), 4) for v, p in zip(excess, dof, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-14)


def test_an_own_function_of_variance_dof_and_rows_is_summed_over_nodes():
    assert loss_of(lambda v, dof, n: 10 * v + dof / n, [1.0, 2.0], [5, 0], n_rows=10) == pytest.approx(30.5)


def test_entropy_is_the_likelihood_of_noise_of_any_shape_plus_the_price_of_bic(rng):
    excess = FreeShape().nll(rng.laplace(size=60)) - STANDARD_ENTROPY
    objective = make_objective("entropy", 2.0)
    loss = objective.total(objective.terms(np.array(excess), np.array(3.0), 60), 1)
    assert LOSSES["entropy"].noise == "free-shape"
    assert loss == pytest.approx(excess + 2.0 * np.log(60) / 120 * 3)


# ---------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("shares", [np.ones(4), np.array([0.4, 1.0, 0.7, 0.1])], ids=["all rows", "some rows"])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_objectives_lose_the_total_of_their_weighted_terms_with_its_derivatives(name, shares, rng):
    objective, excess = make_objective(name, 0.0), rng.normal(size=(5, 4))
    losses, slopes = objective.slopes(excess, shares)
    np.testing.assert_allclose(losses, weighted_total(objective, excess, shares), rtol=1e-12)
    for node, step in enumerate(1e-6 * np.eye(4)):
        upper, lower = (weighted_total(objective, at, shares) for at in (excess + step, excess - step))
        np.testing.assert_allclose(slopes[:, node], (upper - lower) / 2e-6, rtol=1e-7, atol=1e-9)


def test_the_penalty_has_no_slope_in_the_likelihoods(rng):
    excess, shares = rng.normal(size=(3, 4)), np.ones(4)
    plain, priced = PenalizedLikelihood().slopes(excess, shares), PenalizedLikelihood(2.0).slopes(excess, shares)
    for ours, theirs in zip(plain, priced, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_own_function_is_not_smooth():
    assert all(isinstance(make_objective(name, 1.0), Smooth) for name in LOSSES)
    assert not isinstance(make_objective(lambda v, dof, n: v, 1.0), Smooth)


# ---------------------------------------------------------------------------- errors


def test_what_is_neither_a_known_name_nor_callable_is_refused_with_what_is_needed():
    with pytest.raises(ValueError, match=r"loss must be one of .*'nll_ev', 'nll_nv', 'mse', 'bic'.*got 'l1'"):
        make_objective("l1", 1.0)
    with pytest.raises(ValueError, match=r"a function \(variance, dof, n_rows\) -> loss of one node.*got 3"):
        make_objective(3, 1.0)
