"""Gated networks: gradients against autograd, curves that lines miss, and what the record of a fit holds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from support.fits import additive_data, standard_table

torch = pytest.importorskip("torch")
from torch.nn.functional import leaky_relu  # noqa: E402

from daguerreotype.edges import BicEdges, LarsEdges, LassoEdges  # noqa: E402
from daguerreotype.edges.base import LocalFit, Table  # noqa: E402
from daguerreotype.edges.gradient.descent import ACTIVATIONS, Networks  # noqa: E402
from daguerreotype.edges.linear import LinearEdges  # noqa: E402
from daguerreotype.edges.mlp import MlpEdges  # noqa: E402
from daguerreotype.noise.gaussian import nll_of_variance  # noqa: E402

NONE = np.array([], dtype=np.int64)
SMALL = MlpEdges(hidden=8, max_iter=300, device="cpu")


def curved_table(n=200):
    """Column 3 is the square of column 1 plus noise: no line through any column explains it."""
    values = np.random.default_rng(0).normal(size=(n, 4))
    values[:, 3] = values[:, 1] ** 2 + 0.2 * values[:, 3]
    # columns without any linear dependence left
    inputs = np.column_stack([np.ones(n), values[:, :3]])
    values[:, 3] -= inputs @ np.linalg.lstsq(inputs, values[:, 3])[0]
    return standard_table(values)


def networks(rng, activation, batch_size=30, l2=0.02):
    """Two networks of 3 hidden units on 4 columns, their weights and their gates."""
    values = torch.tensor(np.column_stack([rng.normal(size=(30, 4)), np.ones(30)]))
    problem = Networks(values, torch.tensor([3, 0]), 3, activation, l2, batch_size)
    weights = torch.tensor(rng.normal(size=(2, 5 * 3 + 3 + 1)), requires_grad=True)
    gates = torch.tensor(rng.random((2, 4)), requires_grad=True)
    return problem, weights, gates


def direct_losses(problem, weights, gates, rows):
    """Half the mean squared residual of each network, input by input."""
    function = {"sigmoid": torch.sigmoid, "leaky-relu": leaky_relu}[problem.activation]
    for w, z, node in zip(weights, gates, problem.nodes, strict=True):
        first, bias, output, last = w[:12].reshape(4, 3), w[12:15], w[15:18], w[18]
        fitted = last + function(bias + sum(rows[:, [i]] * z[i] * first[i] for i in range(4))) @ output
        yield 0.5 * torch.mean((rows[:, node] - fitted) ** 2)


# ---------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_loss_is_that_of_the_gated_weights_and_the_gradient_its_derivative(rng, activation):
    problem, weights, gates = networks(rng, activation)
    losses = torch.stack(list(direct_losses(problem, weights, gates, problem.values)))
    gated = weights[:, :12].reshape(2, 4, 3) * gates[:, :, None]
    norms = gated.square().sum(dim=(1, 2)) + weights[:, 15:18].square().sum(dim=1)
    torch.testing.assert_close(problem.loss(weights, gates), losses + 0.02 * norms)
    (losses.sum() + 0.02 * (weights[:, :12].square().sum() + weights[:, 15:18].square().sum())).backward()
    by_weights, by_gates = problem.gradient(weights.detach(), gates.detach(), 0)
    torch.testing.assert_close(by_weights, weights.grad)
    torch.testing.assert_close(by_gates, gates.grad)


def test_steps_go_through_all_full_batches_of_rows_in_turn(rng):
    problem, weights, gates = networks(rng, "sigmoid", batch_size=8, l2=0.0)
    for step, first in enumerate([0, 8, 16, 0]):  # the last 6 rows do not fill a batch
        weights.grad = None
        sum(direct_losses(problem, weights, gates, problem.values[first : first + 8])).backward()
        torch.testing.assert_close(problem.gradient(weights.detach(), gates.detach(), step)[0], weights.grad)


def test_binary_gates_are_differentiated_in_turn_by_the_difference_of_open_and_closed(rng):
    problem, weights, _ = networks(rng, "sigmoid")
    weights, gates = weights.detach(), torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]).double()
    turns, counts = torch.tensor([[0, 1, 2, 3], [1, 3, 0, 2]]), torch.tensor([3, 2])
    problem = replace(problem, turns=turns, counts=counts)
    for step, columns in enumerate([(0, 1), (1, 3), (2, 1), (0, 3)]):
        expected = torch.zeros(2, 4, dtype=torch.float64)
        for b, column in enumerate(columns):
            opened, closed = gates.clone(), gates.clone()
            opened[b, column], closed[b, column] = 1.0, 0.0
            losses = [list(direct_losses(problem, weights, z, problem.values))[b] for z in (opened, closed)]
            expected[b, column] = counts[b] * (losses[0] - losses[1])
        torch.testing.assert_close(problem.gradient(weights, gates, step)[1], expected)


def test_a_network_starts_within_bounds_of_its_own_and_with_nothing_off_its_mask(rng):
    problem, _, _ = networks(rng, "sigmoid")
    mask = torch.tensor([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    weights = problem.start(torch.tensor([5, 6]), mask)
    first, output = problem.parts(weights)
    assert (first[0, 2] == 0).all()
    assert (first[1, :4] == 0).all()
    assert (first[0].abs() <= 3**-0.5).all()
    assert (output[:, :-1].abs() <= 3**-0.5).all()
    assert len(set(weights[0].tolist())) == 5 * 3 - 3 + 3 + 1  # all differ but the zeros
    alone = replace(problem, nodes=problem.nodes[:1]).start(torch.tensor([5]), mask[:1])
    torch.testing.assert_close(alone, weights[:1], rtol=0, atol=0)


# ---------------------------------------------------------------------------- parents


def test_a_curved_parent_is_found_that_every_linear_estimator_misses():
    table = curved_table()
    for linear in (LinearEdges(), LarsEdges(), LassoEdges(), BicEdges()):
        assert linear.prepare(table).fit(3, np.arange(3)).parents.size == 0
    fit = MlpEdges(hidden=20, device="cpu").prepare(table).fit(3, np.arange(3))
    np.testing.assert_array_equal(fit.parents, [1])
    assert fit.variance < 0.2


def test_batches_of_rows_learn_the_curve_and_never_hold_more_rows_than_asked_for(monkeypatch):
    seen, forward = set(), Networks._forward

    def watched(self, gated, output, rows):
        seen.add(len(rows))
        return forward(self, gated, output, rows)

    monkeypatch.setattr(Networks, "_forward", watched)
    fit = MlpEdges(hidden=20, batch_size=64, device="cpu").prepare(curved_table(1000)).fit(3, np.arange(3))
    assert seen == {64}
    assert 1 in fit.parents
    assert fit.variance < 0.3


def test_without_pruning_every_gate_is_open_and_a_penalty_above_half_the_variance_closes_them_all():
    table = curved_table()
    free = replace(SMALL, pruning=0.0, max_iter=20, learning_rate=0.01).prepare(table)
    np.testing.assert_array_equal(free.fit(2, np.array([0, 1, 3])).parents, [0, 1, 3])
    fit = replace(SMALL, pruning=0.6).prepare(table).fit(3, np.arange(3))
    assert (fit.parents.size, fit.dof, fit.nll) == (0, 0.0, nll_of_variance(table.moments[3, 3]))


@pytest.fixture(scope="module")
def fitted():
    table = standard_table(additive_data(0, 150, 6))
    models = replace(SMALL, pruning=0.02).prepare(table)
    requests = [(5, np.arange(5)), (4, np.arange(4)), (3, np.array([0, 1, 2])), (2, NONE), (1, np.array([0]))]
    return table, models, requests, models.fit_many(requests)


def test_predictions_and_variances_are_those_of_the_network_in_the_record_and_of_open_gates_alone(fitted):
    table, models, requests, fits = fitted
    assert any(0 < fit.parents.size < columns.size for (_, columns), fit in zip(requests, fits, strict=True))
    for (node, _), fit in zip(requests, fits, strict=True):
        inputs = table.values[:, fit.parents] @ fit.input_weights[:-1] + fit.input_weights[-1]
        expected = expit(inputs) @ fit.output_weights[:-1] + fit.output_weights[-1]
        residuals = models.residuals(node, fit)
        np.testing.assert_allclose(models.predict(node, fit, table.values), expected, atol=1e-12)
        np.testing.assert_allclose(residuals, table.values[:, node] - expected, atol=1e-12)
        assert np.mean(residuals**2) == pytest.approx(fit.variance)
        assert np.mean(residuals) == pytest.approx(0.0, abs=1e-10)
        unseen = np.full_like(table.values, np.nan)
        unseen[:, fit.parents] = table.values[:, fit.parents]
        np.testing.assert_array_equal(models.predict(node, fit, unseen), models.predict(node, fit, table.values))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_weights_and_norms_are_the_mean_and_the_root_mean_square_of_the_slopes(activation):
    values = additive_data(0, 150, 6)
    table = Table(3 * (values - values.mean(axis=0)), tuple("abcdef"))
    models = replace(SMALL, pruning=0.02, activation=activation).prepare(table)
    fit, step = models.fit(5, np.arange(5)), 1e-6
    assert fit.parents.size
    for parent, weight, norm in zip(fit.parents, fit.weights, fit.norms, strict=True):
        moved = np.zeros(6)
        moved[parent] = step
        ahead, behind = (models.predict(5, fit, table.values + sign * moved) for sign in (1, -1))
        slopes = (ahead - behind) / (2 * step)
        assert weight == pytest.approx(slopes.mean(), rel=1e-4, abs=1e-6)
        assert norm == pytest.approx(np.sqrt(np.mean(slopes**2)) * table.values[:, parent].std(), rel=1e-4)


def test_degrees_of_freedom_are_the_trace_of_the_ridge_smoother_of_the_hidden_units(fitted):
    table, models, _, fits = fitted
    for fit in fits:
        if fit.parents.size:
            hidden = models.hidden_units(fit.input_weights, table.values[:, fit.parents])
            hidden -= hidden.mean(axis=0)
            n, l2 = table.n_rows, models.edges.l2
            smoother = hidden @ np.linalg.solve(hidden.T @ hidden / n + 2 * l2 * np.eye(8), hidden.T / n)
            assert fit.dof == pytest.approx(max(np.trace(smoother), fit.parents.size))
            assert fit.parents.size <= fit.dof <= 8


def test_a_fit_hardly_depends_on_what_is_fitted_with_it(fitted):
    table, _, requests, _ = fitted
    models = replace(SMALL, dtype="float64").prepare(table)
    together = models.fit_many(requests)
    for request, fit in zip(requests, together, strict=True):
        alone = models.fit(*request)
        np.testing.assert_array_equal(fit.parents, alone.parents)
        np.testing.assert_allclose(fit.weights, alone.weights, rtol=1e-5)
        assert fit.variance == pytest.approx(alone.variance, rel=1e-7)


def test_requests_are_split_where_memory_ends_and_rows_predicted_in_parts(fitted, monkeypatch):
    table, models, requests, fits = fitted
    whole = models.predict(5, fits[0], table.values)
    monkeypatch.setattr("daguerreotype.edges.mlp.HIDDEN_VALUES", {"cpu": 2 * 150 * 8})
    monkeypatch.setattr("daguerreotype.edges.predictors.ROWS", 64)
    np.testing.assert_allclose(models.predict(5, fits[0], table.values), whole, atol=1e-12)
    for fit, other in zip(models.fit_many(requests), fits, strict=True):
        np.testing.assert_array_equal(fit.parents, other.parents)
        assert fit.variance == pytest.approx(other.variance, rel=1e-3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_finds_the_same_parents(fitted):
    table, _, requests, _ = fitted
    on_cpu = replace(SMALL, dtype="float64").prepare(table).fit_many(requests)
    on_gpu = replace(SMALL, dtype="float64", device="cuda").prepare(table).fit_many(requests)
    for fit, other in zip(on_cpu, on_gpu, strict=True):
        np.testing.assert_array_equal(fit.parents, other.parents)
        assert fit.variance == pytest.approx(other.variance, rel=1e-3)


# ---------------------------------------------------------------------------- errors


def test_settings_that_no_training_could_use_are_refused_before_any_work():
    for setting, message in (
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"activation": "step"}, "activation must be 'sigmoid' or 'leaky-relu', got 'step'"),
        ({"l2": float("nan")}, "l2 must be a finite number, got nan"),
    ):
        with pytest.raises(ValueError, match=message):
            MlpEdges(**setting).prepare(curved_table(20))


def test_a_gpu_that_is_not_there_is_an_error_that_says_what_to_choose(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="finds no GPU here: choose device='auto' or device='cpu'"):
        MlpEdges(device="cuda").prepare(curved_table(20))


def test_a_fit_without_a_network_is_refused():
    models = SMALL.prepare(Table(np.zeros((3, 2)), ("a", "b")))
    with pytest.raises(
        TypeError, match="expected the MlpFit that fit returned, which holds its network, got LocalFit"
    ):
        models.predict(0, LocalFit(NONE, np.zeros(0), 1.0, 0.0), np.zeros((3, 2)))
