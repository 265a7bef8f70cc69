"""Does the learner behave as scikit-learn asks of its estimators?"""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LassoLarsIC
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from daguerreotype import Daguerreotype
from daguerreotype.operators import SparseMAP, Sparsemax
from daguerreotype.training import Bilevel, Joint
from support.fits import linear_data
from support.learners import make_learner

QUICK = {"edges": "bic", "loss": "bic", "k": 10, "max_iter": 30, "n_restarts": 1}


@parametrize_with_checks([Daguerreotype()])
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_parameter_is_stored_as_given_and_survives_clone():
    training = Bilevel(start=[1, 0, 2], loss="nll_ev")
    settings = {"operator": SparseMAP(tau=(2.0, 0.1)), "training": training, "random_state": 7}
    model = make_learner(**settings)
    assert all(getattr(model, name) is value for name, value in settings.items())
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    copy.set_params(training__loss="bic")
    assert training.loss == "nll_ev"
    assert repr(model) == repr(clone(model))


def test_set_params_reaches_into_parts_also_those_with_a_short_name():
    model = Daguerreotype(edges=LassoLarsIC())
    model.set_params(edges__criterion="aic", operator__k=3, training="joint", training__max_iter=5)
    assert (model.edges.criterion, model.operator, model.training) == ("aic", Sparsemax(k=3), Joint(max_iter=5))
    with pytest.raises(ValueError, match="Joint has no parameter 'refine'; it has 'learning_rate', "):
        model.set_params(training__refine=False)
    with pytest.raises(ValueError, match="Invalid parameter 'max_iter' for estimator"):
        model.set_params(max_iter=5)


def test_before_fit_there_is_nothing_to_ask():
    for ask in (lambda m: m.score(np.ones((4, 2))), lambda m: m.causal_graph_):
        with pytest.raises(NotFittedError, match=r"This Daguerreotype instance is not fitted yet"):
            ask(Daguerreotype())


def test_it_ends_a_pipeline():
    X = linear_data(1, 80, 4)
    pipeline = make_pipeline(StandardScaler(), make_learner(scales="none", **QUICK)).fit(X)
    alone = make_learner(scales="none", **QUICK).fit(X)
    np.testing.assert_array_equal(pipeline[-1].adjacency_matrix_, alone.adjacency_matrix_)
    assert pipeline.score(X) == pytest.approx(alone.score(X) + np.log(X.std(axis=0)).sum())


def test_a_grid_search_chooses_by_held_out_likelihood():
    X = np.exp(linear_data(3, 150, 3))
    grid = {"scales": ["none", "log"], "training__max_iter": [5]}
    search = GridSearchCV(Daguerreotype(edges="bic", posterior=0), grid, cv=3).fit(X)
    assert search.best_params_ == {"scales": "log", "training__max_iter": 5}


def test_a_fitted_learner_can_be_pickled():
    X = linear_data(4, 60, 4)
    model = make_learner(**QUICK).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.adjacency_matrix_, model.adjacency_matrix_)
    assert again.score(X) == model.score(X)


def test_fitting_again_forgets_the_first_fit_and_leaves_the_table_as_it_was():
    first, second = pd.DataFrame(linear_data(5, 60, 3), columns=list("abc")), linear_data(6, 70, 4)
    tables = first.copy(), second.copy()
    model = make_learner(**QUICK).fit(first)
    assert model.feature_names_in_.tolist() == list("abc")
    model.score(first)
    model.fit(second).score(second)
    fresh = make_learner(**QUICK).fit(second)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.adjacency_matrix_, fresh.adjacency_matrix_)
    assert (model.loss_, model.n_features_in_) == (fresh.loss_, 4)
    pd.testing.assert_frame_equal(first, tables[0])
    np.testing.assert_array_equal(second, tables[1])
