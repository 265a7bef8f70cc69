"""CSV files that spreadsheets can open safely, and that come back as they were."""

import csv

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype._lib.csv_files import as_text, as_written, write_csv

DANGEROUS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''-x"]


@pytest.mark.parametrize("name", DANGEROUS)
def test_no_cell_begins_as_a_formula_does(tmp_path, name):
    path = tmp_path / "matrix.csv"
    write_csv(path, pd.DataFrame([[0, name], [1.5, "y"]], index=[name, "b"], columns=[name, "c"]))
    with open(path, newline="", encoding="utf-8") as file:
        (_, column, _), (row, _, cell), _ = csv.reader(file)
    assert column == row == cell == f"'{name}"


def test_numbers_and_ordinary_names_are_written_as_they_are(tmp_path):
    path = tmp_path / "table.csv"
    frame = pd.DataFrame({"-1": [-1.5, 2.0], "'quoted'": ["+3e5", "a=b"], "7": [None, "x"]})
    write_csv(path, frame, index=False)
    assert path.read_text() == frame.to_csv(index=False)


@given(st.text(alphabet="'=+-@\t\r\nａ1ab＝", max_size=6))
def test_names_come_back_as_they_were(name):
    assert as_written(as_text(name)) == name
