"""The command line and Python read the same tables from the same files, and refuse the same ones."""

import gzip
import io
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype.cli.inputs import OPTIONS, read_input
from daguerreotype.cli.main import app
from daguerreotype.data import Moments, read_table
from daguerreotype.data.readers import PYTHON, Reading
from daguerreotype.datasets import load_sachs

PLAIN = "Höhe,b\n1.5,2\n3.25,4\n-1,7\n"
TABLE = pd.DataFrame({"Höhe": [1.5, 3.25, -1.0], "b": [2, 4, 7]})


def parquet():
    file = io.BytesIO()
    TABLE.to_parquet(file)
    return file.getvalue()


FILES = {  # further dialects are tried in tests/data
    "plain.csv": PLAIN.encode(),
    "semicolons and decimal commas.csv": b"H\xc3\xb6he;b\n1,5;2\n3,25;4\n-1;7\n",
    "UTF-16.tsv": PLAIN.replace(",", "\t").encode("utf-16"),
    "names of rows.csv": ",Höhe,b\nx,1.5,2\ny,3.25,4\nz,-1,7\n".encode(),
    "R.csv": '"Höhe" "b"\n"1" 1.5 2\n"2" 3.25 4\n"3" -1 7\n'.encode(),
    "blank lines and columns.csv": "\n# cm\nHöhe,b,\n1.5,2,\n,,\n3.25,4,\n-1,7,\n,,\n".encode(),
    "packed.csv.gz": gzip.compress(PLAIN.encode()),
    "table.parquet": parquet(),
}


@pytest.fixture
def fitted(monkeypatch):
    """The tables that reach the learner, which learns nothing from them."""
    tables = []

    def fit(self, X, **_):
        tables.append(X)
        raise ValueError("seen enough")

    monkeypatch.setattr(Daguerreotype, "fit", fit)
    return tables


def run(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


def test_the_command_line_python_and_chunks_read_the_same_table(tmp_path, fitted):
    for name, content in FILES.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert "seen enough" in run(path, "-q").stderr
        table = read_table(path)
        pd.testing.assert_frame_equal(table, TABLE, check_dtype=False)
        pd.testing.assert_frame_equal(fitted.pop(), table)
        seen, expected = Moments.from_chunks(path), Moments().update(table)
        assert seen.names == expected.names
        assert (seen.n_rows, seen.covariance.tolist()) == (3, expected.covariance.tolist())


OPTIONS_AND_TABLES = (
    ("1,2\n3,4\n", {}, [], [[1, 2], [3, 4]]),
    ("1,2\n3,4\n", {"header": True}, ["--header"], [[3, 4]]),
    ("a,b\n1,2\n", {"header": False}, ["--no-header"], None),
    ("a;b\n1;2\n3;4\n", {"delimiter": ","}, ["--delimiter", ","], None),
    ("a,b,c\n1,2,x\n3,,y\n", {"missing": "error"}, ["--missing", "error"], None),
    ("a,b,c\n1,2,x\n3,,y\n", {"drop": ["c"], "missing": "drop"}, ["--drop=c", "--missing=drop"], [[1, 2]]),
    ("a,b\n1,\n,2\n", {"missing": "drop"}, ["--missing", "drop"], None),
    ("a,a\n1,2\n", {}, [], None),
    ("a,b\n1,2\n", {"drop": ["z"]}, ["--drop", "z"], None),
    ("", {}, [], None),
)


def test_options_and_arguments_do_the_same(tmp_path, fitted):
    path = tmp_path / "table.csv"
    for text, arguments, options, expected in OPTIONS_AND_TABLES:
        path.write_text(text)
        result = run(path, "-q", *options)
        if expected is not None:
            table = read_table(path, **arguments)
            assert table.to_numpy().tolist() == expected
            pd.testing.assert_frame_equal(fitted.pop(), table)
            continue
        with pytest.raises(ValueError) as caught:
            read_table(path, **arguments)
        message = str(caught.value)
        assert "--" not in message
        message = re.sub(
            r"drop=\[(.*?)\]",
            lambda match: " ".join(f"--drop {column}" for column in match[1].split(", ")),
            message,
        )
        message = message.replace("missing='drop'", "--missing drop").replace("missing='auto'", "--missing auto")
        for name, word in PYTHON.items():
            message = message.replace(word, OPTIONS[name])
        assert (result.exit_code, result.stderr) == (3, f"error: {message}\n")
        assert not fitted


def test_without_a_file_the_sachs_data_come_with_their_graph():
    task = read_input(None, Reading())
    sachs = load_sachs()
    pd.testing.assert_frame_equal(task.table, sachs.X)
    pd.testing.assert_frame_equal(task.graph, sachs.adjacency)
