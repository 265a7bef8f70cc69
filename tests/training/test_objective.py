import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from daguerreotype.training.objective import EntropyLoss, make_loss, residual_entropy

GAUSSIAN = 0.5 * np.log(2 * np.pi * np.e)
PLAIN = ("nll_ev", "nll_nv", "mse", "bic")


def loss_of(name, variances, dof=None, n_rows=100, penalty=1.0):
    loss = make_loss(name, penalty)
    variances = np.asarray(variances, dtype=float)
    dof = np.zeros_like(variances) if dof is None else np.asarray(dof, dtype=float)
    return float(loss.total(loss.terms(variances, dof, n_rows).sum(axis=0), variances.size))


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


def test_nll_ev_equals_nll_nv_for_equal_variances_and_exceeds_it_otherwise(rng):
    assert loss_of("nll_ev", [0.7, 0.7, 0.7]) == pytest.approx(loss_of("nll_nv", [0.7, 0.7, 0.7]))
    assert loss_of("nll_ev", [0.1, 0.7, 1.3]) > loss_of("nll_nv", [0.1, 0.7, 1.3])


def test_mse_is_half_the_sum_of_squared_errors_per_row():
    assert loss_of("mse", [0.5, 1.5, 3.0]) == 2.5


def test_bic_is_half_the_bayesian_information_criterion_per_row():
    variances, dof, n = np.array([0.5, 0.8]), np.array([1.0, 3.0]), 50
    bic = n * np.log(variances).sum() + np.log(n) * dof.sum()
    assert loss_of("bic", variances, dof, n) == pytest.approx(bic / (2 * n))


def test_the_penalty_multiplies_the_price_of_bic_and_nothing_else():
    price = loss_of("bic", [0.5, 0.8], [1, 3], 50) - loss_of("nll_nv", [0.5, 0.8], [1, 3], 50)
    doubled = loss_of("bic", [0.5, 0.8], [1, 3], 50, penalty=2.0) - loss_of("nll_nv", [0.5, 0.8], [1, 3], 50)
    assert doubled == pytest.approx(2 * price)


@pytest.mark.parametrize("name", [*PLAIN, lambda v, dof, n: v + dof / n])
def test_many_orderings_at_once_lose_what_each_loses_alone(name, rng):
    loss = make_loss(name, 1.5)
    variances, dof = rng.uniform(0.1, 2.0, size=(7, 4)), rng.integers(0, 5, size=(7, 4)).astype(float)
    together = loss.total(loss.terms(variances, dof, 80).sum(axis=1), 4)
    alone = [loss.total(loss.terms(v, p, 80).sum(axis=0), 4) for v, p in zip(variances, dof, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-14)


def test_an_own_function_of_variance_dof_and_rows_is_summed_over_nodes():
    assert loss_of(lambda v, dof, n: 10 * v + dof / n, [1.0, 2.0], [5, 0], n_rows=10) == pytest.approx(30.5)


def test_an_own_object_with_terms_and_total_is_taken_as_it_is():
    loss = EntropyLoss("maxent", penalty=3.0)
    assert make_loss(loss, 1.0) is loss


# ---------------------------------------------------------------------------- entropy

NOISES = {
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "uniform": stats.uniform(-1, 2),
    "exponential": stats.expon(),
    "logistic": stats.logistic(),
}


@pytest.mark.parametrize("noise", NOISES)
def test_spacings_estimate_the_entropy_of_noise_of_any_shape(noise, rng):
    sample = NOISES[noise].rvs(20_000, random_state=rng)
    assert residual_entropy(sample, "spacings") == pytest.approx(NOISES[noise].entropy() - GAUSSIAN, abs=0.04)


@pytest.mark.parametrize("noise", ["normal", "laplace", "logistic"])
def test_maxent_estimates_the_entropy_of_noise_near_the_gaussian(noise, rng):
    sample = NOISES[noise].rvs(20_000, random_state=rng)
    assert residual_entropy(sample, "maxent") == pytest.approx(NOISES[noise].entropy() - GAUSSIAN, abs=0.06)


@pytest.mark.parametrize("noise", ["laplace", "uniform", "exponential"])
@pytest.mark.parametrize("method", ["maxent", "spacings"])
def test_no_noise_has_the_entropy_of_the_gaussian_of_its_variance(noise, method, rng):
    sample = NOISES[noise].rvs(5_000, random_state=rng)
    assert residual_entropy(sample, method) < np.log(sample.std()) - 0.02


@pytest.mark.parametrize("method", ["maxent", "spacings"])
@given(scale=st.floats(0.01, 100.0), shift=st.floats(-10.0, 10.0), seed=st.integers(0, 20))
def test_entropy_grows_by_the_log_of_the_scale_and_ignores_shifts(method, scale, shift, seed):
    sample = np.random.default_rng(seed).laplace(size=50)
    expected = residual_entropy(sample, method) + np.log(scale)
    assert residual_entropy(scale * sample + shift, method) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", ["maxent", "spacings"])
def test_entropy_loss_is_the_entropy_plus_the_price_of_bic(method, rng):
    residuals = rng.laplace(size=60)
    terms = EntropyLoss(method, penalty=2.0).terms(np.array(residuals.var()), np.array(3.0), 60, residuals)
    expected = residual_entropy(residuals, method) + 2.0 * np.log(60) / 120 * 3
    assert EntropyLoss(method).total(terms, 1) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["maxent", "spacings"])
def test_repeated_residuals_still_have_a_finite_entropy(method):
    assert np.isfinite(residual_entropy(np.repeat([0.0, 1.0], 30), method))


# ---------------------------------------------------------------------------- errors


def test_an_unknown_loss_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"loss must be one of .*'nll_ev', 'nll_nv', 'mse', 'bic'.*got 'l1'"):
        make_loss("l1", 1.0)


def test_what_is_neither_a_name_nor_callable_is_refused_with_the_signature_that_is_needed():
    with pytest.raises(ValueError, match=r"a function \(variance, dof, n_rows\) -> loss of one node.*got 3"):
        make_loss(3, 1.0)
