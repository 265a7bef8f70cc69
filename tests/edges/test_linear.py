"""Gated linear edges: closed forms, the training of gates step by step, and look-ups of many fits."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from support.fits import linear_data, standard_table

torch = pytest.importorskip("torch")
from daguerreotype.edges.base import Capabilities, EdgeRules, LocalModels, Table  # noqa: E402
from daguerreotype.edges.gradient.descent import CHECK, seed_of, uniforms  # noqa: E402
from daguerreotype.edges.linear import LinearEdges, ridge  # noqa: E402
from daguerreotype.operators import top_k_sparsemax  # noqa: E402
from daguerreotype.training.objective import make_objective  # noqa: E402
from daguerreotype.training.scores import OrderScores  # noqa: E402
from support.learners import make_learner  # noqa: E402


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


def test_without_pruning_every_node_of_an_order_has_the_weights_of_ridge_regression_or_least_squares(rng):
    table, order = standard_table(linear_data(0, 120, 7)), rng.permutation(7)
    for l2 in (0, 0.2):
        models = LinearEdges(pruning=0, l2=l2).prepare(table)
        for position, node in enumerate(order[1:], 1):
            predecessors = np.sort(order[:position])
            fit = models.fit(node, predecessors)
            other = Ridge(alpha=2 * l2 * 120, fit_intercept=False).fit(
                table.values[:, predecessors], table.values[:, node]
            )
            np.testing.assert_array_equal(fit.parents, predecessors)
            np.testing.assert_allclose(fit.weights, other.coef_, atol=1e-6)


def test_of_orthogonal_predecessors_those_stay_that_explain_more_than_twice_the_penalty():
    weights = np.array([0.6, -0.03, 0.25, 0.0, -0.3, 0.05, 1.0])
    edges = LinearEdges(pruning=0.01, l2=0)  # least explained variance: 0.02
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


def test_a_penalty_above_half_the_variance_closes_every_gate():
    table = standard_table(linear_data(0, 100, 5))
    fit = LinearEdges(pruning=0.51).prepare(table).fit(4, np.arange(4))
    assert (fit.parents.size, fit.dof) == (0, 0.0)
    assert fit.variance == pytest.approx(1.0)


# ---------------------------------------------------------------------------- training


def train_step_by_step(edges, moments, node, columns, required):
    """Open gates of the best model met, or of the last, and its weights: eq. 12 with arrays, step by step."""
    p, l2 = columns.size, edges.penalty_of_squares(len(moments), len(moments))
    inner, cross = moments[np.ix_(columns, columns)], moments[columns, node]
    start = ridge(moments, node, columns, l2) if edges.warm_up else np.zeros(p)
    state = np.concatenate([start, np.full(p, 0.5)])
    seeds = torch.tensor([seed_of(edges.random_state, node, columns)])
    noise = uniforms(seeds, range(edges.max_iter), len(moments), torch.float64)[:, 0].numpy()[:, columns]

    def objective(weights, opened):
        used = weights * opened
        fit = 0.5 * (moments[node, node] - 2 * cross @ used + used @ inner @ used)
        return fit + l2 * np.sum(used**2) + edges.pruning * opened.sum()

    opened = np.ones(p, dtype=bool)
    nothing, everything = objective(state[:p], required), objective(state[:p], opened)
    best, reference, waited = min(nothing, everything), nothing, 0
    result = opened if everything < nothing else required, state[:p].copy()
    mean = square = np.zeros(2 * p)
    for step in range(edges.max_iter):
        gates = (noise[step] < state[p:]) | required
        by_product = inner @ (state[:p] * gates) - cross
        gradient = np.concatenate(
            [gates * by_product + 2 * l2 * state[:p], state[:p] * by_product + edges.pruning]
        )
        if edges.optimizer == "adam":
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            root = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
            gradient = mean / (1 - 0.9 ** (step + 1)) / root
        state = state - edges.learning_rate * gradient
        state[p:] = np.clip(state[p:], 0, 1)
        if (step + 1) % CHECK and step + 1 < edges.max_iter:
            continue
        opened = (state[p:] > 0.5) | required
        now = objective(state[:p], opened)
        if edges.keep == "last" or now < best:
            best, result = now, (opened, state[:p].copy())
        improved = now < reference - edges.tol * abs(reference)
        reference, waited = (now, 0) if improved else (reference, waited + step % CHECK + 1)
        if waited >= edges.patience:
            break
    return result


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("published", [False, True])
def test_gates_are_trained_as_plain_steps_train_them(optimizer, published, rng):
    manner = {"warm_up": False, "keep": "last", "l2_norm": "mean", "patience": 1000} if published else {}
    edges = LinearEdges(optimizer=optimizer, max_iter=147, **manner)
    table = standard_table(linear_data(4, 150, 8))
    needed = rng.random((8, 8)) < 0.1
    models = edges.prepare(table, EdgeRules(~np.eye(8, dtype=bool), needed))
    kept = left_out = 0
    for node, columns in requests_of(8, 40):
        required = needed[columns, node]
        opened, weights = train_step_by_step(edges, table.moments, node, columns, required)
        fit = models.fit(node, columns)
        assert fit.parents.tolist() == columns[opened].tolist()
        if published:
            np.testing.assert_allclose(fit.weights, weights[opened], rtol=1e-9, atol=1e-12)
        kept, left_out = kept + opened.sum(), left_out + (~opened).sum()
    assert min(kept, left_out) > 10


# ---------------------------------------------------------------------------- batches and the cache


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
    runs = []
    for seed in (0, 0, 1):
        fits = LinearEdges(random_state=seed, pruning=0.003).prepare(table).fit_many(requests)
        runs.append([fit.parents.tolist() for fit in fits])
    assert runs[0] == runs[1] != runs[2]


def test_copies_share_a_least_squares_weight_and_a_perfect_fit_has_a_tiny_positive_variance(rng):
    values = rng.normal(size=(40, 3))
    values[:, 2] = values[:, 0] - values[:, 1]
    fit = LinearEdges(l2=0).prepare(Table(values, ("a", "b", "c"))).fit(2, np.array([0, 1]))
    assert 0 < fit.variance < 1e-14
    values[:, 1] = values[:, 0]
    weights = ridge(values.T @ values / 40, 2, np.array([0, 1]), 0.0)
    assert weights[0] == pytest.approx(weights[1])


def test_settings_that_no_training_could_use_are_refused_before_any_work():
    table = standard_table(linear_data(0, 30, 3))
    for setting, message in (
        ({"pruning": -1}, "pruning must be at least 0, got -1"),
        ({"learning_rate": 0}, "learning_rate must be above 0, got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1, got 2.5"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu' or 'cuda', got 'tpu'"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearEdges(**setting).prepare(table)


def test_a_bilevel_fit_with_trained_edges_finds_the_order_of_unequal_effects_and_repeats_itself():
    first, *noise = np.random.default_rng(0).normal(size=(3, 400))
    second = 2 * first + noise[0]
    columns = np.column_stack([2 * second + noise[1], first, second])
    settings = {"edges": LinearEdges(), "loss": "nll_ev", "scales": "none", "refine": False, "k": 6}
    models = [make_learner(standardize=False, **settings).fit(columns) for _ in range(2)]
    np.testing.assert_array_equal(models[0].weights_, models[1].weights_)
    np.testing.assert_array_equal(np.asarray(models[0].adjacency_matrix_), [[0, 0, 0], [0, 0, 1], [1, 0, 0]])
