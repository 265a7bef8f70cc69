"""Learners come back from files as they were, files of anything else are refused, and no file runs code."""

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
from daguerreotype.edges.base import Capabilities, EdgeEstimator, LocalModels
from daguerreotype.edges.predictors import LinearPredictor
from daguerreotype.knowledge import Knowledge
from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.operators import OrderDistribution, sparsemap, top_k_sparsemax
from daguerreotype.persistence.codec import Reader, Writer
from daguerreotype.persistence.learner_file import FORMAT
from daguerreotype.training.checkpoint import Checkpoint
from support.learners import make_learner

QUICK = {"scales": "none", "k": 10, "n_restarts": 0, "max_iter": 20}


def draw_table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    effect = dose**2 + 0.2 * rng.normal(size=n)
    late = effect + dose + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"late": late, "the dose": dose, "effect é": effect, "alone": rng.normal(size=n)})


def draw_mixed(seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = draw_table(seed, n)
    X["city"] = rng.choice(["Bonn", "Oslo", "Rome"], n)
    X["visits"] = rng.poisson(2, n)
    X["flag"] = rng.random(n) < 0.5
    X["late"] = X["late"].round(1)
    return X


def draw_binary(seed=0):
    X = draw_table(seed)
    return X.assign(alone=X["late"] > 0).astype(float)  # a curve of two values is a line


def fit(X=None, interventions=None, **chosen):
    return make_learner(**(QUICK | {"edges": "bic"} | chosen)).fit(
        draw_table() if X is None else X, interventions=interventions
    )


def reload(learner, folder):
    learner.save(folder / "model.npz")
    return Daguerreotype.load(folder / "model.npz")


def assert_equal(loaded, expected, path="learner"):
    """The same values of the same types, all the way down."""
    assert type(loaded) is type(expected), path
    if isinstance(expected, np.ndarray):
        assert loaded.dtype == expected.dtype, path
        np.testing.assert_array_equal(loaded, expected, err_msg=path)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(loaded, expected)
    elif isinstance(expected, OrderDistribution):
        for name in ("probs", "ranks", "tree"):
            assert_equal(getattr(loaded, name), getattr(expected, name), f"{path}.{name}")
        gradient = np.random.default_rng(0).normal(size=len(expected))
        np.testing.assert_array_equal(loaded.vjp(gradient), expected.vjp(gradient), err_msg=path)
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            name = field.name
            assert_equal(getattr(loaded, name), getattr(expected, name), f"{path}.{name}")
    elif isinstance(expected, tuple):
        for place, (ours, theirs) in enumerate(zip(loaded, expected, strict=True)):
            assert_equal(ours, theirs, f"{path}[{place}]")
    else:
        assert loaded == expected, path


def assert_same_learner(loaded, expected):
    public = {name for name in vars(expected) if name.endswith("_") and not name.startswith("_")}
    assert {name for name in vars(loaded) if name.endswith("_") and not name.startswith("_")} == public
    assert {"adjacency_matrix_", "order_distribution_", "history_", "theta_", "edges_", "columns_"} <= public
    for name in public:
        assert_equal(getattr(loaded, name), getattr(expected, name), name)
    assert nx.utils.graphs_equal(loaded.causal_graph_, expected.causal_graph_)


# ---------------------------------------------------------------------- what comes back

LATE = [None] * 90 + ["late"] * 30
FITS = {
    "gam": {"edges": "gam"},
    "gam, a column of two values": {"edges": "gam", "draw": draw_binary},
    "bic": {},
    "bic, an array": {"draw": lambda seed=0: draw_table(seed).to_numpy()},
    "bic, numbered columns": {"draw": lambda seed=0: draw_table(seed).set_axis([10, 11, 12, 13], axis=1)},
    "lars": {"edges": "lars"},
    "lasso": {"edges": "lasso"},
    "sparsemap": {"operator": "sparsemap"},
    "sparsemap-peel": {"operator": "sparsemap-peel"},
    "fixed": {"operator": "fixed", "start": ["the dose", "effect é", "late", "alone"]},
    "log": {"edges": "gam", "scales": "log"},
    "yeo-johnson": {"edges": "gam", "scales": "yeo-johnson", "standardize": False},
    "own scales": {"edges": "gam", "scales": "auto"},
    "own scales, interventions": {"edges": "gam", "scales": "auto", "interventions": LATE},
    "gam, interventions": {"edges": "gam", "interventions": LATE},
    "non-gaussian": {"loss": "entropy"},
    "free-shape": {"edges": "gam", "noise": "free-shape"},
    "knowledge": {"knowledge": Knowledge(tiers=[["the dose"], ["effect é", "late"]])},
    "mixed": {"draw": draw_mixed},
    "mixed, log": {"draw": draw_mixed, "scales": "log"},
    "mixed, given kinds": {"draw": draw_mixed, "kinds": {"visits": "ordinal", "city": "categorical"}},
    "missing": {"draw": lambda seed=0: draw_table(seed).mask(lambda X: X > 2.0)},
    "linear": {"edges": "linear"},
    "joint": {"edges": "linear", "training": "joint"},
    "mlp": {"edges": "mlp", "training": "joint"},
}


def fit_by_name(name):
    chosen = dict(FITS[name])
    if chosen.get("edges") in ("linear", "mlp"):
        pytest.importorskip("torch")
    if name == "mlp":
        from daguerreotype.edges.mlp import MlpEdges

        chosen["edges"] = MlpEdges(hidden=4, max_iter=50, activation="leaky-relu")
    draw = chosen.pop("draw", draw_table)
    return fit(draw(), **chosen), draw(1)


@pytest.mark.parametrize("name", FITS)
def test_everything_a_fit_leaves_comes_back_equal_and_says_the_same_of_unseen_rows(name, tmp_path):
    learner, unseen = fit_by_name(name)
    loaded = reload(learner, tmp_path)
    assert_same_learner(loaded, learner)
    assert hasattr(loaded, "feature_names_in_") == hasattr(learner, "feature_names_in_")
    assert loaded.score(unseen) == learner.score(unseen)
    assert loaded.get_params() == learner.get_params()
    if "gam" in name:
        cause, effect = next(iter(learner.causal_graph_.edges))
        grid = np.linspace(-5, 5, 41)
        np.testing.assert_array_equal(loaded.curve(cause, effect, grid), learner.curve(cause, effect, grid))
    loaded.save(tmp_path / "again.npz")
    first, second = np.load(tmp_path / "model.npz"), np.load(tmp_path / "again.npz")
    assert set(first.files) == set(second.files)
    for array in first.files:
        np.testing.assert_array_equal(first[array], second[array], err_msg=array)


def test_a_loaded_learner_fits_again_like_the_first(tmp_path):
    learner = fit(edges="gam")
    assert_same_learner(clone(reload(learner, tmp_path)).fit(draw_table()), learner)


def test_levels_of_any_type_come_back_in_words_and_others_are_refused(tmp_path):
    X = draw_mixed().assign(band=pd.cut(np.random.default_rng(0).random(150), [0, 0.3, 0.6, 1]))
    loaded = reload(fit(X), tmp_path)
    assert loaded._result.kinds[list(X).index("band")].levels == ("(0.0, 0.3]", "(0.3, 0.6]", "(0.6, 1.0]")
    loaded.score(X)
    with pytest.raises(ValueError, match="column 'city' has the level 'Nice' in row 1"):
        loaded.score(X.assign(city="Nice"))


def test_the_file_holds_no_rows(tmp_path):
    n = 977  # a length that nothing else has
    loaded = reload(fit(draw_table(n=n), edges="gam"), tmp_path)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        for name in file.files:
            assert file[name].size < n or name == "header", name
            assert n not in file[name].shape, name
    assert (tmp_path / "model.npz").stat().st_size < 30_000
    assert loaded._result.scaled.table.n_rows == 0


def test_a_network_is_loaded_and_scored_without_torch(tmp_path, monkeypatch):
    learner, X = fit_by_name("mlp")
    learner.set_params(edges="mlp")  # the object would need torch to be made again
    learner.save(tmp_path / "model.npz")
    for name in ("torch", "daguerreotype.edges.mlp", "daguerreotype.edges.linear"):
        monkeypatch.setitem(sys.modules, name, None)
    assert Daguerreotype.load(tmp_path / "model.npz").score(X) == learner.score(X)


def test_columns_with_bases_of_other_sizes_by_intervention_come_back(tmp_path):
    X = [[1.0, -0.0014, -1.0], [-1.0, 0.1, 1e6], [0.0, -0.0003, 1.0], [-1.0, 0.0009, 0.0]]
    learner = fit(X, [None, None, None, 0], edges="gam", penalty=3.0, min_gain=0.0)
    assert len({part._widths.max() for part in learner._result.training.models.parts}) > 1
    assert np.array_equal(reload(learner, tmp_path).weights_, learner.weights_)


# ---------------------------------------------------------------------- settings


def test_settings_come_back(tmp_path):
    (tmp_path / "known.json").write_text(json.dumps({"roots": ["alone"]}))
    for changes in (
        {"tau": 0.5, "k": np.int64(7), "l2": np.float64(0.1)},
        {"edges": GamEdges(n_knots=3, penalty=2.0)},
        {"edges": LassoEdges(alpha=0.25), "penalty": 2.0},
        {"start": [3, 2, 1, 0], "random_state": None},
        {"start": np.array([0.3, -0.1, 0.2, 0.0])},
        {"start": np.array(["late", "alone", "effect é", "the dose"])},
        {"knowledge": {"roots": ["alone"]}},
        {"knowledge": tmp_path / "known.json"},
        {"knowledge": Knowledge(forbidden=[("late", "alone"), ("alone", "late")], roots=["al*"])},
        {"noise": FreeShape(CHANCE)},
        {"kinds": {"alone": Kind("continuous", "given")}},
    ):
        learner = fit(**changes)
        loaded, expected = reload(learner, tmp_path).get_params(), learner.get_params()
        for name, theirs in expected.items():
            ours = loaded[name]
            assert isinstance(ours, tuple) == isinstance(theirs, tuple), name
            if name == "edges" and not isinstance(theirs, str):
                assert type(ours) is type(theirs)
                ours, theirs = vars(ours), vars(theirs)
            np.testing.assert_equal(ours, theirs, err_msg=name)


def test_a_setting_survives_json():
    for setting in (
        Knowledge(required=[("a", "b*")], tiers=[["a"], ["b1", "b2"]]),
        Knowledge(forbidden=[(np.int64(0), 1)]),
        {"tiers": [("a", "b"), ["c"]], 3: pd.Timestamp("2020-02-29")},
        (0.1, [np.float64(0.2), None, True]),
        float("inf"),
        Path("known.toml"),
    ):
        writer = Writer()
        read = Reader(writer.arrays).take(json.loads(json.dumps(writer.put("setting", setting))))
        assert read == setting
        assert type(read) is type(setting)


def my_loss(variance, dof, n_rows):
    return 0.5 * np.log(variance) + 0.5 * np.log(n_rows) / n_rows * dof


def my_operator(theta, tau):
    best = top_k_sparsemax(theta, 5, tau=tau)
    return dataclasses.replace(best, pullback=lambda gradient: best.vjp(gradient))


def test_a_setting_that_no_file_can_hold_is_asked_for_before_fitting_again(tmp_path):
    for name, value, named in (
        ("training__loss", my_loss, "my_loss"),
        ("operator", my_operator, "my_operator"),
        ("edges", LinearRegression(), r"LinearRegression\(\)"),
    ):
        learner = make_learner(edges="bic", **QUICK).set_params(**{name: value}).fit(draw_table())
        loaded = reload(learner, tmp_path)
        np.testing.assert_array_equal(loaded.adjacency_matrix_, learner.adjacency_matrix_)
        assert "not saved" in repr(loaded)
        for unfit in (loaded, reload(loaded, tmp_path), clone(loaded)):
            message = f"{name} was .*{named}.*, which a file cannot hold.*Set it again.*set_params\\({name}="
            with pytest.raises(ValueError, match=message):
                unfit.fit(draw_table())
        again = loaded.set_params(**{name: value}).fit(draw_table())
        np.testing.assert_array_equal(again.adjacency_matrix_, learner.adjacency_matrix_)


# ---------------------------------------------------------------------- parts of the user's own


class OwnEdges(EdgeEstimator):
    """Least squares on all predecessors, whose models say that the weights predict."""

    def prepare(self, table):
        models = BicEdges(penalty=1e-9).prepare(table)

        class OwnModels(LocalModels):
            can = Capabilities(predictions=True)
            fit = staticmethod(models.fit)
            predict = staticmethod(models.predict)

            def predictor(self):
                return LinearPredictor()

        return OwnModels()


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


def test_an_own_estimator_with_a_predictor_scores_after_loading(tmp_path):
    learner = fit(edges=OwnEdges(), noise="gaussian")
    assert reload(learner, tmp_path).score(draw_table(1)) == learner.score(draw_table(1))


def test_what_no_file_can_hold_is_missed_where_rows_are_scored_and_the_error_says_so(tmp_path):
    for chosen, what in (
        ({"edges": LinearRegression()}, "RegressorModels"),
        ({"noise": LaplaceNoise()}, "LaplaceDensity"),
    ):
        learner = fit(**chosen)
        assert np.isfinite(learner.score(draw_table(1)))
        first = reload(learner, tmp_path)
        assert_same_learner(first, learner)
        for loaded in (first, reload(first, tmp_path)):
            with pytest.raises(
                ValueError, match=rf"{what} was not saved.*neither predict nor score.*Fit it again"
            ):
                loaded.score(draw_table())


def test_the_derivative_of_an_own_operator_is_gone_and_the_error_says_so(tmp_path):
    def operator(theta, tau):
        sparse = sparsemap(theta, tau=2 * tau)
        return dataclasses.replace(sparse, pullback=sparse.vjp)

    learner = fit(operator=operator, refine=False, start="variances")
    loaded = reload(learner, tmp_path).order_distribution_
    np.testing.assert_array_equal(loaded.probs, learner.order_distribution_.probs)
    assert len(loaded) > 1
    with pytest.raises(ValueError, match="vjp was not saved"):
        loaded.vjp(loaded.probs)


# ---------------------------------------------------------------------- files


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    fit(edges="gam").save(path)
    return path.read_bytes()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_refused(content, tmp_path, share):
    path = tmp_path / "cut.npz"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"cut\.npz is not a complete file of a saved learner .*or save again"):
        Daguerreotype.load(path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_damaged_byte_is_noticed_or_does_not_matter(content, tmp_path, share, flip):
    path, damaged = tmp_path / "damaged.npz", bytearray(content)
    damaged[int(share * len(content))] ^= flip
    path.write_bytes(damaged)
    try:
        loaded = Daguerreotype.load(path)
    except ValueError as error:
        assert "damaged.npz is " in str(error)  # noqa: PT017
    else:
        path.write_bytes(content)
        assert_same_learner(loaded, Daguerreotype.load(path))


def rewrite(content, path, change):
    """The same file after ``change`` to its arrays and its header."""
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    change(arrays, header)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=text, **arrays)
    return path


