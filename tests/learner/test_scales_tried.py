"""Which scales columns are on as effects: each on the one that suits it, as measured where that is as likely."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.metrics import shd
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel
from problems import problem
from support.fits import additive_data, linear_data

TABLES = {
    "linear": linear_data(0, 300, 6),
    "exponential": linear_data(2, 300, 6, "exponential"),
    "curves": additive_data(0, 400),
    "lognormal": np.exp(0.5 * linear_data(3, 300, 6)),
    "curves of logarithms": np.exp(0.5 * additive_data(1, 400)),
}


@pytest.mark.parametrize(
    ("name", "edges"),
    [*((name, "gam") for name in TABLES), *((name, "bic") for name in ("linear", "exponential", "lognormal"))],
)
def test_the_scale_that_is_chosen_is_the_likeliest_if_one_is_clearly_likelier(name, edges):
    chosen, none, log = (
        Daguerreotype(edges=edges, scales=scale, posterior=0, training=Bilevel(n_restarts=1)).fit(TABLES[name])
        for scale in ("auto", "none", "log")
    )
    own, measured, on_log = (model._result.log_likelihood for model in (chosen, none, log))
    if on_log > measured + 0.1:  # else it is a matter of chance
        assert own > on_log - 0.04 * TABLES[name].shape[1]  # what is preferred beforehand costs a little
    else:
        assert own >= measured
        if edges == "gam":  # another shape of noise is another scale to edges that are Gaussian
            assert set(chosen.columns_["scale"]) == set(chosen.columns_["cause_scale"]) == {"none"}
            np.testing.assert_array_equal(chosen.adjacency_matrix_, none.adjacency_matrix_)


def test_the_line_of_a_lognormal_cause_is_that_of_its_logarithm():
    logs = np.random.default_rng(0).normal(size=(400, 2)) @ [[1.0, 0.8], [0.0, 0.5]]
    X = np.exp(logs)
    model = Daguerreotype(operator=FixedOrder([0, 1]), posterior=0).fit(X)
    assert model._result.training.fits[model._result.place[1]].used.tolist() == [1]
    slope = np.polyfit(*logs.T, 1)[0]
    assert model._result.slopes[0, 1] == pytest.approx(slope, rel=1e-6)
    assert model.edges_["unit"].tolist() == ["log(x1) per log(x0)"]
    # Values near zero, and impossible ones, are far out, but no further than a logarithm of their distance is.
    low, unit = X[:, 0].min(), logs[:, 1].std() / slope
    reached = model._result.component(0, 1, np.array([-low, 0.0, 1e-9 * low, low])) * unit
    assert (np.diff(reached) > 0.0).all()
    assert (reached[3] - reached[:2] < np.log([121.0, 21.0])).all()


def test_a_column_whose_effects_are_straight_as_measured_keeps_its_scale():
    rng = np.random.default_rng(0)
    cause = rng.lognormal(sigma=0.7, size=500)
    X = np.column_stack([cause, cause + 0.5 * rng.normal(size=500)])
    assert Daguerreotype(posterior=0).fit(X).columns_["cause_scale"].tolist() == ["none", "none"]
    alone = np.column_stack([cause, rng.normal(size=500)])  # nothing but its own shape is left to tell
    assert Daguerreotype(posterior=0).fit(alone).columns_["cause_scale"].tolist() == ["log", "none"]


def test_a_scale_that_was_given_is_kept_and_few_rows_stay_as_they_came():
    for scale in ("none", "log", "yeo-johnson"):
        model = Daguerreotype(scales=scale, posterior=0, training=Bilevel(n_restarts=1)).fit(TABLES["lognormal"])
        assert model._result.transform == scale
    X = np.exp(linear_data(0, 49, 3))  # a scale that is fitted to a handful of values suits them by chance
    assert Daguerreotype(posterior=0).fit(X)._result.transform == "none"


def mixed_scales(seed=0, n=600):
    """A chain of bends: the second column is seen through its exponential, the last through a logistic curve."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.tanh(2 * a) + 0.5 * rng.normal(size=n)
    c = b**2 + 0.5 * rng.normal(size=n)
    d = np.sin(2 * c) + 0.5 * rng.normal(size=n)
    X = np.column_stack([a, np.exp(1.5 * b), c, 1 / (1 + np.exp(-3 * d))])
    return X, np.eye(4, k=1, dtype=int)


