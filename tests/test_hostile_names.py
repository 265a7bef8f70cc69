"""Names of columns that try to be something else: every output shows them, and none obeys."""

import csv
import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype._lib.files import FORMULA, as_written, write_csv
from daguerreotype.cli.main import app
from daguerreotype.experiments.results import to_markdown
from daguerreotype.graphs import from_gml, to_gml
from daguerreotype.graphs.files import read_graph

HOSTILE = [
    '=HYPERLINK("http://x")',
    "</script><script>alert(1)</script>",
    "a\x1b]0;x\x07\u202eb",
    r"$\frac{$ \N",
    "+1+1",
    "@SUM(A1)",
    "\" onmouseover='alert(1)' x=\"",
    r"\input{/etc/passwd} {y} ^2 ~ a_b & 50% #1",
    ']; evil [label="x"]; a -> b',
    "../../up",
    "$(touch pwned) `touch pwned`",
    "%s%n{0.__class__}",
    "--out",
]
ANY = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
VISIBLE = st.text(alphabet=st.characters(categories=["L", "P", "S"]), min_size=1, max_size=6)
NAMES = st.lists(ANY, min_size=2, max_size=5, unique=True)


def chain(names):
    return pd.DataFrame(np.eye(len(names), k=1, dtype=int), index=names, columns=names)


@given(NAMES)
def test_gml_gives_any_names_back(names):
    found = from_gml(to_gml(chain(names)))
    assert list(map(str, found.labels)) == names
    assert np.array_equal(found.adjacency, chain(names))


@settings(max_examples=50)
@given(st.lists(VISIBLE, min_size=3, max_size=5, unique=True))
def test_csv_has_no_formula_whatever_the_names(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("csv") / "matrix.csv"
    write_csv(path, chain(names))
    with open(path, newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if FORMULA.match(cell) and not cell.startswith("'")]
    assert [as_written(cell) for cell in cells[1 : len(names) + 1]] == names


@given(NAMES)
def test_tables_of_any_names_have_as_many_lines_as_rows(names):
    cells = pd.DataFrame({"method": names})
    assert len(to_markdown(cells).splitlines()) == 2 + len(names)


class Scripts(HTMLParser):
    """Counts the script elements of a page."""

    def __init__(self, page):
        super().__init__()
        self.count = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.count += tag == "script"


def test_a_fit_of_hostile_names_writes_every_file_and_obeys_none(tmp_path):
    pytest.importorskip("matplotlib")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, len(HOSTILE))).cumsum(axis=1), columns=HOSTILE)
    X.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "out"
    quick = ["--edges", "bic", "--scales", "none", "--posterior", "5"]
    result = CliRunner().invoke(app, ["fit", str(tmp_path / "data.csv"), "-o", str(out), *quick])
    assert result.exit_code == 0, result.output
    assert not set("\x1b\x07\u202e") & set(result.output)
    model = Daguerreotype.load(out / "model.npz")
    assert list(model.feature_names_in_) == HOSTILE
    for file in ("graph.csv", "adjacency.csv"):
        pd.testing.assert_frame_equal(read_graph(out / file, tuple(HOSTILE)), model.adjacency_matrix_)
    dot = (out / "graph.dot").read_text(encoding="utf-8")
    assert all('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '";' in dot for name in HOSTILE)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert Scripts(page).count == Scripts(page.replace("alert", "")).count
    assert "<script>alert" not in page
    assert (out / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_json_of_the_command_line_spells_out_hostile_names(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=HOSTILE[2:4])
    X.to_csv(tmp_path / "data.csv", index=False)
    result = CliRunner().invoke(
        app, ["fit", str(tmp_path / "data.csv"), "--json", "-q", "--edges", "bic", "--posterior", "0"]
    )
    assert result.stdout.isascii()
    assert json.loads(result.stdout)["data"]["columns"] == HOSTILE[2:4]
