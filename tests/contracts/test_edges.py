"""Every edge estimator keeps the contract of daguerreotype.edges.base. A new one is a line in ESTIMATORS."""

import numpy as np
import pytest
from sklearn.linear_model import LassoLarsIC, LinearRegression
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from daguerreotype import edges
from daguerreotype.edges.base import EdgeEstimator, EdgeRules, LocalModels, Table
from daguerreotype.edges.lasso import LarsEdges, LassoEdges
from daguerreotype.edges.regressor import RegressorEdges


def by_gradient(name, **settings):
    """The estimator ``name``, or a skip where torch is not there."""

    def make():
        pytest.importorskip("torch")
        return getattr(edges, name)(**settings)

    return make


ESTIMATORS = {
    "lars": LarsEdges,
    "lasso": LassoEdges,
    "lasso-fixed": lambda: LassoEdges(alpha=0.1),
    "bic": edges.BicEdges,
    "gam": edges.GamEdges,
    "linear": by_gradient("LinearEdges"),
    "mlp": by_gradient("MlpEdges", hidden=10, max_iter=100),
    "regressor-linear": lambda: RegressorEdges(LinearRegression(), random_state=0),
    "regressor-sparse": lambda: RegressorEdges(LassoLarsIC(criterion="bic", noise_variance=1.0), random_state=0),
    "regressor-tree": lambda: RegressorEdges(DecisionTreeRegressor(min_samples_leaf=5), random_state=0),
    "regressor-permutation": lambda: RegressorEdges(
        DecisionTreeRegressor(min_samples_leaf=5), "permutation", random_state=0
    ),
    "regressor-in-sample": lambda: RegressorEdges(LinearRegression(), random_state=0, cv=None),
}
NODE = 5


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    made = ESTIMATORS[request.param]()
    with threadpool_limits(1):  # threads of tiny products only wait for each other
        yield made


