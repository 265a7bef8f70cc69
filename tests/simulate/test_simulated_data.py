import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from daguerreotype.simulate import simulate_dag, simulate_data

MECHANISMS = ["linear", "logistic", "poisson", "mlp", "mim", "gp", "gp-add"]
NOISES = ["gaussian", "exponential", "gumbel", "uniform", "laplace"]
COLLIDER = pd.DataFrame([[0, 0, 1], [0, 0, 1], [0, 0, 0]], columns=["dose", "diet", "outcome"])


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 8),
    density=st.floats(0, 1),
    n=st.integers(1, 40),
    mechanism=st.sampled_from(MECHANISMS),
    noise=st.sampled_from(NOISES),
    standardize=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_the_data_of_any_dag_are_finite(d, density, n, mechanism, noise, standardize, seed):
    truth = simulate_dag(d, density * d * (d - 1) / 2, "ER", random_state=seed)
    drawn = simulate_data(truth, n, mechanism=mechanism, noise=noise, standardize=standardize, random_state=seed)
    assert drawn.X.shape == (n, d)
    assert np.isfinite(drawn.X).all()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_same_seed_gives_the_same_data_and_another_seed_others(mechanism):
    truth = simulate_dag(6, 8, random_state=0)

    def draw(seed):
        return simulate_data(truth, 30, mechanism=mechanism, random_state=seed).X

    assert np.array_equal(draw(3), draw(3))
    assert not np.array_equal(draw(3), draw(4))
    assert not np.array_equal(draw(None), draw(None))
    assert np.array_equal(draw(np.random.default_rng(3)), draw(np.random.default_rng(3)))
    one = np.random.default_rng(3)
    assert not np.array_equal(draw(one), draw(one))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_number_of_threads_does_not_change_a_bit(mechanism):
    truth = simulate_dag(20, 60, "ER", random_state=0)

    def draw(threads):
        with threadpool_limits(threads):
            return simulate_data(truth, 700, mechanism=mechanism, weights=[(0.1, 0.5)], random_state=0).X

    assert np.array_equal(draw(1), draw(2))


@pytest.mark.parametrize("random_state", [5, None, np.random.default_rng(1)])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"noise_scale": [0.5, 1, 2], "noise": "laplace", "weights": [(0.1, 0.5)]},
        {"mechanism": ["linear", "poisson", "mlp"], "noise": ["gaussian", "gumbel", "uniform"]},
        {"mechanism": "gp", "standardize": True, "interventions": {"dose": 1, "diet": None}},
        {"interventions": [None, "dose", ("dose", "diet"), {"outcome": np.float64(2)}, set(), None, None]},
    ],
)
def test_the_settings_survive_json_and_make_the_same_data_again(arguments, random_state):
    drawn = simulate_data(COLLIDER, 7, **arguments, random_state=random_state)
    stored = json.loads(json.dumps(drawn.settings))
    assert stored == drawn.settings
    again = simulate_data(drawn.adjacency, **stored)
    pd.testing.assert_frame_equal(again.X, drawn.X)
    assert again.settings == drawn.settings


def test_settings_of_an_array_with_numbered_targets_survive_json():
    drawn = simulate_data(np.eye(3, k=1), 4, interventions={1: 2.0, np.int64(2): None}, random_state=0)
    assert np.array_equal(simulate_data(drawn.adjacency, **json.loads(json.dumps(drawn.settings))).X, drawn.X)


def test_names_of_the_graph_become_names_of_the_data_and_an_array_stays_an_array():
    drawn = simulate_data(COLLIDER, 5, random_state=0)
    assert list(drawn.X.columns) == list(COLLIDER.columns)
    assert list(drawn.weights.index) == list(drawn.weights.columns) == list(COLLIDER.columns)
    assert (drawn.adjacency.to_numpy() == COLLIDER.to_numpy()).all()
    plain = simulate_data(COLLIDER.to_numpy(), 5, random_state=0)
    assert all(type(part) is np.ndarray for part in (plain.X, plain.weights, plain.adjacency))
    assert np.array_equal(plain.X, drawn.X.to_numpy())
    graph = nx.DiGraph([("dose", "outcome"), ("diet", "outcome")])
    assert list(simulate_data(graph, 5, random_state=0).X.columns) == ["dose", "outcome", "diet"]
    assert isinstance(simulate_data(pd.DataFrame(np.eye(2, k=1)), 5, random_state=0).X, pd.DataFrame)


