from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from support.fits import linear_data, standard_table

torch = pytest.importorskip("torch")
from daguerreotype.edges.base import (  # noqa: E402
    Capabilities,
    LocalModels,
    Table,
)
from daguerreotype.edges.linear import LinearEdges, LinearRegressions, ridge  # noqa: E402
from daguerreotype.operators import top_k_sparsemax  # noqa: E402
from daguerreotype.training.objective import make_objective  # noqa: E402
from daguerreotype.training.scores import OrderScores  # noqa: E402
from support.learners import make_learner  # noqa: E402

GATES = ["bernoulli", "hard-concrete"]


def requests_of(d, count, seed=0):
    """Nodes with random sets of predecessors, the empty one among them."""
    rng = np.random.default_rng(seed)
    nodes = rng.integers(d, size=count)
    others = [np.delete(np.arange(d), node) for node in nodes]
    sets = [np.sort(rng.permutation(other)[: rng.integers(d)]) for other in others]
    return [(int(node), columns) for node, columns in zip(nodes, sets, strict=True)]


def orthogonal_table(weights, n=64):
    """The last column is a sum of orthonormal others, of these weights, and of what none explains."""
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(n, len(weights) + 1)))
    basis *= np.sqrt(n)
    values = np.column_stack([basis[:, :-1], basis @ np.append(weights, 0.7)])
    return Table(values, tuple(f"x{j}" for j in range(values.shape[1])))


# ---------------------------------------------------------------------------- equal to closed forms


def test_without_pruning_and_l2_every_node_of_an_order_has_its_least_squares_weights(rng):
    table = standard_table(linear_data(0, 120, 7))
    models, order = LinearEdges(pruning=0, l2=0).prepare(table), rng.permutation(7)
    for position, node in enumerate(order):
        predecessors = np.sort(order[:position])
        fit = models.fit(node, predecessors)
        expected = np.linalg.lstsq(table.values[:, predecessors], table.values[:, node])[0]
        np.testing.assert_array_equal(fit.parents, predecessors)
        np.testing.assert_allclose(fit.weights, expected, atol=1e-6)


def test_without_pruning_weights_are_those_of_ridge_regression():
    table = standard_table(linear_data(1, 50, 6))
    fit = LinearEdges(pruning=0, l2=0.2).prepare(table).fit(5, np.arange(5))
    other = Ridge(alpha=2 * 0.2 * 50, fit_intercept=False).fit(table.values[:, :5], table.values[:, 5])
    np.testing.assert_allclose(fit.weights, other.coef_, atol=1e-8)


@pytest.mark.parametrize("gates", GATES)
def test_of_orthogonal_predecessors_those_stay_that_explain_more_than_twice_the_price(gates):
    weights = np.array([0.6, -0.03, 0.25, 0.0, -0.3, 0.05, 1.0])
    edges = LinearEdges(pruning=0.01, l2=0, gates=gates)  # least explained variance: 0.02
    fit = edges.prepare(orthogonal_table(weights)).fit(7, np.arange(7))
    np.testing.assert_array_equal(fit.parents, np.flatnonzero(weights**2 > 0.02))
    np.testing.assert_allclose(fit.weights, weights[weights**2 > 0.02], atol=1e-10)
    assert fit.variance == pytest.approx(0.7**2 + np.sum(weights[weights**2 < 0.02] ** 2))
    assert fit.dof == 4.0


def test_a_closed_gate_leaves_the_fit_of_the_open_parents_alone():
    table = standard_table(linear_data(2, 200, 8))
    pruned, plain = LinearEdges(pruning=0.05).prepare(table), LinearEdges(pruning=0).prepare(table)
    closed = 0
    for node, predecessors in requests_of(8, 30):
        fit = pruned.fit(node, predecessors)
        alone = plain.fit(node, fit.parents)
        np.testing.assert_array_equal(fit.parents, alone.parents)
        np.testing.assert_array_equal(fit.weights, alone.weights)
        assert fit.variance == alone.variance
        closed += predecessors.size - fit.parents.size
    assert closed > 20


