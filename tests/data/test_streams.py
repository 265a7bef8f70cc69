"""Rows from files, iterators and frames lead to the same moments; what cannot be read is refused by name."""

import sys

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

from daguerreotype.data import Moments
from daguerreotype.data.inputs import FirstPass
from daguerreotype.data.moments import FEATURE_ROWS
from daguerreotype.data.streams import ROWS, Chunks, read_source
from daguerreotype.data.ties import LOOKED_AT


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.normal(size=(500, 3)) + np.array([0, 5, 1e6]), columns=["a", "b", "c"])


@pytest.fixture
def folder(frame, tmp_path):
    """The frame, cut into files of all kinds."""
    frame[:100].to_parquet(tmp_path / "0.parquet")
    frame[100:200].to_csv(tmp_path / "1.csv", index=False)
    (tmp_path / "inner").mkdir()
    frame[200:300].to_csv(tmp_path / "inner" / "2.tsv", index=False, sep="\t")
    frame[300:400].to_csv(tmp_path / "inner" / "3.csv.gz", index=False)
    frame[400:].to_parquet(tmp_path / "4.PQ")
    (tmp_path / "notes.md").write_text("not a table")
    return tmp_path


def test_all_sources_of_the_same_rows_give_the_same_moments(frame, folder, tmp_path):
    files = [folder / "0.parquet", str(folder / "1.csv"), folder / "inner", folder / "4.PQ"]
    arrays = np.array_split(frame.to_numpy(), 7)
    whole = tmp_path.with_name("whole.parquet")
    frame.to_parquet(whole, row_group_size=50)
    sources = {
        "folder": folder,
        "list of files": files,
        "file": whole,
        "frame": frame,
        "array": frame.to_numpy(),
        "list of arrays": arrays,
        "iterator": iter(arrays),
        "function": lambda: iter(arrays),
        "dataset": ds.dataset(whole),
        "table": ds.dataset(whole).to_table(),
    }
    expected = Moments().update(frame)
    for name, source in sources.items():
        found = Moments.from_chunks(source)
        assert found.n_rows == 500, name
        assert np.array_equal(found.covariance, expected.covariance), name
        assert np.array_equal(found.mean, expected.mean), name
        if name not in ("array", "list of arrays", "iterator", "function"):
            assert found.names == ("a", "b", "c"), name


def test_the_index_that_pandas_stores_is_no_column(frame, tmp_path):
    frame[frame["a"] > 0].to_parquet(tmp_path / "some.parquet")
    assert Moments.from_chunks(tmp_path / "some.parquet").names == ("a", "b", "c")


def test_long_tables_are_read_in_chunks_of_bounded_length(rng, tmp_path):
    path = tmp_path / "long.parquet"
    X = pd.DataFrame({"a": rng.normal(size=2 * ROWS + 5), "b": 0.0})
    X.to_parquet(path)
    X.to_csv(tmp_path / "long.csv", index=False)
    for source in (path, tmp_path / "long.csv", ds.dataset(path), X):
        lengths = []
        read_source(source).gather(Moments, lengths.append)
        assert max(lengths) <= ROWS
        assert sum(lengths) == len(X)


def test_only_an_iterator_can_be_read_only_once():
    chunks = [np.ones((2, 2))]
    sources = (iter(chunks), chunks, lambda: iter(chunks))
    assert [read_source(source).once for source in sources] == [True, False, False]


def test_features_are_taken_in_in_place_of_rows_and_their_trouble_is_named(rng):
    X = rng.normal(size=(2 * FEATURE_ROWS + 5, 2))
    seen = Moments(features=np.square).update(X[:100]).merge(Moments(features=np.square).update(X[100:]))
    assert np.array_equal(seen.covariance, Moments().update(X**2).covariance)
    assert seen.n_rows == len(X)
    X[-1, 1] = np.nan
    with pytest.raises(ValueError, match=rf"NaN values in 'x1'; the first is in row {len(X)} of chunk 8"):
        Moments(features=np.square).update(X, 7)


def test_rows_with_missing_values_are_left_out_and_counted_if_asked(rng):
    values = rng.normal(size=(300, 3))
    values[rng.random(values.shape) < 0.2] = np.nan
    complete = ~np.isnan(values).any(axis=1)
    parts = np.split(values, [7, 100])
    for chunks, names in (
        (parts, ("x0", "x1", "x2")),
        ([pd.DataFrame(part, columns=list("abc")) for part in parts], ("a", "b", "c")),
    ):
        found = Chunks(lambda chunks=chunks: chunks, complete=True).gather(Moments)
        assert np.array_equal(found.covariance, Moments().update(values[complete]).covariance)
        assert found.names == names
    first, second = (FirstPass(quantiles=True, drop=True).update(part) for part in (values[:50], values[50:]))
    merged = FirstPass(quantiles=True, drop=True).merge(first).merge(second)
    assert merged.n_rows == merged.sketch.n_rows == complete.sum()
    assert merged.n_dropped == 300 - complete.sum()
    assert np.array_equal(merged.missing, np.isnan(values).sum(axis=0))
    assert np.array_equal(np.concatenate(merged.rows), values[complete])


def test_the_first_pass_keeps_as_many_rows_as_are_looked_at(rng):
    values = rng.normal(size=(LOOKED_AT + 5, 1))
    seen = FirstPass(quantiles=False, drop=False)
    for part in np.split(values, [10, LOOKED_AT - 3]):
        seen.merge(FirstPass(quantiles=False, drop=False).update(part))
    assert np.array_equal(np.concatenate(seen.rows), values[:LOOKED_AT])


def test_a_source_that_is_none_is_refused(tmp_path):
    for name in ("table.xlsx", "data.parquet.gz"):
        (tmp_path / name).write_text("")
    (tmp_path / "empty").mkdir()
    for source, error, text in (
        (tmp_path / "absent.csv", FileNotFoundError, r"there is no file .*absent\.csv to read rows from"),
        (tmp_path / "empty", FileNotFoundError, r"there is no \.parquet, \.pq, \.csv, \.tsv file in the folder"),
        (tmp_path / "table.xlsx", ValueError, r"table\.xlsx ends in '\.xlsx': expected one of \.parquet"),
        (tmp_path / "data.parquet.gz", ValueError, r"data\.parquet\.gz ends in '\.gz'"),
        (3, TypeError, "cannot read rows from a int: expected a path"),
        ([], TypeError, "cannot read rows from an empty list"),
    ):
        with pytest.raises(error, match=text):
            read_source(source)


def test_without_pyarrow_parquet_asks_for_it(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        ImportError, match=r"rows\.parquet needs pyarrow\. Run: pip install 'daguerreotype\[parquet\]'"
    ):
        Moments.from_chunks(tmp_path / "rows.parquet")


def test_trouble_in_a_file_is_named_with_its_chunk(frame, tmp_path):
    broken = frame.copy()
    broken.loc[7, "b"] = np.nan
    frame.to_csv(tmp_path / "0.csv", index=False)
    broken.to_csv(tmp_path / "1.csv", index=False)
    with pytest.raises(ValueError, match=r"NaN values in 'b'; the first is in row 8 of chunk 2"):
        Moments.from_chunks(tmp_path)