def test_a_file_of_another_version_is_refused(content, tmp_path):
    for change, message in [
        (
            {"format": FORMAT + 1},
            rf"in format {FORMAT + 1} by a newer version .* Update it: pip install --upgrade",
        ),
        ({"format": FORMAT - 1}, rf"in format {FORMAT - 1} by an older version .* Fit again"),
        ({"parameters": {"later": 1, "soon": 2}}, "settings that this version does not know: later, soon"),
    ]:
        path = rewrite(content, tmp_path / "m.npz", lambda arrays, header, change=change: header.update(change))
        with pytest.raises(ValueError, match=message):
            Daguerreotype.load(path)


def test_a_file_that_lacks_something_or_names_other_classes_is_refused(content, tmp_path):
    def training(header):
        return header["result"]["fields"]["training"]["fields"]

    for change in (
        lambda arrays, header: arrays.pop("result.columns"),
        lambda arrays, header: arrays.pop("result.training.fits.coefficients"),
        lambda arrays, header: arrays.pop("result.training.fits.used.shapes"),
        lambda arrays, header: header["result"].update(record="Popen"),
        lambda arrays, header: header["result"].update(record="FitHistory"),
        lambda arrays, header: header.pop("result"),
        lambda arrays, header: header.update(result=None),
        lambda arrays, header: header.update(result=header["result"]["fields"]["training"]),
        lambda arrays, header: header.update(parameters=[1]),
        lambda arrays, header: header["parameters"].update(edges={"record": "Popen", "fields": {}}),
        lambda arrays, header: training(header)["fits"]["list"].update(records="Popen"),
        lambda arrays, header: training(header)["models"].update(record="Popen"),
        lambda arrays, header: arrays.update({"result.training.fits.parents": np.zeros(1)}),
    ):
        path = rewrite(content, tmp_path / "m.npz", change)
        with pytest.raises(ValueError, match=rf"m\.npz is damaged, or not quite of format {FORMAT}: .*Save again"):
            Daguerreotype.load(path)
    path = rewrite(content, path, lambda arrays, header: header["result"].update(record="Popen"))
    with pytest.raises(ValueError, match=r"'Popen', which no file may hold\. Import the package that brings it"):
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


