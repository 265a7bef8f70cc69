"""Draws and likelihoods of rows with gaps, against closed forms, enumeration and quadrature."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from daguerreotype import Daguerreotype
from daguerreotype.missing.draws import completions, integrated
from daguerreotype.missing.mechanisms import Candidates
from daguerreotype.missing.sampler import pick
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel
from support.learners import make_learner

CHAIN = {"loss": "bic", "scales": "none", "knowledge": {"required": [(0, 1), (1, 2)]}}


@pytest.fixture(scope="module")
def linear():
    """A chain of numbers, and the normal distribution that was learned."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=800)
    b = a + rng.normal(size=800)
    c = 0.8 * b + 0.5 * rng.normal(size=800)
    X = np.column_stack([a, b, c])
    model = make_learner(edges="bic", operator="fixed", start=[0, 1, 2], **CHAIN).fit(X)
    result = model._result
    d = 3
    weights, noise = np.zeros((d, d)), np.zeros(d)
    for node, fit in enumerate(result.training.fits):
        weights[fit.parents, node] = fit.weights
        noise[node] = result.densities[node].variance
    total = np.linalg.inv(np.eye(d) - weights)
    covariance = total.T @ np.diag(noise) @ total
    scale = result.scaled.spread
    covariance = covariance * np.outer(scale, scale)
    place = result.place
    return model, X, result.scaled.centre[place], covariance[np.ix_(place, place)]


def conditional(row, mean, covariance):
    """Mean and covariance of what is missing of a row, given what is seen."""
    gaps, seen = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
    onto = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, gaps)]).T
    rest = covariance[np.ix_(gaps, gaps)] - onto @ covariance[np.ix_(seen, gaps)]
    return mean[gaps] + onto @ (row[seen] - mean[seen]), rest


@pytest.mark.parametrize(
    "row", [[np.nan, 0.4, 1.0], [0.3, np.nan, 1.0], [np.nan, np.nan, -1.0], [1.0, np.nan, np.nan]]
)
def test_draws_of_a_linear_graph_are_those_of_the_normal_distribution(linear, row):
    model, _, mean, covariance = linear
    rows = np.tile(row, (3000, 1))
    drawn = model._result.draw(rows, 1, 0)[0]
    expected, spread = conditional(np.array(row), mean, covariance)
    gaps = np.isnan(row)
    deviation = np.sqrt(np.diag(spread))
    np.testing.assert_allclose(drawn[:, gaps].mean(axis=0), expected, atol=4.5 * deviation.max() / np.sqrt(3000))
    np.testing.assert_allclose(np.cov(drawn[:, gaps].T).reshape(spread.shape), spread, atol=0.12 * spread.max())
    np.testing.assert_array_equal(drawn[:, ~gaps], rows[:, ~gaps])


def test_the_likelihood_of_rows_with_gaps_is_that_of_the_normal_margin(linear):
    model, X, mean, covariance = linear
    rng = np.random.default_rng(1)
    rows = X[:120].copy()
    rows[rng.random(rows.shape) < 0.4] = np.nan
    expected = []
    for row in rows:
        seen = ~np.isnan(row)
        known = covariance[np.ix_(seen, seen)]
        expected.append(multivariate_normal(mean[seen], known).logpdf(row[seen]) if seen.any() else 0.0)
    assert model.score(rows) == pytest.approx(np.mean(expected), abs=0.005)


def test_rows_without_gaps_have_the_same_likelihood_alone_and_among_others(linear):
    model, X, *_ = linear
    some = X[:10].copy()
    some[0, 0] = np.nan
    alone = 9 * model.score(some[1:]) + model.score(some[:1])
    assert model.score(some) == pytest.approx(alone / 10, rel=1e-9)


def test_what_was_set_neither_depends_on_its_causes_nor_tells_them_but_tells_its_effects(linear):
    model, X, mean, covariance = linear
    rows = np.tile([3.0, np.nan, np.nan], (2000, 1))
    out = np.zeros(rows.shape, dtype=bool)
    out[:, 1] = True
    drawn = model._result.draw(rows, 1, 0, out)[0]
    # The middle was set: its values are those that it has in the table, whatever the first one is.
    assert drawn[:, 1].mean() == pytest.approx(X[:, 1].mean(), abs=0.2)
    slope = np.polyfit(drawn[:, 1], drawn[:, 2], 1)[0]
    assert slope == pytest.approx(0.8, abs=0.08)
    causes = model._result.draw(np.tile([np.nan, 3.0, 1.0], (2000, 1)), 1, 0, out)[0][:, 0]
    assert causes.mean() == pytest.approx(mean[0], abs=0.1)
    assert causes.var() == pytest.approx(covariance[0, 0], rel=0.15)


def test_dense_candidates_follow_a_density_and_its_integral_however_steep():
    nodes = np.linspace(-4.0, 4.0, 33)
    candidates = Candidates(nodes, nodes, nodes, dense=True)
    rng = np.random.default_rng(0)
    for centre, width in ((0.3, 1.0), (-1.0, 0.4)):
        weights = np.tile(norm(centre, width).logpdf(nodes), (20_000, 1))
        drawn, integral = pick(candidates, weights, rng)
        assert drawn.mean() == pytest.approx(centre, abs=0.03)
        assert drawn.std() == pytest.approx(width, rel=0.06)
        np.testing.assert_allclose(integral, 0.0, atol=1e-3)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(3)
    n = 1500
    city = rng.integers(0, 3, n)
    dose = np.array([0.0, 1.5, -1.0])[city] + rng.normal(size=n)
    ill = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * dose))
    visits = rng.poisson(np.exp(0.4 * dose))
    X = pd.DataFrame(
        {"city": np.array(["Bonn", "Oslo", "Rome"])[city], "dose": dose, "ill": ill, "visits": visits}
    )
    required = {"required": [("city", "dose"), ("dose", "ill"), ("dose", "visits")]}
    order = ["city", "dose", "ill", "visits"]
    return Daguerreotype(
        knowledge=required, scales="none", operator=FixedOrder(order), training=Bilevel(loss="bic")
    ).fit(X), X


