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
from daguerreotype.baselines.registry import REGISTRY
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
PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"
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


def test_the_result_is_a_dag_of_zeros_and_ones_with_its_seconds(name, fitted):
    model = fitted(name)
    adjacency = model.adjacency_matrix_
    assert adjacency.shape == (4, 4)
    assert adjacency.dtype == np.int64
    assert set(np.unique(adjacency)) <= {0, 1}
    assert find_cycle(adjacency != 0) is None
    assert model.fit_seconds_ >= 0
    assert model.fit_cpu_seconds_ >= 0
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")


def test_there_are_weights_on_edges_alone_or_none_at_all(name, fitted):
    model = fitted(name)
    assert (model.weights_ is None) == (name in WEIGHTLESS)
    if model.weights_ is not None:
        assert model.weights_.dtype == np.float64
        assert np.isfinite(model.weights_).all()
        assert (model.weights_[model.adjacency_matrix_ == 0] == 0).all()


def test_where_there_is_an_order_every_edge_follows_it(name, fitted):
    model = fitted(name)
    assert model.causal_order_ is not None or name not in ORDERED
    if model.causal_order_ is not None:
        assert sorted(model.causal_order_) == [0, 1, 2, 3]
        along = model.adjacency_matrix_[np.ix_(model.causal_order_, model.causal_order_)]
        assert np.array_equal(along, np.triu(along, 1))


def test_methods_of_equivalence_classes_report_the_class_and_a_member(name, fitted):
    model = fitted(name)
    assert (model.cpdag_ is not None) == (name in CLASSES)
    if name in CLASSES - {"pc"}:  # what the tests of PC find need not be a class
        assert np.array_equal(to_cpdag(model.adjacency_matrix_), model.cpdag_ != 0)


def test_a_frame_gives_names_and_the_same_graph(name, table, fitted):
    model, plain = make(name).fit(table), fitted(name)
    for matrix, array in (
        (model.adjacency_matrix_, plain.adjacency_matrix_),
        (model.weights_, plain.weights_),
        (model.cpdag_, plain.cpdag_),
    ):
        if array is None:
            assert matrix is None
        else:
            assert matrix.index.tolist() == matrix.columns.tolist() == NAMES
            assert np.array_equal(matrix.to_numpy(), array)
    if plain.causal_order_ is not None:
        assert model.causal_order_ == [NAMES[node] for node in plain.causal_order_]
    assert model.feature_names_in_.tolist() == NAMES


def test_one_random_state_gives_one_result_whatever_was_drawn_in_between(name, table):
    first = make(name, random_state=5).fit(table)
    random.random()
    np.random.random()  # noqa: NPY002
    second = make(name, random_state=5).fit(table)
    pd.testing.assert_frame_equal(first.adjacency_matrix_, second.adjacency_matrix_)
    if first.weights_ is not None:
        pd.testing.assert_frame_equal(first.weights_, second.weights_, check_exact=True)


def test_it_is_silent_and_leaves_global_state_and_the_table_alone(name, table, capfd):
    model, X = make(name), table.to_numpy(copy=True)
    torch = sys.modules.get("torch")
    states = random.getstate(), str(np.random.get_state()), np.get_printoptions()  # noqa: NPY002
    root = logging.getLogger()
    settings = root.level, list(root.handlers), torch and torch.get_default_dtype()
    drawn = torch and torch.get_rng_state()
    model.fit(X)
    assert capfd.readouterr() == ("", "")
    assert np.array_equal(X, table.to_numpy())
    assert states == (random.getstate(), str(np.random.get_state()), np.get_printoptions())  # noqa: NPY002
    assert settings == (root.level, list(root.handlers), torch and torch.get_default_dtype())
    assert torch is None or torch.equal(drawn, torch.get_rng_state())


def test_with_standardized_columns_units_do_not_matter(name, table):
    units = np.array([0.25, 8.0, 1024.0, 1.0])  # powers of two, which floats are multiplied by exactly
    model, other = (make(name, standardize=True).fit(X) for X in (table, table * units))
    pd.testing.assert_frame_equal(model.adjacency_matrix_, other.adjacency_matrix_)