def write_checkpoint(path):
    with Checkpoint(path) as file:
        file.stage("train", {"rate": 1.0}).keep(lambda: ({"theta": np.zeros(3)}, {}), always=True)


def write_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header", "hello")


def test_files_of_another_kind_are_refused(tmp_path):
    header = np.frombuffer(b'{"format": 1}', dtype=np.uint8)
    for write, message in [
        (lambda path: path.write_text("a,b\n1,2\n"), "is not a complete file.*it is no zip archive"),
        (lambda path: path.write_bytes(b""), "is not a complete file.*it is no zip archive"),
        (lambda path: np.save(path.open("wb"), np.arange(3)), "is not a complete file.*it is no zip archive"),
        (lambda path: np.savez(path, a=np.arange(3)), "is not a complete file.*it has no header"),
        (write_zip, "is not a complete file.*'header' is no array"),
        (lambda path: np.savez(path, header=header), "is an archive of other arrays, not a saved learner"),
        (write_checkpoint, "is a checkpoint of a training run, not a saved learner. Give a file that save wrote"),
    ]:
        path = tmp_path / "other.npz"
        path.unlink(missing_ok=True)
        write(path)
        with pytest.raises(ValueError, match=rf"other\.npz {message}"):
            Daguerreotype.load(path)


def test_a_saved_learner_is_no_checkpoint(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a complete checkpoint"):
        make_learner(edges="bic", **QUICK).fit(draw_table(), resume=path)
    assert path.read_bytes() == content


def test_the_file_gets_the_name_that_was_given_and_places_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit().save("my model")
    assert os.listdir() == ["my model"]
    assert Daguerreotype.load(Path("my model")).n_features_in_ == 4
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.npz to load a learner from"):
        Daguerreotype.load(tmp_path / "nothing.npz")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere. Create it first"):
        fit().save(tmp_path / "nowhere" / "model.npz")
    with pytest.raises(ValueError, match="not fitted"):
        Daguerreotype().save(tmp_path / "model.npz")


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(content, tmp_path, monkeypatch):
    path, learner = tmp_path / "model.npz", fit()

    def fail(*arguments):
        raise OSError("disk full")

    for step in ("fsync", "replace"):
        path.write_bytes(content)
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                learner.save(path)
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["model.npz"]
