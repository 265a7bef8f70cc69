"""Tables of numbers and text on the command line: from the file to the printed kinds."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype.cli.main import app
from support.mixed import mixed_table

QUICK = ("--edges", "bic", "--scales", "none")


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "id": [f"p{i:03}" for i in range(n)],
            "seen": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "smoker": rng.choice([True, False], n),
            "city": rng.choice(["Bonn", "Oslo", "Rome"], n),
            "visits": rng.poisson(2, n),
            "pain": rng.integers(1, 8, n),
            "height": rng.normal(170, 9, n),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def test_names_of_rows_and_dates_are_refused_with_the_options_that_leave_them_out(people):
    result = run("fit", people, "-q")
    assert result.exit_code == 3
    assert result.stderr.startswith(
        "error: nothing can be learned from columns 'id' (names rows: a different text in"
    )
    assert "'seen' (holds dates) of" in result.stderr
    assert "Or leave them out: --drop 'id' --drop 'seen'." in result.stderr


def test_the_kinds_and_the_noise_of_a_table_are_printed_and_json_has_it_by_column(people):
    call = ("fit", people, "--drop", "id", "--drop", "seen", "-q", *QUICK)
    result = run(*call)
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    kinds = "2 continuous, 1 count (visits), 2 binary (sex, smoker), 1 ordinal (pain), 1 categorical (city)"
    assert f"kinds {kinds}" in words
    noise = json.loads(run(*call, "--json").stdout)["noise"]
    assert list(noise) == ["age", "sex", "smoker", "city", "visits", "pain", "height"]
    assert (noise["sex"], noise["smoker"], noise["city"]) == ("bernoulli", "bernoulli", "categorical")
    assert noise["visits"] == "poisson"
    assert noise["age"] == noise["height"]
    assert f"noise {noise['age']} (2), bernoulli (2), " in words
    assert ", poisson (1)" in words


def test_weights_of_discrete_columns_are_explained(tmp_path):
    mixed_table(200)[["dose", "visits"]].to_csv(tmp_path / "a.csv", index=False)
    words = " ".join(run("fit", tmp_path / "a.csv", "-q", *QUICK).stdout.split())
    assert "on levels both are log-odds, on counts logarithms of the mean" in words
    assert "levels in no order have no sign: there the weight is the norm" in words


def test_kinds_and_noise_of_smooth_tables_are_not_printed(tmp_path):
    pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc")).to_csv(tmp_path / "a.csv")
    shown = run("fit", tmp_path / "a.csv", "-q", *QUICK).stdout
    assert "kinds" not in shown
    assert "noise" not in shown


def test_what_is_said_of_a_column_goes_and_json_tells_all(people):
    dropped = ("--drop", "id", "--drop", "seen")
    result = run(
        "fit", people, *dropped, *QUICK, "--kind", "pain=continuous", "--kind", "age=count", "--json", "-q"
    )
    kinds = json.loads(result.stdout)["kinds"]
    assert list(kinds) == ["age", "sex", "smoker", "city", "visits", "pain", "height"]
    assert kinds["pain"] == {"kind": "continuous", "reason": "given", "levels": [], "step": 1.0}
    assert kinds["age"]["kind"] == "count"
    assert kinds["city"] == {
        "kind": "categorical",
        "reason": "3 levels of text",
        "levels": ["Bonn", "Oslo", "Rome"],
        "step": 0.0,
    }
    assert kinds["smoker"]["levels"] == [False, True]


def test_what_is_no_kind_or_no_column_or_no_number_where_one_must_be_is_refused(people):
    for option, status, message in (
        ("--kind=age", 2, "'age' is not COLUMN=KIND, such as age=count"),
        ("--kind=age=cuont", 2, "'age' is 'cuont', which is no kind; did you mean 'count'?"),
        ("--kind=agee=count", 3, "kinds names 'agee', which is no column; did you mean 'age'?"),
        (
            "--kind=city=ordinal",
            3,
            "kinds says that 'city' is ordinal, but its levels 'Bonn', 'Oslo', 'Rome' do not",
        ),
        (
            "--edges=lars",
            3,
            "edges='lars' takes continuous columns alone, but 'city' is categorical: use edges='gam'",
        ),
    ):
        result = run("fit", people, "--drop", "id", "--drop", "seen", option, "-q")
        assert result.exit_code == status
        assert message in " ".join(result.stderr.replace("│", " ").split())
    result = run("compare", people, "--methods", "empty", "-q")
    assert result.exit_code == 3
    assert "'city' ('Bonn' in row" in result.stderr or "'id' ('p000' in row 1)" in result.stderr
    assert "--drop 'city'" in result.stderr or "--drop 'id'" in result.stderr


def test_a_broken_column_of_numbers_may_be_said_to_be_levels(tmp_path):
    rows = "\n".join(f"{i % 3},{i / 7}" for i in range(60))
    (tmp_path / "a.csv").write_text(f"stage,size\nx,0.3\n{rows}\n")
    result = run("fit", tmp_path / "a.csv", "-q")
    assert "column 'stage' ('x' in row 1)" in result.stderr
    assert "--drop 'stage'" in result.stderr
    result = run("fit", tmp_path / "a.csv", "-q", "--kind", "stage=categorical", "--json", *QUICK)
    assert json.loads(result.stdout)["kinds"]["stage"]["levels"] == ["0", "1", "2", "x"]


def test_a_saved_model_is_reported_with_its_table(people, tmp_path):
    dropped = ("--drop", "id", "--drop", "seen")
    folder = tmp_path / "out"
    assert run("fit", people, *dropped, *QUICK, "-q", "--out", folder).exit_code == 0
    assert "3 levels of text" in (folder / "report.html").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    result = run("report", folder / "model.npz", "--data", people, *dropped, "--out", page, "-q")
    assert result.exit_code == 0, result.stderr
    assert "3 levels of text" in page.read_text(encoding="utf-8")
    assert Daguerreotype.load(folder / "model.npz")._result.kinds_by_label["city"].levels == (
        "Bonn",
        "Oslo",
        "Rome",
    )


def test_settings_are_searched_for_on_tables_with_text(people):
    pytest.importorskip("optuna")
    result = run(
        *("tune", people, "--drop", "id", "--drop", "seen", "--edges", "bic", "--trials", "1", "--json", "-q"),
        *("--space", "penalty=2"),
    )
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["trials"][0]["reason"] == ""
