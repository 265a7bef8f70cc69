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
def test_the_number_of_threads_does_not_change_a_bit_and_more_rows_extend_the_same_data(mechanism):
    truth = simulate_dag(20, 60, "ER", random_state=0)

    def draw(threads, n=700):
        with threadpool_limits(threads):
            return simulate_data(truth, n, mechanism=mechanism, weights=[(0.1, 0.5)], random_state=0).X

    X = draw(1)
    assert np.array_equal(X, draw(2))
    if mechanism in ("linear", "logistic", "mlp", "mim"):  # others draw values of many rows from a stream in turns
        assert np.allclose(draw(1, 20), X[:20], atol=1e-10)


def test_the_settings_survive_json_and_make_the_same_data_again():
    for arguments in (
        {},
        {"noise_scale": [0.5, 1, 2], "noise": "laplace", "weights": [(0.1, 0.5)]},
        {"mechanism": ["linear", "poisson", "mlp"], "noise": ["gaussian", "gumbel", "uniform"]},
        {"mechanism": "gp", "standardize": True, "interventions": {"dose": 1, "diet": None}},
        {"interventions": [None, "dose", ("dose", "diet"), {"outcome": np.float64(2)}, set(), None, None]},
        {"adjacency": COLLIDER.to_numpy(), "interventions": {1: 2.0, np.int64(2): None}},
    ):
        for random_state in (5, None, np.random.default_rng(1)):
            drawn = simulate_data(**({"adjacency": COLLIDER, "n": 7} | arguments), random_state=random_state)
            stored = json.loads(json.dumps(drawn.settings))
            assert stored == drawn.settings
            again = simulate_data(drawn.adjacency, **stored)
            np.testing.assert_array_equal(again.X, drawn.X)
            assert again.settings == drawn.settings


def test_names_of_the_graph_become_names_of_the_data_and_an_array_stays_an_array():
    given = COLLIDER.copy()
    drawn = simulate_data(given, 5, random_state=0)
    pd.testing.assert_frame_equal(given, COLLIDER)
    assert list(drawn.X.columns) == list(COLLIDER.columns)
    assert list(drawn.weights.index) == list(drawn.weights.columns) == list(COLLIDER.columns)
    assert (drawn.adjacency.to_numpy() == COLLIDER.to_numpy()).all()
    plain = simulate_data(COLLIDER.to_numpy(), 5, random_state=0)
    assert all(type(part) is np.ndarray for part in (plain.X, plain.weights, plain.adjacency))
    assert np.array_equal(plain.X, drawn.X.to_numpy())
    graph = nx.DiGraph([("dose", "outcome"), ("diet", "outcome")])
    assert list(simulate_data(graph, 5, random_state=0).X.columns) == ["dose", "outcome", "diet"]
    assert isinstance(simulate_data(pd.DataFrame(np.eye(2, k=1)), 5, random_state=0).X, pd.DataFrame)


def test_standardized_columns_have_mean_zero_and_variance_one_and_are_else_the_same():
    truth = simulate_dag(6, 9, random_state=0)
    raw, scaled = (simulate_data(truth, 200, standardize=asked, random_state=0).X for asked in (False, True))
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(scaled.var(axis=0), 1)
    assert np.allclose(scaled, (raw - raw.mean(axis=0)) / raw.std(axis=0))


def test_a_constant_column_is_standardized_to_zero_and_large_values_do_not_overflow():
    complete = np.triu(np.ones((500, 500)), k=1)
    drawn = simulate_data(complete, 20, standardize=True, interventions={0: 0.1}, random_state=0)
    assert (drawn.X[:, 0] == 0).all()
    assert np.allclose(drawn.X[:, 1:].var(axis=0), 1)
    assert np.abs(simulate_data(complete, 20, random_state=0).X).max() > 1e80


def test_another_seed_or_none_gives_other_data_and_a_generator_is_drawn_from():
    one = np.random.default_rng(3)
    states = (3, 4, None, None, one, one)
    drawn = {simulate_data(COLLIDER, 5, random_state=state).X.to_numpy().tobytes() for state in states}
    assert len(drawn) == len(states)


def test_a_bad_argument_is_refused_with_what_to_give_instead():
    finite = "give a finite number from 0 up."
    pairs = "give pairs (low, high), such as ((-2, -0.5), (0.5, 2))."
    overflow = "overflow, since they grow along the graph: give ranges of weights nearer to 0, or a graph with"
    huge = {"weights": [(1e10, 1e10)], "interventions": {"dose": 1e300, "diet": -1e300}}
    cases = [
        ({"n": 0}, "n must be at least 1, got 0."),
        ({"n": 2.0}, "n must be a whole number of at least 1, got 2.0."),
        (
            {"mechanism": "cubic"},
            "unknown mechanism 'cubic': choose one of 'linear', 'logistic', 'poisson', 'mlp'",
        ),
        ({"noise": "cauchy"}, "unknown noise 'cauchy': choose one of 'gaussian', 'exponential', 'gumbel', "),
        ({"mechanism": ["linear", "mlp"]}, "mechanism has 2 entries for 3 nodes: give one name, or one for each"),
        ({"noise_scale": [1, 2]}, "noise_scale has shape (2,) for 3 nodes: give a number, or one for each node."),
        ({"noise_scale": [1, -2, 1]}, f"noise_scale of column diet is -2.0: {finite}"),
        ({"noise_scale": np.nan}, f"noise_scale of column dose is nan: {finite}"),
        ({"weights": (0.5, 2)}, f"weights has shape (2,): {pairs}"),
        ({"weights": [(2, 0.5)]}, "weights has the range (2.0, 0.5): give finite numbers, the lower one first."),
        ({"adjacency": COLLIDER + COLLIDER.to_numpy().T}, "adjacency has a cycle: dose -> outcome -> dose; expe"),
        ({"adjacency": np.zeros((2, 3))}, "adjacency has shape (2, 3); expected a square matrix"),
        ({"adjacency": np.triu(np.ones((1000, 1000)), k=1), "weights": [(2, 2)]}, overflow),
        (huge | {"mechanism": ["linear", "linear", "logistic"]}, f"the values of column outcome {overflow}"),
        (huge | {"mechanism": ["linear", "linear", "poisson"]}, f"the values of column outcome {overflow}"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError) as error:
            simulate_data(**({"adjacency": COLLIDER, "n": 5, "random_state": 0} | arguments))
        assert message in str(error.value)
