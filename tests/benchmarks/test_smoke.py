"""Benchmarks cannot rot: every one of them runs here in its quick version."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from claims import Claim, find_missed, read_claims

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
WITHOUT_SMOKE = {
    *("claims", "problems", "tables"),  # parts of others
    *("fits", "sumu_posterior", "simulate"),  # run by others, in processes of their own
    *("cores", "operators", "rows", "scale"),  # run by bench
    "paper_claims",  # reads what is committed
}
WRITES = {"bench", "calibration", "gradient", "interventional_rows", "misfit", "missing", "mixed", "paper_cells"}
EVERY = sorted(path.stem for path in BENCHMARKS.glob("*.py") if path.stem not in WITHOUT_SMOKE)


def run(monkeypatch, name, *arguments):
    """Calls a benchmark in this process, which has loaded its libraries and kernels already."""
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
    importlib.import_module(name).main()


@pytest.mark.parametrize("name", EVERY)
def test_the_smoke_version_runs_prints_and_writes_the_tables_of_its_page(name, monkeypatch, tmp_path, capsys):
    pytest.importorskip("torch")
    run(monkeypatch, name, "--smoke", *(["--out", tmp_path] if name in WRITES else []))
    assert capsys.readouterr().out
    if name in WRITES:
        folder = {"bench": "speed"}.get(name, name.replace("_", "-"))
        pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "notebook").glob("*.md"))
        shown = set(re.findall(rf"\(\.\./results/{folder}/(\S+\.(?:md|svg))\)", pages))
        shown -= {"published.md", "sumu.md", "syntren.md"}  # of programs and data that are not here
        assert shown <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("name", "more"), [("paper_claims", ()), ("paper_cells", ("--no-run",))])
def test_tables_of_committed_runs_are_those_that_are_committed(name, more, monkeypatch, tmp_path):
    folder = "claims" if name == "paper_claims" else "paper-cells"
    committed = {path.name: path.read_bytes() for path in (ROOT / "docs" / "results" / folder).iterdir()}
    for file in (file for file in committed if file.endswith(".csv")):
        (tmp_path / file).write_bytes(committed[file])
    run(monkeypatch, name, "--out", tmp_path, *more)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == committed


def test_the_readme_says_every_claim_and_no_other_ratio():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    claims = read_claims()
    for claim in claims:
        assert claim.readme in text
        assert f"{claim.bound:g} times" in claim.readme
    assert set(re.findall(r"[\d.,]+ times", text)) == {f"{claim.bound:g} times" for claim in claims}


def test_claims_are_missed_by_worse_figures_and_by_none_alone():
    claims = [Claim("boss", "40 times", at_least=40), Claim("copy", "3.5 times", at_most=3.5)]
    assert find_missed(claims, {"boss": 40.0, "copy": 3.5}) == []
    assert find_missed(claims, {"boss": 39.9}) == [
        "boss is 39.9; README.md claims at least 40 ('40 times').",
        "copy was not measured; README.md claims at most 3.5 ('3.5 times').",
    ]
