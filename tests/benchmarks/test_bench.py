"""Does the benchmark of speed measure what it says, and does it notice a claim that is missed?"""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bench
import scale
from claims import Claim, find_missed, read_claims
from daguerreotype.graphs import find_cycle
from fits import add_hubs, ask
from tables import find_figures, fits_table, number, phases_table, sort_cases, write_csv

ROOT = Path(__file__).parents[2]
PHASES = {"training": 0.5, "growing": 1.0, "walking": 0.3, "other": 0.2}
CLAIMS = [Claim("boss", "40 times", at_least=40), Claim("copy", "3.5 times", at_most=3.5)]


def row(graph="SF", d=100, method="bic", seed=0, seconds=0.5, **more):
    return {"graph": graph, "d": d, "method": method, "seed": seed, "finished": True, "seconds": seconds} | more


def test_the_smoke_version_runs_all_parts_and_writes_every_table_of_the_page(tmp_path):
    command = [sys.executable, ROOT / "benchmarks" / "bench.py", "--smoke", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"<!-- speed/(\S+) -->", page))
    assert shown == {path.name for path in tmp_path.glob("*.md")}
    with (tmp_path / "table.csv").open() as file:
        fits = list(csv.DictReader(file))
    assert {fit["method"] for fit in fits} == {"bic", "gam", "true order", "boss"}
    assert all(float(fit["seconds"]) > 0 and 0 <= float(fit["F1"]) <= 1 for fit in fits)


def test_a_fit_that_exceeds_its_limit_is_ended_and_its_row_says_so():
    (found,) = ask("ER", 60, 2, "boss", limit=0.5)
    assert (found["finished"], found["seconds"], found["method"]) == (False, 0.5, "boss")


def test_a_fit_that_fails_shows_the_error_of_its_process():
    with pytest.raises(RuntimeError, match=r"no-such-edges failed on ER, d = 5:(.|\n)*edges must be one of"):
        ask("ER", 5, 1, "no-such-edges")


@pytest.mark.parametrize(("d", "hubs"), [(200, 4), (500, 10)])
def test_graphs_with_hubs_have_targets_of_fifty_parents_and_as_many_edges_as_others(d, hubs):
    adjacency = add_hubs(d, 0)
    parents = np.sort(adjacency.sum(axis=0))
    assert find_cycle(adjacency) is None
    assert parents[-hubs] >= 50
    assert parents[-hubs - 1] < 15
    assert abs(adjacency.sum() - 2 * d) < 0.15 * d


def test_the_table_has_ours_first_ratios_to_ours_and_deviations_of_several_problems():
    rows = [
        row(method="boss", seconds=20.0, SHD=3.0, MB=12.0),
        row(method="boss", seed=1, seconds=60.0, SHD=5.0),
        row(method="notears", seconds=240.0) | {"finished": False},
        row(seconds=0.5, SHD=2.0, F1=0.98765),
        row(seed=1, seconds=1.0, SHD=2.0, F1=0.98765),
    ]
    lines = fits_table(sort_cases(rows)).splitlines()
    assert lines[0] == "| graph | d | method | seconds | ratio | SHD | SID | F1 | edges | MB |"
    assert lines[2:] == [
        "| SF | 100 | bic | 0.750 ± 0.250 | 1.00 ± 0.00 | 2.0 ± 0.0 |  | 0.99 ± 0.00 |  |  |",
        "| SF | 100 | boss | 40.0 ± 20.0 | 50.0 ± 10.0 | 4.0 ± 1.0 |  |  |  | 12.0 |",
        "| SF | 100 | notears | > 240 | > 480 |  |  |  |  |  |",
    ]


def test_the_file_has_a_line_per_fit(tmp_path):
    write_csv(tmp_path / "table.csv", sort_cases([row(seed=1, seconds=2.0), row(), row(d=20)]))
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0].startswith("graph,d,method,seed,finished,seconds,ratio,SHD")
    assert [line.split(",")[:6] for line in lines[1:]] == [
        ["SF", "20", "bic", "0", "True", "0.5"],
        ["SF", "100", "bic", "0", "True", "0.5"],
        ["SF", "100", "bic", "1", "True", "2.0"],
    ]


def test_the_script_of_many_variables_prints_all_that_it_asked_for(monkeypatch, capsys):
    measured = {"SHD": 1.0, "SID": 2.0, "F1": 0.9, "edges": 8.0, "MB": 3.0} | PHASES
    monkeypatch.setattr(scale, "ask", lambda graph, d, seeds, method: [row(graph, d, method, 0, 2.0, **measured)])
    monkeypatch.setattr(sys, "argv", ["scale.py", "--smoke"])
    scale.main()
    shown = capsys.readouterr().out
    assert [line.split(":")[0] for line in shown.splitlines()[:3]] == [
        f"ER d = 8 {method}, problem 0" for method in ("bic", "true order", "gam")
    ]
    assert "| ER | 8 | gam | 2.00 |" in shown
    assert "Where the time of bic goes" in shown
    assert "| ER | 8 | 2.00 | 25% | 50% | 15% | 10% |" in shown


