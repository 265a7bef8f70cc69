import dataclasses
import io
import json
import os
import sys
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype.data import Kind
from daguerreotype.edges import BicEdges, GamEdges, LassoEdges
from daguerreotype.edges.predictors import LinearPredictor
from daguerreotype.knowledge import Knowledge
from daguerreotype.noise import FreeShape
from daguerreotype.operators import OrderDistribution, sparsemap, top_k_sparsemax
from daguerreotype.persistence.settings import decode_setting, encode_setting
from daguerreotype.training.checkpoint import Checkpoint

QUICK = {"transform": "none", "k": 10, "n_restarts": 0, "max_iter": 20}


def draw_table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    effect = dose**2 + 0.2 * rng.normal(size=n)
    late = effect + dose + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"late": late, "the dose": dose, "effect é": effect, "alone": rng.normal(size=n)})


def reload(learner, folder):
    learner.save(folder / "model.npz")
    return Daguerreotype.load(folder / "model.npz")


def assert_equal(found, expected, path="learner"):
    """The same values of the same types, all the way down."""
    assert type(found) is type(expected), path
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, path
        np.testing.assert_array_equal(found, expected, err_msg=path)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected)
    elif isinstance(expected, OrderDistribution):
        for name in ("probs", "ranks", "tree"):
            assert_equal(getattr(found, name), getattr(expected, name), f"{path}.{name}")
        gradient = np.random.default_rng(0).normal(size=len(expected))
        np.testing.assert_array_equal(found.vjp(gradient), expected.vjp(gradient), err_msg=path)
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            name = field.name
            assert_equal(getattr(found, name), getattr(expected, name), f"{path}.{name}")
    elif isinstance(expected, tuple):
        for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert_equal(ours, theirs, f"{path}[{place}]")
    else:
        assert found == expected, path


def assert_same_learner(found, expected):
    public = {name for name in vars(expected) if name.endswith("_") and not name.startswith("_")}
    assert {name for name in vars(found) if name.endswith("_") and not name.startswith("_")} == public
    assert {"adjacency_matrix_", "order_distribution_", "history_", "theta_", "criterion_"} <= public
    for name in public:
        assert_equal(getattr(found, name), getattr(expected, name), name)
    assert nx.utils.graphs_equal(found.causal_graph_, expected.causal_graph_)


SETTINGS = {
    "gam": {"edges": "gam"},
    "bic": {"edges": "bic"},
    "lars": {"edges": "lars"},
    "lasso": {"edges": "lasso"},
    "sparsemap": {"edges": "bic", "operator": "sparsemap"},
    "fixed": {"edges": "bic", "operator": "fixed", "init": ["the dose", "effect é", "late", "alone"]},
    "log": {"edges": "gam", "transform": "log"},
    "yeo-johnson": {"edges": "gam", "transform": "yeo-johnson", "standardize": False},
    "non-gaussian": {"edges": "bic", "loss": "entropy"},
    "free-shape": {"edges": "gam", "noise": "free-shape"},
    "knowledge": {"edges": "bic", "knowledge": Knowledge(tiers=[["the dose"], ["effect é", "late"]])},
}
GRADIENT = {
    "linear": {"edges": "linear"},
    "joint": {"edges": "linear", "training": "joint"},
    "mlp": {"edges": "mlp", "training": "joint"},
}


def fit(name, X=None):
    if name in GRADIENT:
        pytest.importorskip("torch")
    chosen = (SETTINGS | GRADIENT)[name]
    if name == "mlp":
        from daguerreotype.edges.mlp import MlpEdges

        chosen = chosen | {"edges": MlpEdges(hidden=4, max_iter=50, activation="tanh")}
    return Daguerreotype(**(QUICK | chosen)).fit(draw_table() if X is None else X)


# ---------------------------------------------------------------------- what comes back


@pytest.mark.parametrize("name", [*SETTINGS, *GRADIENT])
def test_everything_a_fit_leaves_comes_back_equal_and_scores_unseen_rows_alike(name, tmp_path):
    learner = fit(name)
    found = reload(learner, tmp_path)
    assert_same_learner(found, learner)
    unseen = draw_table(1)
    assert found.score(unseen) == learner.score(unseen)
    assert found.get_params() == learner.get_params()


