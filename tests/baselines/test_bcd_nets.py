"""BCD-Nets: every sample is a DAG, the ELBO is the one of the paper, and easy linear problems are recovered."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from daguerreotype.graphs import find_cycle
from daguerreotype.metrics import shd
from daguerreotype.simulate import simulate_dag, simulate_data

torch = pytest.importorskip("torch")

from daguerreotype.baselines.bcd_nets import (  # noqa: E402
    BCDNets,
    Posterior,
    elbo,
    horseshoe_scale,
    log_horseshoe,
    log_likelihood,
    weight_matrices,
)
from daguerreotype.baselines.permutations import log_matching_probability  # noqa: E402


def easy_problem(seed=0, d=8, n=1000):
    dag = simulate_dag(d, d, "ER", random_state=seed)
    return dag, simulate_data(dag, n, random_state=seed).X


def start_posterior(d=5, *, equal_variance=False, seed=0):
    settings = BCDNets(equal_variance=equal_variance, hidden=16)
    return Posterior(d, settings, torch.Generator().manual_seed(seed))


def test_every_sample_is_a_dag_along_its_own_order():
    for equal_variance in (True, False):
        draw = start_posterior(equal_variance=equal_variance).sample(50)
        for weights, permutation in zip(weight_matrices(draw), draw.permutations, strict=True):
            order = permutation.argmax(dim=1).numpy()
            sorted_weights = weights.detach().numpy()[np.ix_(order, order)]
            assert find_cycle(weights.detach().numpy() != 0) is None
            np.testing.assert_array_equal(sorted_weights, np.triu(sorted_weights, 1))
        assert (draw.log_noise.std(dim=1).max() < 1e-6) == equal_variance


def test_the_likelihood_is_that_of_the_gaussian_with_the_graphs_covariance(rng):
    X = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 5))
    X -= X.mean(axis=0)
    draw = start_posterior().sample(6)
    likelihoods = log_likelihood(draw, torch.from_numpy(X.T @ X / len(X)).float(), len(X)).detach().numpy()
    for k, weights in enumerate(weight_matrices(draw).detach().double().numpy()):
        spread = np.linalg.inv(np.eye(5) - weights)  # x = e (I - W)^-1
        noise = np.exp(2 * draw.log_noise[k].detach().double().numpy())
        exact = multivariate_normal.logpdf(X, cov=spread.T * noise @ spread).sum()
        assert likelihoods[k] == pytest.approx(exact, rel=1e-4)


def test_the_elbo_adds_up_likelihood_priors_and_entropies(rng):
    posterior = start_posterior(4)
    draw = posterior.sample(3)
    moments = torch.from_numpy(np.cov(rng.normal(size=(50, 4)).T)).float()
    mean, log_std, *_ = (part.detach() for part in posterior.parts())
    entropy = torch.distributions.Normal(mean, log_std.exp()).entropy().sum()
    terms = log_likelihood(draw, moments, 50) + log_horseshoe(draw.values[:, :6], 0.1).sum(dim=1)
    terms = terms + torch.from_numpy(norm.logpdf(draw.values[:, 6:].detach(), scale=3.0).sum(axis=1)) - np.log(24)
    terms = terms - log_matching_probability(draw.permutations, draw.logits)
    assert elbo(draw, moments, 50, 0.1).item() == pytest.approx((terms.mean() + entropy).item(), rel=1e-5)


def test_weight_decay_touches_the_network_alone():
    posterior = start_posterior()
    normal = 2 * posterior.shapes[0][0]
    decayed = posterior.decay(torch.ones_like(posterior.flat))
    assert (decayed[:normal] == 1).all()
    torch.testing.assert_close(decayed[normal:], 1 + posterior.flat.detach()[normal:])


def test_raw_columns_of_equal_noise_are_recovered():
    dag, X = easy_problem()
    model = BCDNets(equal_variance=True, standardize=False, n_steps=1500).fit(X)
    assert shd(dag, model.adjacency_matrix_) <= 2
    assert (np.abs(model.weights_[model.adjacency_matrix_ == 1]) > 0.3).all()
    assert (model.weights_[model.adjacency_matrix_ == 0] == 0).all()


def test_the_prior_scale_follows_piironen_and_vehtari_and_stays_positive_on_tiny_graphs():
    assert horseshoe_scale(11, 100, 1) == pytest.approx(2 / 8 / 10)
    assert horseshoe_scale(3, 100, 1) == pytest.approx(1 / 6)
    assert horseshoe_scale(2, 100, 1) == pytest.approx(1 / 4)


def test_columns_beyond_single_precision_are_refused(rng):
    message = r"the ELBO became .* in step 0: columns of this scale .* Set standardize=True"
    with pytest.raises(ValueError, match=message):
        BCDNets(n_steps=2, standardize=False).fit(1e25 * rng.normal(size=(20, 3)))
