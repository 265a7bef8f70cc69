"""Which tables and settings are refused, and in which words? All before any training."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from daguerreotype import Daguerreotype
from daguerreotype.data import read_table
from daguerreotype.edges import LarsEdges
from daguerreotype.edges.base import EdgeEstimator, LocalModels
from daguerreotype.metrics import var_sortability
from daguerreotype.operators import FixedOrder, project_permutahedron
from support.fits import linear_data
from support.learners import make_learner

NAMES = ["age", "dose", "diet", "outcome"]


class Untouched(EdgeEstimator):
    """An edge estimator that must never meet its data."""

    def prepare(self, table):
        raise AssertionError("training began before the input was checked")


def frame(**changes):
    table = pd.DataFrame(linear_data(0, 30, 4), columns=NAMES)
    for name, column in changes.items():
        table[name] = column
    return table


def refused(X, message, error=ValueError, **settings):
    with pytest.raises(error, match=message):
        make_learner(edges=Untouched(), **settings).fit(X)


# ---------------------------------------------------------------------------- values


def test_values_that_are_missing_or_infinite_are_counted_and_located():
    X = frame()
    X.loc[[4, 7], "dose"] = np.nan
    X.loc[2, "outcome"] = np.nan
    advice = "Learn from them with missing='auto', or leave their rows out with missing='drop'"
    counts = r"X has 3 NaN values: 'dose' \(2\), 'outcome' \(1\); the first is in row 5\. "
    refused(X, counts + advice, missing="error")
    array = frame().to_numpy(copy=True)
    array[3, 1] = np.nan
    refused(array, r"X has 1 NaN value: 'x1' \(1\); the first is in row 4", missing="error")
    nullable = frame(age=pd.array([None, *range(29)], dtype="Int64"))
    refused(nullable, r"X has 1 NaN value: 'age' \(1\)", missing="error")
    for bad in (np.inf, -np.inf):
        X = frame()
        X.loc[9, "diet"] = bad
        message = r"X has 1 infinite value: 'diet' \(1\); the first is in row 10\. Replace them, or drop"
        refused(X, message)


def test_of_many_columns_with_missing_values_the_first_five_are_named():
    X = pd.DataFrame(np.full((5, 8), np.nan), columns=list("abcdefgh"))
    message = r"X has 40 NaN values: 'a' \(5\), 'b' \(5\), 'c' \(5\), 'd' \(5\), 'e' \(5\) and 3 more columns"
    refused(X, message, missing="error")
    refused(
        X, "columns 'a', 'b', 'c', 'd', 'e' and 3 more are empty: nothing can be learned about them. Drop them"
    )


def test_columns_that_nothing_can_be_learned_from_are_all_named_with_what_to_do():
    dates, names = pd.date_range("2020-01-01", periods=30), [f"p{i}" for i in range(30)]
    refused(
        frame(age=dates, diet=names, dose=list("abcdef") * 5),
        r"columns 'age' \(holds dates\), 'dose' \(has 6 levels in 30 rows\), 'diet' \(names rows: a different "
        r"text in each\)\. Turn dates into numbers, such as days since the first\. Merge rare levels until there "
        r"are at most 3\. Or leave them out: X\.drop\(columns=\['age', 'dose', 'diet'\]\)",
    )


# ---------------------------------------------------------------------------- columns


def test_constant_columns_are_named():
    refused(frame(dose=3.0), r"column 'dose' is constant: nothing can be learned about it\. Drop it")
    refused(frame(dose=3.0, diet=1e9), r"columns 'dose', 'diet' are constant: .* about them\. Drop them")
    refused(frame(age="x", diet="y"), r"columns 'age', 'diet' are constant")


def test_copies_up_to_shift_and_scale_are_named_together():
    X = frame()
    X["outcome"], X["diet"] = 2 * X["dose"] + 1, -X["dose"]
    refused(X, r"columns 'dose', 'diet', 'outcome' are the same up to shift and scale: .* Keep one of them")


def test_an_exact_linear_combination_is_named_with_the_columns_it_is_made_of():
    X = frame()
    X["outcome"] = X["age"] - 2 * X["diet"] + 5
    refused(X, r"column '(age|diet|outcome)' is an exact linear combination of ")
    with pytest.raises(ValueError) as error:
        Daguerreotype().fit(X)
    assert all(repr(name) in str(error.value) for name in ("age", "diet", "outcome"))
    assert "'dose'" not in str(error.value)


def test_small_numbers_columns_far_from_zero_nearly_collinear_ones_and_three_rows_are_accepted(rng):
    X = frame()
    for table in (
        frame(age=np.arange(30) % 3 == 0, dose=(np.arange(30) % 7).astype(np.int8)),
        X + 1e6,
        X.assign(outcome=X["age"] - 2 * X["diet"] + 1e-3 * rng.normal(size=30)),
        X.iloc[:3, :2],
    ):
        assert Daguerreotype(edges="bic", scales="none").fit(table).n_features_in_ == table.shape[1]


# ---------------------------------------------------------------------------- size


def test_tables_that_are_too_small_or_no_tables_are_refused():
    for rows, shown in ((2, "2 rows"), (1, "1 row")):
        refused(frame()[:rows], rf"X has n_samples = {shown}; at least 3 are needed")
    refused(frame()[["age"]], r"X has n_features = 1 column, 1 feature\(s\); at least 2 are needed for a graph")
    refused(np.arange(10.0), r"expected a table, with rows and columns. One row is \[\[1.0, 2.0\]\]")


def test_what_is_no_table_is_refused_in_words():
    X, rows = frame(), frame().to_numpy()
    for table, error, text in (
        (X.assign(t=pd.to_timedelta(range(30), "h")), ValueError, "nothing can be learned from column 't'"),
        (X[:0], ValueError, "0 rows; at least 3 are needed"),
        (X.assign(c=[[1]] * 30), ValueError, "'c' holds values that are neither numbers nor text"),
        (rows + 1j, ValueError, "Complex data not supported"),
        (sparse.csr_matrix(rows), TypeError, "X is a sparse matrix, which is not supported: give X.toarray"),
        (None, TypeError, "X is a NoneType: expected a DataFrame, or an array or a list of rows"),
        ("table.csv", TypeError, "X is a str: expected a DataFrame"),
        ({"a": [1.0], "b": [2.0]}, TypeError, "X is a dict: expected a DataFrame"),
        (iter(rows), TypeError, "expected a DataFrame, or an array or a list of rows"),
    ):
        refused(table, text, error)


def test_a_path_that_no_file_can_have_is_refused():
    for name in ("a\0b.csv", "\ud800.csv"):
        with pytest.raises(ValueError, match="path must be the path of a file, but no file can be called"):
            read_table(name)


def test_complex_numbers_are_refused_by_functions():
    for refuse in (
        lambda: project_permutahedron(np.ones(3) * 1j),
        lambda: var_sortability(frame().to_numpy() * 1j, np.eye(4, k=1)),
    ):
        with pytest.raises(ValueError, match="must be real numbers, but they are complex"):
            refuse()


# ---------------------------------------------------------------------------- settings


def test_a_bad_setting_is_refused_before_any_training():
    for settings, message in (
        ({"operator": "softmax"}, r"operator must be 'sparsemax', 'sparsemap', 'random', Sparsemax"),
        ({"training": "adversarial"}, r"training must be .*'bilevel'.*got 'adversarial'"),
        ({"loss": "l1"}, r"loss must be one of .* got 'l1'"),
        ({"max_iter": 1.5}, r"max_iter must be a whole number of at least 1, got 1\.5"),
        ({"start": ["age", "dose", "diet", "income"]}, r"start holds 'income', which is no column"),
        ({"operator": FixedOrder(["age"])}, r"order has 1 entries, but the table has 4 columns"),
    ):
        refused(frame(), message, **settings)


def test_what_is_no_edge_estimator_is_refused():
    for edges, error, message in (
        ("forest", ValueError, r"edges must be one of 'gam', 'bic', 'lars', 'lasso'.*got 'forest'"),
        (3, TypeError, r"edges is a int: expected one of 'gam'"),
        (Untouched, TypeError, r"edges is the class Untouched: expected an object\. Write Untouched\(\)"),
    ):
        with pytest.raises(error, match=message):
            Daguerreotype(edges=edges).fit(frame())


def test_the_paper_has_no_configuration_with_other_parts():
    for operator, edges in (("softmax", "lars"), ("fixed", "lars"), ("sparsemax", "gam")):
        with pytest.raises(ValueError, match=rf"got '{operator}' with '{edges}'"):
            Daguerreotype.paper(operator, edges)


# ---------------------------------------------------------------------------- new rows


def test_new_rows_must_have_the_columns_of_training():
    fitted = Daguerreotype(edges="bic", scales="none").fit(frame())
    with pytest.raises(ValueError, match=r"feature names should match"):
        fitted.score(frame().rename(columns={"dose": "drug"}))
    with pytest.raises(ValueError, match=r"X has 3 features, but Daguerreotype is expecting 4"):
        fitted.score(frame().to_numpy()[:, :3])


def test_rows_cannot_be_scored_by_an_estimator_that_does_not_predict():
    class Models(LocalModels):
        def __init__(self, models):
            self.models = models

        def fit(self, node, predecessors):
            return self.models.fit(node, predecessors)

    class Empty(EdgeEstimator):
        def prepare(self, table):
            return Models(LarsEdges().prepare(table))

    model = make_learner(edges=Empty(), scales="none", loss="nll_ev").fit(frame())
    with pytest.raises(TypeError, match=r"Models cannot predict unseen rows: give it a method predict"):
        model.score(frame())


def test_columns_of_any_size_that_can_be_squared_twice_are_learned_without_a_warning(recwarn):
    X = np.random.default_rng(0).normal(size=(200, 4))
    X[:, 2] += X[:, 0]
    for size, standardize in product((1e-70, 1e70), (True, False)):
        settings = {"edges": "bic", "scales": "none", "standardize": standardize, "max_iter": 10, "posterior": 0}
        learner = make_learner(**settings).fit(X * size)
        either = learner.adjacency_matrix_ + learner.adjacency_matrix_.T
        assert np.argwhere(np.triu(either)).tolist() == [[0, 2]]
        assert np.isfinite(learner.loss_)
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_columns_of_sizes_beyond_floats_are_refused_before_they_are_squared(recwarn):
    rows = np.random.default_rng(0).normal(size=(100, 3))
    gaps = np.arange(100)[:, None] % 7 == np.array([9, 0, 9])
    for size in (1e-300, 1e-160, 1e-100, 1e-77, 1e77, 1e120, 1e160, 1e300):
        for values in (rows, np.round(rows, 1), np.where(gaps, np.nan, rows)):
            with pytest.raises(ValueError, match=r"the variance of column 'x1' is too .* 1e-75 and 1e\+75"):
                Daguerreotype().fit(values * [1.0, size, 1.0])
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]
