"""Learning from tables of any kinds: what is kept of them, asked by them, refused for them."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from daguerreotype.data import Kind
from daguerreotype.edges.base import Capabilities, EdgeEstimator
from support.learners import make_learner

QUICK = {"edges": "bic", "loss": "bic", "scales": "none", "k": 5, "max_iter": 10, "n_restarts": 0}
NAMES = ["dose", "city", "sex", "visits", "grade", "size"]


def mixed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    return pd.DataFrame(
        {
            "dose": dose,
            "city": rng.choice(["Bonn", "Oslo", "Rome"], n),
            "sex": rng.choice(["f", "m"], n),
            "visits": rng.poisson(np.exp(0.5 + 0.5 * dose)),
            "grade": pd.Categorical(rng.choice(["low", "mid", "top"], n), ["low", "mid", "top"], ordered=True),
            "size": np.round(dose + rng.normal(size=n), 1),
        }
    )


def learner(**settings):
    return make_learner(**(QUICK | settings))


@pytest.fixture(scope="module")
def fitted():
    return learner().fit(mixed())


# ------------------------------------------------------------------ what is kept


def test_kinds_are_kept_in_the_order_of_the_columns(fitted):
    assert list(fitted._result.kinds_by_label) == NAMES
    names = [kind.name for kind in fitted._result.kinds_by_label.values()]
    assert names == ["continuous", "categorical", "binary", "count", "ordinal", "continuous"]
    assert fitted._result.kinds_by_label["grade"].levels == ("low", "mid", "top")
    assert fitted._result.kinds_by_label["size"].step == 0.1
    assert fitted.n_features_in_ == 6
    assert fitted.feature_names_in_.tolist() == NAMES


def test_columns_of_arrays_are_numbered():
    X = np.column_stack([mixed()["dose"], mixed()["visits"], mixed()["size"]])
    found = learner(kinds={2: "continuous", 1: "ordinal"}, edges="gam").fit(X)._result.kinds_by_label
    assert list(found) == [0, 1, 2]
    assert (found[1].name, found[1].reason) == ("ordinal", "given")


def test_what_the_learner_meets_are_codes_and_the_kinds():
    seen = []

    class Edges(EdgeEstimator):
        can = Capabilities(kinds=True)

        def prepare(self, table):
            seen.append(table)
            from daguerreotype.edges import BicEdges

            return BicEdges().prepare(table)

    X = mixed()
    learner(edges=Edges()).fit(X)
    table = seen[0]
    place = table.names.index("city")
    assert table.kinds[place].name == "categorical"
    assert sorted(np.unique(table.values[:, place])) == [0, 1, 2]
    assert (
        np.bincount(table.values[:, place].astype(int)).tolist() == X["city"].value_counts().sort_index().tolist()
    )
    learner(edges=Edges()).fit(X[["dose"]].assign(other=np.random.default_rng(1).normal(size=200)))
    assert seen[-1].kinds == ()


@pytest.mark.parametrize("take", [lambda X: X.astype({"city": "category", "sex": "string"}), lambda X: X[::-1]])
def test_the_same_table_in_other_words_is_the_same(take, fitted):
    other = learner().fit(take(mixed()))
    np.testing.assert_array_equal(other.weights_, fitted.weights_)
    assert other._result.kinds_by_label["city"].levels == fitted._result.kinds_by_label["city"].levels


def test_tables_of_arrow_are_learned_from():
    pa = pytest.importorskip("pyarrow")
    X = mixed().drop(columns="grade")
    expected = learner().fit(X)
    found = learner().fit(pa.Table.from_pandas(X))
    assert found.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(found.weights_, expected.weights_)
    assert found.score(pa.Table.from_pandas(X)) == expected.score(X)
    resampled = learner().bootstrap(pa.Table.from_pandas(X), 3)
    pd.testing.assert_frame_equal(resampled.edge_frequencies, learner().bootstrap(X, 3).edge_frequencies)


# ------------------------------------------------------------------ what is asked


def test_new_rows_are_scored_whatever_levels_they_have(fitted):
    X = mixed(seed=1)
    assert np.isfinite(fitted.score(X))
    romans = X[X["city"] == "Rome"].reset_index(drop=True)
    as_categories = romans.assign(city=pd.Categorical(romans["city"]))
    assert fitted.score(romans) == fitted.score(as_categories)


def test_a_level_that_was_not_learned_is_named_with_those_that_were(fitted):
    X = mixed(seed=1)
    X.loc[3, "city"] = "Nice"
    with pytest.raises(
        ValueError, match=r"column 'city' has the level 'Nice' in row 4, .* levels are 'Bonn', 'Oslo', 'Rome'"
    ):
        fitted.score(X)


def test_missing_text_is_counted_and_located():
    X = mixed()
    X.loc[[4, 7], "city"] = None
    X["visits"] = X["visits"].astype("Int64")
    X.loc[2, "visits"] = pd.NA
    with pytest.raises(
        ValueError, match=r"X has 3 NaN values: 'city' \(2\), 'visits' \(1\); the first is in row 5"
    ):
        learner(missing="error").fit(X)
    kinds = learner().fit(X)._result.kinds_by_label
    assert (kinds["city"].name, kinds["city"].levels) == ("categorical", ("Bonn", "Oslo", "Rome"))
    assert kinds["visits"].name == "count"


def test_curves_are_asked_at_levels():
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Oslo", "Rome"], 300)
    heights = pd.Series(city).map({"Bonn": 0.0, "Oslo": 2.0, "Rome": 3.0})
    X = pd.DataFrame({"city": city, "size": heights + rng.normal(size=300)})
    m = learner(edges="gam", operator="fixed", start=["city", "size"]).fit(X)
    curve = m.curve("city", "size", ["Oslo", "Bonn"])
    assert curve[0] > curve[1]
    with pytest.raises(ValueError, match=r"column 'city' has the level 'Nice'"):
        m.curve("city", "size", ["Nice"])
    pytest.importorskip("matplotlib").use("Agg")
    ax = m.plot("curves", X=X)[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Bonn", "Oslo", "Rome"]


def test_reports_show_kinds_and_reasons(fitted):
    from daguerreotype.report.content import collect

    content = collect(fitted, mixed())
    shown = dict(zip(content["names"], content["data"]["columns"], strict=True))
    assert (shown["city"]["kind"], shown["city"]["reason"]) == ("categorical", "3 levels of text")
    assert shown["city"]["mean"] is None
    assert shown["visits"]["mean"] == pytest.approx(mixed()["visits"].mean(), rel=1e-5)
    assert content["data"]["score"] == pytest.approx(fitted.score(mixed()))
    facts = dict(content["facts"])
    assert (
        facts["kinds"] == "2 continuous, 1 count (visits), 1 binary (sex), 1 ordinal (grade), 1 categorical (city)"
    )


# ------------------------------------------------------------------ resamples


def test_resamples_that_miss_a_level_are_fitted_by_the_kinds_of_all_rows():
    X = mixed(60)
    X["city"] = ["Oslo"] + ["Bonn", "Rome"] * 29 + ["Bonn"]  # Oslo is missing from a third of all resamples
    found = learner().bootstrap(X, n_resamples=8)
    assert found.n_resamples == 8
    assert not found.failures


def test_a_copy_for_some_rows_knows_the_levels_of_all():
    X = mixed()
    told = learner().with_kinds_of(X)
    some = X[X["city"] != "Oslo"].reset_index(drop=True)
    assert told.fit(some)._result.kinds_by_label["city"].levels == ("Bonn", "Oslo", "Rome")
    assert np.isfinite(told.score(X))
    assert clone(told).kinds["city"] == told.kinds["city"]


# ------------------------------------------------------------------ columns that do not go together


def test_columns_of_two_levels_that_merely_go_together_are_learned_from():
    rng = np.random.default_rng(0)
    first = rng.random(200) < 0.5
    second = np.where(rng.random(200) < 0.02, ~first, first)
    X = pd.DataFrame({"a": first, "b": second, "c": rng.normal(size=200)})
    assert learner().fit(X)._result.kinds_by_label["b"].name == "binary"


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        (lambda X: np.where(X["sex"] == "f", "woman", "man"), "columns 'sex', 'copy' are the same up to shift"),
        (
            lambda X: X["city"].map({"Bonn": "x", "Oslo": "a", "Rome": "m"}),
            "columns 'city', 'copy' have the same lev",
        ),
        (lambda X: X["city"].str.lower(), "columns 'city', 'copy' are the same up to shift"),
    ],
)
def test_copies_under_other_names_are_refused(copy, message):
    X = mixed()
    with pytest.raises(ValueError, match=message):
        learner().fit(X.assign(copy=copy(X)))


def test_codes_without_an_order_are_combined_with_nothing():
    X = mixed()[["dose", "city", "size"]]
    codes = X["city"].map({"Bonn": 0, "Oslo": 1, "Rome": 2})
    X["sum"] = X["dose"] + 2 * X["size"] + codes
    assert learner().fit(X).n_features_in_ == 4
    with pytest.raises(ValueError, match=r"exact linear combination"):
        learner().fit(X.assign(city=codes))


# ------------------------------------------------------------------ settings that take numbers alone


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"edges": "lars", "loss": "auto"}, "edges='lars'"),
        ({"edges": LinearRegression(), "loss": "auto"}, r"edges=LinearRegression\(\.\.\.\)"),
        ({"loss": "nll_ev"}, "loss='nll_ev'"),
        ({"loss": lambda variance, dof, n: variance}, "a loss of your own"),
        pytest.param(
            {"edges": "linear", "training": "joint", "loss": "nll_ev"},
            "training='joint'",
            marks=pytest.mark.skipif(find_spec("torch") is None, reason="needs torch"),
        ),
    ],
)
def test_levels_are_refused_by_name_where_numbers_alone_are_taken(settings, named):
    with pytest.raises(ValueError, match=rf"{named} takes continuous columns alone, but 'city' is categorical"):
        learner(**settings).fit(mixed())
    with pytest.raises(ValueError, match=rf"{named} takes continuous columns alone, but 'visits' is count"):
        learner(**settings, kinds={"visits": "count"}).fit(mixed()[["dose", "visits"]])


def test_two_levels_are_0_and_1_where_numbers_alone_are_taken():
    X = mixed()[["dose", "sex", "visits"]].assign(flag=mixed()["size"] > 0)
    found = learner(edges="lars").fit(X)
    numbers = X.assign(sex=(X["sex"] == "m").astype(float), flag=X["flag"].astype(float))
    plain = learner(edges="lars").fit(numbers)
    np.testing.assert_array_equal(found.weights_, plain.weights_)
    assert found.score(X) == plain.score(numbers)
    assert found._result.kinds_by_label["sex"] == Kind(
        "continuous", "edges='lars' takes numbers alone", ("f", "m")
    )
    assert {kind.step for kind in found._result.kinds_by_label.values()} == {0.0}


def test_without_rows_in_memory_columns_are_continuous():
    X = mixed()[["dose", "visits", "size"]]
    found = learner().fit_chunks([X[:100], X[100:]])
    assert {kind.name for kind in found._result.kinds_by_label.values()} == {"continuous"}
    assert list(found._result.kinds_by_label) == ["dose", "visits", "size"]
    moments = learner().fit_moments(X.cov(), len(X), means=X.mean())
    assert moments._result.kinds_by_label["visits"].reason == "rows are not in memory"


def test_discrete_kinds_are_refused_before_any_row_is_read():
    def read():
        raise AssertionError("a row was read")

    told = learner(kinds={"dose": "continuous", "visits": "count"})
    with pytest.raises(ValueError, match=r"kinds says that 'visits' is count, but without all rows in memory"):
        told.fit_chunks(read)
    with pytest.raises(ValueError, match=r"kinds says that 'visits' is count"):
        told.fit_moments(np.eye(2), 100)
    with pytest.raises(ValueError, match=r"kinds says that 'visits' is 'cuont', which is no kind; did you mean"):
        learner(kinds={"visits": "cuont"}).fit_chunks(read)


def test_text_in_chunks_is_refused_by_name():
    with pytest.raises(ValueError, match=r"could not convert to numbers: column 'city' holds"):
        learner().fit_chunks([mixed()[["dose", "city"]]])