def test_phases_are_shares_of_the_seconds_of_ours():
    table = phases_table(sort_cases([row(seconds=2.0, **PHASES), row(method="gam", seconds=9.0)]))
    assert table.splitlines()[2:] == ["| SF | 100 | 2.00 | 25% | 50% | 15% | 10% |"]


def test_figures_are_ratios_to_ours_the_cost_of_hubs_and_the_exponent_of_d():
    rows = [row("ER", d, seconds=d**2 / 1e4, MB=10.0) for d in (20, 100, 200, 400)]
    rows[0]["seconds"] = 100.0  # below 100 variables overheads count more than d
    rows += [row("hubs", 200, seconds=6.0, MB=15.0), row("ER", 100, "boss", seconds=30.0)]
    rows += [row("ER", 200, "boss", seconds=240.0) | {"finished": False}]
    figures = find_figures(sort_cases(rows))
    assert figures == pytest.approx(
        {
            "seconds of boss / ours, ER, d = 100": 30.0,
            "seconds with hubs / without, d = 200": 1.5,
            "MB with hubs / without, d = 200": 1.5,
            "exponent of d in seconds, ER, d >= 100": 2.0,
        }
    )


@pytest.mark.parametrize(
    ("value", "shown"), [(0.01234, "0.0123"), (0.5, "0.500"), (12.34, "12.3"), (5216.4, "5216"), (0.0, "0")]
)
def test_numbers_have_three_digits_and_all_before_the_point(value, shown):
    assert number(value) == shown


def test_claims_are_missed_by_worse_figures_and_by_none_alone():
    assert find_missed(CLAIMS, {"boss": 40.0, "copy": 3.5}) == []
    assert find_missed(CLAIMS, {"boss": 39.9, "copy": 3.6}) == [
        "boss is 39.9; README.md claims at least 40 ('40 times').",
        "copy is 3.60; README.md claims at most 3.5 ('3.5 times').",
    ]
    assert find_missed(CLAIMS, {"boss": 50.0}) == [
        "copy was not measured; README.md claims at most 3.5 ('3.5 times')."
    ]


@pytest.mark.parametrize("bounds", [{}, {"at_least": 1, "at_most": 2}])
def test_a_claim_has_one_bound(bounds):
    with pytest.raises(ValueError, match="the claim about 'boss' needs one of at_least and at_most"):
        Claim("boss", "40 times", **bounds)


@pytest.mark.parametrize(
    ("arguments", "boss", "error"),
    [
        ([], 50.0, None),
        ([], 39.0, "boss is 39.0; README.md claims at least 40"),
        (["--only", "rows"], 39.0, None),
        (["--only", "variables"], 39.0, "boss is 39.0; README.md claims at least 40"),
    ],
)
def test_the_benchmark_fails_if_a_claim_is_missed_by_what_was_run(monkeypatch, tmp_path, arguments, boss, error):
    parts = {"variables": {"boss": boss}, "rows": {"copy": 2.0}}
    monkeypatch.setattr(bench, "PARTS", {name: lambda *_, found=found: found for name, found in parts.items()})
    monkeypatch.setattr(bench, "read_claims", lambda: CLAIMS)
    monkeypatch.setattr(sys, "argv", ["bench.py", "--out", str(tmp_path), *arguments])
    if error is None:
        bench.main()
    else:
        with pytest.raises(SystemExit, match=error):
            bench.main()


def test_the_readme_says_every_claim_and_no_other_ratio():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    claims = read_claims()
    for claim in claims:
        assert claim.readme in text
        assert f"{claim.bound:g} times" in claim.readme
    assert set(re.findall(r"[\d.,]+ times", text)) == {f"{claim.bound:g} times" for claim in claims}


def test_every_claim_is_about_a_figure_that_a_full_run_has():
    pattern = (
        r"seconds of (boss|grasp|dagma|notears) / ours, (SF|ER), d = (20|50|100|200)"
        r"|k best / copy, d = (20|100|200|500|1000|5000)"
        r"|learning from a file / scanning it|MB of learning from a file"
        r"|(seconds|MB) with hubs / without, d = (200|500|1000)"
    )
    assert all(re.fullmatch(pattern, claim.figure) for claim in read_claims())
