"""What does a fitted learner tell?"""

from contextlib import contextmanager

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype._lib.progress import COMPILING
from daguerreotype.edges import BicEdges, GamEdges, LarsEdges
from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.operators import top_k_sparsemax
from daguerreotype.training.objective import make_objective
from support.fits import direct_loss, linear_data, standard_table
from support.learners import make_learner

NAMES = ["age", "dose", "diet", "outcome", "cost"]
QUICK = {"edges": "bic", "loss": "bic", "k": 20, "max_iter": 60, "n_restarts": 1, "scales": "none"}
ESTIMATORS = {"lars": LarsEdges(), "bic": BicEdges(penalty=1.5), "gam": GamEdges(penalty=1.5)}


def frame(seed=0, n=120):
    return pd.DataFrame(linear_data(seed, n, 5), columns=NAMES)


def fit(X, **changes):
    return make_learner(**(QUICK | changes)).fit(X)


# ---------------------------------------------------------------------------- attributes


def test_edges_are_a_table_with_the_surest_first_and_slopes_in_units():
    rng = np.random.default_rng(0)
    age = rng.normal(40.0, 10.0, size=400)
    X = pd.DataFrame({"wage": np.exp(0.05 * age + 0.2 * rng.normal(size=400)), "age": age})
    X["sick"] = rng.normal(size=400) + (age - 40.0) / 10.0 > 0.0
    model = Daguerreotype(knowledge={"tiers": [["age"], ["wage", "sick"]]}).fit(X)
    edges = model.edges_.set_index(["cause", "effect"])
    assert set(edges.index) == set(model.causal_graph_.edges) == {("age", "wage"), ("age", "sick")}
    assert edges.loc[("age", "wage"), "unit"] == "log(wage) per age"
    assert edges.loc[("age", "wage"), "slope"] == pytest.approx(0.05, abs=0.005)
    assert edges.loc[("age", "sick"), "unit"] == "log-odds of sick per age"
    for (cause, effect), edge in edges.iterrows():
        assert edge["weight"] == model.weights_.loc[cause, effect]
        assert edge["probability"] == pytest.approx(model.edge_probabilities_.loc[cause, effect], abs=1e-8)
        assert edge["reverse_probability"] == pytest.approx(model.edge_probabilities_.loc[effect, cause], abs=1e-8)
        assert not edge["direction_open"]
    ranks = [(-round(p, 9), -norm) for p, norm in zip(edges["probability"], edges["norm"], strict=True)]
    assert ranks == sorted(ranks)
    alone = Daguerreotype(edges="bic", posterior=0).fit(X[["age", "wage"]]).edges_
    assert alone[["probability", "reverse_probability", "direction_open"]].isna().all(axis=None)


def test_columns_are_a_table_of_what_they_were_taken_for():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {"dose": rng.normal(size=300).round(1), "city": rng.choice(["Bonn", "Oslo", "Rome"], size=300)}
    )
    X["level"] = np.exp(X["dose"] + 0.3 * rng.normal(size=300))
    X.loc[:29, "level"] = np.nan
    model = Daguerreotype().fit(X, interventions=["dose"] * 50 + [None] * 250)
    columns = model.columns_
    assert columns["kind"].to_dict() == {"dose": "continuous", "city": "categorical", "level": "continuous"}
    assert columns["missing"].to_dict() == {"dose": 0.0, "city": 0.0, "level": 0.1}
    assert columns["intervened"].to_dict() == {"dose": 50, "city": 0, "level": 0}
    assert columns.loc["level", ["scale", "cause_scale"]].str.startswith("log").any()
    assert columns.loc["city", "notes"].endswith("levels Bonn, Oslo, Rome")
    assert "rounded to steps of 0.1" in columns.loc["dose", "notes"]