def test_a_price_above_half_the_variance_closes_every_gate():
    table = standard_table(linear_data(0, 100, 5))
    fit = LinearEdges(pruning=0.51).prepare(table).fit(4, np.arange(4))
    assert (fit.parents.size, fit.dof) == (0, 0.0)
    assert fit.variance == pytest.approx(1.0)


# ---------------------------------------------------------------------------- the two ways to train


def test_the_gradient_is_that_of_the_residuals_of_the_rows(rng):
    table, nodes = standard_table(linear_data(3, 40, 5)), [1, 4, 4]
    values, moments = torch.tensor(table.values), torch.tensor(table.moments)
    weights = torch.tensor(rng.normal(size=(3, 5)), requires_grad=True)
    gates = torch.tensor(rng.random((3, 5)), requires_grad=True)
    residuals = values[:, nodes] - values @ (weights * gates).T  # (n, 3)
    loss = 0.5 * residuals.square().mean(dim=0)
    (loss.sum() + 0.3 * weights.square().sum()).backward()

    problem = LinearRegressions(moments, moments[nodes], moments[nodes, nodes], 0.3)
    by_weights, by_gates = problem.gradient(weights.detach(), gates.detach(), 0)
    torch.testing.assert_close(by_weights, weights.grad)
    torch.testing.assert_close(by_gates, gates.grad)
    expected = loss + 0.3 * (weights * gates).square().sum(dim=1)
    torch.testing.assert_close(problem.loss(weights, gates), expected)