def planted_table(n=200, d=8, seed=0):
    """Column 5 is twice column 1 plus noise; some other columns depend on each other."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d))
    values[:, 3] += values[:, 0]
    values[:, NODE] += 2 * values[:, 1]
    values[:, 6] += 0.5 * values[:, 3] - 0.5 * values[:, NODE]
    values -= values.mean(axis=0)
    return Table(values / values.std(axis=0), tuple(f"x{j}" for j in range(d)))


def local_problems(d=8):
    """Nodes with no, few, many, late and early predecessors."""
    everything = np.arange(d)
    return [
        (NODE, everything[:0]),
        (NODE, np.array([1])),
        (NODE, np.array([0, 2, 4])),
        (0, np.array([3, 6, 7])),
        (6, np.delete(everything, 6)),
        (NODE, np.delete(everything, NODE)),
    ]


def assert_same(fit, other, **tolerance):
    np.testing.assert_array_equal(fit.parents, other.parents)
    for part in ("weights", "norms", "variance"):
        np.testing.assert_allclose(getattr(fit, part), getattr(other, part), **tolerance)
    assert fit.dof == pytest.approx(other.dof)


def assert_sound(models, table, node, predecessors, fit):
    """Parents ascend and are predecessors; variance, residuals and degrees of freedom fit together."""
    assert np.isin(fit.parents, predecessors).all()
    assert (np.diff(fit.parents) > 0).all()
    assert fit.parents.dtype == np.int64
    for sizes in (fit.weights, fit.norms):
        assert sizes.shape == fit.parents.shape
        assert sizes.dtype == np.float64
        assert np.isfinite(sizes).all()
    assert isinstance(fit.nll, float)
    assert isinstance(fit.dof, float)
    assert fit.variance > 0
    assert fit.dof + len(getattr(fit, "products", ())) >= fit.parents.size - 1e-9  # a product has two parents
    residuals = models.residuals(node, fit)
    assert residuals.shape == (table.n_rows,)
    assert np.mean(residuals**2) == pytest.approx(fit.variance, rel=1e-9)


def test_it_is_an_edge_estimator_whose_fits_are_sound(estimator):
    table = planted_table()
    models = estimator.prepare(table)
    assert isinstance(estimator, EdgeEstimator)
    assert isinstance(models, LocalModels)
    for node, predecessors in local_problems():
        fit = models.fit(node, predecessors)
        assert_sound(models, table, node, predecessors, fit)
        assert (fit.weights != 0).all()
        assert (fit.norms > 0).all()
        assert fit.variance <= table.moments[node, node] * (1 + 1e-12)
        if fit.parents.size == 0:
            assert fit.dof == 0
            assert fit.variance == pytest.approx(table.moments[node, node], rel=1e-12)
            np.testing.assert_allclose(models.residuals(node, fit), table.values[:, node], atol=1e-12)


def test_a_strong_linear_parent_is_found_and_lowers_the_variance(estimator):
    table = planted_table()
    fit = estimator.prepare(table).fit(NODE, np.array([0, 1, 2, 3, 4]))
    assert fit.variance < 0.5 * table.moments[NODE, NODE]
    for sizes in (np.abs(fit.weights), fit.norms):
        assert fit.parents[np.argmax(sizes)] == 1


def rules_about(required, d=8):
    """All edges allowed, some required."""
    must = np.zeros((d, d), dtype=bool)
    for cause, effect in required:
        must[cause, effect] = True
    return EdgeRules(~np.eye(d, dtype=bool), must)


def test_required_parents_are_kept_whatever_the_data_say(estimator):
    table = planted_table()
    assert estimator.can.rules
    models = estimator.prepare(table, rules_about([(4, NODE), (2, NODE), (7, 0), (4, 6)]))
    for node, predecessors in local_problems():
        required = {NODE: [2, 4], 0: [7], 6: [4]}[node]
        if np.isin(required, predecessors).all():
            fit = models.fit(node, predecessors)
            assert np.isin(required, fit.parents).all()
            assert_sound(models, table, node, predecessors, fit)


def test_the_same_fit_comes_back_whatever_was_fitted_before_and_under_rules_that_require_nothing(estimator):
    table = planted_table()
    models = estimator.prepare(table)
    first = [models.fit(*problem) for problem in local_problems()]
    prepared = [models, estimator.prepare(planted_table())]
    if estimator.can.rules:
        prepared.append(estimator.prepare(table, rules_about([])))
    for again in prepared:
        for problem, fit in reversed(list(zip(local_problems(), first, strict=True))):
            assert_same(fit, again.fit(*problem), rtol=0)


def test_the_order_of_the_rows_plays_no_part(estimator):
    table = planted_table()
    rows = np.random.default_rng(1).permutation(table.n_rows)
    models = estimator.prepare(table)
    shuffled = estimator.prepare(Table(table.values[rows], table.names))
    for node, predecessors in local_problems():
        fit, other = models.fit(node, predecessors), shuffled.fit(node, predecessors)
        assert_same(fit, other, rtol=1e-7)
        np.testing.assert_allclose(models.residuals(node, fit)[rows], shuffled.residuals(node, other), atol=1e-7)


def test_neither_the_table_nor_the_predecessors_are_changed(estimator):
    table = planted_table()
    values = table.values.copy()
    models = estimator.prepare(table)
    for node, predecessors in local_problems():
        given = predecessors.copy()
        given.flags.writeable = False
        fit = models.fit(node, given)
        models.residuals(node, fit)
        np.testing.assert_array_equal(given, predecessors)
    np.testing.assert_array_equal(table.values, values)


def test_fewer_rows_than_columns_are_enough(estimator):
    table = planted_table(n=7, d=12)
    models = estimator.prepare(table)
    for node in range(12):
        fit = models.fit(node, np.delete(np.arange(12), node))
        assert np.isfinite(fit.weights).all()
        assert 0 < fit.variance <= table.moments[node, node] * (1 + 1e-12)
