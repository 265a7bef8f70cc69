"""Which scales a table is trained on: no more than residuals ask for, each column on the one that suits it."""

import numpy as np
import pytest

import daguerreotype.training.choices as choices
from daguerreotype import Daguerreotype
from daguerreotype.metrics import shd
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel
from support.fits import additive_data, linear_data

TABLES = {
    "linear": linear_data(0, 300, 6),
    "exponential": linear_data(2, 300, 6, "exponential"),
    "curves": additive_data(0, 400),
    "lognormal": np.exp(0.5 * linear_data(3, 300, 6)),
    "curves of logarithms": np.exp(0.5 * additive_data(1, 400)),
}


@pytest.fixture
def chosen(monkeypatch):
    """How often scales of columns were compared."""
    calls, choose = [], choices.find_scales
    monkeypatch.setattr(choices, "find_scales", lambda *args: calls.append(args) or choose(*args))
    return calls


@pytest.mark.parametrize(
    ("name", "edges"),
    [*((name, "gam") for name in TABLES), *((name, "bic") for name in TABLES if "curves" not in name)],
)
def test_the_scale_that_is_chosen_is_the_likeliest_if_one_is_clearly_likelier(name, edges):
    chosen = Daguerreotype(edges=edges, training=Bilevel(n_restarts=1)).fit(TABLES[name])
    each = {
        scale: Daguerreotype(edges=edges, scales=scale, training=Bilevel(n_restarts=1)).fit(TABLES[name])
        for scale in ("none", "log")
    }
    likelihoods = {scale: fit._result.best.log_likelihood for scale, fit in each.items()}
    if max(likelihoods.values()) > likelihoods["none"] + 0.1:  # else it is a matter of chance
        assert chosen._result.transform == max(likelihoods, key=likelihoods.get) == "log"
        # What is preferred beforehand costs a little.
        assert chosen._result.best.log_likelihood > likelihoods["log"] - 0.04 * TABLES[name].shape[1]
    else:
        assert chosen._result.transform == "none"
        assert (
            set(chosen.columns_["scale"].to_dict().values())
            == set(chosen.columns_["cause_scale"].to_dict().values())
            == {"none"}
        )
        assert chosen._result.best.log_likelihood == likelihoods["none"]
        np.testing.assert_array_equal(chosen.adjacency_matrix_, each["none"].adjacency_matrix_)


def test_scales_are_compared_only_if_residuals_ask_for_it_and_none_was_given(chosen):
    for name in ("linear", "curves"):
        Daguerreotype(posterior=0, training=Bilevel(n_restarts=1)).fit(TABLES[name])
    for scale in ("none", "log", "yeo-johnson"):
        model = Daguerreotype(scales=scale, posterior=0, training=Bilevel(n_restarts=1)).fit(TABLES["lognormal"])
        assert model._result.transform == scale
    X = np.exp(linear_data(0, 49, 3))  # a scale that is fitted to a handful of values suits them by chance
    assert Daguerreotype(posterior=0).fit(X)._result.transform == "none"
    assert not chosen


def mixed_scales(seed=0, n=600):
    """A chain of bends: the second column is seen through its exponential, the last through a logistic curve."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.tanh(2 * a) + 0.5 * rng.normal(size=n)
    c = b**2 + 0.5 * rng.normal(size=n)
    d = np.sin(2 * c) + 0.5 * rng.normal(size=n)
    X = np.column_stack([a, np.exp(1.5 * b), c, 1 / (1 + np.exp(-3 * d))])
    return X, np.eye(4, k=1, dtype=int)


@pytest.mark.parametrize("seed", range(3))
def test_every_column_gets_the_scale_of_its_own(seed):
    X, truth = mixed_scales(seed)
    model = Daguerreotype().fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, truth)
    assert model.columns_["scale"][1].startswith("log")
    assert model.columns_["scale"][2] == "none"
    assert model.columns_["scale"][3].startswith("logit(")
    assert model._result.transform == "per column"
    assert shd(truth, Daguerreotype(scales="none").fit(X).adjacency_matrix_) > 0


def test_a_given_order_has_the_scales_that_suit_it():
    X, truth = mixed_scales()
    model = Daguerreotype(operator=FixedOrder([0, 1, 2, 3])).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, truth)
    assert model.columns_["scale"][1].startswith("log")
    assert model.columns_["scale"][3].startswith("logit(")


@pytest.mark.parametrize("edges", ["gam", "bic"])
def test_the_score_is_the_likelihood_of_rows_as_they_came(edges):
    """Multiplying a column leaves its scale what it was, but for a factor of the density."""
    X, _ = mixed_scales()
    factors = np.array([1.0, 20.0, 0.1, 3.0])
    first, second = Daguerreotype(edges=edges).fit(X), Daguerreotype(edges=edges).fit(factors * X)
    assert second.score(factors * X) == pytest.approx(first.score(X) - np.log(factors).sum(), abs=1e-6)


def test_the_density_of_scores_sums_to_one():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=500)
    X = np.column_stack([cause, np.exp(np.sin(1.5 * cause) + 0.5 * rng.normal(size=500))])
    model = Daguerreotype(training=Bilevel(loss="bic")).fit(X)
    assert (model.columns_["scale"][1], model.columns_["cause_scale"][0]) == ("log", "none")
    first, second = np.linspace(-5.0, 5.0, 41), np.geomspace(1e-3, 1e3, 121)
    density = np.array([[np.exp(model.score([[a, b]])) for b in second] for a in first])
    assert np.trapezoid(np.trapezoid(density, second, axis=1), first) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("noise", ["uniform", "exponential"])
def test_noise_of_another_shape_is_no_other_scale(noise):
    """Also where another scale is exactly as likely: x + e of exponential ones is also a product of logarithms."""
    right = measured = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 3])
        cause, error = getattr(rng, noise)(size=(2, 500))
        model = Daguerreotype().fit(np.column_stack([cause + error, cause]))
        right += int(model.adjacency_matrix_[1, 0])
        measured += model._result.transform == "none"
    assert right >= 5
    assert measured >= 5


@pytest.mark.parametrize("edges", ["lars", "lasso"])
def test_edges_of_one_scale_have_the_same_for_causes_and_effects(edges):
    X = np.exp(0.7 * linear_data(3, 300, 5))
    model = Daguerreotype(edges=edges, training=Bilevel(loss="bic")).fit(X)
    assert model._result.transform == "log"
    assert model.columns_["scale"].to_dict() == model.columns_["cause_scale"].to_dict()