def bad_tables():
    X = pd.DataFrame(linear_data(0, 30, 4), columns=NAMES)
    return {
        "infinite": X.replace(X.loc[3, "diet"], np.inf),
        "constant": X.assign(diet=1.0),
        "copies": X.assign(diet=2 * X["dose"] + 1),
        "combination": X.assign(diet=X["dose"] - X["age"]),
        "repeated": X.set_axis(["age", "dose", "dose", "outcome"], axis=1),
        "rows": X.head(2),
        "columns": X[["age"]],
        "vector": X["age"].to_numpy(),
    }


@pytest.mark.parametrize("kind", bad_tables())
def test_a_bad_table_is_refused_in_the_words_of_the_learner(name, kind):
    X = bad_tables()[kind]
    with pytest.raises(ValueError) as expected:
        Daguerreotype().fit(X)
    with pytest.raises(ValueError) as seen:
        make(name).fit(X)
    assert str(seen.value).replace(type(make(name)).__name__, "Daguerreotype") == str(expected.value)


def test_missing_values_which_the_learner_takes_are_refused_and_located(name):
    X = pd.DataFrame(linear_data(0, 30, 4), columns=NAMES)
    X.loc[[4, 7], "dose"] = np.nan
    with pytest.raises(
        ValueError, match=r"X has 2 NaN values: 'dose' \(2\); the first is in row 5. Missing values"
    ):
        make(name).fit(X)


def test_text_which_the_learner_takes_for_levels_is_refused_by_name(name):
    X = pd.DataFrame(linear_data(0, 30, 4), columns=NAMES).assign(diet=["much", "some", "none"] * 10)
    with pytest.raises(
        ValueError, match=r"could not convert to numbers: column 'diet' holds .* Encode it as numbers"
    ):
        make(name).fit(X)


@pytest.mark.parametrize("limit", [0, -1.0, np.nan, "long"])
def test_a_time_limit_must_be_a_positive_number(name, limit, table):
    with pytest.raises(ValueError, match="time_limit must be"):
        make(name, time_limit=limit).fit(table)


def test_all_settings_are_keyword_only_have_defaults_and_survive_clone(name):
    parameters = inspect.signature(type(make(name))).parameters
    assert set(parameters) >= SHARED
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters.values())
    assert (parameters["standardize"].default is True) == (name != "sortnregress")
    model = make(name, random_state=7, time_limit=3.0)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["random_state"] == 7


def test_every_setting_is_documented(name):
    method = type(make(name))
    text = inspect.getdoc(method)
    own = set(inspect.signature(method).parameters)
    if own != set(inspect.signature(method.__mro__[1]).parameters):  # else documented in the parent
        assert all(parameter in text for parameter in own)


def test_the_registry_knows_the_extra_of_each_and_the_page_lists_it(name):
    entry, libraries = REGISTRY[name], type(baselines.get(name)).libraries
    needed = None if not libraries else "torch" if libraries[0] == "torch" else "baselines"
    assert entry.extra == needed
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    shown = name.replace("vi-dp-dag-sinkhorn", "-sinkhorn")
    assert sum(f"`{shown}`" in line for line in rows) == 1, f"{name} has no row in {PAGE.name}"


def test_the_registry_lists_methods_of_the_paper_peers_and_trivial_ones():
    kinds = {"paper": [], "peer": [], "trivial": []}
    for name, entry in REGISTRY.items():
        kinds[entry.kind].append(name)
    assert len({entry.help for entry in REGISTRY.values()}) == len(REGISTRY)
    assert kinds["trivial"] == ["empty", "random"]
    assert {"notears", "cam", "npvar", "bcd-nets"} <= set(kinds["paper"])
    assert {"boss", "pc", "dagma"} <= set(kinds["peer"])


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown baseline 'bos': choose one of 'notears', .*'boss'.*'random'\."):
        baselines.get("bos")