def test_a_frame_gives_names_and_its_array_column_numbers_to_the_same_results():
    named, plain = fit(frame()), fit(frame().to_numpy())
    for name in ("adjacency_matrix_", "weights_", "edge_probabilities_"):
        matrix, array = getattr(named, name), getattr(plain, name)
        assert list(matrix.index) == list(matrix.columns) == NAMES
        assert isinstance(array, np.ndarray)
        np.testing.assert_array_equal(matrix, array)
    np.testing.assert_array_equal(named.theta_, plain.theta_)
    assert named.causal_order_ == [NAMES[j] for j in plain.causal_order_]
    assert set(named.causal_graph_) == set(NAMES)
    assert set(plain.causal_graph_) == set(range(5))


def test_the_graph_is_the_adjacency_with_weights_and_probabilities():
    model = fit(frame())
    graph = model.causal_graph_
    assert nx.is_directed_acyclic_graph(graph)
    np.testing.assert_array_equal(nx.to_numpy_array(graph, NAMES, weight=None), model.adjacency_matrix_)
    for cause, effect, data in graph.edges(data=True):
        assert data["weight"] == model.weights_.loc[cause, effect] != 0
        assert data["probability"] == model.edge_probabilities_.loc[cause, effect]


@pytest.mark.parametrize("operator", ["sparsemax", "sparsemap"])
def test_the_mode_of_the_distribution_sorts_theta(operator):
    X = linear_data(1, 100, 5)
    for name in ESTIMATORS:
        model = fit(X, operator=operator, edges=name, penalty=1.5)
        np.testing.assert_array_equal(model.order_distribution_.mode, model.causal_order_)
        assert (np.diff(model.theta_[model.causal_order_]) >= 0).all()


def test_the_loss_is_that_of_the_causal_order():
    X = linear_data(2, 100, 5)
    for loss, noise in (("bic", None), ("nll_ev", None), ("entropy", FreeShape(CHANCE))):
        model = fit(X, loss=loss, noise=noise or "auto", penalty=1.5, trust=None)
        models, objective = ESTIMATORS["bic"].prepare(standard_table(X)), make_objective(loss, 1.5)
        assert model.loss_ == pytest.approx(direct_loss(models, objective, model.causal_order_, 100, noise))


def test_the_history_tells_every_step():
    model = fit(linear_data(3, 100, 5), tau=0.5)
    history = model.history_
    assert len(history) == history.objective.size == history.misses.size
    assert (history.support >= 1).all()
    assert (np.diff(history.hits) >= 0).all()
    assert (np.diff(history.misses) >= 0).all()
    assert history.hits[-1] > history.misses[-1] > 0
    assert model.loss_ <= history.mode_loss.min() + 1e-12


# ---------------------------------------------------------------------------- held-out likelihood


def test_the_score_of_a_linear_model_is_the_log_density_of_its_gaussian():
    X, unseen = linear_data(4, 150, 4), linear_data(4, 300, 4)[150:]
    for standardize, scale in ((True, X.std(axis=0)), (False, np.ones(4))):
        model = fit(X, standardize=standardize)
        table = (X - X.mean(axis=0)) / scale
        mix = np.linalg.inv(np.eye(4) - model.weights_)
        noise = np.mean((table - table @ model.weights_) ** 2, axis=0)
        covariance = (mix.T * noise) @ mix * np.outer(scale, scale)
        expected = stats.multivariate_normal(X.mean(axis=0), covariance).logpdf(unseen).mean()
        assert model.score(unseen) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("scale", "edges"), [("none", "gam"), ("log", "bic"), ("yeo-johnson", "gam")])
def test_the_density_behind_the_score_integrates_to_one(scale, edges):
    X = np.exp(0.25 * linear_data(5, 200, 2, density=1.0))
    model = fit(X, scales=scale, edges=edges)
    margin = 3 * X.std(axis=0)
    if scale == "log":
        margin = 0.0099 * np.ptp(X, axis=0)  # the log ends where its shift does
    grid = np.linspace(X.min(axis=0) - margin, X.max(axis=0) + 4 * X.std(axis=0), 60)
    density = [[np.exp(model.score([[x, y]])) for y in grid[:, 1]] for x in grid[:, 0]]
    total = np.trapezoid(np.trapezoid(density, grid[:, 1], axis=1), grid[:, 0])
    assert total == pytest.approx(1.0, abs=0.02)