@pytest.mark.parametrize("name", ["gam", "yeo-johnson"])
def test_curves_come_back(name, tmp_path):
    learner = fit(name)
    found = reload(learner, tmp_path)
    cause, effect = next(iter(learner.causal_graph_.edges))
    grid = np.linspace(-5, 5, 41)
    np.testing.assert_array_equal(found.curve(cause, effect, grid), learner.curve(cause, effect, grid))
    with pytest.raises(ValueError, match="'alone' is not a parent of"):
        found.curve("alone", effect, grid)


def test_curves_of_columns_that_cannot_bend_come_back(tmp_path):
    X = draw_table()
    X["alone"] = X["late"] > 0
    learner = fit("gam", X.astype(float))
    found = reload(learner, tmp_path)
    assert found.score(X.astype(float)) == learner.score(X.astype(float))


def test_linear_edges_have_no_curves_after_loading_either(tmp_path):
    with pytest.raises(TypeError, match="has no curves to show: fit with edges='gam'"):
        reload(fit("bic"), tmp_path).curve("the dose", "late", [0.0])


@pytest.mark.parametrize("make", [lambda X: X.to_numpy(), lambda X: X.set_axis([10, 11, 12, 13], axis=1)])
def test_tables_without_names_of_text_come_back_as_they_were(make, tmp_path):
    X = make(draw_table())
    learner = fit("bic", X)
    found = reload(learner, tmp_path)
    assert_same_learner(found, learner)
    assert not hasattr(found, "feature_names_in_")
    assert found.score(X) == learner.score(X)


def test_a_loaded_learner_saves_to_the_same_file_again(tmp_path):
    fit("gam").save(tmp_path / "a")
    Daguerreotype.load(tmp_path / "a").save(tmp_path / "b")
    first, second = np.load(tmp_path / "a"), np.load(tmp_path / "b")
    assert set(first.files) == set(second.files)
    for name in first.files:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_a_loaded_learner_fits_again_like_the_first(tmp_path):
    learner = fit("gam")
    found = reload(learner, tmp_path)
    assert_same_learner(clone(found).fit(draw_table()), learner)


def test_the_file_holds_no_rows(tmp_path):
    n = 977  # a length that nothing else has
    learner = fit("gam", draw_table(n=n))
    learner.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        for name in file.files:
            assert file[name].size < n or name == "header", name
            assert n not in file[name].shape, name
    assert (tmp_path / "model.npz").stat().st_size < 30_000
    assert reload(learner, tmp_path)._result.best.scaled.table.n_rows == 0


def test_a_network_is_loaded_and_scored_without_torch(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    learner = fit("mlp")
    learner.set_params(edges="mlp")  # the object would need torch to be made again
    X, path = draw_table(), tmp_path / "model.npz"
    learner.save(path)
    for name in ("torch", "daguerreotype.edges.mlp", "daguerreotype.edges.linear"):
        monkeypatch.setitem(sys.modules, name, None)
    assert Daguerreotype.load(path).score(X) == learner.score(X)


# ---------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "changes",
    [
        {"tau": (1.0, 0.5), "k": np.int64(7), "l2_theta": np.float64(0.1)},
        {"edges": GamEdges(n_knots=3, penalty=2.0)},
        {"edges": LassoEdges(alpha=0.25), "penalty": 2.0},
        {"init": [3, 2, 1, 0], "random_state": None},
        {"knowledge": {"roots": ["alone"]}},
        {"knowledge": Knowledge(forbidden=[("late", "alone"), ("alone", "late")], roots=["al*"])},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_settings_come_back(changes, tmp_path):
    learner = Daguerreotype(**(QUICK | {"edges": "bic"} | changes)).fit(draw_table())
    found, expected = reload(learner, tmp_path).get_params(), learner.get_params()
    for name in expected:
        ours, theirs = found[name], expected[name]
        if name == "edges" and not isinstance(theirs, str):
            assert type(ours) is type(theirs)
            ours, theirs = vars(ours), vars(theirs)
        assert ours == theirs, name
        assert isinstance(ours, tuple) == isinstance(theirs, tuple), name


@pytest.mark.parametrize("init", [[0.3, -0.1, 0.2, 0.0], ["late", "alone", "effect é", "the dose"]])
def test_arrays_as_init_come_back(init, tmp_path):
    init = np.array(init)
    learner = Daguerreotype(edges="bic", init=init, **QUICK).fit(draw_table())
    np.testing.assert_array_equal(reload(learner, tmp_path).init, init)


def test_a_file_as_knowledge_comes_back_as_its_path(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"roots": ["alone"]}))
    learner = Daguerreotype(edges="bic", knowledge=path, **QUICK).fit(draw_table())
    assert reload(learner, tmp_path).knowledge == path


