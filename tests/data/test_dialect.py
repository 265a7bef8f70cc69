"""Tables as spreadsheets and statistics programs write them all hold the same numbers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data.dialect import DECIMAL, THOUSANDS, detect, is_number, parse_numbers
from daguerreotype.data.readers import read_file

VALUES = [[1537.25, -0.5, 12.0], [-2.125, 1000.5, 3.0], [0.75, 2.25, 1234567.5]]


def german(value, group=""):
    text = f"{value:,.3f}" if group else f"{value:.3f}"
    return text.replace(",", "_").replace(".", ",").replace("_", group)


def lines(delimiter, spell=str, end="\n"):
    return end.join(delimiter.join(spell(value) for value in row) for row in VALUES) + end


WRITTEN = {
    "semicolons": ("a;b;c\n" + lines(";"), "utf-8"),
    "tabs": ("a\tb\tc\n" + lines("\t"), "utf-8"),
    "bars": ("a|b|c\n" + lines("|"), "utf-8"),
    "one space": ("a b c\n" + lines(" "), "utf-8"),
    "aligned": ("   a    b     c  \n" + lines("   ").replace("\n", "  \n  "), "utf-8"),
    "spaces around": ("  a ,  b, c \n" + lines(" , "), "utf-8"),
    "german Excel": ("a;b;c\r\n" + lines(";", german, "\r\n"), "utf-8-sig"),
    "german thousands": ("a;b;c\n" + lines(";", lambda value: german(value, ".")), "utf-8"),
    "french thousands": ("a;b;c\n" + lines(";", lambda value: german(value, "\u202f")), "utf-8"),
    "swiss thousands": ("a;b;c\n" + lines(";", lambda value: f"{value:,}".replace(",", "'")), "utf-8"),
    "quoted decimal commas": ("a,b,c\n" + lines(",", lambda value: f'"{german(value)}"'), "utf-8"),
    "quoted thousands": ("a,b,c\n" + lines(",", lambda value: f'"{value:,}"'), "utf-8"),
    "Excel's own line": ("sep=;\r\na;b;c\r\n" + lines(";", german, "\r\n"), "utf-8"),
    "Excel's Unicode text": ("a\tb\tc\r\n" + lines("\t", german, "\r\n"), "utf-16"),
    "comments above": ("# by a program\n\n# in mm\na,b,c\n" + lines(","), "utf-8"),
    "blank lines": ("\n\na,b,c\n\n" + lines(",").replace("\n", "\n\n") + ",,\n,,\n", "utf-8"),
    "commas at the ends": ("a,b,c,\n" + lines(",").replace("\n", ",\n"), "utf-8"),
    "quoted names": ('"a","b","c"\n' + lines(","), "utf-8"),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_however_a_table_is_written_its_numbers_and_names_are_read(tmp_path, kind):
    text, encoding = WRITTEN[kind]
    (tmp_path / "table.csv").write_bytes(text.encode(encoding))
    expected = pd.DataFrame(VALUES, columns=["a", "b", "c"])
    pd.testing.assert_frame_equal(read_file(tmp_path / "table.csv").table, expected, check_dtype=False)


def test_letters_of_old_windows_programs_are_read_and_noted(tmp_path):
    (tmp_path / "table.csv").write_bytes("Größe,b\n1,2\n".encode("cp1252"))
    task = read_file(tmp_path / "table.csv")
    assert list(task.table.columns) == ["Größe", "b"]
    assert "is not UTF-8; its letters are read as Windows-1252" in task.notes[0]


def test_the_start_of_a_file_may_end_within_a_letter():
    data = "größe,b\n1,2\n3,4ö".encode()
    assert detect(data[:-1], cut=True).encoding == "utf-8"
    assert detect(data[:-1]).encoding == "cp1252"


def test_a_long_file_is_judged_by_whole_lines():
    rows = "\n".join(["1.5;2.5"] * 60_000)
    found = detect(f"a;b\n{rows}".encode())
    assert (found.delimiter, found.first) == (";", ("a", "b"))


def test_numbers_that_count_the_columns_are_names_as_pandas_writes_them_and_others_a_row():
    for first in ("0,1,2", ",0,1", ",0,1,2"):
        row = ",".join(["0.5"] * (first.count(",") + 1))
        assert detect(f"{first}\n{row}\n{row}\n".encode()).header
    for first in ("0,1", "1,2,3", "0,1,1", "0,1,2.5", "0,1,"):
        assert not detect(f"{first}\n{first}\n".encode()).header


def test_rows_may_be_counted_from_any_number():
    for start in (0, 1, 101):
        rows = "".join(f"{start + i},1.5,2.5\n" for i in range(3))
        assert detect(f"a,b\n{rows}".encode()).row_names
        assert not detect(f"a,b\n{rows}{start},1.5,2.5\n".encode()).row_names


def test_a_delimiter_is_one_character_that_words_among_few_commas_do_not_hide():
    for delimiter in ("", "ab"):
        with pytest.raises(ValueError, match=rf"delimiter is '{delimiter}': expected one character"):
            detect(b"a,b", delimiter)
    assert detect(b"from;to;weight\na;b;1,5\nb;c;-2,5\n").delimiter == ";"


def test_numbers_are_told_from_words():
    assert all(map(is_number, ["1", "-1.5", "1,5", "1e3", "nan", " 2 "]))
    assert not any(map(is_number, ["", "a", "1.2.3", "1,2,3", "2024-01-01", "5%"]))


@pytest.mark.parametrize("cells", [["1,5", "x"], ["1,23,4"], ["12,34.5"], [","], ["2024-01-01"], [None, None]])
def test_text_that_is_no_number_in_any_format_is_left_alone(cells):
    assert parse_numbers([pd.Series(cells, name="a", dtype="str")], (DECIMAL, THOUSANDS))[0] == {}


@pytest.mark.parametrize(("decimal_first", "expected"), [(True, 1.234), (False, 1234.0)])
def test_a_comma_that_could_be_both_is_what_the_rest_of_the_file_makes_of_it(decimal_first, expected):
    doubtful, plain = pd.Series(["1,234", None], name="a", dtype="str"), pd.Series(["0,5"], name="b", dtype="str")
    formats = (DECIMAL, THOUSANDS) if decimal_first else (THOUSANDS, DECIMAL)
    found, _ = parse_numbers([doubtful], formats)
    np.testing.assert_array_equal(found["a"], [expected, np.nan])
    found, chosen = parse_numbers([doubtful, plain], formats)
    assert (chosen, found["a"][0], found["b"][0]) == ("decimal commas", 1.234, 0.5)


@given(
    values=st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), min_size=1, max_size=6),
    group=st.sampled_from(["", ".", " ", "'", "\u202f"]),
)
def test_numbers_with_decimal_commas_are_read_back_whatever_groups_their_digits(values, group):
    written = [f"{x:,.3f}".replace(",", "_").replace(".", ",").replace("_", group) for x in values]
    found, _ = parse_numbers([pd.Series(written, name="a", dtype="str")], [DECIMAL])
    assert found["a"].tolist() == values
