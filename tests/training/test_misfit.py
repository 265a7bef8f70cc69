"""When residuals ask for another scale, and when they do not."""

from types import SimpleNamespace

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel
from daguerreotype.training.choices import asks_for_another_scale
from support.fits import additive_data, linear_data
from support.learners import make_learner


def trained(X, **settings):
    """What training on the columns as they came led to."""
    model = make_learner(edges="gam", loss="bic", scales="none", n_restarts=1, **settings).fit(X)
    return model._result.training


@pytest.mark.parametrize("noise", ["normal", "laplace", "uniform", "exponential"])
def test_additive_noise_of_any_shape_asks_for_nothing_in_the_true_order(noise):
    for seed in range(3):
        X = linear_data(seed, 500, 6, noise)
        assert not asks_for_another_scale(trained(X, operator="fixed", start=list(range(6))))


def test_curves_with_additive_noise_ask_for_nothing_and_noise_that_multiplies_for_another_scale():
    for seed in range(3):
        assert not asks_for_another_scale(trained(additive_data(seed, 500)))
        assert asks_for_another_scale(trained(np.exp(0.5 * linear_data(seed, 500, 6))))


def test_a_few_huge_values_ask_even_if_no_edge_was_found(rng):
    X = np.exp(3 * rng.normal(size=(300, 2)))
    training = trained(X, knowledge={"forbidden": [(0, 1), (1, 0)]})
    assert not any(fit.parents.size for fit in training.fits)
    assert asks_for_another_scale(training)


def test_values_that_were_set_are_not_judged(rng):
    cause = rng.normal(size=600)
    effect = 2 * cause + rng.normal(size=600)
    effect[:200] = 1.5 * np.abs(cause[:200])
    training = trained(np.column_stack([cause, effect])[:, :], operator="fixed", start=[0, 1])
    assert asks_for_another_scale(training)
    model = Daguerreotype(scales="none", operator=FixedOrder([0, 1]), training=Bilevel(loss="bic"))
    model.fit(np.column_stack([cause, effect]), interventions=[1] * 200 + [None] * 400)
    assert not asks_for_another_scale(model._result.training)


def test_without_residuals_nothing_speaks_against_another_scale():
    assert asks_for_another_scale(SimpleNamespace(residuals=lambda: None, table=None))