@pytest.mark.parametrize(
    "setting",
    [
        Knowledge(required=[("a", "b*")], tiers=[["a"], ["b1", "b2"]]),
        Knowledge(forbidden=[(np.int64(0), 1)]),
        {"tiers": [("a", "b"), ["c"]]},
        (0.1, [np.float64(0.2), None, True]),
        float("inf"),
        Path("known.toml"),
    ],
    ids=repr,
)
def test_a_setting_survives_json(setting):
    found = decode_setting(json.loads(json.dumps(encode_setting(setting))))
    assert found == setting
    assert type(found) is type(setting)


def my_loss(variance, dof, n_rows):
    return 0.5 * np.log(variance) + 0.5 * np.log(n_rows) / n_rows * dof


def my_operator(theta, tau):
    found = top_k_sparsemax(theta, 5, tau=tau)
    return dataclasses.replace(found, pullback=lambda gradient: found.vjp(gradient))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"loss": my_loss}, "my_loss"),
        ({"operator": my_operator}, "my_operator"),
        ({"edges": LinearRegression()}, r"LinearRegression\(\)"),
        ({"tau": lambda step: 1.0}, "<lambda>"),
    ],
    ids=["loss", "operator", "edges", "tau"],
)
def test_a_setting_that_no_file_can_hold_is_asked_for_before_fitting_again(changes, named, tmp_path):
    ((name, value),) = changes.items()
    learner = Daguerreotype(**(QUICK | {"edges": "bic"} | changes)).fit(draw_table())
    found = reload(learner, tmp_path)
    np.testing.assert_array_equal(found.adjacency_matrix_, learner.adjacency_matrix_)
    assert "not saved" in repr(getattr(found, name))
    for unfit in (found, reload(found, tmp_path), clone(found)):
        message = f"{name} was .*{named}.*, which a file cannot hold.*Set it again.*set_params\\({name}="
        with pytest.raises(ValueError, match=message):
            unfit.fit(draw_table())
    again = found.set_params(**{name: value}).fit(draw_table())
    np.testing.assert_array_equal(again.adjacency_matrix_, learner.adjacency_matrix_)


def test_what_a_regressor_learned_is_not_in_the_file_and_the_error_says_so(tmp_path):
    learner = Daguerreotype(edges=LinearRegression(), **QUICK).fit(draw_table())
    found = reload(learner, tmp_path)
    assert_same_learner(found, learner)
    with pytest.raises(ValueError, match=r"what LinearRegression\(\) learned was not saved.*cannot predict rows"):
        reload(found, tmp_path).score(draw_table())


class OwnEdges:
    """Least squares on all predecessors, whose models say that the weights predict."""

    def prepare(self, table):
        models = BicEdges(penalty=1e-9).prepare(table)

        class OwnModels:
            fit = models.fit
            predict = models.predict

            def predictor(self):
                return LinearPredictor()

        return OwnModels()


def test_an_own_estimator_with_a_predictor_scores_after_loading(tmp_path):
    learner = Daguerreotype(edges=OwnEdges(), **QUICK).fit(draw_table())
    assert reload(learner, tmp_path).score(draw_table(1)) == learner.score(draw_table(1))


