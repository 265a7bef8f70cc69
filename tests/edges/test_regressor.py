"""Any scikit-learn regressor as edge estimator: what it selects, what it scores, what it refuses."""

import re

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LassoLarsIC, LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from daguerreotype.edges.base import Table
from daguerreotype.edges.regressor import RegressorEdges
from daguerreotype.noise.gaussian import nll_of_variance


def table_of(*columns):
    values = np.column_stack(columns)
    values = values - values.mean(axis=0)
    return Table(values / values.std(axis=0), tuple("abcdefgh"[: values.shape[1]]))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with threadpool_limits(1):  # fits this small lose time to threads
        yield


@pytest.fixture(scope="module")
def pair():
    """Column b is a function of column a that cannot be inverted; c is apart."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    return table_of(x, np.cos(2 * x) + 0.2 * rng.normal(size=300), rng.normal(size=300))


def boosting():
    return HistGradientBoostingRegressor(max_iter=25, max_leaf_nodes=8)


FLEXIBLE = {
    "boosting": boosting,
    "forest": lambda: RandomForestRegressor(n_estimators=20, min_samples_leaf=3),
    "neighbours": lambda: KNeighborsRegressor(10),
    "kernel ridge": lambda: KernelRidge(alpha=0.1, kernel="rbf"),
    "pipeline": lambda: make_pipeline(StandardScaler(), DecisionTreeRegressor(min_samples_leaf=10)),
}


@pytest.mark.parametrize("name", FLEXIBLE)
def test_a_nonlinear_parent_is_kept_noise_is_not_and_the_causal_order_scores_better(pair, name):
    models = RegressorEdges(FLEXIBLE[name](), random_state=0).prepare(pair)
    fit = models.fit(1, np.array([0, 2]))
    np.testing.assert_array_equal(fit.parents, [0])
    assert fit.dof == 1
    empty = np.array([], dtype=np.int64)
    forward = np.log(models.fit(0, empty).variance) + np.log(models.fit(1, np.array([0])).variance)
    backward = np.log(models.fit(1, empty).variance) + np.log(models.fit(0, np.array([1])).variance)
    assert forward < backward - 0.5


@pytest.mark.parametrize("name", FLEXIBLE)
def test_noise_alone_gives_no_parents_though_the_learner_could_explain_its_own_rows(name):
    table = table_of(*np.random.default_rng(3).normal(size=(4, 150)))
    fit = RegressorEdges(FLEXIBLE[name](), random_state=0).prepare(table).fit(3, np.array([0, 1, 2]))
    assert fit.parents.size == 0
    assert fit.nll == nll_of_variance(table.moments[3, 3])


def test_without_folds_an_overfitted_variance_is_reported_as_it_is():
    table = table_of(*np.random.default_rng(3).normal(size=(2, 150)))
    fit = RegressorEdges(DecisionTreeRegressor(), random_state=0, cv=None).prepare(table).fit(1, np.array([0]))
    assert fit.variance < 1e-12


def test_residuals_are_those_of_rows_left_out(pair):
    models = RegressorEdges(LinearRegression(), random_state=0, cv=pair.n_rows).prepare(
        table_of(pair.values[:, 0], pair.values[:, 2] + pair.values[:, 0])
    )
    fit = models.fit(1, np.array([0]))
    inputs, target = models.table.values[:, :1], models.table.values[:, 1]
    expected = target - cross_val_predict(LinearRegression(), inputs, target, cv=pair.n_rows)
    np.testing.assert_allclose(models.residuals(1, fit), expected, atol=1e-10)


def test_a_sparse_linear_model_keeps_its_non_zeros_and_weights_are_those_of_the_second_fit():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 5))
    table = table_of(*x.T, x[:, 1] - 0.6 * x[:, 3] + 0.5 * rng.normal(size=200))
    fit = RegressorEdges(Lasso(alpha=0.1), random_state=0).prepare(table).fit(5, np.arange(5))
    expected = Lasso(alpha=0.1).fit(table.values[:, :5], table.values[:, 5]).coef_
    np.testing.assert_array_equal(fit.parents, np.flatnonzero(expected))
    np.testing.assert_allclose(fit.weights, expected[fit.parents], rtol=1e-3)


def test_a_dense_linear_model_keeps_importances_of_half_the_uniform_share_in_whatever_units():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3))
    values = np.column_stack([0.1 * x[:, 0], 10 * x[:, 1], x[:, 2], x[:, 0] + x[:, 1] + 0.05 * x[:, 2]])
    table = Table(values - values.mean(axis=0), tuple("abcd"))
    fit = RegressorEdges(LinearRegression(), random_state=0).prepare(table).fit(3, np.arange(3))
    np.testing.assert_array_equal(fit.parents, [0, 1])
    np.testing.assert_allclose(fit.weights, [10, 0.1], rtol=0.02)


def test_weights_of_a_flexible_learner_share_the_variance_that_it_explains():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 400))
    table = table_of(x[0], x[1], np.sin(2 * x[0]) + 0.5 * x[1] ** 2)
    fit = RegressorEdges(FLEXIBLE["forest"](), random_state=0).prepare(table).fit(2, np.array([0, 1]))
    np.testing.assert_array_equal(fit.parents, [0, 1])
    assert np.sum(fit.weights**2) == pytest.approx(table.moments[2, 2] - fit.variance)


def test_the_same_seed_gives_the_same_fit_another_seed_another_and_none_one_that_repeats_itself(pair):
    def prepare(seed):
        return RegressorEdges(FLEXIBLE["forest"](), random_state=seed).prepare(pair)

    def variance(models):
        return models.fit(1, np.array([0, 2])).variance

    assert variance(prepare(0)) == variance(prepare(0)) != variance(prepare(1))
    models = prepare(None)
    assert variance(models) == variance(models)


def test_the_users_regressor_is_never_fitted_nor_seeded(pair):
    regressor = DecisionTreeRegressor()
    RegressorEdges(regressor, random_state=0).prepare(pair).fit(1, np.array([0, 2]))
    assert regressor.random_state is None
    assert not hasattr(regressor, "tree_")


class Halves:
    """A regressor that knows nothing of scikit-learn: y is near half of x."""

    def fit(self, inputs, target):
        return self

    def predict(self, inputs):
        return inputs[:, 0] / 2


class Divides(Halves):
    def predict(self, inputs):
        return np.full(len(inputs), np.nan)


def test_any_object_with_fit_and_predict_will_do():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    values = np.column_stack([x, x / 2 + 0.1 * rng.normal(size=100)])
    models = RegressorEdges(Halves(), random_state=0).prepare(Table(values, ("a", "b")))
    fit = models.fit(1, np.array([0]))
    np.testing.assert_allclose(models.residuals(1, fit), values[:, 1] - x / 2)


def test_what_is_no_regressor_and_settings_that_it_cannot_use_are_refused_with_the_reason(pair):
    for regressor, message in (
        (StandardScaler(), "StandardScaler has no predict: expected a regressor with fit and predict. Pass"),
        (3, "int has no fit and no predict: expected a regressor"),
        (Lasso, "regressor is the class Lasso: expected an object. Write Lasso()."),
        (LogisticRegression(), "LogisticRegression is a classifier: expected a regressor, as all columns are"),
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            RegressorEdges(regressor).prepare(pair)
    with pytest.raises(ValueError, match="cv must be at least 2, got 1"):
        RegressorEdges(Lasso(), cv=1).prepare(pair)
    with pytest.raises(ValueError, match="selection must be 'auto' or 'permutation', got 'largest'"):
        RegressorEdges(Lasso(), "largest").prepare(pair)


def test_predictions_that_are_not_numbers_are_refused_with_the_names_of_the_columns(pair):
    models = RegressorEdges(Divides()).prepare(pair)
    message = "Divides predicted a value that is not finite for 'b' from 'a', 'c'. Scale the columns"
    with pytest.raises(ValueError, match=re.escape(message)):
        models.fit(1, np.array([0, 2]))


def test_what_a_regressor_refuses_comes_with_the_names_of_the_columns():
    few = table_of(*np.random.default_rng(0).normal(size=(3, 3)))
    models = RegressorEdges(LassoLarsIC()).prepare(few)
    with pytest.raises(ValueError, match=r"LassoLarsIC could not be fitted to '\w+' on '\w+', '\w+': You"):
        models.fit(1, np.array([0, 2]))
