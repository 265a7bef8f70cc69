"""Every baseline keeps the contract of daguerreotype.baselines.base. A new one is a line in its registry."""

import inspect
import logging
import random
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from daguerreotype import Daguerreotype, baselines
from daguerreotype.graphs import find_cycle, to_cpdag
from support.fits import linear_data

SHARED = {"standardize", "random_state", "time_limit"}
CLASSES = {"boss", "grasp", "ges", "pc"}  # methods that find an equivalence class
WEIGHTLESS = CLASSES | {"vi-dp-dag-softsort", "vi-dp-dag-sinkhorn"}
ORDERED = {"cam", "npvar", "sortnregress", "r2-sortnregress", "bcd-nets", "direct-lingam", "random"}
# Settings that make slow methods quick; the contract does not hang on how well they learn.
QUICK = {
    "notears": {"max_iter": 3},
    "notears-mlp": {"hidden": 2, "max_iter": 2},
    "golem-ev": {"max_iter": 2000},
    "golem-nv": {"max_iter": 2000},
    "dagma": {"warm_iter": 2000, "max_iter": 2000},
    "bcd-nets": {"n_steps": 5, "hidden": 8},
    "vi-dp-dag-softsort": {"max_epochs": 2},
    "vi-dp-dag-sinkhorn": {"max_epochs": 2},
}
PAGE = Path(__file__).parents[2] / "docs" / "comparisons.md"
NAMES = ["age", "dose", "diet", "outcome"]


def make(name, **params):
    """The quick version of a baseline, or a skip where its library is missing."""
    made = baselines.get(name, **(QUICK.get(name, {}) | params))
    try:
        made.load_libraries()
    except ImportError as error:
        pytest.skip(str(error))
    return made


@pytest.fixture(params=baselines.available())
def name(request):
    return request.param


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(linear_data(3, 100, 4), columns=NAMES)


@pytest.fixture(scope="module")
def fitted(table):
    """Fit a baseline to the table's values, once for all tests that only look."""
    return cache(lambda name: make(name).fit(table.to_numpy()))


def test_the_result_is_a_dag_with_weights_order_or_class_where_the_method_has_them(name, fitted):
    model = fitted(name)
    adjacency, weights, order = model.adjacency_matrix_, model.weights_, model.causal_order_
    assert adjacency.shape == (4, 4)
    assert adjacency.dtype == np.int64
    assert set(np.unique(adjacency)) <= {0, 1}
    assert find_cycle(adjacency != 0) is None
    assert min(model.fit_seconds_, model.fit_cpu_seconds_) >= 0
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    assert (weights is None) == (name in WEIGHTLESS)
    if weights is not None:
        assert weights.dtype == np.float64
        assert np.isfinite(weights).all()
        assert (weights[adjacency == 0] == 0).all()
    assert order is not None or name not in ORDERED
    if order is not None:
        assert sorted(order) == [0, 1, 2, 3]
        along = adjacency[np.ix_(order, order)]
        assert np.array_equal(along, np.triu(along, 1))
    assert (model.cpdag_ is not None) == (name in CLASSES)
    if name in CLASSES - {"pc"}:  # what the tests of PC find need not be a class
        assert np.array_equal(to_cpdag(adjacency), model.cpdag_ != 0)


def test_a_frame_gives_names_and_the_same_result_in_silence_and_leaves_global_state_and_the_table_alone(
    name, table, fitted, capfd
):
    plain, model, X = fitted(name), make(name), table.copy()
    random.random()  # the result must not depend on it
    np.random.random()  # noqa: NPY002
    torch, root = sys.modules.get("torch"), logging.getLogger()

    def global_state():
        drawn = str(random.getstate()), str(np.random.get_state()), np.get_printoptions()  # noqa: NPY002
        of_torch = torch and (torch.get_default_dtype(), torch.get_rng_state().tolist())
        return drawn, root.level, list(root.handlers), of_torch

    before = global_state()
    capfd.readouterr()
    model.fit(X)
    assert capfd.readouterr() == ("", "")
    assert global_state() == before
    pd.testing.assert_frame_equal(X, table)
    for attribute in ("adjacency_matrix_", "weights_", "cpdag_"):
        matrix, array = getattr(model, attribute), getattr(plain, attribute)
        if array is None:
            assert matrix is None
        else:
            assert matrix.index.tolist() == matrix.columns.tolist() == NAMES
            assert np.array_equal(matrix.to_numpy(), array)
    if plain.causal_order_ is not None:
        assert model.causal_order_ == [NAMES[node] for node in plain.causal_order_]
    assert model.feature_names_in_.tolist() == NAMES


