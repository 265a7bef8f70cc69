"""When residuals ask for another scale, and when they do not."""

from types import SimpleNamespace

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.training.misfit import asks_for_another_scale
from support.fits import additive_data, linear_data


def found(X, **settings):
    """What training on the columns as they came led to."""
    model = Daguerreotype(edges="gam", loss="bic", transform="none", n_restarts=1, **settings).fit(X)
    return model._result.best.training


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", ["normal", "laplace", "uniform", "exponential"])
def test_additive_noise_of_any_shape_asks_for_nothing_in_the_true_order(noise, seed):
    X = linear_data(seed, 500, 6, noise)
    assert not asks_for_another_scale(found(X, operator="fixed", init=list(range(6))))


@pytest.mark.parametrize("seed", range(3))
def test_curves_with_additive_noise_ask_for_nothing(seed):
    assert not asks_for_another_scale(found(additive_data(seed, 500)))


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_multiplies_asks_for_another_scale(seed):
    assert asks_for_another_scale(found(np.exp(0.5 * linear_data(seed, 500, 6))))


def test_a_few_huge_values_ask_even_if_no_edge_was_found(rng):
    X = np.exp(3 * rng.normal(size=(300, 2)))
    training = found(X, knowledge={"forbidden": [(0, 1), (1, 0)]})
    assert not any(fit.parents.size for fit in training.fits)
    assert asks_for_another_scale(training)


def test_values_that_were_set_are_not_judged(rng):
    cause = rng.normal(size=600)
    effect = 2 * cause + rng.normal(size=600)
    effect[:200] = 1.5 * np.abs(cause[:200])
    training = found(np.column_stack([cause, effect])[:, :], operator="fixed", init=[0, 1])
    assert asks_for_another_scale(training)
    model = Daguerreotype("fixed", loss="bic", transform="none", init=[0, 1])
    model.fit(np.column_stack([cause, effect]), interventions=[1] * 200 + [None] * 400)
    assert not asks_for_another_scale(model._result.best.training)


def test_without_residuals_nothing_speaks_against_another_scale():
    assert asks_for_another_scale(SimpleNamespace(residuals=lambda: None, table=None))
