"""What a user's files say, and every way they can be wrong; whole and in chunks they say the same."""

import bz2
import gzip
import io
import lzma
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype._lib import files
from daguerreotype.data import read_table
from daguerreotype.data.readers import Reading, read_chunks, read_file
from support.memory import at_most


def test_a_first_line_of_numbers_is_a_row_and_not_a_header(write):
    for first in ("1,2", "1.5,1.5", "-1e3,0", "0,0"):
        task = read_file(write(f"{first}\n3,4\n"))
        assert list(task.table.columns) == ["x0", "x1"]
        assert task.table.iloc[0].tolist() == [float(value) for value in first.split(",")]
        assert "columns are called x0, x1" in task.notes[0]


def test_a_first_column_that_only_tells_the_rows_apart_is_left_out(write):
    for text in (
        ",a,b\n0,1,2\n1,3,5\n",  # pandas
        '"","a","b"\n"1",1,2\n"2",3,5\n',  # R
        "Unnamed: 0,a,b\n0,1,2\n1,3,5\n",  # pandas twice
        ",a,b\nrow x,1,2\nrow y,3,5\n",
        '"a" "b"\n"row x" 1 2\n"row y" 3 5\n',  # a table of R
        "a,b\n0,1,2\n1,3,5\n",
    ):
        task = read_file(write(text))
        pd.testing.assert_frame_equal(task.table, pd.DataFrame({"a": [1, 3], "b": [2, 5]}))
        assert "left out the first column" in task.notes[0]


def test_a_first_column_without_a_name_that_measures_something_stays(write):
    task = read_file(write(",a,b\n5,1,2\n5,3,5\n7,2,1\n"))
    assert list(task.table.columns) == ["column 1", "a", "b"]
    assert "has no name; it is called 'column 1'" in task.notes[0]


def test_empty_cells_are_kept_left_out_or_refused(write):
    path = write("a,b,c\n1,2,3\n1,,3\n4,?,\n")
    assert read_file(path).table.isna().to_numpy().sum() == 3
    assert len(read_file(path, Reading(missing="drop")).table) == 1
    message = (
        r"empty cells in 'b' \(2\), 'c' \(1\); the first is in row 2\. Learn from them with missing='auto', or"
    )
    with pytest.raises(ValueError, match=message):
        read_file(path, Reading(missing="error"))


def test_a_file_that_is_no_table_is_refused_with_the_reason(write, tmp_path):
    words = (
        r"columns 'b' \('x' in row 1\), 'c' \('u' in row 2\) of .* hold values other than numbers\. "
        r"Encode them as numbers, or leave them out with drop=\['b', 'c'\]"
    )
    for text, expected in (
        ("", "is empty"),
        ("a,b\n", "no rows below the names"),
        ("a,b\n5,1,2\n5,3,4\n", "more fields than its first line has names"),
        ("a,b\n1,2\n3,4,5,6\n", "comma-separated text: line 3 has 4 fields, 2 were expected"),
        ("a;b\n1;2\n3;4;5;6\n", "semicolon-separated text: line 3"),
        ("a,b,a\n1,2,3\n", "more than one column 'a'. Give every column a name"),
        ("a,,\n1,2,3\n", "several columns without a name"),
        ("a,b,c\n1,x,1\n2,2,u\n3,4,5\n", words),
        ("a;b;c\n1,5;1.234;1\n2,5;999;2\n", "decimal commas in 'a', but points in 'b'"),
    ):
        path = write(text)
        with pytest.raises(ValueError, match=expected) as caught:
            read_file(path)
        assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.csv\. Check its name"):
        read_file(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match=r"cannot read .*: Is a directory"):
        read_file(tmp_path)


def test_columns_and_rows_that_are_no_use_are_left_out_on_request_and_noted(write):
    path = write("id,a,b,when\np,1,2,2024-01-01\nq,3,,2024-01-02\nr,5,6,2024-01-03\n")
    task = read_file(path, Reading(drop=["id", "when"], missing="drop"))
    pd.testing.assert_frame_equal(task.table, pd.DataFrame({"a": [1, 5], "b": [2.0, 6.0]}))
    assert task.notes == ("left out 1 of 3 rows, which have empty cells.",)


