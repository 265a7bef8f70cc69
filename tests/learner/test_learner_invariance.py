"""What must not change the result? Row order, column order, threads, memory; and every result is a DAG."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LassoLarsIC

from daguerreotype.operators import top_k_sparsemax
from support.fits import additive_data, linear_data
from support.learners import make_learner

RAW = {"scales": "none"}
SETTINGS = {
    "default": {"n_restarts": 2},
    "bic": {"edges": "bic", "loss": "bic", **RAW},
    "unrefined": {"edges": "bic", "loss": "bic", "refine": False, **RAW},
    "paper": {"operator": "sparsemap", "edges": "lars", "loss": "nll_ev", "refine": False, **RAW},
    "entropy": {"edges": "lasso", "loss": "entropy", "k": 20, "max_iter": 50, **RAW},
    "yeo-johnson": {"edges": "gam", "loss": "bic", "scales": "yeo-johnson", "k": 20},
    "random": {"operator": "random", "edges": "bic", **RAW},
    "variances": {"edges": "bic", "loss": "nll_ev", "start": "variances", "standardize": False, **RAW},
    "regressor": {"edges": LassoLarsIC(), "loss": "nll_nv", "k": 5, "max_iter": 5, "refine": False, **RAW},
}
# Linear Gaussian tables: many orders lose the same, so that whatever breaks ties would show.
TABLES = [linear_data(seed, 40 + 10 * seed, 2 + seed % 4) for seed in range(6)]
DISCRETE = np.random.default_rng(0).integers(0, 3, size=(60, 4)).astype(float)
SEEDS = [0, 3, None]
CASES = {name: list(product(SEEDS, [*TABLES[2:], DISCRETE])) for name in SETTINGS}
CASES["regressor"] = list(product(SEEDS, TABLES[:2]))


def assert_same(first, second, numbers=None, rounding=0.0):
    """Exactly the same fit; column i of the second may be column ``numbers[i]`` of the first."""
    numbers = np.arange(first.n_features_in_) if numbers is None else numbers
    both = np.ix_(numbers, numbers)
    np.testing.assert_array_equal(second.adjacency_matrix_, first.adjacency_matrix_[both])
    np.testing.assert_array_equal(second.weights_, first.weights_[both])
    assert (second.posterior_ is None) == (first.posterior_ is None)
    if first.posterior_ is not None:
        np.testing.assert_array_equal(second.edge_probabilities_, first.edge_probabilities_[both])
    np.testing.assert_array_equal(second.theta_, first.theta_[numbers])
    np.testing.assert_array_equal(numbers[second.causal_order_], first.causal_order_)
    np.testing.assert_array_equal(second.order_distribution_.ranks, first.order_distribution_.ranks[:, numbers])
    assert second.loss_ == first.loss_
    assert second._result.transform == first._result.transform


@pytest.mark.parametrize("name", SETTINGS)
def test_shuffled_rows_give_exactly_the_same_result_in_any_layout(name, rng):
    for random_state, X in CASES[name]:
        settings = {"random_state": random_state, **SETTINGS[name]}
        first = make_learner(**settings).fit(X)
        assert_same(first, make_learner(**settings).fit(X[rng.permutation(len(X))]))
    assert_same(first, make_learner(**settings).fit(np.asfortranarray(X)))
    assert_same(first, make_learner(**settings).fit(np.hstack([X, X])[:, : X.shape[1]]))


@pytest.mark.parametrize("name", SETTINGS)
def test_permuted_columns_give_exactly_the_same_result_permuted_alike(name, rng):
    for random_state, X in CASES[name]:
        settings = {"random_state": random_state, **SETTINGS[name]}
        numbers = rng.permutation(X.shape[1])[::-1]
        assert_same(make_learner(**settings).fit(X), make_learner(**settings).fit(X[:, numbers]), numbers)


def test_the_same_seed_gives_the_same_result_with_any_number_of_threads():
    X = np.exp(additive_data(0, 60, 4) / 3)
    for name in ("default", "entropy", "random"):
        changes = SETTINGS[name] | {"scales": "auto", "random_state": 5}
        first = make_learner(**changes).fit(X)
        for n_jobs in (2, -1):
            assert_same(first, make_learner(n_jobs=n_jobs, **changes).fit(X))


def test_a_tiny_cache_gives_the_same_result_from_more_fits(monkeypatch):
    X = linear_data(1, 80, 6)
    for name in ("bic", "paper", "entropy"):
        first = make_learner(**SETTINGS[name]).fit(X)
        with monkeypatch.context() as small:
            small.setattr("daguerreotype.training.run.CACHE_BYTES", 1000.0)
            second = make_learner(**SETTINGS[name]).fit(X)
        assert_same(first, second, rounding=1e-14)  # probabilities are summed in the sequence of the fits
        assert second.history_.misses[-1] > first.history_.misses[-1]


# ---------------------------------------------------------------------------- every result is a DAG


def narrow(theta, tau):
    return top_k_sparsemax(theta, 2, tau=tau)


DRAWN = st.fixed_dictionaries(
    {
        "operator": st.sampled_from(["sparsemax", "sparsemap", "sparsemap-peel", "random", narrow]),
        "edges": st.sampled_from(["gam", "bic", "lars", "lasso"]),
        "loss": st.sampled_from(
            ["auto", "bic", "nll_ev", "nll_nv", "mse", "entropy", lambda v, dof, n: v + dof / n]
        ),
        "scales": st.sampled_from(["auto", "none", "log", "yeo-johnson"]),
        "start": st.sampled_from(["zeros", "variances"]),
        "k": st.integers(1, 30),
        "tau": st.sampled_from([0.1, 1.0]),
        "penalty": st.sampled_from([0.5, 1.5]),
        "standardize": st.booleans(),
        "refine": st.booleans(),
        "n_restarts": st.integers(0, 2),
        "learning_rate": st.sampled_from([0.01, 0.1, 1.0]),
        "l2": st.sampled_from([0.0, 0.01]),
        "max_iter": st.integers(1, 15),
        "random_state": st.one_of(st.none(), st.integers(0, 100)),
    }
)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(10, 60),
    d=st.integers(2, 6),
    kind=st.sampled_from(["linear", "additive", "discrete"]),
    drawn=DRAWN,
)
def test_any_settings_give_a_dag_whose_edges_follow_the_causal_order(seed, n, d, kind, drawn):
    X = additive_data(seed, n, d) if kind == "additive" else linear_data(seed, n, d, "laplace")
    if kind == "discrete":
        X = X.round()
        assume(np.linalg.matrix_rank(X - X.mean(axis=0)) == d)
    model = make_learner(**drawn).fit(X)
    assert nx.is_directed_acyclic_graph(model.causal_graph_)
    assert sorted(model.causal_order_) == list(range(d))
    place = np.argsort(model.causal_order_)
    for matrix in (model.adjacency_matrix_, model.weights_):
        cause, effect = np.nonzero(matrix)
        assert (place[cause] < place[effect]).all()
    assert (model.adjacency_matrix_ == (model.weights_ != 0)).all()
    probabilities = [] if model.posterior_ is None else [model.edge_probabilities_, model.edge_probabilities_.T]
    for shares in probabilities:
        assert ((shares >= 0) & (shares <= 1)).all()
        assert (np.diag(shares) == 0).all()
    assert np.all(sum(probabilities) <= 1 + 1e-12)
    assert model.order_distribution_.probs.sum() == pytest.approx(1.0)
    assert np.isfinite(model.score(X))
