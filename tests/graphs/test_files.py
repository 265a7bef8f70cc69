"""What a user's graph files say, and every way they can be wrong."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype._lib.files import write_csv
from daguerreotype.graphs.files import read_graph, read_pair

NAMES = ("a", "b", "c")


def test_a_graph_may_be_a_list_of_edges_or_a_matrix_in_any_order(write):
    for text in (
        "cause,effect\na,b\nb,c\n",
        "cause,effect,note\nb,c,sure\na,b,\n",
        "a,b,c\n0,1,0\n0,0,1\n0,0,0\n",
        ",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n",
        ",a,b,c\n0,0,1,0\n1,0,0,1\n2,0,0,0\n",  # numbered rows
        "c,a,b\n0,0,0\n0,0,1\n1,0,0\n",
        ",c,b,a\nb,1,0,0\na,0,1,0\nc,0,0,0\n",
        "0,1,0\n0,0,1\n0,0,0\n",
    ):
        graph = read_graph(write(text), NAMES)
        assert list(graph.columns) == list(graph.index) == list(NAMES)
        assert graph.to_numpy().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]], text


def test_a_table_may_itself_have_columns_called_cause_and_effect(write):
    graph = read_graph(write("cause,effect\ncause,b\n"), ("cause", "b"))
    assert graph.to_numpy().tolist() == [[0, 1], [0, 0]]
    graph = read_graph(write("cause,effect\n0,1\n0,0\n"), ("cause", "effect"))
    assert graph.loc["cause", "effect"] == 1


def test_a_graph_that_does_not_fit_is_refused_with_the_reason(write):
    for text, expected in (
        ("cause,effect\na,b\nb,a\n", "has a cycle: a -> b -> a|has a cycle: b -> a -> b"),
        ("cause,effect\na,z\n", r"only the graph of .*file\.csv has z"),
        ("a,b\n0,1\n0,0\n", "only the table has c"),
        ("a,b,c\n0,2,0\n0,0,1\n0,0,0\n", r"entry \(a, b\) of the graph of .* is 2; expected 0 or 1"),
        ("0,1\n0,0\n", "has 2 nodes, but the table has 3 columns"),
        ("a,b,c\n0,1,0\n", "expected a square matrix"),
        ("x,y\na,b\nb,c\nc,d\n", r"two columns, 'x' and 'y'\. If it is a list of edges, call them"),
        ("a,b,c\n0,x,0\n0,0,1\n0,0,0\n", "entries that are not numbers; expected 0 and 1"),
    ):
        with pytest.raises((ValueError, TypeError), match=expected):
            read_graph(write(text), NAMES)


def test_the_ends_of_an_edge_have_several_names_and_a_list_may_be_empty(write):
    for text in ("cause,effect\na,b", "Source,Target\na,b", "from,to\na,b", "weight,effect,cause\n0.5,b,a"):
        assert read_graph(write(text + "\n"), NAMES).loc["a", "b"] == 1
    assert read_graph(write("cause,effect\n"), NAMES).to_numpy().sum() == 0


LIST, MATRIX, BARE = "cause,effect\na,b\n", "a,b,c\n0,1,0\n0,0,1\n0,0,0\n", "0,1,0\n0,0,1\n0,0,0\n"


def test_a_matrix_gives_a_list_the_nodes_without_edges(write):
    for true, estimated in ((LIST, MATRIX), (MATRIX, LIST), (MATRIX, BARE), (BARE, MATRIX)):
        first, second = read_pair(write(true, "first.csv"), write(estimated, "second.csv"))
        assert {first.names, second.names} <= {NAMES, None}
        assert first.n_nodes == second.n_nodes == 3
        assert first.adjacency.sum() == true.count("1") + (true == LIST)
        assert second.adjacency.sum() == estimated.count("1") + (estimated == LIST)


def test_two_lists_share_the_nodes_of_both_also_where_one_is_empty(write):
    first, second = read_pair(write(LIST, "first.csv"), write("cause,effect\nc,a\n", "second.csv"))
    assert set(first.names) == set(second.names) == {"a", "b", "c"}
    assert (first.adjacency.sum(), second.adjacency.sum()) == (1, 1)
    first, second = read_pair(write("cause,effect\n", "first.csv"), write(LIST, "second.csv"))
    assert (first.n_nodes, first.adjacency.sum(), second.adjacency.sum()) == (2, 0, 1)


def test_a_list_cannot_be_held_against_a_matrix_without_names(write):
    with pytest.raises(ValueError, match=r"matrix of .*bare\.csv has no names .* Write them above its columns"):
        read_pair(write(LIST), write(BARE, "bare.csv"))


def test_names_that_look_like_numbers_or_empty_cells_stay_names(write):
    graph = read_graph(write("cause,effect,weight\n007,NA,0.5\nNA,-,\n"), ("NA", "007", "-"))
    assert graph.loc["007", "NA"] == graph.loc["NA", "-"] == 1
    assert graph.to_numpy().sum() == 2


def test_names_that_our_files_keep_spreadsheets_from_running_come_back(tmp_path):
    names = ["=A1", "-b", "'@c", "d"]
    graph = pd.DataFrame(np.eye(4, k=1, dtype=int), index=names, columns=names)
    write_csv(tmp_path / "matrix.csv", graph)
    write_csv(tmp_path / "list.csv", pd.DataFrame({"cause": names[:-1], "effect": names[1:]}), index=False)
    for file in ("matrix.csv", "list.csv"):
        pd.testing.assert_frame_equal(read_graph(tmp_path / file, tuple(names)), graph)
