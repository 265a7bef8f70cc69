"""What a user's CSV files say, and every way they can be wrong."""

import pandas as pd
import pytest

from daguerreotype.cli.read import read_graph, read_input

NAMES = ("a", "b", "c")


@pytest.fixture
def write(tmp_path):
    def written(text, name="file.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


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


def test_a_column_without_a_name_stays_and_is_noted(write):
    task = read_input(write(",a,b\n0,1,2\n1,3,5\n"))
    assert task.table.shape == (2, 3)
    assert "has no name" in task.notes[0]
    assert "drop it" in task.notes[0]


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
        ("", "comma-separated text: No columns to parse"),
        ("a,b\n", "no rows below the names"),
        ("a,b\n0,1,2\n1,3,4\n", "more fields than its first line has names"),
        ("a,b\n1,2\n3,4,5,6\n", "comma-separated text: Error tokenizing data"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_reason(write, text, expected):
    path = write(text)
    with pytest.raises(ValueError, match=expected) as caught:
        read_input(path)
    assert str(path) in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "image.csv").write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match=r"image\.csv as comma-separated text"):
        read_input(tmp_path / "image.csv")


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.csv\. Check its name"):
        read_input(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match=r"cannot read .*: Is a directory"):
        read_input(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "cause,effect\na,b\nb,c\n",
        "cause,effect,note\nb,c,sure\na,b,\n",
        "a,b,c\n0,1,0\n0,0,1\n0,0,0\n",
        ",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n",
        ",a,b,c\n0,0,1,0\n1,0,0,1\n2,0,0,0\n",
        "c,a,b\n0,0,0\n0,0,1\n1,0,0\n",
        ",c,b,a\nb,1,0,0\na,0,1,0\nc,0,0,0\n",
        "0,1,0\n0,0,1\n0,0,0\n",
    ],
    ids=["list", "list with more", "matrix", "named rows", "numbered rows", "other order", "two orders", "bare"],
)
def test_a_graph_may_be_a_list_of_edges_or_a_matrix_in_any_order(write, text):
    graph = read_graph(write(text), NAMES)
    assert list(graph.columns) == list(graph.index) == list(NAMES)
    assert graph.to_numpy().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_a_list_without_edges_is_a_graph_without_edges(write):
    assert read_graph(write("cause,effect\n"), NAMES).to_numpy().sum() == 0


def test_a_table_may_itself_have_a_column_called_cause(write):
    graph = read_graph(write("cause,effect\ncause,b\n"), ("cause", "b"))
    assert graph.to_numpy().tolist() == [[0, 1], [0, 0]]


def test_a_matrix_over_columns_called_cause_and_effect_is_not_taken_for_a_list(write):
    graph = read_graph(write("cause,effect\n0,1\n0,0\n"), ("cause", "effect"))
    assert graph.loc["cause", "effect"] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cause,effect\na,b\nb,a\n", "has a cycle: a -> b -> a|has a cycle: b -> a -> b"),
        ("cause,effect\na,z\n", r"only the graph of .*file\.csv has z"),
        ("a,b\n0,1\n0,0\n", "only the table has c"),
        ("a,b,c\n0,2,0\n0,0,1\n0,0,0\n", r"entry \(a, b\) of the graph of .* is 2; expected 0 or 1"),
        ("0,1\n0,0\n", "has 2 nodes, but the table has 3 columns"),
        ("a,b,c\n0,1,0\n", "expected a square matrix"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused_with_the_reason(write, text, expected):
    with pytest.raises(ValueError, match=expected):
        read_graph(write(text), NAMES)
