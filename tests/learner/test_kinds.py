"""Learning from tables of any kinds: what is kept of them, asked by them, refused for them."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from daguerreotype.data import Kind
from daguerreotype.edges import BicEdges
from daguerreotype.report.content import collect
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
    kinds = fitted._result.kinds_by_label
    assert list(kinds) == NAMES
    names = [kind.name for kind in kinds.values()]
    assert names == ["continuous", "categorical", "binary", "count", "ordinal", "continuous"]
    assert kinds["grade"].levels == ("low", "mid", "top")
    assert kinds["size"].step == 0.1
    X = np.column_stack([mixed()["dose"], mixed()["visits"], mixed()["size"]])
    numbered = learner(kinds={2: "continuous", 1: "ordinal"}, edges="gam").fit(X)._result.kinds_by_label
    assert list(numbered) == [0, 1, 2]
    assert (numbered[1].name, numbered[1].reason) == ("ordinal", "given")


def test_what_the_estimator_meets_are_codes_and_the_kinds():
    tables = []

    class Edges(BicEdges):
        def prepare(self, table, rules=None):
            tables.append(table)
            return super().prepare(table, rules)

    X = mixed()
    learner(edges=Edges()).fit(X)
    place = tables[0].names.index("city")
    assert tables[0].kinds[place].name == "categorical"
    counts = np.bincount(tables[0].values[:, place].astype(int)).tolist()
    assert counts == X["city"].value_counts().sort_index().tolist()
    learner(edges=Edges()).fit(X[["dose"]].assign(other=np.random.default_rng(1).normal(size=200)))
    assert tables[-1].kinds == ()


def test_the_same_table_in_other_words_is_the_same(fitted):
    X = mixed()
    for table in (X.astype({"city": "category", "sex": "string"}), X[::-1]):
        other = learner().fit(table)
        np.testing.assert_array_equal(other.weights_, fitted.weights_)
        assert other._result.kinds_by_label["city"].levels == fitted._result.kinds_by_label["city"].levels


def test_tables_of_arrow_are_learned_from():
    pa = pytest.importorskip("pyarrow")
    X = mixed().drop(columns="grade")
    of_arrow = pa.Table.from_pandas(X)
    expected, model = learner().fit(X), learner().fit(of_arrow)
    assert model.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(model.weights_, expected.weights_)
    assert model.score(of_arrow) == expected.score(X)
    frequencies = (learner().bootstrap(table, 2).edge_frequencies for table in (of_arrow, X))
    pd.testing.assert_frame_equal(*frequencies)


# ------------------------------------------------------------------ what is asked


def test_new_rows_are_scored_whatever_levels_they_have_but_for_unknown_ones(fitted):
    X = mixed(seed=1)
    assert np.isfinite(fitted.score(X))
    romans = X[X["city"] == "Rome"].reset_index(drop=True)
    as_categories = romans.assign(city=pd.Categorical(romans["city"]))
    assert fitted.score(romans) == fitted.score(as_categories)
    X.loc[3, "city"] = "Nice"
    with pytest.raises(ValueError, match=r"the level 'Nice' in row 4, .* levels are 'Bonn', 'Oslo', 'Rome'"):
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


def test_reports_show_kinds_and_reasons(fitted):
    content = collect(fitted, mixed())
    shown = dict(zip(content["names"], content["data"]["columns"], strict=True))
    assert (shown["city"]["kind"], shown["city"]["reason"]) == ("categorical", "3 levels of text")
    assert shown["city"]["mean"] is None
    assert shown["visits"]["mean"] == pytest.approx(mixed()["visits"].mean(), rel=1e-5)
    kinds = "2 continuous, 1 count (visits), 1 binary (sex), 1 ordinal (grade), 1 categorical (city)"
    assert dict(content["facts"])["kinds"] == kinds


# ------------------------------------------------------------------ resamples


def test_resamples_that_miss_a_level_are_fitted_by_the_kinds_of_all_rows():
    X = mixed(60)
    X["city"] = ["Oslo"] + ["Bonn", "Rome"] * 29 + ["Bonn"]  # Oslo is missing from a third of all resamples
    resampled = learner().bootstrap(X, n_resamples=8)
    assert resampled.n_resamples == 8
    assert not resampled.failures


def test_a_copy_for_some_rows_knows_the_levels_of_all():
    X = mixed()
    informed = learner().with_kinds_of(X)
    part = X[X["city"] != "Oslo"].reset_index(drop=True)
    assert informed.fit(part)._result.kinds_by_label["city"].levels == ("Bonn", "Oslo", "Rome")
    assert np.isfinite(informed.score(X))
    assert clone(informed).kinds["city"] == informed.kinds["city"]


# ------------------------------------------------------------------ columns that do not go together


def test_columns_of_two_levels_that_merely_go_together_are_learned_from():
    rng = np.random.default_rng(0)
    first = rng.random(200) < 0.5
    second = np.where(rng.random(200) < 0.02, ~first, first)
    X = pd.DataFrame({"a": first, "b": second, "c": rng.normal(size=200)})
    assert learner().fit(X)._result.kinds_by_label["b"].name == "binary"


def test_copies_under_other_names_are_refused():
    X = mixed()
    for copy, message in (
        (np.where(X["sex"] == "f", "woman", "man"), "columns 'sex', 'copy' are the same up to shift"),
        (X["city"].map({"Bonn": "x", "Oslo": "a", "Rome": "m"}), "columns 'city', 'copy' have the same lev"),
        (X["city"].str.lower(), "columns 'city', 'copy' are the same up to shift"),
    ):
        with pytest.raises(ValueError, match=message):
            learner().fit(X.assign(copy=copy))


def test_codes_without_an_order_are_combined_with_nothing():
    X = mixed()[["dose", "city", "size"]]
    codes = X["city"].map({"Bonn": 0, "Oslo": 1, "Rome": 2})
    X["sum"] = X["dose"] + 2 * X["size"] + codes
    assert learner().fit(X).n_features_in_ == 4
    with pytest.raises(ValueError, match=r"exact linear combination"):
        learner().fit(X.assign(city=codes))


# ------------------------------------------------------------------ settings that take numbers alone


def test_levels_are_refused_by_name_where_numbers_alone_are_taken():
    cases = [
        ({"edges": "lars", "loss": "auto"}, "edges='lars'"),
        ({"edges": LinearRegression(), "loss": "auto"}, r"edges=LinearRegression\(\.\.\.\)"),
        ({"loss": "nll_ev"}, "loss='nll_ev'"),
        ({"loss": lambda variance, dof, n: variance}, "a loss of your own"),
    ]
    if find_spec("torch") is not None:
        cases.append(({"edges": "linear", "training": "joint", "loss": "nll_ev"}, "training='joint'"))
    for settings, named in cases:
        with pytest.raises(
            ValueError, match=rf"{named} takes continuous columns alone, but 'city' is categorical"
        ):
            learner(**settings).fit(mixed())
        with pytest.raises(ValueError, match=rf"{named} takes continuous columns alone, but 'visits' is count"):
            learner(**settings, kinds={"visits": "count"}).fit(mixed()[["dose", "visits"]])


def test_two_levels_are_0_and_1_where_numbers_alone_are_taken():
    X = mixed()[["dose", "sex", "visits"]].assign(flag=mixed()["size"] > 0)
    model = learner(edges="lars").fit(X)
    numbers = X.assign(sex=(X["sex"] == "m").astype(float), flag=X["flag"].astype(float))
    plain = learner(edges="lars").fit(numbers)
    np.testing.assert_array_equal(model.weights_, plain.weights_)
    assert model.score(X) == plain.score(numbers)
    kinds = model._result.kinds_by_label
    assert kinds["sex"] == Kind("continuous", "edges='lars' takes numbers alone", ("f", "m"))
    assert {kind.step for kind in kinds.values()} == {0.0}


def test_without_rows_in_memory_columns_are_continuous():
    X = mixed()[["dose", "visits", "size"]]
    streamed = learner().fit_chunks([X[:100], X[100:]])._result.kinds_by_label
    assert {kind.name for kind in streamed.values()} == {"continuous"}
    assert list(streamed) == ["dose", "visits", "size"]
    moments = learner().fit_moments(X.cov(), len(X), means=X.mean())
    assert moments._result.kinds_by_label["visits"].reason == "rows are not in memory"
    with pytest.raises(ValueError, match=r"could not convert to numbers: column 'city' holds"):
        learner().fit_chunks([mixed()[["dose", "city"]]])


def test_discrete_kinds_are_refused_before_any_row_is_read():
    def read():
        raise AssertionError("a row was read")

    counts = learner(kinds={"dose": "continuous", "visits": "count"})
    with pytest.raises(ValueError, match=r"kinds says that 'visits' is count, but without all rows in memory"):
        counts.fit_chunks(read)
    with pytest.raises(ValueError, match=r"kinds says that 'visits' is count"):
        counts.fit_moments(np.eye(2), 100)
    with pytest.raises(ValueError, match=r"kinds says that 'visits' is 'cuont', which is no kind; did you mean"):
        learner(kinds={"visits": "cuont"}).fit_chunks(read)
