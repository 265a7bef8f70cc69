"""Linear edges by BIC: least squares, degenerate columns, and best-position search on the moves."""

import numpy as np
import pytest

from daguerreotype.edges.additive.estimators import BicEdges
from daguerreotype.edges.base import Table


def table_of(values):
    values = values - values.mean(0)
    return Table(values, tuple(f"x{i}" for i in range(values.shape[1])))


def scale_free(rng, d, n, edges_per_node=2):
    """Standardized linear Gaussian data of a preferential-attachment DAG, and an order that it follows."""
    degrees = np.ones(d)
    weights = np.zeros((d, d))
    for j in range(1, d):
        chosen = rng.choice(j, min(edges_per_node, j), replace=False, p=degrees[:j] / degrees[:j].sum())
        weights[chosen, j] = rng.uniform(0.5, 2, chosen.size) * rng.choice([-1, 1], chosen.size)
        degrees[chosen] += 1
        degrees[j] += chosen.size
    values = np.zeros((n, d))
    for j in range(d):
        values[:, j] = values @ weights[:, j] + rng.normal(size=n)
    shuffled = rng.permutation(d)
    values = (values - values.mean(0)) / values.std(0)
    return table_of(values[:, shuffled]), np.argsort(shuffled)


def bic(parts, n):
    return 2 * n * parts[..., 0] + np.log(n) * parts[..., 1]


def score_of(models, order, n):
    fits = [models.fit(node, np.sort(order[:p])) for p, node in enumerate(order)]
    return sum(n * np.log(fit.variance) + np.log(n) * fit.dof for fit in fits)


def position_scores(models, order, node, n):
    """Scores of all positions of ``node``, from the moves."""
    others = order[order != node]
    moves = models.fit_moves(node, others)
    before, after = bic(moves.before, n), bic(moves.after, n)
    left = np.concatenate([[0.0], np.cumsum(before)])
    right = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
    return others, bic(moves.own, n) + left + right


def best_positions(models, order, n):
    """Move one variable at a time to its best position until nothing improves."""
    while True:
        improved = False
        for node in range(order.size):
            others, scores = position_scores(models, order, node, n)
            best = int(np.argmin(scores))
            if scores[best] < scores[np.flatnonzero(order == node)[0]] - 1e-6:
                order = np.insert(others, best, node)
                improved = True
        if not improved:
            return order


def test_weights_variance_and_residuals_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    table, order = scale_free(rng, 12, 200)
    models = BicEdges().prepare(table)
    for p, node in enumerate(order):
        fit = models.fit(node, np.sort(order[:p]))
        design = table.values[:, fit.parents]
        expected = np.linalg.lstsq(design, table.values[:, node], rcond=None)[0]
        np.testing.assert_allclose(fit.weights, expected, rtol=1e-8)
        np.testing.assert_allclose(
            models.residuals(node, fit), table.values[:, node] - design @ expected, atol=1e-9
        )
        assert fit.variance == pytest.approx(np.mean(models.residuals(node, fit) ** 2))
        assert fit.dof == fit.parents.size
        assert set(fit.parents) <= set(order[:p])


def test_position_scores_from_the_moves_equal_scores_of_whole_orders():
    rng = np.random.default_rng(3)
    table, _ = scale_free(rng, 9, 100)
    models = BicEdges().prepare(table)
    order = rng.permutation(9)
    others, scores = position_scores(models, order, 4, 100)
    expected = [score_of(models, np.insert(others, q, 4), 100) for q in range(9)]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [20, 50])
def test_best_position_search_comes_within_a_thousandth_of_the_true_order(d):
    rng = np.random.default_rng(d)
    table, true_order = scale_free(rng, d, 1000)
    models = BicEdges().prepare(table)
    start = rng.permutation(d)
    found = best_positions(models, start, 1000)
    true_score, first_score = score_of(models, true_order, 1000), score_of(models, start, 1000)
    found_score = score_of(models, found, 1000)
    assert found_score < true_score + 0.001 * abs(true_score)
    assert found_score < first_score


def test_scaling_a_column_leaves_the_parents_as_they_are():
    rng = np.random.default_rng(7)
    table, order = scale_free(rng, 10, 300)
    scales = 10.0 ** rng.uniform(-4, 4, 10)
    plain, scaled = BicEdges().prepare(table), BicEdges().prepare(table_of(table.values * scales))
    for p, node in enumerate(order):
        before, after = plain.fit(node, np.sort(order[:p])), scaled.fit(node, np.sort(order[:p]))
        assert before.parents.tolist() == after.parents.tolist()
        assert after.variance == pytest.approx(before.variance * scales[node] ** 2)
        np.testing.assert_allclose(after.weights, before.weights * scales[node] / scales[before.parents])


def test_of_two_equal_columns_only_the_first_becomes_a_parent():
    rng = np.random.default_rng(1)
    cause = rng.normal(size=100)
    values = np.column_stack([cause + rng.normal(size=100), cause, cause])
    fit = BicEdges().prepare(table_of(values)).fit(0, np.array([1, 2]))
    assert fit.parents.tolist() == [1]


def test_a_column_that_others_determine_has_them_as_parents_and_a_positive_variance():
    rng = np.random.default_rng(1)
    causes = rng.normal(size=(100, 2))
    values = np.column_stack([causes @ [1.0, -2.0], causes, rng.normal(size=(100, 3))])
    models = BicEdges().prepare(table_of(values))
    fit = models.fit(0, np.arange(1, 6))
    assert fit.parents.tolist() == [1, 2]
    assert 0 < fit.variance < 1e-9
    np.testing.assert_allclose(fit.weights, [1.0, -2.0], rtol=1e-8)


def test_a_constant_column_is_neither_parent_nor_child_and_its_variance_stays_positive():
    rng = np.random.default_rng(1)
    values = np.column_stack([np.full(50, 3.0), rng.normal(size=(50, 2))])
    models = BicEdges(penalty=0.01).prepare(table_of(values))
    assert 0 not in models.fit(1, np.array([0, 2])).parents
    constant = models.fit(0, np.array([1, 2]))
    assert constant.parents.size == 0
    assert constant.variance > 0


def test_the_table_is_not_changed():
    values = np.random.default_rng(0).normal(size=(30, 4))
    table = Table(values.copy(), tuple("abcd"))
    models = BicEdges().prepare(table)
    models.fit_moves(0, np.array([1, 2, 3]))
    np.testing.assert_array_equal(table.values, values)