def test_rows_are_scored_under_noise_of_the_shape_that_was_learned():
    X = linear_data(0, 1200, 4, "laplace")
    X, unseen = X[:1000], X[1000:]
    centre, scale = X.mean(axis=0), X.std(axis=0)
    seen, new = ((rows - centre) / scale for rows in (X, unseen))
    for settings in ({"noise": "free-shape"}, {"loss": "entropy"}, {"edges": "gam", "loss": "auto"}):
        model, expected = fit(X, **settings), -np.log(scale).sum()
        for effect in range(4):
            noise = FreeShape().fit(seen[:, effect] - seen @ model.weights_[:, effect])
            expected += noise.log_density(new[:, effect] - new @ model.weights_[:, effect]).mean()
        assert model.score(unseen) == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------------------- settings


def test_a_fixed_order_is_kept():
    order = ["cost", "age", "outcome", "dose", "diet"]
    model = fit(frame(), operator="fixed", start=order)
    assert model.causal_order_ == order
    assert (len(model.history_), len(model.order_distribution_)) == (0, 1)


def test_a_random_order_follows_the_seed():
    orders = [tuple(fit(frame(), operator="random", random_state=seed).causal_order_) for seed in (0, 0, 1, 2, 3)]
    assert orders[0] == orders[1]
    assert len(set(orders)) > 2


def test_a_callable_operator_is_called_with_theta_and_tau():
    seen = []

    def few(theta, tau):
        seen.append((theta.size, tau))
        return top_k_sparsemax(theta, 3, tau=tau)

    few.tau = 0.7
    model = fit(frame(), operator=few)
    assert set(seen) == {(5, 0.7)}
    assert model.history_.support.max() <= 3


@pytest.mark.parametrize("operator", ["sparsemax", "sparsemap"])
def test_no_loss_ends_above_that_of_the_order_it_started_from(operator):
    X, start = linear_data(8, 80, 5, "laplace"), [4, 2, 0, 3, 1]
    losses = ["nll_ev", "nll_nv", "mse", "bic", "entropy", lambda v, p, n: v]
    cases = [(loss, "auto") for loss in losses]
    cases += [("bic", FreeShape()), ("bic", FreeShape(CHANCE))]
    for loss, noise in cases:
        settings = {"loss": loss, "noise": noise, "start": start}
        first = fit(X, operator="fixed", **settings).loss_
        for refine in (True, False):
            assert fit(X, operator=operator, refine=refine, **settings).loss_ <= first + 1e-12


def test_training_starts_anywhere():
    X, scores = frame(), [0.2, -0.1, 0.5, 0.0, 1.0]
    for start in ("zeros", "variances", NAMES[::-1], [3, 1, 4, 0, 2], scores):
        model = fit(X, start=start, operator="sparsemax", max_iter=1, refine=False, posterior=0)
        assert len(model.history_) == 1
        if start == scores:
            np.testing.assert_allclose(model.theta_, scores)
        elif start == NAMES[::-1]:
            assert model.causal_order_ == start
        elif start == "variances":
            np.testing.assert_allclose(model.theta_, X.var(ddof=0) - X.var(ddof=0).median())


def test_a_lower_temperature_concentrates_the_distribution():
    init = (np.arange(5) / 10).tolist()
    warm, cold = (fit(frame(), tau=tau, start=init, refine=False, max_iter=1) for tau in (1.0, 1e-4))
    assert len(warm.order_distribution_) > len(cold.order_distribution_) == 1