@pytest.mark.parametrize("manner", [{}, {"warm_up": False, "keep": "last", "l2_norm": "mean", "patience": 1000}])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("gates", GATES)
def test_the_compiled_loop_and_the_batch_of_tensors_open_the_same_gates(gates, optimizer, manner):
    edges = LinearEdges(gates=gates, optimizer=optimizer, dtype="float64", device="cpu", max_iter=147, **manner)
    models, requests = edges.prepare(standard_table(linear_data(4, 150, 8))), requests_of(8, 60)
    one_by_one, batch = models._train_one_by_one(requests), models._train_batch(requests)
    assert [list(opened) for opened, _ in one_by_one] == [list(opened) for opened, _ in batch]
    assert 0 < sum(opened.sum() for opened, _ in batch) < sum(opened.size for opened, _ in batch)
    if edges.keep == "last":
        for (_, weights), (_, others) in zip(one_by_one, batch, strict=True):
            np.testing.assert_allclose(weights, others, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("gates", GATES)
def test_a_gpu_finds_the_same_fits(gates):
    table, edges = standard_table(linear_data(4, 150, 8)), LinearEdges(gates=gates, dtype="float64")
    requests = requests_of(8, 60)
    on_cpu = replace(edges, device="cpu").prepare(table).fit_many(requests)
    on_gpu = replace(edges, device="cuda").prepare(table).fit_many(requests)
    for fit, other in zip(on_cpu, on_gpu, strict=True):
        np.testing.assert_array_equal(fit.parents, other.parents)


# ---------------------------------------------------------------------------- batches and the cache


def test_a_fit_is_the_same_to_the_last_digit_whatever_is_fitted_with_it():
    edges, table = LinearEdges(device="cpu"), standard_table(linear_data(5, 100, 9))
    requests = requests_of(9, 40)
    together = edges.prepare(table).fit_many(requests)
    backwards = edges.prepare(table).fit_many(requests[::-1])[::-1]
    for request, fit, other in zip(requests, together, backwards, strict=True):
        alone = edges.prepare(table).fit(*request)
        for same in (other, alone):
            np.testing.assert_array_equal(fit.parents, same.parents)
            np.testing.assert_array_equal(fit.weights, same.weights)
            assert fit.variance == same.variance


class Counting(LocalModels):
    """Local models that keep the batches they were asked for, and refuse single fits."""

    can = Capabilities(batches=True)

    def __init__(self, models):
        self.models, self.batches = models, []

    def fit(self, node, predecessors):
        raise AssertionError("fitted alone")

    def fit_many(self, requests):
        self.batches.append([(node, *predecessors) for node, predecessors in requests])
        return self.models.fit_many(requests)


def test_all_missing_fits_of_a_look_up_are_made_in_one_batch_and_none_twice(rng):
    table, objective = standard_table(linear_data(6, 80, 6)), make_objective("nll_ev", 1.0)
    counting = Counting(LinearEdges().prepare(table))
    scores = OrderScores(counting, objective, n_rows=80, d=6)
    single = OrderScores(OneByOne(counting.models), objective, n_rows=80, d=6)
    for theta in (np.zeros(6), 0.1 * rng.normal(size=6)):
        distribution = top_k_sparsemax(theta, 30)
        np.testing.assert_array_equal(scores.losses(distribution), single.losses(distribution))
    assert len(counting.batches) <= 4  # the root of each tree and its other rankings
    seen = [request for batch in counting.batches for request in batch]
    assert len(seen) == len(set(seen)) == scores.misses == single.misses
    assert scores.hits == single.hits


class OneByOne(LocalModels):
    """The same models without batches."""

    def __init__(self, models):
        self.fit = models.fit


# ---------------------------------------------------------------------------- settings


def test_another_seed_may_change_gates_but_the_same_seed_does_not():
    table, requests = standard_table(linear_data(7, 60, 10)), requests_of(10, 40)
    runs = [
        [
            fit.parents.tolist()
            for fit in LinearEdges(random_state=seed, pruning=0.003).prepare(table).fit_many(requests)
        ]
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_copies_of_a_column_share_a_least_squares_weight():
    values = np.random.default_rng(0).normal(size=(40, 1)) @ np.ones((1, 3))
    values[:, 2] += 0.1 * np.random.default_rng(1).normal(size=40)
    weights = ridge(values.T @ values / 40, 2, np.array([0, 1]), 0.0)
    assert weights[0] == pytest.approx(weights[1])


def test_a_perfect_fit_has_a_tiny_positive_variance():
    values = np.random.default_rng(0).normal(size=(40, 3))
    values[:, 2] = values[:, 0] - values[:, 1]
    fit = LinearEdges(l2=0).prepare(Table(values, ("a", "b", "c"))).fit(2, np.array([0, 1]))
    assert 0 < fit.variance < 1e-14


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"pruning": -1}, "pruning must be at least 0, got -1"),
        ({"learning_rate": 0}, "learning_rate must be above 0, got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1, got 2.5"),
        ({"gates": "half"}, "gates must be 'bernoulli' or 'hard-concrete', got 'half'"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu' or 'cuda', got 'tpu'"),
    ],
)
def test_settings_that_no_training_could_use_are_refused_before_any_work(setting, message):
    with pytest.raises(ValueError, match=message):
        LinearEdges(**setting).prepare(standard_table(linear_data(0, 30, 3)))


def test_a_gpu_that_is_not_there_is_an_error_that_says_what_to_choose(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="finds no GPU here: choose device='auto' or device='cpu'"):
        LinearEdges(device="cuda").prepare(standard_table(linear_data(0, 30, 3)))


def test_a_bilevel_fit_with_trained_edges_finds_the_order_of_unequal_effects_and_repeats_itself():
    rng = np.random.default_rng(0)
    first = rng.normal(size=400)
    second = 2 * first + rng.normal(size=400)
    third = 2 * second + rng.normal(size=400)
    columns = np.column_stack([third, first, second])
    settings = {"edges": LinearEdges(), "loss": "nll_ev", "scales": "none", "refine": False, "k": 6}
    models = [make_learner(standardize=False, **settings).fit(columns) for _ in range(2)]
    np.testing.assert_array_equal(models[0].weights_, models[1].weights_)
    np.testing.assert_array_equal(np.asarray(models[0].adjacency_matrix_), [[0, 0, 0], [0, 0, 1], [1, 0, 0]])
