"""Required parents and forbidden ones in the built-in estimators, against slow searches and another library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso
from sklearn.tree import DecisionTreeRegressor

from daguerreotype.edges.additive.estimators import GamEdges
from daguerreotype.edges.base import EdgeRules, Table
from daguerreotype.edges.lasso import LassoEdges
from daguerreotype.edges.regressor import RegressorEdges
from support.fits import standard_table


def random_table(rng, n=60, d=6):
    return standard_table(rng.normal(size=(n, d)) @ (np.eye(d) + np.triu(rng.normal(size=(d, d)), 1)))


def random_rules(rng, d):
    """Required edges that the order of the columns allows; none of them is forbidden."""
    required = np.triu(rng.random((d, d)) < 0.25, 1)
    allowed = (rng.random((d, d)) < 0.7) | required
    np.fill_diagonal(allowed, False)
    return EdgeRules(allowed, required)


# ------------------------------------------------------------------ the lasso


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_a_lasso_with_required_parents_is_that_of_what_they_leave_unexplained(alpha, rng):
    for _ in range(10):
        table = random_table(rng)
        rules = random_rules(rng, 6)
        node, predecessors = 5, np.arange(5)
        must, may = (np.flatnonzero(rules.required[:5, node] == needed) for needed in (True, False))
        fit = LassoEdges(alpha=alpha).prepare(table, rules).fit(node, predecessors)
        # Frisch and Waugh: the penalized weights are those of the residuals on the free columns.
        onto = table.values[:, must] @ np.linalg.pinv(table.values[:, must])
        rest = table.values - onto @ table.values
        lasso = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000)
        weights = np.zeros(5)
        weights[may] = lasso.fit(rest[:, may], rest[:, node]).coef_
        unexplained = table.values[:, node] - table.values[:, may] @ weights[may]
        weights[must] = np.linalg.lstsq(table.values[:, must], unexplained, rcond=None)[0]
        found = np.zeros(5)
        found[fit.parents] = fit.weights
        np.testing.assert_allclose(found, weights, atol=1e-6)
        assert fit.parents.tolist() == np.union1d(np.flatnonzero(weights), must).tolist()


def test_a_required_copy_of_another_parent_is_kept_with_a_weight_of_zero(rng):
    values = rng.normal(size=(50, 3))
    values[:, 1] = values[:, 0]
    values[:, 2] += values[:, 0]
    required = np.zeros((3, 3), dtype=bool)
    required[[0, 1], 2] = True
    models = LassoEdges().prepare(
        Table(values - values.mean(axis=0), ("a", "b", "c")), EdgeRules(~np.eye(3, dtype=bool), required)
    )
    fit = models.fit(2, np.array([0, 1]))
    assert fit.parents.tolist() == [0, 1]
    assert (fit.weights == 0).tolist() == [False, True]


# ------------------------------------------------------------------ grow-shrink trees


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_moves_that_obey_are_the_fits_of_their_positions(seed):
    rng = np.random.default_rng(seed)
    table, rules = random_table(rng), random_rules(rng, 6)
    models = GamEdges().prepare(table, rules)
    order = np.arange(6)  # obeys: required edges point upwards
    node = int(rng.integers(6))
    others = np.delete(order, node)
    moves = models.fit_moves(node, others)
    first = np.flatnonzero(rules.required[others, node]).max(initial=-1) + 1
    last = np.flatnonzero(rules.required[node, others]).min(initial=5)
    for q in range(first, last + 1):
        fit = models.fit(node, np.sort(others[:q]))
        assert moves.own[q] == pytest.approx([fit.excess, fit.dof])
    for i in range(5):
        before, after = others[:i], np.append(others[:i], node)
        for legal, seen, predecessors in ((i < last, moves.before, before), (i >= first, moves.after, after)):
            if legal:
                fit = models.fit(int(others[i]), np.sort(predecessors))
                assert seen[i] == pytest.approx([fit.excess, fit.dof])


def test_a_required_parent_with_a_nonlinear_effect_has_a_curve(rng):
    cause = rng.normal(size=300)
    values = np.column_stack([cause, cause**2 + 0.1 * rng.normal(size=300)])
    required = np.array([[False, True], [False, False]])
    table = Table(values - values.mean(axis=0), ("cause", "effect"))
    fit = GamEdges().prepare(table, EdgeRules(~np.eye(2, dtype=bool), required)).fit(1, np.array([0]))
    assert fit.dof > 1
    assert fit.variance < 0.1


# ------------------------------------------------------------------ regressors and gates


def test_a_regressor_that_sees_nothing_in_required_parents_keeps_them_alone(rng):
    values = rng.normal(size=(80, 4))
    required = np.zeros((4, 4), dtype=bool)
    required[1, 3] = True
    table = Table(values - values.mean(axis=0), ("a", "b", "c", "d"))
    edges = RegressorEdges(DecisionTreeRegressor(max_depth=2), random_state=0)
    fit = edges.prepare(table, EdgeRules(~np.eye(4, dtype=bool), required)).fit(3, np.arange(3))
    assert fit.parents.tolist() == [1]
    assert 0 < fit.weights[0] < 0.1


def test_a_penalty_that_closes_all_gates_leaves_the_required_ones_open(rng):
    pytest.importorskip("torch")
    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.edges.mlp import MlpEdges

    table = random_table(rng)
    required = np.zeros((6, 6), dtype=bool)
    required[[0, 3], 5] = True
    rules = EdgeRules(~np.eye(6, dtype=bool), required)
    for edges in (LinearEdges(pruning=100.0), MlpEdges(pruning=100.0, hidden=3, max_iter=50)):
        models = edges.prepare(table, rules)
        assert models.fit(5, np.arange(5)).parents.tolist() == [0, 3]
        assert models.fit(4, np.arange(4)).parents.tolist() == []