def test_what_cannot_be_left_out_is_said(write):
    with pytest.raises(ValueError, match=r"cannot drop 'z': the columns of .*file\.csv are 'a', 'b'"):
        read_file(write("a,b\n1,2\n"), Reading(drop=["z"]))
    with pytest.raises(ValueError, match=r"every row of .* has an empty cell: missing='drop' would leave nothing"):
        read_file(write("a,b\n1,\n,2\n"), Reading(missing="drop"))


def test_a_user_who_knows_better_is_obeyed(write):
    table = read_file(write("1;2,5\n3;4,5\n"), Reading(["1;2"], delimiter=",", header=True)).table
    assert list(table.columns) == ["5"]
    task = read_file(write("0,1,2\n3,4,5\n"), Reading(header=False))  # what counts columns is a header otherwise
    assert task.notes[0] == "the columns are called x0, x1, ..."
    assert read_file(write("1\t2\n3\t4\n"), Reading(delimiter="\t")).table.shape == (2, 2)


def test_standard_input_is_read_like_a_file(monkeypatch):
    pipe = io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n3;4\n"))
    monkeypatch.setattr("sys.stdin", pipe)
    task = read_file(Path("-"))
    assert (task.name, task.table.shape) == ("standard input", (2, 2))


def test_parquet_gives_the_numbers_that_were_written(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]})
    frame.to_parquet(tmp_path / "data.parquet")
    task = read_file(tmp_path / "data.parquet", Reading(["c"]))
    pd.testing.assert_frame_equal(task.table, frame[["a", "b"]])
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "data.parquet").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"cannot read .*cut\.parquet as Parquet"):
        read_file(tmp_path / "cut.parquet")


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError, match=r"data\.parquet is a Parquet file.* pip install 'daguerreotype\[parquet\]'"
    ):
        read_file(tmp_path / "data.parquet")


# ------------------------------------------------------------------ text


def test_columns_of_text_are_kept_as_they_are_written(write):
    text = "city,ok,size\n" + "Bonn,yes,1.5\nOslo,no,2\nRome,yes,3\n" * 10
    table = read_table(write(text))
    assert table["city"].tolist() == ["Bonn", "Oslo", "Rome"] * 10
    assert table["ok"].tolist() == ["yes", "no", "yes"] * 10
    assert table["size"].dtype.kind == "f"
    assert read_table(write("a,b\n" + "true,1\nfalse,2\n" * 4))["a"].dtype.kind == "b"
    assert list(read_table(write("2001,b,c\n1,2,3\n"), drop=["b", "c"]).columns) == ["2001"]  # a word: a header


def test_numbers_among_which_some_are_text_are_refused_but_for_codes(write):
    """Codes repeat; numbers that do not are refused with the first text among them."""
    few, many = ([f"{i},{i * 0.7:.1f}" for i in range(60)] for _ in range(2))
    few[4], few[10] = "4,lost", "10,?!"
    repeated = [f"{i},{i % 5}" for i in range(60)]
    repeated[4] = repeated[10] = repeated[20] = "4,lost"
    many[::3] = [f"{i},unknown" for i in range(0, 60, 3)]
    for rows, example in ((few, "'lost' in row 5"), (repeated, "'lost' in row 5"), (many, "'unknown' in row 1")):
        with pytest.raises(ValueError, match=rf"column 'b' \({example}\) of .* Encode it as numbers, or leave it"):
            read_table(write("a,b\n" + "\n".join(rows)))
    codes = ["1,1", "2,2", "3,A", "4,2", "5,A", "6,1"] * 5
    assert set(read_table(write("a,b\n" + "\n".join(codes)))["b"]) == {"1", "2", "A"}


