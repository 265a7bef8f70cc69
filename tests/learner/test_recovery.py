"""Are planted graphs found again, as far as the data can tell?"""

from itertools import product

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.graphs import to_cpdag
from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.training import Bilevel

STRUCTURES = {
    "chain": [(2, 0), (0, 3), (3, 1)],
    "fork": [(1, 0), (1, 2), (1, 3)],
    "collider": [(0, 2), (1, 2), (3, 2)],
    "diamond": [(3, 0), (3, 2), (0, 1), (2, 1)],
}
ORDERS = {"chain": [2, 0, 3, 1], "fork": [1, 0, 2, 3], "collider": [0, 1, 3, 2], "diamond": [3, 0, 2, 1]}


def planted(structure, noise="normal", n=800, seed=0):
    """Rows of a linear model with unit noise on one of the structures, and its adjacency."""
    rng = np.random.default_rng(seed)
    adjacency = np.zeros((4, 4), dtype=int)
    adjacency[tuple(np.transpose(STRUCTURES[structure]))] = 1
    X = getattr(rng, noise)(size=(n, 4))
    X /= X.std(axis=0)
    for node in ORDERS[structure]:
        X[:, node] += X @ (adjacency[:, node] * np.array([1.1, -0.9, 1.2, 0.8]))
    return X, adjacency


@pytest.mark.parametrize("structure", STRUCTURES)
def test_linear_gaussian_graphs_are_found_up_to_markov_equivalence(structure):
    X, adjacency = planted(structure)
    for edges, operator, loss in product(("gam", "bic"), ("sparsemax", "sparsemap"), ("bic", "auto")):
        training = Bilevel(loss=loss)
        model = Daguerreotype(edges=edges, operator=operator, training=training, posterior=0).fit(X)
        np.testing.assert_array_equal(to_cpdag(model.adjacency_matrix_), to_cpdag(adjacency))
        assert model._result.transform == "none"


@pytest.mark.parametrize("structure", STRUCTURES)
def test_equal_noise_on_the_raw_scale_tells_every_direction(structure):
    X, adjacency = planted(structure)
    settings = {"standardize": False, "scales": "none", "training": Bilevel(loss="nll_ev")}
    for edges, operator in product(("lars", "bic"), ("sparsemax", "sparsemap")):
        model = Daguerreotype(edges=edges, operator=operator, **settings).fit(X)
        np.testing.assert_array_equal(model.adjacency_matrix_, adjacency)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_noise_that_is_not_gaussian_tells_every_direction(structure):
    settings = {"edges": "bic", "penalty": 2.0, "scales": "none", "posterior": 0, "training": Bilevel(loss="bic")}
    for noise, model in product(("laplace", "random", "exponential"), (FreeShape(), FreeShape(CHANCE))):
        X, adjacency = planted(structure, noise, n=2000)
        model = Daguerreotype(noise=model, **settings).fit(X)
        np.testing.assert_array_equal(model.adjacency_matrix_, adjacency)


CURVES = {
    "square": lambda x: x**2,
    "sine": lambda x: np.sin(2 * x),
    "tanh": lambda x: np.tanh(3 * x),
    "cube": lambda x: x**3 / 3,
}


def test_a_nonlinear_additive_pair_is_found_in_its_direction():
    for curve, swapped in product(CURVES.values(), (False, True)):
        rng = np.random.default_rng(2)
        cause = rng.normal(size=500)
        effect = curve(cause) + 0.3 * rng.normal(size=500)
        X = np.column_stack([effect, cause] if swapped else [cause, effect])
        model = Daguerreotype(training=Bilevel(loss="bic")).fit(X)
        np.testing.assert_array_equal(model.causal_order_, [1, 0] if swapped else [0, 1])
        assert model.adjacency_matrix_.sum() == 1


def test_independent_columns_have_no_edges():
    X = np.random.default_rng(3).normal(size=(500, 5))
    assert Daguerreotype(penalty=2.0).fit(X).adjacency_matrix_.sum() == 0


def test_noise_that_a_wrong_order_hides_is_noticed():
    """To a Gaussian criterion both directions of a chain are the same, and mixed noise looks Gaussian."""
    right = 0
    for noise, seed in product(("laplace", "gumbel", "uniform"), range(6)):
        X, adjacency = planted("chain", noise, n=600, seed=seed)
        model = Daguerreotype(scales="none", posterior=0).fit(X)
        right += np.array_equal(model.adjacency_matrix_, adjacency)
    assert right >= 15


def test_gaussian_noise_is_taken_for_what_it_is():
    for seed in range(6):
        X, _ = planted("chain", "normal", n=150, seed=seed)
        model = Daguerreotype(scales="none", posterior=0).fit(X)
        assert set(model.columns_["noise"]) == {"gaussian"}