def test_the_graph_is_not_changed():
    given_graph = COLLIDER.copy()
    simulate_data(given_graph, 5, standardize=True, random_state=0)
    pd.testing.assert_frame_equal(given_graph, COLLIDER)


@pytest.mark.parametrize("mechanism", ["linear", "logistic", "mlp", "mim"])
def test_more_rows_of_the_same_seed_extend_the_data_of_the_same_system(mechanism):
    truth = simulate_dag(8, 14, random_state=1)
    few, many = (simulate_data(truth, n, mechanism=mechanism, random_state=2) for n in (20, 50))
    assert np.allclose(many.X[:20], few.X, atol=1e-10)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_standardized_columns_have_mean_zero_and_variance_one_and_are_else_the_same(mechanism):
    truth = simulate_dag(6, 9, random_state=0)
    raw, scaled = (
        simulate_data(
            truth, 200, mechanism=mechanism, standardize=standardize, weights=[(0.1, 0.5)], random_state=0
        ).X
        for standardize in (False, True)
    )
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(scaled.var(axis=0), 1)
    assert np.allclose(scaled, (raw - raw.mean(axis=0)) / raw.std(axis=0))


def test_a_constant_column_is_standardized_to_zero_and_large_values_do_not_overflow():
    complete = np.triu(np.ones((500, 500)), k=1)
    drawn = simulate_data(complete, 20, standardize=True, interventions={0: 0.1}, random_state=0)
    assert (drawn.X[:, 0] == 0).all()
    assert np.allclose(drawn.X[:, 1:].var(axis=0), 1)
    assert np.abs(simulate_data(complete, 20, random_state=0).X).max() > 1e80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0."),
        ({"n": 2.0}, "n must be a whole number of at least 1, got 2.0."),
        (
            {"mechanism": "cubic"},
            "unknown mechanism 'cubic': choose one of 'linear', 'logistic', 'poisson', 'mlp', 'mim', 'gp', "
            "'gp-add'.",
        ),
        (
            {"noise": "cauchy"},
            "unknown noise 'cauchy': choose one of 'gaussian', 'exponential', 'gumbel', 'uniform', 'laplace'.",
        ),
        (
            {"mechanism": ["linear", "mlp"]},
            "mechanism has 2 entries for 3 nodes: give one name, or one for each node.",
        ),
        (
            {"noise_scale": [1, 2]},
            "noise_scale has shape (2,) for 3 nodes: give a number, or one for each node.",
        ),
        (
            {"noise_scale": [1, -2, 1]},
            "noise_scale of column diet is -2.0: give a finite number from 0 up.",
        ),
        (
            {"noise_scale": np.nan},
            "noise_scale of column dose is nan: give a finite number from 0 up.",
        ),
        (
            {"weights": (0.5, 2)},
            "weights has shape (2,): give pairs (low, high), such as ((-2, -0.5), (0.5, 2)).",
        ),
        (
            {"weights": [(2, 0.5)]},
            "weights has the range (2.0, 0.5): give finite numbers, the lower one first.",
        ),
        (
            {"adjacency": COLLIDER + COLLIDER.to_numpy().T},
            "adjacency has a cycle: dose -> outcome -> dose; expected a directed acyclic graph.",
        ),
        ({"adjacency": np.zeros((2, 3))}, "adjacency has shape (2, 3); expected a square matrix"),
        (
            {"adjacency": np.triu(np.ones((1000, 1000)), k=1), "weights": [(2, 2)]},
            "overflow, since they grow along the graph: give ranges of weights nearer to 0, or a graph with "
            "fewer edges.",
        ),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_give_instead(arguments, message):
    with pytest.raises(ValueError) as error:
        simulate_data(**({"adjacency": COLLIDER, "n": 5, "random_state": 0} | arguments))
    assert message in str(error.value)


@pytest.mark.parametrize("mechanism", ["logistic", "poisson"])
def test_an_index_that_overflows_is_refused_and_not_turned_into_counts(mechanism):
    with pytest.raises(ValueError, match="the values of column outcome overflow"):
        simulate_data(
            COLLIDER,
            4,
            mechanism=["linear", "linear", mechanism],
            weights=[(1e10, 1e10)],
            interventions={"dose": 1e300, "diet": -1e300},
            random_state=0,
        )
