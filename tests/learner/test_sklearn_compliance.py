"""Does the learner behave as scikit-learn asks of its estimators?"""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LassoLarsIC
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from daguerreotype import Daguerreotype
from support.fits import linear_data

QUICK = {"edges": "bic", "loss": "bic", "k": 10, "max_iter": 30, "n_restarts": 1}

# scikit-learn takes whatever has an attribute `transform` for a transformer. Here it is a parameter, the change of
# scale, and these checks call it.
CALLS_TRANSFORM = "calls the parameter transform, a string, as if it were a method"
EXPECTED_FAILURES = dict.fromkeys(
    [
        "check_dict_unchanged",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in_after_fitting",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_transformers_unfitted",
    ],
    CALLS_TRANSFORM,
)


class Renamed(Daguerreotype):
    """The learner with the parameter ``transform`` out of scikit-learn's sight."""

    def __init__(self, change_of_scale="auto"):
        super().__init__()
        self.change_of_scale = change_of_scale
        del self.transform

    def fit(self, X, y=None):
        self.transform = self.change_of_scale
        try:
            return super().fit(X, y)
        finally:
            del self.transform

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags = None
        return tags


@parametrize_with_checks(
    [Daguerreotype(), Renamed()],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator, Renamed) else EXPECTED_FAILURES,
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_parameter_is_stored_as_given_and_survives_clone():
    settings = {"operator": "sparsemap", "tau": (2.0, 0.1), "init": [1, 0, 2], "loss": "nll_ev", "random_state": 7}
    model = Daguerreotype(**settings)
    assert settings.items() <= model.get_params(deep=False).items()
    assert clone(model).get_params(deep=False) == model.get_params(deep=False)


def test_set_params_reaches_into_a_regressor():
    model = Daguerreotype(edges=LassoLarsIC())
    model.set_params(edges__criterion="aic", k=3)
    assert (model.edges.criterion, model.k) == ("aic", 3)


@pytest.mark.parametrize(
    "ask", [lambda m: m.score(np.ones((4, 2))), lambda m: m.causal_graph_], ids=["score", "graph"]
)
def test_before_fit_there_is_nothing_to_ask(ask):
    with pytest.raises(NotFittedError, match=r"This Daguerreotype instance is not fitted yet"):
        ask(Daguerreotype())


def test_names_and_number_of_columns_are_remembered():
    X = pd.DataFrame(linear_data(0, 50, 3), columns=["a", "b", "c"])
    model = Daguerreotype(**QUICK).fit(X)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    assert not hasattr(model.fit(X.to_numpy()), "feature_names_in_")


def test_it_ends_a_pipeline():
    X = linear_data(1, 80, 4)
    pipeline = make_pipeline(StandardScaler(), Daguerreotype(**QUICK, transform="none")).fit(X)
    alone = Daguerreotype(**QUICK, transform="none").fit(X)
    np.testing.assert_array_equal(pipeline[-1].adjacency_matrix_, alone.adjacency_matrix_)
    assert pipeline.score(X) == pytest.approx(alone.score(X) + np.log(X.std(axis=0)).sum())


def test_cross_validation_scores_held_out_rows():
    X = linear_data(2, 90, 4)
    model, folds = Daguerreotype(**QUICK, transform="none"), KFold(3)
    expected = [clone(model).fit(X[train]).score(X[test]) for train, test in folds.split(X)]
    np.testing.assert_allclose(cross_val_score(model, X, cv=folds), expected)


def test_a_grid_search_chooses_by_held_out_likelihood():
    X = np.exp(linear_data(3, 150, 3))
    search = GridSearchCV(Daguerreotype(**QUICK), {"transform": ["none", "log"]}, cv=3).fit(X)
    assert search.best_params_ == {"transform": "log"}


def test_a_fitted_learner_can_be_pickled():
    X = linear_data(4, 60, 4)
    model = Daguerreotype(**QUICK).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.adjacency_matrix_, model.adjacency_matrix_)
    assert again.score(X) == model.score(X)


def test_fitting_again_forgets_the_first_fit():
    first, second = linear_data(5, 60, 3), linear_data(6, 70, 4)
    model, fresh = Daguerreotype(**QUICK).fit(first).fit(second), Daguerreotype(**QUICK).fit(second)
    np.testing.assert_array_equal(model.adjacency_matrix_, fresh.adjacency_matrix_)
    assert (model.loss_, model.n_features_in_) == (fresh.loss_, 4)


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_the_table_is_left_as_it_was(kind):
    X = pd.DataFrame(linear_data(7, 60, 4), columns=list("abcd"))
    X = X if kind == "frame" else X.to_numpy()
    before = X.copy()
    Daguerreotype(**QUICK).fit(X).score(X)
    assert np.array_equal(X, before)