def test_rate_norm_and_stopping_reach_training():
    one_step = {"refine": False, "max_iter": 2, "start": [0.4, 0.2, 0.1, 0.3, 0.0]}
    far, near = (fit(frame(), learning_rate=rate, **one_step).history_.objective[1] for rate in (0.5, 1e-9))
    assert far != pytest.approx(near)
    assert fit(frame(), l2=10.0, **one_step).history_.objective[0] == pytest.approx(
        fit(frame(), l2=0.0, **one_step).history_.objective[0] + 10.0 * 0.3
    )
    assert len(fit(frame(), refine=False, max_iter=500, tol=0.9, patience=3).history_) == 4


def test_the_penalty_thins_the_graph():
    X = linear_data(9, 60, 6)
    counts = [np.sum(fit(X, penalty=penalty).adjacency_matrix_) for penalty in (0.1, 1.5, 20.0)]
    assert counts[0] > counts[1] > counts[2]


# ---------------------------------------------------------------------------- what a person sees


def test_it_is_silent_unless_verbose_which_draws_a_bar_on_stderr(capfd):
    fit(frame())
    assert capfd.readouterr() == ("", "")
    fit(frame(), verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "objective" in err
    assert "cache hits" in err


def test_without_a_penalty_parents_are_priced_by_the_extended_bic():
    X = linear_data(4, 200, 6)
    model = fit(X, edges="bic", loss="bic")
    explicit = fit(X, edges=BicEdges(penalty=1.0, gamma=1.0, trust=5000.0), loss="bic", penalty=1.0)
    np.testing.assert_array_equal(model.adjacency_matrix_, explicit.adjacency_matrix_)
    assert model.loss_ == explicit.loss_
    dear = 2 * np.log(6) / np.log(200 / 1.04)  # 200 rows are worth 200 / 1.04; one column per parent
    linear = fit(X, edges="bic", loss="bic", penalty=1 + dear)
    assert model.loss_ == pytest.approx(linear.loss_)


def test_the_fitted_curves_add_up_to_the_prediction_in_the_users_units():
    rng = np.random.default_rng(0)
    cause = rng.uniform(1, 5, size=400)
    X = pd.DataFrame({"effect": np.exp(np.sin(2 * np.log(cause)) + 0.05 * rng.normal(size=400)), "cause": cause})
    for scale, truth in (("none", X["effect"]), ("log", np.log(X["effect"]))):
        model = Daguerreotype(edges="gam", scales=scale).fit(X)
        assert model.adjacency_matrix_.loc["cause", "effect"] == 1
        curve = model.curve("cause", "effect", X["cause"])
        assert np.corrcoef(curve, truth)[0, 1] > 0.97
        assert curve.mean() == pytest.approx(0.0, abs=1e-9)


def test_a_curve_of_what_is_no_parent_or_no_column_or_of_a_regressor_is_refused():
    model = fit(frame(), edges="gam")
    cause, effect = np.argwhere(model.adjacency_matrix_.to_numpy())[0]
    names = list(model.feature_names_in_)
    with pytest.raises(ValueError, match="is not a parent of"):
        model.curve(names[effect], names[cause], [0.0])
    with pytest.raises(ValueError, match="'nothing' is no column of the fitted table"):
        model.curve("nothing", names[effect], [0.0])
    with pytest.raises(TypeError, match="RegressorModels has no curves to show: fit with edges='gam'"):
        fit(linear_data(0, 100, 3), edges=LinearRegression()).curve(0, 1, [0.0])


def test_a_bar_counts_the_kernels_that_are_compiled_and_is_not_there_for_none(monkeypatch, capfd):
    for n_kernels in (0, 3):

        @contextmanager
        def compiling(on_kernel, n_kernels=n_kernels):
            for count in range(n_kernels):
                on_kernel(count + 1)
            yield

        monkeypatch.setattr("daguerreotype.training.run.compiling", compiling)
        fit(linear_data(0), verbose=1, max_iter=2)
        assert (COMPILING[:20] in capfd.readouterr().err) == (n_kernels > 0)
