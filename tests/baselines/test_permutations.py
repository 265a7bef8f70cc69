"""Permutations with gradients: matching, balancing, sorting; and the prior and the steps of BCD-Nets."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp
from scipy.stats import halfcauchy, norm

torch = pytest.importorskip("torch")

from daguerreotype.baselines.bcd_nets import AdaBelief, log_horseshoe  # noqa: E402
from daguerreotype.baselines.permutations import (  # noqa: E402
    centred_duals,
    gumbel_noise,
    log_matching_probability,
    sinkhorn,
    soft_sort,
    straight_through,
)


def normal_logits(seed, *shape, scale=1.0):
    values = np.random.default_rng(seed).normal(size=shape) * scale
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 9),
    scale=st.sampled_from([1e-5, 1.0, 1e4]),
    ties=st.booleans(),
)
def test_centred_duals_prove_the_matching_best_and_leave_a_slack_off_it(seed, d, scale, ties):
    scores = np.random.default_rng(seed).normal(size=(d, d))
    scores = (np.round(scores) if ties else scores) * scale
    matched = linear_sum_assignment(scores, maximize=True)[1]
    rows, cols = centred_duals(scores, matched)
    slack = rows[:, None] + cols - scores
    np.testing.assert_allclose(slack[np.arange(d), matched], 0, atol=1e-9 * scale)
    slack[np.arange(d), matched] = np.inf
    assert slack.min() >= (-1e-9 if ties else 1e-9) * scale


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_sinkhorn_gives_the_doubly_stochastic_matrix_of_alternating_normalisation(scale):
    logits = normal_logits(0, 3, 5, 5, scale=scale)
    soft, _ = sinkhorn(logits, tolerance=1e-12, max_iter=100_000)
    np.testing.assert_allclose(soft.detach().sum(dim=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(soft.detach().sum(dim=2), 1.0, atol=1e-10)
    slow = logits.detach().numpy()
    for _ in range(2_000):
        slow = slow - logsumexp(slow, axis=2, keepdims=True)
        slow = slow - logsumexp(slow, axis=1, keepdims=True)
    np.testing.assert_allclose(soft.detach(), np.exp(slow), atol=1e-6)


def test_the_gradient_of_sinkhorn_is_that_of_its_fixed_point():
    logits = normal_logits(2, 2, 4, 4, scale=2.0)
    assert torch.autograd.gradcheck(lambda x: sinkhorn(x, tolerance=1e-14, max_iter=100_000)[0], logits)


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_sinkhorn_becomes_the_best_matching_when_cold_and_its_gradient_vanishes(scale):
    logits = normal_logits(3, 4, 6, 6, scale=scale)
    soft, columns = sinkhorn(logits)
    hard = straight_through(soft, columns).detach()
    if scale >= 1e4:
        torch.testing.assert_close(soft.detach(), hard, atol=1e-6, rtol=0)
    (slope,) = torch.autograd.grad((soft * normal_logits(4, 4, 6, 6)).sum(), logits)
    assert torch.isfinite(slope).all()
    assert slope.abs().max() < (1.0 if scale < 1e4 else 1e-6)


def test_straight_through_is_exactly_a_permutation_with_the_gradient_of_the_soft_one():
    logits = normal_logits(5, 7, 9, 9).float().detach().requires_grad_()
    soft, columns = sinkhorn(logits)
    hard = straight_through(soft, columns)
    assert set(hard.detach().unique().tolist()) == {0.0, 1.0}
    assert (hard.sum(dim=1) == 1).all()
    assert (hard.sum(dim=2) == 1).all()
    cotangent = normal_logits(6, 7, 9, 9).float().detach()
    through, plain = (
        torch.autograd.grad((matrix * cotangent).sum(), logits, retain_graph=True) for matrix in (hard, soft)
    )
    torch.testing.assert_close(through, plain)


def test_soft_sort_has_rows_of_one_passes_gradcheck_and_becomes_the_sort_when_cold():
    scores = normal_logits(7, 3, 6)
    soft, order = soft_sort(scores, 1.0)
    np.testing.assert_allclose(soft.detach().sum(dim=-1), 1.0)
    np.testing.assert_array_equal(order, np.argsort(-scores.detach().numpy(), axis=1))
    assert torch.autograd.gradcheck(lambda x: soft_sort(x, 0.7)[0], scores)
    cold, _ = soft_sort(scores, 1e-4)
    torch.testing.assert_close(cold, straight_through(cold, order))


def test_sorting_noisy_logits_draws_orders_with_plackett_luce_probabilities():
    logits = np.log([0.5, 0.3, 0.2])
    generator = torch.Generator().manual_seed(0)
    noisy = torch.from_numpy(logits) + gumbel_noise((40_000, 3), generator, torch.float64)
    _, orders = soft_sort(noisy, 1.0)
    for order in permutations(range(3)):
        a, b, c = np.exp(logits)[list(order)]
        share = (orders == torch.tensor(order)).all(dim=1).double().mean().item()
        assert share == pytest.approx(a / (a + b + c) * b / (b + c), abs=0.01)


def exact_law(logits):
    d = len(logits)
    orders = np.array(list(permutations(range(d))))
    scores = logits[np.arange(d), orders].sum(axis=1)
    return orders, scores, logsumexp(scores)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 6), scale=st.sampled_from([0.1, 1.0, 3.0]))
def test_the_bethe_probability_of_a_permutation_is_too_large_by_a_bounded_factor(seed, d, scale):
    logits = normal_logits(seed, d, d, scale=scale).detach()
    orders, scores, total = exact_law(logits.numpy())
    matrices = torch.eye(d, dtype=torch.float64)[orders]
    approximate = log_matching_probability(matrices, logits.expand(len(orders), -1, -1)).numpy()
    excess = approximate - (scores - total)
    np.testing.assert_allclose(excess, excess[0], atol=1e-9)  # the law differs by its constant alone
    assert -0.05 <= excess[0] <= d / 2 * np.log(2) + 0.05  # messages stop after 20 rounds


def test_the_slope_of_the_matching_probability_is_that_of_its_value():
    logits = normal_logits(9, 1, 5, 5, scale=0.5)
    fixed = torch.eye(5, dtype=torch.float64)[None]
    assert torch.autograd.gradcheck(lambda x: log_matching_probability(fixed, x), logits, atol=1e-3, eps=1e-4)


def test_the_horseshoe_density_is_the_normal_averaged_over_half_cauchy_scales():
    for u, scale in product((0.02, 0.4, 1.0, 5.0), (0.01, 1.0)):

        def averaged(s, x=u * scale, scale=scale):
            return norm.pdf(x, scale=s * scale) * halfcauchy.pdf(s)

        exact, _ = quad(averaged, 0, np.inf, epsabs=0, epsrel=1e-10, limit=500)
        log_density = log_horseshoe(torch.tensor([u * scale, -u * scale], dtype=torch.float64), scale)
        np.testing.assert_allclose(log_density, np.log(exact), rtol=1e-7)


def test_the_slope_of_the_horseshoe_passes_gradcheck_and_stays_finite_far_out_and_at_its_pole():
    x = torch.tensor([-3.0, -0.4, -0.01, 0.003, 0.07, 9.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: log_horseshoe(x, 0.05), x)
    extreme = torch.tensor([0.0, 1e-30, 1e6], requires_grad=True)
    values = log_horseshoe(extreme, 1e-3)
    (slope,) = torch.autograd.grad(values.sum(), extreme)
    assert torch.isfinite(values).all()
    assert torch.isfinite(slope).all()


def test_adabelief_steps_as_its_formula_says():
    parameters = torch.tensor([1.0, -2.0], dtype=torch.float64)
    optimizer = AdaBelief(parameters, 0.1)
    x, m, v = parameters.numpy().copy(), np.zeros(2), np.zeros(2)
    for t in range(1, 6):
        gradient = np.array([2 * x[0], np.sin(t)])
        optimizer.step(torch.tensor(gradient))
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * (gradient - m) ** 2 + 1e-16
        x = x - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(parameters, x)