def test_all_settings_are_keyword_only_documented_have_defaults_and_survive_clone(name):
    parameters = inspect.signature(type(make(name))).parameters
    assert set(parameters) >= SHARED
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters.values())
    assert (parameters["standardize"].default is True) == (name != "sortnregress")
    model = make(name, random_state=7, time_limit=3.0)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["random_state"] == 7
    method = type(model)
    if set(parameters) != set(inspect.signature(method.__mro__[1]).parameters):  # else documented in the parent
        assert all(parameter in inspect.getdoc(method) for parameter in parameters)


def test_the_page_lists_every_baseline():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for name in baselines.available():
        shown = name.replace("vi-dp-dag-sinkhorn", "-sinkhorn")
        assert sum(f"`{shown}`" in line for line in rows) == 1, f"{name} has no row in {PAGE.name}"


def test_settings_that_cannot_be_are_refused_by_name(name, table):
    for setting, parameter in inspect.signature(type(make(name))).parameters.items():
        for kind, bad in ((int, 0), (int, 1.5), (float, -1.0), (float, np.nan), (bool, 2)):
            if type(parameter.default) is kind and (setting, bad) != ("random_state", 0):
                with pytest.raises(ValueError, match=f"{setting} must (be|lie)"):
                    make(name, **{setting: bad}).fit(table)


# What follows is decided before a method is called: any of them shows it.


def test_settings_that_must_be_more_than_numbers_are_refused(table):
    for name, settings, message in (
        ("cam", {"n_basis": 3}, "n_basis must be at least 4, got 3"),
        ("cam", {"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ("npvar", {"alpha": 2.0}, "alpha must be above 0 and at most 1, got 2.0"),
        ("golem-ev", {"learning_rate": 0.0}, "learning_rate must be above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make(name, **settings).fit(table)


def test_with_standardized_columns_units_do_not_matter(table):
    units = np.array([0.25, 8.0, 1024.0, 1.0])  # powers of two, which floats are multiplied by exactly
    for name in ("golem-ev", "cam", "direct-lingam"):
        plain, scaled = (make(name).fit(X).weights_ for X in (table, table * units))
        pd.testing.assert_frame_equal(plain, scaled)


def test_a_bad_table_is_refused_in_the_words_of_the_learner():
    X = pd.DataFrame(linear_data(0, 30, 4), columns=NAMES)
    for table in (
        X.replace(X.loc[3, "diet"], np.inf),
        X.assign(diet=1.0),
        X.assign(diet=2 * X["dose"] + 1),
        X.assign(diet=X["dose"] - X["age"]),
        X.set_axis(["age", "dose", "dose", "outcome"], axis=1),
        X.head(2),
        X[["age"]],
        X["age"].to_numpy(),
    ):
        with pytest.raises(ValueError) as of_learner:
            Daguerreotype().fit(table)
        with pytest.raises(ValueError) as seen:
            make("empty").fit(table)
        assert str(seen.value).replace("Empty", "Daguerreotype") == str(of_learner.value)


def test_missing_values_and_text_which_the_learner_takes_are_refused_by_name():
    X = pd.DataFrame(linear_data(0, 30, 4), columns=NAMES)
    text = X.assign(diet=["much", "some", "none"] * 10)
    X.loc[[4, 7], "dose"] = np.nan
    located = r"X has 2 NaN values: 'dose' \(2\); the first is in row 5. Missing values"
    advice = r"could not convert to numbers: column 'diet' holds .* Encode it as numbers"
    for table, message in ((X, located), (text, advice)):
        with pytest.raises(ValueError, match=message):
            make("empty").fit(table)


def test_an_unknown_name_and_a_time_limit_that_is_none_are_refused(table):
    for limit in (0, -1.0, np.nan, "long"):
        with pytest.raises(ValueError, match="time_limit must be"):
            make("empty", time_limit=limit).fit(table)
    with pytest.raises(ValueError, match=r"unknown baseline 'bos': choose one of 'notears', .*'boss'.*'random'\."):
        baselines.get("bos")