def test_names_of_rows_and_dates_are_refused_together_and_how_to_leave_them_out(write):
    rows = [f"p{i},2024-01-{i + 1:02},{i * 0.7}" for i in range(30)]
    path = write("id,day,size\n" + "\n".join(rows))
    with pytest.raises(
        ValueError, match=r"'id' \(names rows: .*\), 'day' \(holds dates\) of .*drop=\['id', 'day'\]"
    ):
        read_table(path)
    assert list(read_table(path, drop=["id", "day"]).columns) == ["size"]


# ------------------------------------------------------------------ from Python


def test_what_was_decided_is_logged(write, caplog):
    path = write("id;a;b\nx;1,5;2\ny;2,5;3\nx;;\n")
    with caplog.at_level("INFO", "daguerreotype"):
        table = read_table(str(path), drop="id", missing="drop")
    assert table.to_numpy().tolist() == [[1.5, 2], [2.5, 3]]
    assert caplog.messages == ["read decimal commas in 'a'.", "left out 1 of 3 rows, which have empty cells."]


def test_packed_files_are_known_by_their_first_bytes_and_refused_if_they_hold_too_much(tmp_path, monkeypatch):
    for module in (gzip, bz2, lzma):
        (tmp_path / "data").write_bytes(module.compress(b"a,b\n1,2\n"))
        assert read_table(tmp_path / "data").to_numpy().tolist() == [[1, 2]]
        (tmp_path / "cut").write_bytes(module.compress(b"a,b\n" + b"1,2\n" * 99)[:-9])
        with pytest.raises(ValueError, match=r"cannot read .*cut: "):
            read_table(tmp_path / "cut")
    monkeypatch.setattr(files, "LEAST", 100_000)
    path = tmp_path / "table.csv"
    for module in (gzip, bz2, lzma):
        path.write_bytes(module.compress(b"a,b\n" + b"1,2\n3,5\n" * 250_000))
        with (
            at_most(32 * 2**20),
            pytest.raises(ValueError, match=r"it goes on after .*If you trust it, unpack it"),
        ):
            read_table(path)
        with pytest.raises(ValueError, match="it goes on after"):
            list(read_chunks(path, 300_000))


# ------------------------------------------------------------------ in chunks


def in_chunks(path, n_rows=2):
    return pd.concat(list(read_chunks(path, n_rows)), ignore_index=True)


@settings(max_examples=200)
@given(
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    mark=st.sampled_from([".", ","]),
    values=st.lists(st.tuples(*[st.floats(-1e6, 1e6).map(lambda x: round(x, 2))] * 2), min_size=3, max_size=9),
    header=st.booleans(),
    numbered=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
)
def test_a_table_written_in_any_dialect_is_read_back_whole_and_in_chunks(
    tmp_path_factory, delimiter, mark, values, header, numbered, encoding
):
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    names = ["Größe", "b"] if header else ["x0", "x1"]
    frame = pd.DataFrame(values, columns=names)
    text = frame.to_csv(sep=delimiter, index=numbered and header, header=header, decimal=mark, float_format="%.2f")
    path.write_bytes(text.encode(encoding))
    pd.testing.assert_frame_equal(read_table(path), frame, check_dtype=False)
    pd.testing.assert_frame_equal(in_chunks(path), frame, check_dtype=False)


def test_later_chunks_are_read_as_the_first_lines_say(write):
    rows = ["1,5;2"] * 100 + ["3;1.234", "1.234,5;4", "2.000;5"]
    table = in_chunks(write("a;b\n" + "\n".join(rows)), 1)
    assert table.tail(3).to_numpy().tolist() == [[3, 1234], [1234.5, 4], [2000, 5]]
    table = in_chunks(write('a,b\n"1,234.5",1\n2,2\n"3,000",3\n'), 1)  # thousands in some chunks alone
    assert table.to_numpy().tolist() == [[1234.5, 1], [2, 2], [3000, 3]]
    *_, last = read_chunks(write("a,b\n" + "1,2\n" * 100 + "1,x\n"), 100)
    assert last["b"].tolist() == ["x"]
    assert list(read_chunks(write("a,b\n"), 9)) == []


