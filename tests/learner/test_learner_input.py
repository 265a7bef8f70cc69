"""Which tables and settings are refused, and in which words? All before any training."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges.base import EdgeEstimator, LocalModels
from daguerreotype.operators import FixedOrder, Sparsemax
from daguerreotype.training import Bilevel
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


def test_missing_values_are_counted_and_located_where_they_are_refused():
    X = frame()
    X.loc[[4, 7], "dose"] = np.nan
    X.loc[2, "outcome"] = np.nan
    refused(
        X,
        r"X has 3 NaN values: 'dose' \(2\), 'outcome' \(1\); the first is in row 5\. "
        r"Learn from them with missing='auto', or leave their rows out with missing='drop'",
        missing="error",
    )


def test_a_single_missing_value_of_an_array_is_located_by_column_number():
    X = frame().to_numpy(copy=True)
    X[3, 1] = np.nan
    refused(X, r"X has 1 NaN value: 'x1' \(1\); the first is in row 4", missing="error")


def test_missing_values_of_nullable_columns_are_found_too():
    X = frame(age=pd.array([None, *range(29)], dtype="Int64"))
    refused(X, r"X has 1 NaN value: 'age' \(1\)", missing="error")


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_are_counted_and_located(bad):
    X = frame()
    X.loc[9, "diet"] = bad
    refused(X, r"X has 1 infinite value: 'diet' \(1\); the first is in row 10\. Replace them, or drop their rows")


def test_of_many_columns_with_missing_values_the_first_five_are_named():
    X = pd.DataFrame(np.full((5, 8), np.nan), columns=list("abcdefgh"))
    message = r"X has 40 NaN values: 'a' \(5\), 'b' \(5\), 'c' \(5\), 'd' \(5\), 'e' \(5\) and 3 more columns"
    refused(X, message, missing="error")
    refused(
        X, "columns 'a', 'b', 'c', 'd', 'e' and 3 more are empty: nothing can be learned about them. Drop them"
    )


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["low", "middle", "high"] * 10, "categorical"),
        (pd.Categorical(["low", "middle", "high"] * 10), "categorical"),
        (pd.Categorical(["a", "b", "c"] * 10, ordered=True), "ordinal"),
    ],
    ids=["text", "categories", "ordered categories"],
)
def test_a_column_of_levels_is_refused_by_edges_that_take_numbers_alone(column, kind):
    refused(
        frame(diet=column),
        rf"edges=Untouched\(\.\.\.\) takes continuous columns alone, but 'diet' is {kind}: use edges='gam'",
    )


def test_columns_that_nothing_can_be_learned_from_are_all_named_with_what_to_do():
    dates, names = pd.date_range("2020-01-01", periods=30), [f"p{i}" for i in range(30)]
    refused(
        frame(age=dates, diet=names, dose=list("abcdef") * 5),
        r"columns 'age' \(holds dates\), 'dose' \(has 6 levels in 30 rows\), 'diet' \(names rows: a different "
        r"text in each\)\. Turn dates into numbers, such as days since the first\. Merge rare levels until there "
        r"are at most 3\. Or leave them out: X\.drop\(columns=\['age', 'dose', 'diet'\]\)",
    )


def test_constant_text_is_constant():
    refused(frame(age="x", diet="y"), r"columns 'age', 'diet' are constant")


def test_truth_values_and_small_numbers_are_numbers():
    X = frame(age=np.arange(30) % 3 == 0, dose=(np.arange(30) % 7).astype(np.int8))
    assert Daguerreotype(edges="bic").fit(X).n_features_in_ == 4


# ---------------------------------------------------------------------------- columns


def test_a_constant_column_is_named():
    refused(frame(dose=3.0), r"column 'dose' is constant: nothing can be learned about it\. Drop it")


def test_several_constant_columns_are_all_named():
    refused(frame(dose=3.0, diet=1e9), r"columns 'dose', 'diet' are constant: .* about them\. Drop them")


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


def test_nearly_collinear_columns_are_accepted(rng):
    X = frame()
    X["outcome"] = X["age"] - 2 * X["diet"] + 1e-3 * rng.normal(size=30)
    Daguerreotype(edges="bic", scales="none").fit(X)


def test_columns_far_from_zero_are_not_mistaken_for_constant_ones():
    X = frame() + 1e6
    Daguerreotype(edges="bic", scales="none").fit(X)


@pytest.mark.parametrize(("names", "listed"), [("abac", "'a' occurs"), ("abab", "'a', 'b' occur")])
def test_column_names_that_occur_twice_are_named(names, listed):
    X = frame()
    X.columns = list(names)
    refused(X, rf"column names must be unique, but {listed} more than once\. Rename them")


# ---------------------------------------------------------------------------- size


@pytest.mark.parametrize(("rows", "shown"), [(2, "2 rows"), (1, "1 row")])
def test_fewer_than_three_rows_are_refused(rows, shown):
    refused(frame()[:rows], rf"X has n_samples = {shown}; at least 3 are needed")


def test_one_column_is_refused():
    refused(frame()[["age"]], r"X has n_features = 1 column, 1 feature\(s\); at least 2 are needed for a graph")


def test_a_vector_is_refused():
    refused(np.arange(10.0), r"expected a table, with rows and columns. One row is \[\[1.0, 2.0\]\]")


@pytest.mark.parametrize("edges", ["gam", "bic", "lars", "lasso"])
def test_fewer_rows_than_columns_work(edges, rng):
    X = rng.normal(size=(8, 12))
    fitted = Daguerreotype(edges=edges, operator=Sparsemax(k=20), training=Bilevel(max_iter=20, n_restarts=1)).fit(
        X
    )
    assert np.asarray(fitted.adjacency_matrix_).shape == (12, 12)
    assert np.isfinite(fitted.loss_)


def test_three_rows_and_two_columns_are_enough():
    fitted = Daguerreotype(edges="bic", scales="none").fit([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
    assert sorted(fitted.causal_order_) == [0, 1]


# ---------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": "softmax"}, r"operator must be 'sparsemax', 'sparsemap', 'random', Sparsemax"),
        ({"training": "adversarial"}, r"training must be .*'bilevel'.*got 'adversarial'"),
        ({"scales": "sqrt"}, r"scales must be 'none', 'log', 'yeo-johnson' or 'auto', got 'sqrt'"),
        ({"loss": "l1"}, r"loss must be one of .* got 'l1'"),
        ({"k": 0}, r"k must be at least 1, got 0"),
        ({"tau": -1.0}, r"tau must be positive and finite, got -1\.0"),
        ({"penalty": 0.0}, r"penalty must be above 0, got 0\.0"),
        ({"learning_rate": 0}, r"learning_rate must be above 0, got 0"),
        ({"l2": -0.1}, r"l2 must be at least 0, got -0\.1"),
        ({"max_iter": 1.5}, r"max_iter must be a whole number of at least 1, got 1\.5"),
        ({"tol": np.nan}, r"tol must be a finite number, got nan"),
        ({"patience": 0}, r"patience must be at least 1, got 0"),
        ({"n_restarts": -1}, r"n_restarts must be at least 0, got -1"),
        ({"start": ["age", "dose", "diet", "income"]}, r"start holds 'income', which is no column"),
        ({"operator": FixedOrder(["age"])}, r"order has 1 entries, but the table has 4 columns"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_setting_is_refused_before_any_training(settings, message):
    refused(frame(), message, **settings)


@pytest.mark.parametrize(
    ("edges", "error", "message"),
    [
        ("forest", ValueError, r"edges must be one of 'gam', 'bic', 'lars', 'lasso'.*got 'forest'"),
        (3, TypeError, r"edges is a int: expected one of 'gam'"),
        (
            Untouched,
            TypeError,
            r"edges is the class Untouched: expected an object\. Write Untouched\(\)",
        ),
    ],
)
def test_what_is_no_edge_estimator_is_refused(edges, error, message):
    with pytest.raises(error, match=message):
        Daguerreotype(edges=edges).fit(frame())


@pytest.mark.parametrize(("operator", "edges"), [("softmax", "lars"), ("fixed", "lars"), ("sparsemax", "gam")])
def test_the_paper_has_no_configuration_with_other_parts(operator, edges):
    with pytest.raises(ValueError, match=rf"got '{operator}' with '{edges}'"):
        Daguerreotype.paper(operator, edges)


# ---------------------------------------------------------------------------- new rows


def test_new_rows_must_have_the_columns_of_training():
    fitted = Daguerreotype(edges="bic", scales="none").fit(frame())
    with pytest.raises(ValueError, match=r"feature names should match"):
        fitted.score(frame().rename(columns={"dose": "drug"}))
    with pytest.raises(ValueError, match=r"X has 3 features, but Daguerreotype is expecting 4"):
        fitted.score(frame().to_numpy()[:, :3])


def test_of_new_rows_with_missing_values_what_is_seen_is_scored():
    fitted = Daguerreotype(edges="bic", scales="none").fit(frame())
    X = frame()
    X.loc[3, "diet"] = np.nan
    other = X.copy()
    other.loc[3, "age"] += 1000.0
    assert np.isfinite(fitted.score(X))
    assert fitted.score(other) < fitted.score(X)


def test_rows_cannot_be_scored_by_an_estimator_that_does_not_predict():
    class Empty(EdgeEstimator):
        def prepare(self, table):
            from daguerreotype.edges import LarsEdges

            models = LarsEdges().prepare(table)

            class Models(LocalModels):
                def fit(self, node, predecessors):
                    return models.fit(node, predecessors)

            return Models()

    fitted = Daguerreotype(edges=Empty(), scales="none", training=Bilevel(loss="nll_ev")).fit(frame())
    with pytest.raises(
        TypeError, match=r"Models cannot predict unseen rows: give it a method predict\(node, fit, val"
    ):
        fitted.score(frame())


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("size", [1e-70, 1e70])
def test_columns_of_any_size_that_can_be_squared_twice_are_learned_without_a_warning(size, standardize, recwarn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 2] += X[:, 0]
    settings = {"edges": "bic", "scales": "none", "standardize": standardize, "max_iter": 10, "posterior": 0}
    learner = make_learner(**settings).fit(X * size)
    either = learner.adjacency_matrix_ + learner.adjacency_matrix_.T
    assert np.argwhere(np.triu(either)).tolist() == [[0, 2]]
    assert np.isfinite(learner.loss_)
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]


@pytest.mark.parametrize("size", [1e-100, 1e-77, 1e77, 1e100, 1e120])
def test_columns_of_sizes_beyond_floats_are_refused_with_what_to_do(size, recwarn):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:, 1] *= size
    with pytest.raises(
        ValueError, match=r"the variance of column 'x1' is .* standard deviation is between 1e-75 and"
    ):
        Daguerreotype().fit(X)
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("how", ["rounded", "with gaps", "as floats go"])
def test_columns_beyond_floats_are_refused_before_they_are_squared(size, how, recwarn):
    X = np.random.default_rng(0).normal(size=(100, 3))
    if how == "rounded":
        X = np.round(X, 1)
    X[:, 1] *= size
    if how == "with gaps":
        X[::7, 1] = np.nan
    with pytest.raises(ValueError, match=r"the variance of column 'x1' is too .* between 1e-75 and 1e\+75"):
        Daguerreotype().fit(X)
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]