def test_every_column_gets_the_scale_of_its_own():
    for seed, operator in enumerate(["sparsemax", FixedOrder([0, 1, 2, 3]), "sparsemax"]):
        X, truth = mixed_scales(seed)
        model = Daguerreotype(operator=operator, posterior=0).fit(X)
        np.testing.assert_array_equal(model.adjacency_matrix_, truth)
        assert model.columns_["scale"][1].startswith("log")
        assert model.columns_["scale"][2] == "none"
        assert model.columns_["scale"][3].startswith("logit(")
        assert model._result.transform == "per column"
        assert shd(truth, Daguerreotype(scales="none", posterior=0).fit(X).adjacency_matrix_) > 0
        X[0, 3] = X[:, 3].max() + 0.2 * X[:, 3].std()  # what no training row had is not impossible
        assert model.score(X[:1]) > model.score(X[1:]) - 25.0


def test_the_score_is_the_likelihood_of_rows_as_they_came():
    """Multiplying a column leaves its scale what it was, but for a factor of the density."""
    X, _ = mixed_scales()
    factors = np.array([1.0, 20.0, 0.1, 3.0])
    for edges in ("gam", "bic"):
        first, second = (Daguerreotype(edges=edges, posterior=0).fit(table) for table in (X, factors * X))
        assert second.score(factors * X) == pytest.approx(first.score(X) - np.log(factors).sum(), abs=1e-6)


def test_noise_of_another_shape_is_no_other_scale():
    """Also where another scale is exactly as likely: x + e of exponential ones is also a product of logarithms."""
    for noise in ("uniform", "exponential"):
        right = measured = 0
        for seed in range(6):
            rng = np.random.default_rng([seed, 3])
            cause, error = getattr(rng, noise)(size=(2, 500))
            model = Daguerreotype(posterior=0).fit(np.column_stack([cause + error, cause]))
            right += int(model.adjacency_matrix_[1, 0])
            measured += model._result.transform == "none"
        assert measured >= 5
        assert right >= 4  # that product is also noise of a spread that depends on the effect


def test_edges_that_cannot_weigh_scales_leave_columns_as_they_came():
    X = np.exp(0.7 * linear_data(3, 300, 5))
    for edges in ("lars", "lasso"):
        model = Daguerreotype(edges=edges, posterior=0, training=Bilevel(loss="bic")).fit(X)
        assert model._result.transform == "none"


def test_values_that_were_set_have_no_say_in_a_scale(rng):
    cause = rng.normal(size=600)
    effect = 2 * cause + rng.normal(size=600)
    effect[:200] = np.exp(1.5 * cause[:200])
    X = np.column_stack([cause, effect])
    model = Daguerreotype(operator=FixedOrder([0, 1]), posterior=0).fit(X, interventions=[1] * 200 + [None] * 400)
    assert model.columns_["scale"].tolist() == ["none", "none"]
    assert model.columns_["noise"].tolist() == ["gaussian", "gaussian"]


@pytest.mark.parametrize("interventions", [None, [2] * 150 + [None] * 450], ids=["observed", "intervened"])
def test_training_rows_score_what_fits_lose_but_for_prices(interventions):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=(2, 600))
        c, d = a + np.exp(0.4 * a) * rng.normal(size=600), np.exp(0.5 * np.sin(2 * b) + 0.4 * rng.normal(size=600))
        X = np.column_stack([a, b, c, d])
        model = Daguerreotype(operator=FixedOrder([0, 1, 2, 3]), posterior=0)
        result = model.fit(X, interventions=interventions)._result
        training, scales = result.training, result.scaled.of_effects.scales
        assert {fit.coefficients.shape[1] for fit in training.fits} == {1, 2}
        assert set(model.columns_["noise"]) == {"gaussian"}
        assert set(scales.names) > {"none"}
        rows = np.full(4, 600) if interventions is None else training.rows_per_node
        evidence = rows / (1.0 + rows / model.trust)
        whole = 600 / (1.0 + 600 / model.trust)
        prices = 0.5 * np.log(whole) / whole * scales.n_parameters + 0.01 * (np.array(scales.names) != "none")
        paid = rows / 600 * (0.5 * np.log(evidence) / evidence * [fit.dof for fit in training.fits] + prices)
        expected = result.log_likelihood + paid.sum()
        assert model.score(X, interventions=interventions) == pytest.approx(expected, abs=1e-6)


def test_columns_without_causes_gain_no_more_by_their_shape_than_others_by_their_scale():
    wrong = 0
    for seed in range(700, 708):  # of which no choice was made
        X, truth = problem("saturation", seed, 10, 2000)
        wrong += shd(truth, Daguerreotype().fit(X).adjacency_matrix_)
    assert wrong <= 14  # 8; 25 without normal scores