def test_blank_rows_are_left_out_of_every_chunk_and_missing_values_are_not(write):
    table = in_chunks(write("a,b\n1,2\n,\n3,4\n,5\n,\n"), 2)
    assert table["b"].tolist() == [2, 4, 5]
    assert table["a"].isna().tolist() == [False, False, True]


def test_part_of_a_file_with_counted_rows_has_the_same_columns_as_the_whole(write):
    frame = pd.DataFrame({"a": np.arange(6) / 2, "b": 1.5})
    first, second = write(frame[:3].to_csv(), "0.csv"), write(frame[3:].to_csv(), "1.csv")
    assert list(in_chunks(first).columns) == list(in_chunks(second).columns) == ["a", "b"]


def test_what_no_chunk_can_be_read_from_is_refused_with_the_reason(tmp_path):
    for data, expected in (
        (b"", "is empty"),
        (b"a,b\n" + b"1,2\n" * 9 + b"1,2,3,4\n", "comma-separated text: line 11 has 4 fields, 2 were expected"),
        (b"a;b\n1,5;2.5\n", "decimal commas in 'a', but points in 'b'"),
        (b"a,b\n" + b"1,2\n" * 99_999 + b"\xff,3\n", "comma-separated text: .*can't decode byte 0xff"),
        (b"PK\x03\x04", "is a zip archive or an Excel workbook"),
        (bytes(range(128, 256)), "it holds bytes that are no text"),
    ):
        (tmp_path / "table.csv").write_bytes(data)
        with pytest.raises(ValueError, match=rf"table\.csv.*{expected}"):
            list(read_chunks(tmp_path / "table.csv", 1000))
        if "decode" not in expected:  # of the whole file another encoding is found
            with pytest.raises(ValueError, match=rf"table\.csv.*{expected}"):
                read_table(tmp_path / "table.csv")


# ---------------------------------------------------------------------- files that hold more than they should


def test_a_file_that_is_not_packed_may_have_any_size(write, monkeypatch):
    monkeypatch.setattr(files, "LEAST", 1)
    monkeypatch.setattr(files, "RATIO", 0)
    assert len(read_table(write("a,b\n1,2\n3,5\n"))) == 2


def test_a_device_is_refused_at_once():
    with pytest.raises(ValueError, match="/dev/zero is a device, whose bytes may have no end"):
        read_table("/dev/zero")


def test_a_pipe_with_a_name_is_read_once(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(path.write_text, "a,b\n1,2\n3,5\n")
        assert read_table(path).to_numpy().tolist() == [[1, 2], [3, 5]]
        written.result()
    with pytest.raises(ValueError, match="is a device or a pipe, which cannot be read more than once"):
        next(read_chunks(path, 10))


def test_a_parquet_file_of_too_many_equal_cells_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("daguerreotype.data.readers.LEAST", 100_000)
    path = tmp_path / "table.parquet"
    pd.DataFrame(np.zeros((500_000, 4)), columns=list("abcd")).to_parquet(path)
    with at_most(8 * 2**20), pytest.raises(ValueError, match="it says that its cells take more than"):
        read_table(path)


# ---------------------------------------------------------------------- JSON


def test_json_is_read_where_it_is_a_table_and_refused_where_not(tmp_path):
    path = tmp_path / "table.json"
    for text, ending in (
        ('[{"a": 1, "b": 2.5}, {"a": 4, "b": 3}]', ".json"),
        ('{"a": [1, 4], "b": [2.5, 3]}', ".json"),
        ('{"a": 1, "b": 2.5}\n{"a": 4, "b": 3}\n', ".jsonl"),
    ):
        path = path.with_suffix(ending)
        path.write_text(text)
        assert read_table(path).to_dict("list") == {"a": [1, 4], "b": [2.5, 3.0]}
    path = path.with_suffix(".json")
    for text in ('{"a": [1, 2], "b": [1]}', '[{"a": [1]}]', "[" * 100_000, "no json", "[]", '{"a": 1}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"table\.json|column 'a' holds values that are neither"):
            read_table(path)