def test_the_derivative_of_an_own_operator_is_gone_and_the_error_says_so(tmp_path):
    def operator(theta, tau):
        found = sparsemap(theta, tau=2 * tau)
        return dataclasses.replace(found, pullback=found.vjp)

    learner = Daguerreotype(operator, "bic", refine=False, init="variances", **QUICK).fit(draw_table())
    found = reload(learner, tmp_path).order_distribution_
    np.testing.assert_array_equal(found.probs, learner.order_distribution_.probs)
    assert len(found) > 1
    with pytest.raises(
        ValueError, match=r"derivative of this distribution was not saved.*operator on theta_ again"
    ):
        found.vjp(found.probs)


class LaplaceNoise:
    needs_residuals, max_rows = True, None

    def nll(self, residuals):
        return 1 + np.log(2 * np.mean(np.abs(residuals)))

    def fit(self, residuals):
        return LaplaceDensity(np.mean(np.abs(residuals)))


class LaplaceDensity:
    def __init__(self, scale):
        self.scale = scale

    def log_density(self, residuals):
        return -np.abs(residuals) / self.scale - np.log(2 * self.scale)


def test_noise_of_an_own_class_is_not_in_the_file_and_the_error_says_so(tmp_path):
    learner = Daguerreotype(edges="bic", noise=LaplaceNoise(), **QUICK).fit(draw_table())
    assert np.isfinite(learner.score(draw_table(1)))
    found = reload(learner, tmp_path)
    assert_same_learner(found, learner)
    for loaded in (found, reload(found, tmp_path)):
        with pytest.raises(ValueError, match=r"LaplaceDensity was not saved.*cannot score rows. Fit it again"):
            loaded.score(draw_table())
        with pytest.raises(ValueError, match=r"noise was .*LaplaceNoise.*Set it again.*set_params\(noise="):
            loaded.fit(draw_table())


# ---------------------------------------------------------------------- files of version 0.1.0

FORMAT_1 = Path(__file__).parent / "learner-format-1.npz"


