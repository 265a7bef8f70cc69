"""The command line and Python read the same tables from the same files, and refuse the same ones."""

import bz2
import gzip
import io
import lzma
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


FILES = {
    "plain.csv": PLAIN.encode(),
    "semicolons and decimal commas.csv": b"H\xc3\xb6he;b\n1,5;2\n3,25;4\n-1;7\n",
    "byte order mark.csv": PLAIN.encode("utf-8-sig"),
    "UTF-16.tsv": PLAIN.replace(",", "\t").encode("utf-16"),
    "latin-1.csv": PLAIN.encode("latin-1"),
    "tabs.tsv": PLAIN.replace(",", "\t").encode(),
    "names of rows.csv": ",Höhe,b\nx,1.5,2\ny,3.25,4\nz,-1,7\n".encode(),
    "numbers of rows.csv": TABLE.to_csv().encode(),
    "R.csv": '"Höhe" "b"\n"1" 1.5 2\n"2" 3.25 4\n"3" -1 7\n'.encode(),
    "quoted.csv": '"Höhe","b"\n"1.5","2"\n"3.25","4"\n"-1","7"\n'.encode(),
    "quoted decimal commas.csv": 'Höhe,b\n"1,5",2\n"3,25",4\n"-1",7\n'.encode(),
    "spaces around.csv": "Höhe , b\n 1.5 , 2\n 3.25 , 4\n -1 , 7\n".encode(),
    "blank lines and columns.csv": "\n# cm\nHöhe,b,\n1.5,2,\n,,\n3.25,4,\n-1,7,\n,,\n".encode(),
    "packed.csv.gz": gzip.compress(PLAIN.encode()),
    "packed.csv.bz2": bz2.compress(PLAIN.encode()),
    "packed.csv.xz": lzma.compress(PLAIN.encode()),
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


@pytest.mark.parametrize("name", FILES)
def test_the_command_line_python_and_chunks_read_the_same_table(name, tmp_path, fitted):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert "seen enough" in run(path, "-q").stderr
    table = read_table(path)
    pd.testing.assert_frame_equal(table, TABLE, check_dtype=False)
    pd.testing.assert_frame_equal(fitted[0], table)
    seen, expected = Moments.from_chunks(path), Moments().update(table)
    assert seen.names == expected.names
    assert (seen.n_rows, seen.covariance.tolist()) == (3, expected.covariance.tolist())


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1,2\n3,4\n", {}, [[1, 2], [3, 4]]),
        ("1,2\n3,4\n", {"header": True}, [[3, 4]]),
        ("a,b\n1,2\n", {"header": False}, None),
        ('a,b\n"1,234",2\n"12,500.5",3\n', {}, [[1234, 2], [12500.5, 3]]),
        ("a;b\n1.234,5;2\n0,5;3\n", {}, [[1234.5, 2], [0.5, 3]]),
        ("a;b\n1;2\n3;4\n", {"delimiter": ","}, None),
        ("a,b,c\n1,2,x\n3,,y\n", {"missing": "error"}, None),
        ("a,b,c\n1,2,x\n3,,y\n", {"drop": ["c"], "missing": "drop"}, [[1, 2]]),
        ("a,b\n1,\n,2\n", {"missing": "drop"}, None),
        ("a,a\n1,2\n", {}, None),
        ("a,b\n1,2\n", {"drop": ["z"]}, None),
        ("", {}, None),
    ],
)
def test_options_and_arguments_do_the_same(text, options, expected, tmp_path, fitted):
    path = tmp_path / "table.csv"
    path.write_text(text)
    flags = [
        part
        for name, value in options.items()
        for part in {
            "drop": [part for column in options.get("drop", []) for part in ("--drop", column)],
            "delimiter": ["--delimiter", value],
            "header": ["--header" if value else "--no-header"],
            "missing": ["--missing", value],
        }.get(name, [f"--{name.replace('_', '-')}"])
    ]
    result = run(path, "-q", *flags)
    if expected is None:
        with pytest.raises(ValueError) as caught:
            read_table(path, **options)
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
        assert result.stderr == f"error: {message}\n"
        assert result.exit_code == 3
        assert not fitted
    else:
        table = read_table(path, **options)
        assert table.to_numpy().tolist() == expected
        pd.testing.assert_frame_equal(fitted[0], table)


def test_standard_input_is_read_by_both(monkeypatch, fitted):
    CliRunner().invoke(app, ["fit", "-", "-q"], input=PLAIN)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    pd.testing.assert_frame_equal(fitted[0], read_table("-"))


def test_without_a_file_the_sachs_data_come_with_their_graph():
    task = read_input(None, Reading())
    sachs = load_sachs()
    pd.testing.assert_frame_equal(task.table, sachs.X)
    pd.testing.assert_frame_equal(task.graph, sachs.adjacency)
