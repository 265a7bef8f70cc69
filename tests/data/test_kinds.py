"""What are the columns? Kinds by type, by value, by what the user says, and there and back again."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data.columns import Origin, distinct, grid_step, read_columns
from daguerreotype.data.kinds import KINDS, Kind, encode, encode_values, find_kinds, read_given

SMOOTH = np.random.default_rng(0).normal(size=60)


def kind_of(column, given=None, **settings):
    """The kind of one column of a DataFrame."""
    frame = pd.DataFrame({"c": column})
    rows = read_columns(frame)
    values = rows.table.to_numpy(dtype=float, na_value=np.nan)
    return find_kinds(values, ["c"], rows.origins, {} if given is None else {0: given}, **settings)[0]


def kinds_of(draw, n, seeds=20):
    """How many columns that ``draw`` makes are of which kind, and their steps."""
    found = [kind_of(np.asarray(draw(np.random.default_rng(seed), n))) for seed in range(seeds)]
    return [kind.name for kind in found], {kind.step for kind in found}


# ------------------------------------------------------------------ by type


def test_types_tell():
    low_high = pd.Categorical(["lo", "mid", "hi"] * 20, ["lo", "mid", "hi"], ordered=True)
    for column, name, levels, reason in (
        ([True, False] * 30, "binary", (False, True), "dtype bool"),
        (pd.array([True, False] * 30, dtype="boolean"), "binary", (False, True), "dtype boolean"),
        (["no", "yes"] * 30, "binary", ("no", "yes"), "2 levels of text"),
        (["b", "a", "c"] * 20, "categorical", ("a", "b", "c"), "3 levels of text"),
        (["10", "9", "2"] * 20, "categorical", ("2", "9", "10"), "3 levels of text"),
        (pd.Categorical(["z", "x", "y"] * 20, list("zyx")), "categorical", ("z", "y", "x"), "dtype category"),
        (low_high, "ordinal", ("lo", "mid", "hi"), "dtype ordered category"),
        (pd.Categorical(["x", "y"] * 30, list("xyz")), "binary", ("x", "y"), "dtype category"),
        (pd.array([0, 1, 2] * 20, dtype="Int64"), "ordinal", (0, 1, 2), "whole numbers from 0 to 2"),
        (pd.Series([1, 5] * 30, dtype=object), "binary", (1, 5), "two different values"),
        (SMOOTH.astype(np.float32), "continuous", (), "numbers"),
    ):
        assert kind_of(column) == Kind(name, reason, levels)


def test_types_of_arrow_tell_the_same():
    pa = pytest.importorskip("pyarrow")
    for values, arrow, name in (
        (["a", "b", "c"] * 20, "string", "categorical"),
        ([True, False] * 30, "bool_", "binary"),
        ([0, 1, 2] * 20, "int8", "ordinal"),
        (list(SMOOTH), "float64", "continuous"),
    ):
        assert kind_of(pd.Series(values, dtype=pd.ArrowDtype(getattr(pa, arrow)()))).name == name
        rows = read_columns(pa.table({"c": values}))
        assert rows.named
        assert find_kinds(np.asarray(rows.table, dtype=float), ["c"], rows.origins)[0].name == name


def test_arrays_of_objects_are_told_column_by_column():
    for rows in (list, np.array):
        found = read_columns(rows([[0.5 + i, "xyz"[i % 3], i % 2 == 0] for i in range(30)]))
        assert not found.named
        assert [origin.what for origin in found.origins][:2] == ["numbers", "text"]
        assert found.table[:4, 1].tolist() == [0, 1, 2, 0]


def test_what_is_missing_is_nan_whatever_the_type():
    for column in (
        ["a", None, "b"],
        pd.Categorical(["a", None, "b"]),
        pd.array([True, pd.NA, False], dtype="boolean"),
        pd.array([1, pd.NA, 2], dtype="Int64"),
        [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 2)],
    ):
        values = read_columns(pd.DataFrame({"c": column})).table["c"]
        assert np.flatnonzero(values.isna()).tolist() == [1]


def test_values_that_are_neither_numbers_nor_text_are_refused():
    with pytest.raises(ValueError, match=r"column 'c' holds values that are neither numbers nor text .*Encode it"):
        read_columns(pd.DataFrame({"c": [{"a": 1}, [2], 3]}))


# ------------------------------------------------------------------ by values

COUNTS = {
    "Poisson 1": lambda rng, n: rng.poisson(1, n),
    "Poisson 30": lambda rng, n: rng.poisson(30, n),
    "log-normal mixture": lambda rng, n: rng.poisson(np.exp(0.5 + 0.7 * rng.normal(size=n))),
    "two rates": lambda rng, n: rng.poisson(np.where(rng.random(n) < 0.5, 1, 10)),
    "negative binomial": lambda rng, n: rng.negative_binomial(0.7, 0.1, n),
    "inflated zeros": lambda rng, n: np.where(rng.random(n) < 0.4, 0, rng.poisson(4, n)),
}
ORDINAL = {
    "1 to 5": lambda rng, n: rng.integers(1, 6, n),
    "0 to 10": lambda rng, n: rng.integers(0, 11, n),
    "0 to 10, mostly 7": lambda rng, n: np.clip(np.rint(rng.normal(7, 2, n)), 0, 10),
    "1 to 5, mostly 2": lambda rng, n: 1 + rng.binomial(4, 0.3, n),
    "-2 to 2": lambda rng, n: rng.integers(-2, 3, n),
    "cylinders": lambda rng, n: rng.choice([4, 6, 8], n),
    "doses": lambda rng, n: rng.choice([0, 1, 5, 20, 100], n),
}
CONTINUOUS = {
    "ages, mostly 48": (lambda rng, n: np.clip(np.rint(rng.normal(48, 16, n)), 18, 90), 1),
    "years": (lambda rng, n: rng.integers(1980, 2024, n), 1),
    "blood pressure": (lambda rng, n: np.rint(rng.normal(130, 15, n)), 1),
    "negative": (lambda rng, n: np.rint(rng.normal(0, 6, n)), 1),
    "quarters": (lambda rng, n: np.rint(4 * rng.normal(size=n)) / 4, 0.25),
    "one decimal, moved": (lambda rng, n: np.round(rng.normal(size=n), 1) + 0.2, 0.1),
    "two decimals, large": (lambda rng, n: np.round(rng.normal(5000, 0.3, n), 2), 0.01),
    "short floats": (lambda rng, n: np.round(rng.normal(size=n), 1).astype(np.float32), 0.1),
    "smooth": (lambda rng, n: rng.normal(size=n), 0),
    "duplicated rows": (lambda rng, n: rng.normal(size=n)[rng.integers(0, n, n)], 0),
    "an atom": (lambda rng, n: np.maximum(rng.normal(size=n), 0), 0),
}


@pytest.mark.parametrize("n", [20, 50])
def test_most_short_columns_are_told_too(n):
    right = sum(kinds_of(draw, n)[0].count("count") for draw in COUNTS.values()) / (20 * len(COUNTS))
    scales = sum(kinds_of(draw, n)[0].count("ordinal") for draw in ORDINAL.values()) / (20 * len(ORDINAL))
    assert right > 0.75
    assert scales > 0.75
    many = [kind_of(np.random.default_rng(seed).integers(0, 1000, 20)).name for seed in range(20)]
    assert set(many) == {"continuous"}


def test_arithmetic_noise_makes_no_levels():
    column = np.array([0.1 + 0.2, 0.3, 0.6, 0.3 + 0.3, 0.9, 3 * 0.3] * 10)
    found = kind_of(column)
    assert (found.name, found.levels) == ("ordinal", (0.3, 0.6, 0.9))
    assert encode_values(column[:6], "c", found).tolist() == [0, 0, 1, 1, 2, 2]


@given(st.lists(st.integers(-500, 500), min_size=3, max_size=60), st.sampled_from([0.01, 0.1, 0.25, 1, 3, 50]))
def test_the_step_is_the_greatest_common_divisor(multiples, unit):
    values = np.sort(np.array(multiples * 30) * unit)
    levels, counts = distinct(values)
    expected = np.gcd.reduce(np.diff(np.unique(multiples))) * unit if len(set(multiples)) > 1 else 0.0
    assert grid_step(levels, counts) == pytest.approx(expected)


def test_reasons_are_words():
    columns = {
        "whole numbers from 0 to 9": np.arange(60) % 10,
        "numbers on a grid of 0.1": np.round(SMOOTH, 1),
        "5 different values": np.arange(60) % 5 / 2,
        "numbers": SMOOTH,
    }
    assert [kind_of(column).reason for column in columns.values()] == list(columns)


# ------------------------------------------------------------------ as the user says


def test_what_the_user_says_goes():
    backwards = Kind("categorical", "seen", ("c", "b", "a"))
    for column, asked, expected in (
        (np.arange(60) % 4, "categorical", Kind("categorical", "given", (0, 1, 2, 3))),
        (np.arange(60) % 4, "continuous", Kind("continuous", "given", (), 1.0)),
        (np.arange(60), "count", Kind("count", "given")),
        (["10", "9", "2"] * 20, "ordinal", Kind("ordinal", "given", ("2", "9", "10"))),
        (["b", "a"] * 30, "categorical", Kind("categorical", "given", ("a", "b"))),
        (np.arange(60) % 2, "binary", Kind("binary", "given", (0, 1))),
        ([True, False] * 30, "count", Kind("count", "given")),
        (["b", "a"] * 30, backwards, backwards),
        (SMOOTH, Kind("continuous", "seen", (), 0.5), Kind("continuous", "seen", (), 0.5)),
    ):
        assert kind_of(column, asked) == expected


def test_what_a_column_cannot_be_is_refused():
    letters = ["a", "b", "c"] * 20
    for column, asked, message in (
        (np.arange(60) - 2, "count", r"a count, but it is -2 in row 1, which is negative\. Let it be 'cont"),
        (SMOOTH**2, "count", r"'c' is a count, but it is .* in row 1, which is no whole number"),
        (np.arange(60) % 3, "binary", r"'c' is binary, but it has 3 levels: 0, 1, 2\. Let it be 'ordinal' or"),
        (letters, "continuous", r"'c' is continuous, but it holds (str|object) values \('a', 'b', 'c'\)"),
        (letters, "count", r"'c' is count, but it holds .* Encode it as numbers, or let it be categ"),
        (letters, "ordinal", r"levels 'a', 'b', 'c' do not say in which order\. Make it an ordered"),
        (np.arange(60), "categorical", r"'c' is categorical, but it has 60 levels in 60 rows\. Merge rare lev"),
    ):
        with pytest.raises(ValueError, match=message):
            kind_of(column, asked)


def test_columns_are_named_or_numbered_and_what_names_no_column_or_kind_is_refused():
    assert read_given({"b": "count"}, ["a", "b"], numbered=False) == {1: "count"}
    assert read_given({np.int64(1): "count"}, ["x0", "x1"], numbered=True) == {1: "count"}
    with pytest.raises(ValueError, match=r"kinds names column 5, but the columns go from 0 to 1"):
        read_given({5: "count"}, ["x0", "x1"], numbered=True)
    for kinds, error, message in (
        ({"agee": "count"}, ValueError, r"kinds names 'agee', which is no column; did you mean 'age'\?"),
        ({"age": "cuont"}, ValueError, r"'age' is 'cuont', which is no kind; did you mean 'count'\?"),
        ({"age": 3}, ValueError, r"'age' is 3, which is no kind; the kinds are 'continuous', 'count', 'binary'"),
        ({0: "count"}, ValueError, r"kinds names 0, which is no column"),
        ("count", TypeError, r"kinds is 'count': expected 'auto', or a dict from columns to kinds"),
        (None, TypeError, r"kinds is None"),
    ):
        with pytest.raises(error, match=message):
            read_given(kinds, ["age", "dose"], numbered=False)


# ------------------------------------------------------------------ numbers alone

ALONE = {"numbers_alone": "edges='lars'"}


def test_where_numbers_alone_are_taken_numbers_are_continuous_without_a_grid():
    expected = Kind("continuous", "edges='lars' takes numbers alone")
    for column in (SMOOTH, np.round(SMOOTH), np.arange(60) % 2, [True, False] * 30):
        assert kind_of(column, **ALONE) == expected
    assert kind_of(["no", "yes"] * 30, **ALONE) == Kind("continuous", expected.reason, ("no", "yes"))


def test_where_numbers_alone_are_taken_levels_are_refused_by_name_and_kinds_of_another_fit_give_way():
    for column, asked, name in (
        (["a", "b", "c"] * 20, None, "categorical"),
        (pd.Categorical(["a", "b", "c"] * 20, ordered=True), None, "ordinal"),
        (np.arange(60), "count", "count"),
    ):
        message = f"edges='lars' takes continuous columns alone, but 'c' is {name}: use edges='gam' or 'bic'"
        with pytest.raises(ValueError, match=message):
            kind_of(column, asked, **ALONE)
    assert kind_of(np.arange(60) % 3, Kind("ordinal", "whole numbers", (0, 1, 2)), **ALONE).name == "continuous"


# ------------------------------------------------------------------ codes


@given(st.lists(st.sampled_from(["a", "b", "ü", "10", "9"]), min_size=20, max_size=50), st.booleans())
def test_codes_stand_for_the_levels_that_were_there(words, as_category):
    column = pd.Series(words, dtype="category" if as_category else object)
    rows = read_columns(pd.DataFrame({"c": column}))
    values = rows.table.to_numpy()
    kind = find_kinds(values, ["c"], rows.origins)[0]
    codes = encode(values, ["c"], rows.origins, [kind])[:, 0]
    assert [kind.levels[int(code)] for code in codes] == words


@given(st.lists(st.integers(-4, 4), min_size=30, max_size=60), st.sampled_from([1, 0.5, 0.1]))
def test_codes_of_numbers_stand_for_them_too(numbers, unit):
    column = np.array(numbers) * unit
    values = column[:, None]
    kind = find_kinds(values, ["c"], given={0: "categorical"})[0] if len(set(numbers)) <= 3 else kind_of(column)
    codes = encode(values, ["c"], (), [kind])[:, 0]
    back = [kind.levels[int(code)] for code in codes] if kind.levels else codes
    np.testing.assert_allclose(back, column)


def test_levels_of_new_rows_are_matched_and_unknown_ones_named():
    kind = Kind("categorical", "3 levels of text", ("Bonn", "Oslo", "Rome"))
    assert encode_values(["Rome", "Bonn"], "city", kind).tolist() == [2, 0]
    with pytest.raises(
        ValueError,
        match=r"column 'city' has the level 'Nice' in row 2, which .* its levels are 'Bonn', 'Oslo', 'Rome'",
    ):
        encode_values(["Rome", "Nice"], "city", kind)
    with pytest.raises(ValueError, match="to numbers: column 'c' holds text values, but was count"):
        encode(np.zeros((2, 1)), ["c"], [Origin("text", ("a",), "text")], [Kind("count")])


def test_levels_that_were_saved_as_text_stand_for_what_is_written_so():
    intervals = pd.cut(pd.Series([0.5, 1.5, 2.5]), [0, 1, 2, 3])
    saved = Kind("ordinal", "dtype ordered category", tuple(map(str, intervals.cat.categories)))
    assert encode_values(intervals, "c", saved).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [300, 3000])
def test_kinds_of_whole_and_rounded_numbers_are_found(n):
    for draws, expected in ((COUNTS, "count"), (ORDINAL, "ordinal")):
        for name, draw in draws.items():
            assert kinds_of(draw, n)[0].count(expected) >= 19, name
    for name, (draw, step) in CONTINUOUS.items():
        kinds, steps = kinds_of(draw, n, seeds=10)
        assert set(kinds) == {"continuous"}, name
        assert list(steps) == pytest.approx([step] * len(steps), rel=1e-6), name


def test_a_kind_shows_what_its_codes_stand_for():
    assert Kind("binary", "", ("no", "yes")).show(np.array([1.0, 0.0])).tolist() == ["yes", "no"]
    assert Kind("ordinal", "", (2, 4, 8)).show(np.array([2.0, 0.0])).tolist() == [8, 2]
    assert Kind().show(np.array([0.5])).tolist() == [0.5]
    assert [Kind(name).on_grid for name in KINDS] == [False, True, False, False, False]
    assert Kind(step=0.1).on_grid
