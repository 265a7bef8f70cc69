"""Which scales a table is trained on: no more than residuals ask for, and the likeliest of all."""

import logging

import numpy as np
import pytest

import daguerreotype.pipeline as pipeline
from daguerreotype import Daguerreotype
from support.fits import additive_data, linear_data

TABLES = {
    "linear": linear_data(0, 300, 6),
    "Laplace": linear_data(1, 300, 6, "laplace"),
    "exponential": linear_data(2, 300, 6, "exponential"),
    "curves": additive_data(0, 400),
    "lognormal": np.exp(0.5 * linear_data(3, 300, 6)),
    "curves of logarithms": np.exp(0.5 * additive_data(1, 400)),
}


@pytest.fixture
def trained(monkeypatch):
    """Names of the scales that were trained on."""
    names, train = [], pipeline.Candidate.train

    def noted(self):
        names.append(self.name)
        return train(self)

    monkeypatch.setattr(pipeline.Candidate, "train", noted)
    return names


@pytest.mark.parametrize(
    ("name", "edges"),
    [*((name, "gam") for name in TABLES), *((name, "bic") for name in TABLES if "curves" not in name)],
)
def test_the_scale_that_is_chosen_is_the_likeliest_of_all(name, edges):
    chosen = Daguerreotype(edges=edges, n_restarts=1).fit(TABLES[name])
    each = {
        scale: Daguerreotype(edges=edges, n_restarts=1, transform=scale).fit(TABLES[name])
        for scale in ("none", "log", "yeo-johnson")
    }
    likeliest = max(each, key=lambda scale: each[scale]._result.best.log_likelihood)
    assert chosen.transform_ == likeliest
    np.testing.assert_array_equal(chosen.adjacency_matrix_, each[likeliest].adjacency_matrix_)
    assert chosen.loss_ == each[likeliest].loss_


@pytest.mark.parametrize("name", ["linear", "curves"])
def test_residuals_that_ask_for_nothing_are_trained_on_once(name, trained):
    Daguerreotype(n_restarts=1).fit(TABLES[name])
    assert trained == ["none"]


@pytest.mark.parametrize("name", ["Laplace", "exponential"])
def test_a_scale_that_promises_nothing_is_not_trained_on(name, trained, caplog):
    with caplog.at_level(logging.INFO, "daguerreotype"):
        Daguerreotype(n_restarts=1).fit(TABLES[name])
    assert trained == ["none"]
    assert caplog.text.count("(not trained)") == 2


def test_a_scale_that_is_clearly_likelier_spares_columns_as_they_came_another_noise(trained, monkeypatch):
    noises, train_on = [], pipeline.train_on
    monkeypatch.setattr(pipeline, "train_on", lambda *args: noises.append(args) or train_on(*args))
    model = Daguerreotype(n_restarts=1).fit(TABLES["lognormal"])
    assert model.transform_ == "log"
    assert trained == ["none", "log"]
    assert not noises


@pytest.mark.parametrize("transform", ["none", "log", "yeo-johnson"])
def test_a_given_scale_is_the_only_one(transform, trained):
    Daguerreotype(n_restarts=1, transform=transform).fit(TABLES["lognormal"])
    assert trained == [transform]


def test_a_given_order_is_fitted_on_all_scales(trained):
    Daguerreotype("fixed", init=list(range(6))).fit(TABLES["linear"])
    assert trained == ["none", "log", "yeo-johnson"]
