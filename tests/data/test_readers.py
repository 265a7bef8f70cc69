"""What a user's CSV files say, and every way they can be wrong."""

import gzip
import io
from pathlib import Path

import pandas as pd
import pytest

from daguerreotype.data.readers import Reading, read_input


def test_names_and_numbers_come_from_the_file(write):
    task = read_input(write("a,b\n1,2.5\n3,4\n"))
    pd.testing.assert_frame_equal(task.table, pd.DataFrame({"a": [1, 3], "b": [2.5, 4.0]}))
    assert (task.name, task.known, task.notes) == ("file.csv", None, ())


@pytest.mark.parametrize("first", ["1,2", "1.5,1.5", "-1e3,0", "0,0"])
def test_a_first_line_of_numbers_is_a_row_and_not_a_header(write, first):
    task = read_input(write(f"{first}\n3,4\n"))
    assert list(task.table.columns) == ["x0", "x1"]
    assert task.table.iloc[0].tolist() == [float(value) for value in first.split(",")]
    assert "columns are called x0, x1" in task.notes[0]


def test_one_word_among_numbers_makes_a_header(write):
    assert list(read_input(write("2001,b\n1,2\n")).table.columns) == ["2001", "b"]


@pytest.mark.parametrize(
    "text",
    [
        ",a,b\n0,1,2\n1,3,5\n",
        '"","a","b"\n"1",1,2\n"2",3,5\n',
        "Unnamed: 0,a,b\n0,1,2\n1,3,5\n",
        ",a,b\nrow x,1,2\nrow y,3,5\n",
        '"a" "b"\n"row x" 1 2\n"row y" 3 5\n',
        "a,b\n0,1,2\n1,3,5\n",
    ],
    ids=["pandas", "R csv", "pandas twice", "names of rows", "R table", "no place in the header"],
)
def test_a_first_column_that_only_tells_the_rows_apart_is_left_out(write, text):
    task = read_input(write(text))
    pd.testing.assert_frame_equal(task.table, pd.DataFrame({"a": [1, 3], "b": [2, 5]}))
    assert "left out the first column" in task.notes[0]


def test_a_first_column_without_a_name_that_measures_something_stays(write):
    task = read_input(write(",a,b\n5,1,2\n5,3,5\n7,2,1\n"))
    assert list(task.table.columns) == ["column 1", "a", "b"]
    assert "has no name; it is called 'column 1'" in task.notes[0]


def test_commas_at_the_ends_of_lines_shift_no_names(write):
    table = read_input(write("a,b\n1,2,\n3,4,\n")).table
    pd.testing.assert_frame_equal(table, pd.DataFrame({"a": [1, 3], "b": [2, 4]}))


def test_without_a_file_the_sachs_data_come_with_their_graph():
    task = read_input(None)
    assert task.table.shape == (853, 11)
    assert task.known.to_numpy().sum() == 17


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("a,b\n", "no rows below the names"),
        ("a,b\n5,1,2\n5,3,4\n", "more fields than its first line has names"),
        ("a,b\n1,2\n3,4,5,6\n", "comma-separated text: line 3 has 4 fields, 2 were expected"),
        ("a;b\n1;2\n3;4;5;6\n", "semicolon-separated text: line 3"),
        ("a,b,a\n1,2,3\n", "more than one column 'a'. Give every column a name"),
        ("a,,\n1,2,3\n", "several columns without a name"),
        ("a,b\n1,\n2,\n", "column 'b' of .* is empty. Leave it out with --drop 'b'"),
        (
            "a,b,c\n1,x,1\n2,2,u\n",
            r"columns 'b' \('x' in row 1\), 'c' \('u' in row 2\) of .* hold values other than numbers\. "
            "Encode them as numbers, or leave them out with --drop-non-numeric",
        ),
        (
            "a,b,c\n1,2,3\n1,,3\n4,?,\n",
            r"empty cells in 'b' \(2\), 'c' \(1\); the first is in row 2\. Fill them, or leave out the 2 rows",
        ),
        ("a;b;c\n1,5;1.234;1\n2,5;999;2\n", "decimal commas in 'a', but points in 'b'"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_reason(write, text, expected):
    path = write(text)
    with pytest.raises(ValueError, match=expected) as caught:
        read_input(path)
    assert str(path) in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "image.csv").write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match=r"image\.csv as text: it holds bytes that are no text"):
        read_input(tmp_path / "image.csv")


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.csv\. Check its name"):
        read_input(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match=r"cannot read .*: Is a directory"):
        read_input(tmp_path)


def test_a_workbook_is_told_from_a_table(tmp_path):
    (tmp_path / "book.csv").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(ValueError, match=r"book\.csv is a zip archive or an Excel workbook.* Save a sheet as CSV"):
        read_input(tmp_path / "book.csv")


def test_columns_and_rows_that_are_no_use_are_left_out_on_request_and_noted(write):
    path = write("id,a,b,when\np,1,2,2024-01-01\nq,3,,2024-01-02\nr,5,6,2024-01-03\n")
    task = read_input(path, Reading(drop=["id"], drop_non_numeric=True, drop_missing=True))
    pd.testing.assert_frame_equal(task.table, pd.DataFrame({"a": [1, 5], "b": [2.0, 6.0]}))
    assert task.notes == (
        "left out what holds no numbers: 'when'.",
        "left out 1 of 3 rows, which have empty cells.",
    )


def test_what_cannot_be_left_out_is_said(write):
    with pytest.raises(ValueError, match=r"cannot drop 'z': the columns of .*file\.csv are 'a', 'b'"):
        read_input(write("a,b\n1,2\n"), Reading(drop=["z"]))
    with pytest.raises(ValueError, match=r"every row of .* has an empty cell: --drop-missing would leave nothing"):
        read_input(write("a,b\n1,\n,2\n"), Reading(drop_missing=True))


def test_a_user_who_knows_better_is_obeyed(write):
    table = read_input(write("1;2,5\n3;4,5\n"), Reading(delimiter=",", header=True, drop_non_numeric=True)).table
    assert list(table.columns) == ["5"]
    task = read_input(write("a,b\n1,2\n"), Reading(header=False, drop_non_numeric=True, drop_missing=True))
    assert task.notes[0] == "the columns are called x0, x1, ..."
    assert read_input(write("1\t2\n3\t4\n"), Reading(delimiter="\t")).table.shape == (2, 2)


def test_standard_input_is_read_like_a_file(monkeypatch):
    pipe = io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n3;4\n"))
    monkeypatch.setattr("sys.stdin", pipe)
    task = read_input(Path("-"))
    assert (task.name, task.table.shape) == ("standard input", (2, 2))


def test_a_packed_file_is_unpacked(tmp_path):
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_input(tmp_path / "data.csv.gz").table.shape == (1, 2)


def test_parquet_gives_the_numbers_that_were_written(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]})
    frame.to_parquet(tmp_path / "data.parquet")
    task = read_input(tmp_path / "data.parquet", Reading(drop_non_numeric=True))
    pd.testing.assert_frame_equal(task.table, frame[["a", "b"]])
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "data.parquet").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"cannot read .*cut\.parquet as Parquet"):
        read_input(tmp_path / "cut.parquet")


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"data\.parquet is a Parquet file.* Run: pip install pyarrow"):
        read_input(tmp_path / "data.parquet")