def test_a_level_is_drawn_as_often_as_enumeration_says(mixed):
    model, X = mixed
    levels = [f"{city}" for city in ("Bonn", "Oslo", "Rome")]
    row = {"dose": 0.8, "ill": True, "visits": 2}
    whole = pd.DataFrame([{"city": city, **row} for city in levels])[list(X.columns)]
    masses = np.exp([model.score(whole.iloc[[i]]) for i in range(3)])
    rows = pd.DataFrame([{"city": np.nan, **row}] * 2000)[list(X.columns)].astype({"city": object})
    drawn = model.impute(rows, 1).draws[0]["city"].value_counts(normalize=True)
    np.testing.assert_allclose([drawn.get(city, 0.0) for city in levels], masses / masses.sum(), atol=0.035)
    assert model.score(rows.iloc[[0]]) == pytest.approx(np.log(masses.sum()), abs=1e-6)


def test_a_number_is_integrated_out_between_its_cause_and_its_effects(mixed):
    model, X = mixed
    row = {"city": "Oslo", "ill": True, "visits": 3}

    def joint(dose):
        return np.exp(model.score(pd.DataFrame([{**row, "dose": dose}])[list(X.columns)]))

    expected, _ = quad(joint, -5.0, 7.0, limit=100)
    rows = pd.DataFrame([{**row, "dose": np.nan}])[list(X.columns)]
    assert model.score(rows) == pytest.approx(np.log(expected), abs=0.01)


def test_counts_and_truth_values_are_drawn_as_such(mixed):
    model, X = mixed
    rng = np.random.default_rng(0)
    rows = X.astype({"ill": "boolean", "visits": "Int64"}).mask(rng.random(X.shape) < 0.3)
    rows.index = [f"row {i}" for i in range(len(rows))]
    done = model.impute(rows)
    assert list(done.table.index) == list(rows.index)
    assert list(done.table.columns) == list(done.spread.columns) == list(X.columns)
    assert not done.table.isna().any().any()
    assert done.table["ill"].dtype == "boolean"
    assert done.table["visits"].dtype == "Int64"
    assert set(done.table["city"]) <= {"Bonn", "Oslo", "Rome"}
    assert (done.table["visits"] >= 0).all()
    seen = rows.notna().to_numpy()
    assert (done.spread.to_numpy()[seen] == 0.0).all()
    assert (done.spread.to_numpy()[~seen] >= 0.0).all()
    # A level that its effects tell is found out far more often than by chance.
    hidden = rows["ill"].isna()
    assert (done.table["ill"][hidden] == X["ill"][hidden.to_numpy()].to_numpy()).mean() > 0.7


def test_numbers_on_a_grid_stay_on_it():
    rng = np.random.default_rng(0)
    a = rng.normal(size=600)
    X = pd.DataFrame({"a": a.round(1), "b": (2 * a + rng.normal(size=600)).round(1)})
    X.loc[rng.random(600) < 0.3, "b"] = np.nan
    drawn = Daguerreotype(scales="none").fit(X).impute(X).draws[0]["b"]
    np.testing.assert_allclose(drawn * 10, np.round(drawn * 10), atol=1e-9)


def test_a_scale_with_an_end_is_never_left():
    rng = np.random.default_rng(0)
    a = rng.normal(size=800)
    X = pd.DataFrame({"a": a, "b": np.exp(a + 0.7 * rng.normal(size=800))})
    gaps = rng.random(800) < 0.3
    Y = X.assign(b=X["b"].mask(gaps))
    model = Daguerreotype(scales="log", kinds={}).fit(Y)
    drawn = model.impute(Y).draws
    assert all((each["b"] > 0).all() for each in drawn)
    logs = np.log(np.concatenate([each["b"][gaps] for each in drawn]))
    assert logs.std() == pytest.approx(np.log(X["b"][gaps]).std(), rel=0.15)


def test_models_that_are_not_additive_are_drawn_from_too():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    first, second = X[:, 0] > 0, X[:, 1] > 0
    X[:, 2] = 3.0 * first + 2.0 * second + 2.0 * (first & second) + 0.2 * rng.normal(size=400)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    model = Daguerreotype(
        edges=tree, scales="none", operator=FixedOrder([0, 1, 2]), training=Bilevel(loss="bic")
    ).fit(X)
    assert np.asarray(model.adjacency_matrix_)[:2, 2].all()
    mechanisms = model._result.mechanisms
    assert not mechanisms.additive
    rows = X[:50].copy()
    rows[:, 2] = np.nan
    drawn = completions(mechanisms, rows[:, model._result.columns], 5, 0)
    place = model._result.place
    error = drawn.mean(axis=0)[:, place][:, 2] - X[:50, 2]
    assert np.abs(error).mean() < 0.5
    likelihood = integrated(mechanisms, rows[:, model._result.columns], np.isnan(rows[:, model._result.columns]))
    assert np.isfinite(likelihood).all()
