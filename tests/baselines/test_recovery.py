"""Each method recovers an easy problem of the kind that it is made for."""

import numpy as np
import pytest

from daguerreotype import baselines
from daguerreotype.graphs import to_cpdag

# 0 -> 1 -> 3 <- 2, 3 -> 4
WEIGHTS = np.zeros((5, 5))
WEIGHTS[0, 1], WEIGHTS[1, 3], WEIGHTS[2, 3], WEIGHTS[3, 4] = 1.5, -1.2, 1.4, 1.3
LIBRARY = {
    "notears": "castle",
    "notears-mlp": "castle",
    "dagma": "dagma",
    "direct-lingam": "lingam",
    **dict.fromkeys(["boss", "grasp", "ges", "pc"], "causallearn"),
}


def sample(seed, noise="normal", scales=1.0, n=1000):
    rng = np.random.default_rng(seed)
    drawn = getattr(rng, noise)(size=(n, 5)) * scales
    return drawn @ np.linalg.inv(np.eye(5) - WEIGHTS)


def get(name, **settings):
    if name in LIBRARY:
        pytest.importorskip(LIBRARY[name])
    return baselines.get(name, **settings)


@pytest.mark.parametrize("name", ["notears", "golem-ev", "dagma", "sortnregress"])
def test_equal_noise_on_the_raw_scale_is_recovered_with_its_weights(name):
    model = get(name, standardize=False).fit(sample(0))
    np.testing.assert_array_equal(model.adjacency_matrix_, WEIGHTS != 0)
    np.testing.assert_allclose(model.weights_, WEIGHTS, atol=0.2)


def test_unequal_noise_is_recovered_by_the_golem_that_allows_for_it():
    X = sample(1, scales=np.array([1.0, 0.8, 1.2, 0.9, 1.5]))
    model = get("golem-nv", standardize=False).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, WEIGHTS != 0)


@pytest.mark.parametrize("name", ["boss", "grasp", "ges", "pc"])
def test_the_equivalence_class_of_gaussian_data_is_recovered_from_standardized_columns(name):
    settings = {"alpha": 0.001} if name == "pc" else {}
    model = get(name, **settings).fit(sample(2))
    np.testing.assert_array_equal(model.cpdag_, to_cpdag(WEIGHTS != 0))


def test_uniform_noise_is_recovered_with_its_order_from_standardized_columns():
    model = get("direct-lingam").fit(sample(3, "uniform"))
    place = np.argsort(model.causal_order_)
    assert all(place[i] < place[j] for i, j in np.argwhere(WEIGHTS))
    assert not (model.adjacency_matrix_ < (WEIGHTS != 0)).any()


def test_a_sine_is_recovered_with_its_direction_by_networks(rng):
    cause = rng.normal(size=300)
    X = np.column_stack([3 * np.sin(2 * cause) + 0.3 * rng.normal(size=300), cause])
    assert get("notears-mlp").fit(X).adjacency_matrix_.tolist() == [[0, 0], [1, 0]]


def test_effects_that_are_ever_better_explained_are_sorted_by_r2():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 4))
    for j in range(1, 4):
        X[:, j] = X[:, :j].sum(axis=1) + 0.9 * X[:, j] / j
    assert baselines.get("r2-sortnregress").fit(X).causal_order_[-1] == 3