def table_of_format_1():
    """The table that the learner of the file was fitted on; z was intervened on in its last 50 rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x**2 + 0.3 * rng.normal(size=200)
    z = np.tanh(y) + 0.3 * rng.normal(size=200)
    return pd.DataFrame({"z": z, "x": x, "y": y})


def test_a_file_of_format_1_tells_what_the_version_that_wrote_it_told():
    found, X = Daguerreotype.load(FORMAT_1), table_of_format_1()
    expected = pd.DataFrame(0.0, index=X.columns, columns=X.columns)
    expected.loc["x", "y"], expected.loc["y", "z"] = 0.968060232471763, 0.8254338863896363
    pd.testing.assert_frame_equal(found.norms_, expected, rtol=1e-12)  # of which it told alone
    np.testing.assert_array_equal(found.adjacency_matrix_, expected != 0)
    assert found.causal_order_ == ["x", "y", "z"]
    assert found.feature_names_in_.tolist() == ["z", "x", "y"]
    assert (found.criterion_, found.transform_, found.interventions_) == ("bic", "none", {"z": 50})
    assert found.score(X) == pytest.approx(-1.8202245585239683, rel=1e-12)
    curve = found.curve("x", "y", [-1.0, 0.0, 1.0])
    np.testing.assert_allclose(
        curve, [0.05162686413665998, -0.7322568326937076, -0.0074171326654755565], rtol=1e-12
    )


def test_a_learner_of_format_1_is_saved_in_the_format_of_today(tmp_path):
    learner = Daguerreotype.load(FORMAT_1)
    found = reload(learner, tmp_path)
    assert_same_learner(found, learner)
    assert found.get_params() == learner.get_params()
    assert found.score(table_of_format_1()) == learner.score(table_of_format_1())


def test_a_learner_of_format_1_fits_again_to_the_same_graph():
    learner, X = Daguerreotype.load(FORMAT_1), table_of_format_1()
    assert (learner.get_params()["max_iter"], learner.get_params()["noise"]) == (50, "auto")
    again = clone(learner).fit(X, interventions=[None] * 150 + ["z"] * 50)
    pd.testing.assert_frame_equal(again.weights_, learner.weights_, rtol=1e-9)
    pd.testing.assert_frame_equal(again.norms_, learner.norms_, rtol=1e-9)
    assert again.score(X) == pytest.approx(learner.score(X), rel=1e-9)


# ---------------------------------------------------------------------- files without kinds

FORMAT_2 = Path(__file__).parent / "learner-format-2.npz"


def test_a_file_of_format_2_tells_what_the_version_that_wrote_it_told(tmp_path):
    learner, X = Daguerreotype.load(FORMAT_2), table_of_format_1()
    for found in (learner, reload(learner, tmp_path)):
        assert found.causal_order_ == ["x", "y", "z"]
        assert found.norms_.loc["y", "z"] == pytest.approx(0.8313503534587496, rel=1e-12)  # weights then
        assert found.score(X) == pytest.approx(-1.812227680090065, rel=1e-12)
        assert found.curve("x", "y", [0.0])[0] == pytest.approx(-0.7322568326937099, rel=1e-12)
        assert set(found.kinds_.values()) == {Kind("continuous", "saved before there were other kinds")}
        assert list(found.kinds_) == ["z", "x", "y"]
        assert found.kinds == "auto"


# ---------------------------------------------------------------------- files with one scale for all columns


def table_of_format_3():
    """The table that the learners of the files were fitted on."""
    X, rng = np.exp(table_of_format_1()), np.random.default_rng(0)
    z = np.log(X["z"]).to_numpy()
    rng.normal(size=600)  # which made the other columns
    X["sex"] = np.where(rng.random(200) < 1 / (1 + np.exp(-2 * z)), "f", "m")
    return X


@pytest.mark.parametrize(
    ("name", "transform", "score", "curve"),
    [
        ("3", "log", -3.7082470645926775, [-0.37573063114415944, -0.7322568326937056]),
        ("3-powers", "yeo-johnson", -4.194592807992817, [-0.5133423142252065, -0.5833317771489543]),
    ],
)
def test_a_file_of_format_3_tells_what_the_version_that_wrote_it_told(name, transform, score, curve, tmp_path):
    learner = Daguerreotype.load(Path(__file__).parent / f"learner-format-{name}.npz")
    for found in (learner, reload(learner, tmp_path)):
        assert found.causal_order_ == ["x", "y", "z", "sex"]
        assert found.transform_ == transform
        assert found.scales_["sex"] == "none"
        assert found.scales_ == found.cause_scales_
        assert found.scales_["x"].startswith(transform)
        assert found.min_gain == 0.0
        assert found.score(table_of_format_3()) == pytest.approx(score, rel=1e-9)
        np.testing.assert_allclose(found.curve("x", "y", [0.5, 1.0]), curve, rtol=1e-9)


def test_a_file_of_format_4_scores_rows_but_knows_no_values_to_draw(tmp_path):
    rng, n = np.random.default_rng(4), 300
    age = rng.normal(50, 10, n).round()
    X = pd.DataFrame({"age": age, "city": rng.choice(["Bonn", "Oslo", "Rome"], n)})
    X["dose"] = np.exp(0.03 * age + 0.3 * rng.normal(size=n))
    X["visits"] = rng.poisson(np.exp(0.02 * age - 0.5))
    X["ill"] = rng.random(n) < 1 / (1 + np.exp(-(X["dose"] - 5)))
    learner = Daguerreotype.load(Path(__file__).parent / "learner-format-4.npz")
    for found in (learner, reload(learner, tmp_path)):
        assert found.score(X) == pytest.approx(-8.537567055291362, rel=1e-9)
        assert found.scales_["dose"] == "log"
        assert found.missing == "auto"
        assert found.missing_ is None
        with pytest.raises(
            ValueError, match="saved by an older version: it does not know what values columns have"
        ):
            found.impute(X.mask(X["age"] > 50))


def test_a_file_of_format_5_has_shares_of_orders_and_no_posterior(tmp_path):
    rng, n = np.random.default_rng(5), 200
    X = pd.DataFrame({"a": rng.normal(size=n)})
    X["b"] = X["a"] ** 2 + 0.3 * rng.normal(size=n)
    X["c"] = X["b"] + rng.normal(size=n)
    learner = Daguerreotype.load(Path(__file__).parent / "learner-format-5.npz")
    for found in (learner, reload(learner, tmp_path)):
        assert found.score(X) == pytest.approx(-2.9757887722336474, rel=1e-9)
        assert found.missing_.counts == {"b": 20}
        assert found.posterior_ is None
        assert found.edge_probabilities_ is None
        assert found.get_params()["posterior"] == 0
        assert found.edge_shares_.loc["a", "b"] == 1.0
        assert "probability" not in found.causal_graph_.edges["a", "b"]


@pytest.mark.parametrize("interventions", [None, [None] * 250 + ["y"] * 50])
def test_scales_of_columns_come_back(interventions, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    y = 1.5 * np.tanh(2 * x) + 0.3 * rng.normal(size=300)
    z = np.sin(2 * y) + 0.3 * rng.normal(size=300)
    X = pd.DataFrame({"z": np.exp(2 * z), "x": x, "y": y})
    learner = Daguerreotype(edges="gam", **(QUICK | {"transform": "auto"})).fit(X, interventions=interventions)
    assert learner.scales_["z"] != "none"
    assert learner.scales_["y"] == "none"
    found = reload(learner, tmp_path)
    assert_same_learner(found, learner)
    assert (found.scales_, found.cause_scales_) == (learner.scales_, learner.cause_scales_)
    assert found.score(X) == learner.score(X)
    np.testing.assert_array_equal(found.curve("y", "z", [0.0, 1.0]), learner.curve("y", "z", [0.0, 1.0]))


# ---------------------------------------------------------------------- kinds of columns


def draw_mixed(seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = draw_table(seed, n)
    X["city"] = rng.choice(["Bonn", "Oslo", "Rome"], n)
    X["visits"] = rng.poisson(2, n)
    X["flag"] = rng.random(n) < 0.5
    X["band"] = pd.cut(rng.random(n), [0, 0.3, 0.6, 1])
    X["late"] = X["late"].round(1)
    return X


@pytest.mark.parametrize("transform", ["none", "log", "yeo-johnson"])
def test_kinds_and_scales_of_some_columns_come_back(transform, tmp_path):
    learner = Daguerreotype(edges="bic", **(QUICK | {"transform": transform})).fit(draw_mixed())
    found = reload(learner, tmp_path)
    unseen = draw_mixed(1)
    assert found.score(unseen) == learner.score(unseen)
    written = {name: kind for name, kind in learner.kinds_.items() if name != "band"}
    assert {name: kind for name, kind in found.kinds_.items() if name != "band"} == written
    assert found.kinds_["band"].levels == ("(0.0, 0.3]", "(0.3, 0.6]", "(0.6, 1.0]")
    with pytest.raises(ValueError, match="column 'city' has the level 'Nice' in row 1"):
        found.score(unseen.assign(city="Nice"))


@pytest.mark.parametrize(
    "kinds", [{"visits": "ordinal"}, {"city": Kind("categorical", "given", ("Oslo", "Bonn", "Rome"))}]
)
def test_kinds_that_were_given_come_back_as_a_setting(kinds, tmp_path):
    learner = Daguerreotype(edges="bic", kinds=kinds, **QUICK).fit(draw_mixed())
    assert reload(learner, tmp_path).kinds == kinds


def test_kinds_of_numbered_columns_come_back_as_a_setting(tmp_path):
    X = np.column_stack([draw_table()["late"], draw_table()["alone"].round()])
    learner = Daguerreotype(edges="bic", kinds={1: "ordinal"}, **QUICK).fit(X)
    found = reload(learner, tmp_path)
    assert found.kinds == {1: "ordinal"}
    assert found.kinds_[1].levels == learner.kinds_[1].levels


def test_a_kind_that_does_not_exist_is_damage(tmp_path):
    Daguerreotype(edges="bic", **QUICK).fit(draw_mixed()).save(tmp_path / "m.npz")

    def change(arrays, header):
        header["result"]["fields"]["kinds"]["list"][0]["kind"]["name"] = "colour"

    path = rewrite((tmp_path / "m.npz").read_bytes(), tmp_path / "m.npz", change)
    with pytest.raises(ValueError, match=r"m\.npz is damaged.*'colour' in place of a kind"):
        Daguerreotype.load(path)


# ---------------------------------------------------------------------- files


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    fit("gam").save(path)
    return path.read_bytes()


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_refused(content, tmp_path, share):
    path = tmp_path / "cut.npz"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"cut\.npz is not a complete file of a saved learner .*or save again"):
        Daguerreotype.load(path)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_damaged_byte_is_noticed_or_does_not_matter(content, tmp_path, share, flip):
    path, damaged = tmp_path / "damaged.npz", bytearray(content)
    damaged[int(share * len(content))] ^= flip
    path.write_bytes(damaged)
    try:
        found = Daguerreotype.load(path)
    except ValueError as error:
        assert "damaged.npz is " in str(error)  # noqa: PT017
    else:
        path.write_bytes(content)
        assert_same_learner(found, Daguerreotype.load(path))


def rewrite(content, path, change):
    """The same file after ``change`` to its arrays and its header."""
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    change(arrays, header)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=text, **arrays)
    return path


def test_a_file_of_a_newer_format_is_refused(content, tmp_path):
    path = rewrite(content, tmp_path / "m.npz", lambda arrays, header: header.update(format=7))
    with pytest.raises(
        ValueError, match=r"format 7 by a newer version.*up to 6\. Update it: pip install --upgrade"
    ):
        Daguerreotype.load(path)


@pytest.mark.parametrize("interventions", [None, [None] * 90 + ["late"] * 30])
def test_a_file_whose_curves_had_norms_for_weights_gets_both(interventions, tmp_path):
    X = draw_table()
    X["late"] *= -1
    learner = Daguerreotype(edges="gam", **QUICK).fit(X, interventions=interventions)
    assert (learner.weights_.to_numpy() < 0).any()
    learner.save(tmp_path / "new.npz")

    def age(arrays, header):
        fits = header["result"]["fields"]["best"]["fields"]["training"]["fields"]["fits"]["fits"]
        arrays[f"{fits}.weights"] = arrays.pop(f"{fits}.norms")
        del arrays[f"{fits}.norms.shapes"]
        header["format"] = 2

    path = rewrite((tmp_path / "new.npz").read_bytes(), tmp_path / "old.npz", age)
    found = Daguerreotype.load(path)
    pd.testing.assert_frame_equal(found.weights_, learner.weights_)
    pd.testing.assert_frame_equal(found.norms_, learner.norms_)
    assert found.score(X) == learner.score(X)


def test_a_file_of_lines_without_norms_has_those_of_their_weights(tmp_path):
    learner = fit("bic")
    learner.save(tmp_path / "new.npz")

    def age(arrays, header):
        for name in [name for name in arrays if ".norms" in name]:
            del arrays[name]
        header["format"] = 2

    path = rewrite((tmp_path / "new.npz").read_bytes(), tmp_path / "old.npz", age)
    found = Daguerreotype.load(path)
    pd.testing.assert_frame_equal(found.weights_, learner.weights_)
    pd.testing.assert_frame_equal(found.norms_, learner.weights_.abs())


def test_a_file_with_settings_of_a_newer_version_is_refused(content, tmp_path):
    path = rewrite(
        content, tmp_path / "m.npz", lambda arrays, header: header["parameters"].update(later=1, soon=2)
    )
    with pytest.raises(ValueError, match=r"settings that this version does not know: later, soon. Update it"):
        Daguerreotype.load(path)


def without(name):
    return lambda arrays, header: arrays.pop(name)


def with_record(kind):
    return lambda arrays, header: header["result"].update(record=kind)


def with_fits(kind):
    def change(arrays, header):
        training = header["result"]["fields"]["best"]["fields"]["training"]
        training["fields"]["fits"].update(kind=kind)

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("result.columns"),
        without("result.best.training.fits.coefficients"),
        without("result.best.training.models.knots.shapes"),
        with_record("Popen"),
        with_record("FitHistory"),
        with_fits("Popen"),
        lambda arrays, header: header.pop("result"),
        lambda arrays, header: header.update(result=None),
        lambda arrays, header: header.update(result=header["result"]["fields"]["best"]),
        lambda arrays, header: header.update(parameters=[1]),
        lambda arrays, header: header["parameters"].update(edges={"edges": "Popen", "settings": {}}),
        lambda arrays, header: arrays.update({"result.best.training.fits.parents": np.zeros(1)}),
    ],
)
def test_a_file_that_lacks_something_or_names_other_classes_is_refused(content, tmp_path, change):
    path = rewrite(content, tmp_path / "m.npz", change)
    with pytest.raises(ValueError, match=r"m\.npz is damaged, or not quite of format 6: .*Save again"):
        Daguerreotype.load(path)


def test_an_array_of_objects_is_refused_without_being_unpickled(content, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    def plant(arrays, header):
        arrays["result.columns"] = np.array([Bomb()], dtype=object)

    path = rewrite(content, tmp_path / "m.npz", plant)
    with pytest.raises(ValueError, match=r"not a complete file of a saved learner.*object in place of numbers"):
        Daguerreotype.load(path)
    assert not (tmp_path / "exploded").exists()
    np.load(path, allow_pickle=True)["result.columns"]
    assert (tmp_path / "exploded").exists()  # so it would have gone off


def foreign_npz(path):
    np.savez(path, a=np.arange(3))


def foreign_header(path):
    np.savez(path, header=np.frombuffer(b'{"format": 1}', dtype=np.uint8))


def foreign_text_in_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header", "hello")


def checkpoint(path):
    with Checkpoint(path) as file:
        file.stage("train", {"rate": 1.0}).save({"theta": np.zeros(3)}, {})


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_text("a,b\n1,2\n"), "is not a complete file.*it is no zip archive"),
        (lambda path: path.write_bytes(b""), "is not a complete file.*it is no zip archive"),
        (lambda path: np.save(path.open("wb"), np.arange(3)), "is not a complete file.*it is no zip archive"),
        (foreign_npz, "is not a complete file.*it has no header"),
        (foreign_text_in_zip, "is not a complete file.*'header' is no array"),
        (foreign_header, "is an archive of other arrays, not a saved learner. Give a file that save wrote"),
        (checkpoint, "is a checkpoint of a training run, not a saved learner. Give a file that save wrote"),
    ],
)
def test_files_of_another_kind_are_refused(write, message, tmp_path):
    write(tmp_path / "other.npz")
    with pytest.raises(ValueError, match=rf"other\.npz {message}"):
        Daguerreotype.load(tmp_path / "other.npz")


def test_a_saved_learner_is_no_checkpoint(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a complete checkpoint of training"):
        Daguerreotype(edges="bic", **QUICK).fit(draw_table(), resume=path)
    assert path.read_bytes() == content


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.npz to load a learner from"):
        Daguerreotype.load(tmp_path / "nothing.npz")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere. Create it first"):
        fit("bic").save(tmp_path / "nowhere" / "model.npz")


def test_a_learner_that_is_not_fitted_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        Daguerreotype().save(tmp_path / "model.npz")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(step, content, tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    path.write_bytes(content)

    def fail(*arguments):
        raise OSError("disk full")

    learner = fit("bic")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        learner.save(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["model.npz"]


def test_the_file_gets_the_name_that_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit("bic").save("my model")
    assert os.listdir() == ["my model"]
    assert Daguerreotype.load(Path("my model")).n_features_in_ == 4


def test_a_noise_model_of_the_package_comes_back_as_a_setting(tmp_path):
    learner = Daguerreotype(edges="bic", noise=FreeShape("maxent"), **QUICK).fit(draw_table())
    assert reload(learner, tmp_path).noise == FreeShape("maxent")


def test_columns_with_bases_of_other_sizes_by_intervention_come_back(tmp_path):
    X = [[1.0, -0.0014, -1.0], [-1.0, 0.1, 1e6], [0.0, -0.0003, 1.0], [-1.0, 0.0009, 0.0]]
    learner = Daguerreotype(penalty=3.0, min_gain=0.0, **QUICK).fit(X, interventions=[None, None, None, 0])
    assert len({part.stride for part in learner._result.best.training.models.parts}) > 1
    learner.save(tmp_path / "model.npz")
    assert np.array_equal(Daguerreotype.load(tmp_path / "model.npz").weights_, learner.weights_)
