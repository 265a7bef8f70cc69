"""Graphs learned from chunks, files and covariances are those learned from tables in memory, to the last bit."""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype._lib.progress import ProgressBar
from daguerreotype.data import Moments, quantiles
from daguerreotype.edges.additive import local_score
from daguerreotype.edges.additive.basis import BSplines
from daguerreotype.training import Bilevel
from support.learners import make_learner


def linear_table(seed, n=400, d=7):
    """Linear and Gaussian, so that many orders are equally good and rounding could choose among them."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((d, d)) < 0.4, 1) * rng.uniform(0.5, 2, (d, d))
    X = np.zeros((n, d))
    for j in range(d):
        X[:, j] = X @ weights[:, j] + rng.normal(size=n)
    return X[:, rng.permutation(d)], rng


def assert_same(one, other):
    for name in ("adjacency_matrix_", "weights_", "edge_probabilities_", "theta_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one._result.norms, other._result.norms)
    np.testing.assert_allclose(one._result.slopes, other._result.slopes, rtol=1e-9)
    assert list(one.causal_order_) == list(other.causal_order_)
    assert one.loss_ == other.loss_


@pytest.mark.parametrize("edges", ["bic", "lars", "gam"])
def test_shuffled_chunks_lead_to_the_same_fit_although_orders_or_values_tie(edges):
    for seed, loss in enumerate(["bic", "nll_ev", "nll_nv", "mse"]):
        X, rng = linear_table(seed)
        if seed % 2 == 0:
            X[:, 1:3] = np.round(2 * X[:, 1:3]) / 2
        settings = {"edges": edges, "loss": loss, "scales": "none", "n_restarts": 1, "max_iter": 100}
        held = make_learner(**settings).fit(X)
        read = make_learner(**settings).fit_chunks(np.array_split(X[rng.permutation(len(X))], 5))
        assert_same(held, read)
        assert read.score(X) == pytest.approx(held.score(X), abs=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"edges": "lasso", "random_state": None},
        {"edges": "bic", "standardize": False, "start": "variances"},
        {"edges": "gam", "scales": "log"},
        {"edges": "bic", "scales": "log", "operator": "sparsemap"},
        {"edges": "gam", "knowledge": Knowledge(required=[(0, 1)], tiers=[[2], [3]])},
        {"edges": "bic", "operator": "fixed", "start": [3, 2, 1, 0, 4, 5, 6]},
        {"edges": "bic", "operator": "random"},
        {"edges": "linear", "loss": "nll_ev", "training": "joint", "max_iter": 30},
        {"edges": "linear", "max_iter": 20},
    ],
    ids=str,
)
def test_every_setting_that_can_be_learned_by_chunks_gives_the_same_fit(settings, monkeypatch):
    monkeypatch.setattr(local_score, "MOST_COLUMNS", 0)  # streamed rows have no products
    if settings["edges"] == "linear":
        pytest.importorskip("torch")
    X, rng = linear_table(5)
    X = np.exp(0.3 * X)
    settings = {"loss": "bic", "scales": "none", "n_restarts": 0} | settings
    held = make_learner(**settings).fit(X)
    read = make_learner(**settings).fit_chunks(np.array_split(X[rng.permutation(len(X))], 4))
    assert_same(held, read)
    assert held._result.transform == read._result.transform
    assert held.score(X) == pytest.approx(read.score(X), abs=1e-12)


def test_knots_of_long_columns_are_exact(monkeypatch):
    monkeypatch.setattr(quantiles, "SIZE", 64)
    X, rng = linear_table(3, n=1500, d=4)
    X[:, 1] = np.round(X[:, 1])  # ties
    settings = {"edges": "gam", "loss": "bic", "scales": "none", "n_restarts": 0}
    held = make_learner(**settings).fit(X)
    assert_same(held, make_learner(**settings).fit_chunks(np.array_split(X[rng.permutation(1500)], 7)))


@pytest.mark.parametrize("edges", ["bic", "gam"])
def test_a_mean_of_a_thousand_million_hides_no_variance_of_one(rng, edges):
    cause = rng.normal(size=2000)
    other = rng.normal(size=2000)
    effect = cause + other + 0.5 * rng.normal(size=2000)
    settings = {"edges": edges, "loss": "bic", "scales": "none"}
    near, far = np.column_stack([effect, cause, other]), np.array([1e9, -1e9, 1e9])
    expected = make_learner(**settings).fit(near).adjacency_matrix_
    assert expected.tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 0]]
    shifted = near + far
    for model in (
        make_learner(**settings).fit(shifted),
        make_learner(**settings).fit_chunks(np.array_split(shifted, 3)),
    ):
        assert np.array_equal(model.adjacency_matrix_, expected)


def test_files_keep_their_names_and_can_be_saved_and_loaded(tmp_path):
    X, _ = linear_table(0, d=4)
    frame = pd.DataFrame(X, columns=["rain", "tax", "price", "growth"])
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for name, read in (("rows.parquet", pd.read_parquet), ("rows.csv", pd.read_csv)):
        learner = Daguerreotype(scales="none", training=Bilevel(loss="bic", n_restarts=0))
        expected = learner.fit(read(tmp_path / name)).weights_
        model = learner.fit_chunks(tmp_path / name)
        pd.testing.assert_frame_equal(model.weights_, expected, check_exact=True)
        assert list(model.feature_names_in_) == list(frame.columns)
        model.save(tmp_path / "model.npz")
        loaded = Daguerreotype.load(tmp_path / "model.npz")
        assert loaded.score(frame) == model.score(frame)
        for cause, effect in model.causal_graph_.edges:
            grid = frame[cause].to_numpy()[:5]
            assert np.array_equal(loaded.curve(cause, effect, grid), model.curve(cause, effect, grid))


def test_auto_means_what_needs_no_residuals_and_says_so(caplog):
    X, _ = linear_table(0, d=3)
    with caplog.at_level(logging.INFO, "daguerreotype"):
        model = Daguerreotype(training=Bilevel(n_restarts=0)).fit_chunks([X])
    assert (model._result.transform, model._result.criterion) == ("none", "bic")
    assert "scales='auto' needs all rows at once: columns stay on their scale." in caplog.text
    assert "compared orders by bic" in caplog.text


def test_a_bar_counts_the_rows_that_were_read(monkeypatch):
    counted = []

    def advance(bar, name, total, count, seen=""):
        if name == "rows read":
            counted.append(count)

    monkeypatch.setattr(ProgressBar, "_advance", advance)
    X, _ = linear_table(0, d=3)
    Daguerreotype(edges="bic", verbose=1, training=Bilevel(n_restarts=0)).fit_chunks([X, X[:50]])
    assert counted == [400, 50]


def test_an_iterator_is_enough_for_linear_edges_and_columns_of_an_earlier_fit_are_forgotten():
    X, _ = linear_table(0, d=3)
    model = Daguerreotype(edges="bic", training=Bilevel(n_restarts=0))
    named = clone(model).fit_chunks([pd.DataFrame(X, columns=list("abc"))])
    assert list(named.adjacency_matrix_.columns) == list("abc")
    assert_same(clone(model).fit_chunks([X]), named.fit_chunks(iter([X[:9], X[9:]])))
    assert not hasattr(named, "feature_names_in_")


# ---------------------------------------------------------------- covariances


def test_moments_are_enough_for_linear_edges():
    for edges in ("bic", "lars", "lasso"):
        X, rng = linear_table(1)
        settings = {"edges": edges, "scales": "none", "loss": "bic", "n_restarts": 1}
        held = make_learner(**settings).fit(X)
        seen = Moments().update(X[rng.permutation(len(X))])
        assert_same(held, make_learner(**settings).fit_moments(seen))
        given = make_learner(**settings).fit_moments(seen.covariance, len(X), means=seen.mean)
        assert_same(held, given)
        assert given.score(X) == pytest.approx(held.score(X), abs=1e-12)


def test_a_named_covariance_gives_a_named_graph(rng):
    X = rng.normal(size=(300, 4))
    X[:, 3] += X[:, :3].sum(axis=1)  # three causes of one effect: no other graph is as good
    frame = pd.DataFrame(X, columns=list("abcd"))
    learner = Daguerreotype(edges="bic", scales="none", training=Bilevel(loss="bic"))
    expected = learner.fit(frame).adjacency_matrix_
    assert expected["d"].tolist() == [1, 1, 1, 0]
    pd.testing.assert_frame_equal(learner.fit_moments(frame.cov(), len(X)).adjacency_matrix_, expected)
    by_name = learner.fit_moments(np.cov(X.T), len(X), names=list("abcd")).adjacency_matrix_
    pd.testing.assert_frame_equal(by_name, expected)


def test_what_is_no_covariance_is_refused():
    for covariance, more, text in (
        (np.ones((2, 3)), {}, r"covariance has shape \(2, 3\): expected \(d, d\)"),
        ([[1.0, 0.5], [0.4, 1.0]], {}, "covariance is not symmetric: its entries for 'x0' and 'x1' differ"),
        ([[1.0, 2.0], [2.0, 1.0]], {}, r"would have variance -1 \(of 1\)"),
        ([[1.0, 0.0], [0.0, 0.0]], {}, "covariance of 'x1' is not finite, or its variance is not positive"),
        ([[1.0, np.nan], [np.nan, 1.0]], {}, "covariance of 'x0' is not finite"),
        ([[1.0, 1.0], [1.0, 1.0]], {}, "columns 'x0', 'x1' are the same up to shift and scale"),
        (np.eye(2), {"names": ["a"]}, r"names are \('a',\): expected 2 different ones"),
        (np.eye(2), {"n_rows": None}, "n_rows is None: expected the number of rows behind the covariance"),
        (np.eye(2), {"n_rows": 2}, "n_rows is 2"),
        (np.eye(2), {"means": [1.0]}, r"means have shape \(1,\)"),
    ):
        with pytest.raises(ValueError, match=text):
            Daguerreotype(edges="bic").fit_moments(covariance, **({"n_rows": 100} | more))


# ---------------------------------------------------------------- refusals, before any row is read


def unread():
    raise AssertionError("rows were read")
    yield


def test_settings_that_need_rows_are_refused_before_any_is_read():
    for settings, text in (
        ({"edges": LinearRegression()}, "RegressorEdges looks at single rows: chunk by chunk choose edges among"),
        ({"loss": "entropy"}, "loss='entropy' looks at the residual of every row, which chunk by chunk there is"),
        ({"scales": "yeo-johnson"}, "needs all rows: chunk by chunk choose scales='none' or 'log'"),
        ({"edges": "cubic"}, "edges must be one of"),
    ):
        with pytest.raises(ValueError, match=text):
            make_learner(**settings).fit_chunks(unread)
    for settings, text in (
        ({}, "GamEdges needs the shapes of curves, which moments do not tell: from moments alone choose edges"),
        ({"edges": "bic", "loss": "entropy"}, "which from moments alone there is none of"),
        ({"edges": "bic", "scales": "log"}, "from moments alone choose scales='none'"),
    ):
        with pytest.raises(ValueError, match=text):
            make_learner(**settings).fit_moments(np.eye(3), 100)
    for settings in ({"edges": "gam"}, {"edges": "bic", "scales": "log"}):
        with pytest.raises(ValueError, match="reads the rows more than once, but an iterator ends"):
            make_learner(**settings).fit_chunks(unread())


@pytest.mark.filterwarnings("error")
def test_tables_that_cannot_be_learned_from_are_refused_by_name():
    X = pd.DataFrame(linear_table(0, d=3)[0], columns=list("abc"))
    for frame, text in (
        (X.assign(b=1.0), "column 'b' is constant: nothing can be learned about it"),
        (X.assign(b=2 * X["a"] + 1), "columns 'a', 'b' are the same up to shift and scale"),
        (X.assign(b=X["a"] - X["c"]), "column '.' is an exact linear combination of"),
        (X.assign(b=1e200 * X["b"]), "variance of column 'b' is too large or too small for floats"),
        (X.assign(b=1e-300 * X["b"]), "variance of column 'b' is too large or too small for floats"),
        (X[:2], "X has n_samples = 2 rows; at least 3 are needed"),
        (X[:0], "the source has no rows"),
        (X[["a"]], "X has n_features = 1 column"),
    ):
        with pytest.raises(ValueError, match=text):
            Daguerreotype(edges="bic").fit_chunks([frame[:150], frame[150:]])


# ---------------------------------------------------------------- the spline basis


def test_the_basis_is_that_of_scipy(rng):
    values = rng.normal(size=(300, 2))
    for n_breaks in (2, 3, 6):
        breaks = [np.quantile(column, np.linspace(0, 1, n_breaks)) for column in values.T]
        basis = BSplines([*breaks, np.zeros(1)])
        columns = basis(np.column_stack([values, np.zeros(300)]))
        for i, column in enumerate(values.T):
            own, design = columns[:, basis.parts[i]], BSpline.design_matrix(column, basis.knots[i], 3).toarray()
            np.testing.assert_allclose(own, design, atol=1e-14)
            np.testing.assert_allclose(own @ basis.slopes(i), column, atol=1e-13)
        assert columns.shape[1] == 2 * (n_breaks + 2)
