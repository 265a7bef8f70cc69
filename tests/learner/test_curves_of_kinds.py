"""Curves of and on discrete columns are what the likelihood says they are."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from support.learners import make_learner
from support.mixed import mixed_table

# the effect, which nothing depends on, and its table
TABLES = {
    "size": ["dose", "city", "size"],
    "visits": ["dose", "visits"],
    "grade": ["dose", "city", "size", "grade"],
    "smoker": ["visits", "smoker"],
    "diet": ["dose", "visits", "smoker", "diet"],
}


def fit_tables(effect, interventional):
    X = mixed_table()[TABLES[effect]]
    settings = {"start": TABLES[effect], "scales": "none", "loss": "bic"}
    learner = make_learner(operator="fixed", **settings)
    if not interventional:
        return learner.fit(X), X
    targets = [effect if i % 4 == 0 else X.columns[0] if i % 4 == 1 else None for i in range(len(X))]
    return learner.fit(X, interventions=targets), X


def log_masses(model, row, effect, outcomes):
    """Log-likelihoods of one row for outcomes of the effect, but for a constant."""
    rows = (row.assign(**{effect: pd.Series([value], row.index).astype(row[effect].dtype)}) for value in outcomes)
    return np.array([model.score(rows_with_outcome) for rows_with_outcome in rows])


def predictors(model, row, effect):
    """Linear predictors of the effect in one row, but for a constant, from its likelihood."""
    if effect == "visits":  # log-mass of 1 less that of 0 is the log mean
        masses = log_masses(model, row, effect, [0, 1])
        return masses[1] - masses[0]
    levels = model._result.kinds_by_label[effect].levels
    masses = log_masses(model, row, effect, levels)
    if effect == "grade":
        rest = np.logaddexp(masses[0], masses[1])
        return masses[2] - rest
    odds = masses[1:] - masses[0]
    return odds[0] if len(levels) == 2 else odds


@pytest.mark.parametrize("interventional", [False, True])
@pytest.mark.parametrize("effect", ["visits", "grade", "smoker", "diet"])
def test_differences_of_curves_are_those_of_predictors(effect, interventional, tmp_path):
    model, X = fit_tables(effect, interventional)
    causes = [cause for cause, other in model.causal_graph_.edges if other == effect]
    assert causes
    model.save(tmp_path / "model.npz")
    one, other = X.iloc[[3]], X.iloc[[10]]
    for learner in (model, Daguerreotype.load(tmp_path / "model.npz")):
        curves = sum(
            learner.curve(cause, effect, other[cause].to_list())[0]
            - learner.curve(cause, effect, one[cause].to_list())[0]
            for cause in causes
        )
        by_likelihood = predictors(learner, other, effect) - predictors(learner, one, effect)
        np.testing.assert_allclose(curves, by_likelihood, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("interventional", [False, True])
def test_curves_have_mean_zero_over_the_rows_that_count_and_weights_without_an_order_are_their_norms(
    interventional,
):
    for effect, columns in TABLES.items():
        model, X = fit_tables(effect, interventional)
        rows = X[np.arange(len(X)) % 4 != 0] if interventional else X
        for cause in columns[:-1]:
            if model.adjacency_matrix_.loc[cause, effect]:
                curve = model.curve(cause, effect, rows[cause].to_list())
                np.testing.assert_allclose(curve.mean(axis=0), 0.0, atol=1e-9)
                if (cause, effect) == ("city", "size"):
                    norm = model.causal_graph_.edges[cause, effect]["norm"]
                    assert model.weights_.loc[cause, effect] == norm == pytest.approx(curve.std())


def test_levels_without_an_order_have_a_column_for_each_but_the_first():
    model, X = fit_tables("diet", False)
    assert model._result.kinds_by_label["diet"].levels == ("fish", "meat", "plants")
    assert model.curve("smoker", "diet", [False, True, True]).shape == (3, 2)
    assert model.curve("dose", "diet", X["dose"][:5]).shape == (5, 2)
