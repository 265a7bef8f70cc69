"""Does the benchmark of calibration judge probabilities as it says, and write what its page shows?"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibration
from calibration import (
    FAMILIES,
    calibration_error,
    edges_below,
    error_by_chance,
    error_of_calibration,
    expected_brier,
    groups,
    judge,
    judge_pairs,
    keep,
    wilson,
)

ROOT = Path(__file__).parents[2]


def drawn_tables(distort=lambda p: p, tables=40, d=15):
    """Results of tables whose edges are there with the probabilities p, of which ``distort(p)`` is said."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(tables):
        p = rng.random((d, d))
        truth = (rng.random((d, d)) < p).astype(np.int64)
        edges = int(truth[~np.eye(d, dtype=bool)].sum())
        rows.append({"d": d, "edges": edges} | judge(distort(p), truth))
    return pd.DataFrame(rows)


def test_the_smoke_version_writes_every_table_and_diagram_of_the_page(tmp_path):
    command = [sys.executable, ROOT / "benchmarks" / "calibration.py", "--smoke", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    written = {path.name for path in tmp_path.iterdir()}
    assert set(re.findall(r"<!-- calibration/(\S+) -->", page)) - {"sumu.md"} <= written
    assert set(re.findall(r"\(results/calibration/(\S+\.svg)\)", page)) <= written
    families = pd.read_csv(tmp_path / "families.csv")
    assert families.groupby("family").size().to_dict() == {"linear-150": 2 * 4, "mixed": 2 * 4}
    assert set(pd.read_csv(tmp_path / "sachs.csv").method) == {
        "posterior",
        "short",
        "bagged",
        "bootstrap",
        "shares",
        "graph",
    }
    shown = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = subprocess.run([*command, "--draw"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == shown


def test_right_probabilities_have_no_more_error_than_chance_makes_and_the_brier_score_they_expect():
    table = drawn_tables()
    assert calibration_error(table) < 2 * error_by_chance(table)
    assert table.Brier.mean() == pytest.approx(1 / 6, abs=0.01)
    assert expected_brier(table) == pytest.approx(1 / 6, abs=0.01)


def test_probabilities_that_are_too_sure_have_the_error_of_their_bins():
    table = drawn_tables(lambda p: np.where(p > 0.5, 1.0, 0.02))  # right in three of four, and one of four
    assert calibration_error(table) == pytest.approx((0.25 + 0.23) / 2, abs=0.02)
    assert calibration_error(table) > 10 * error_of_calibration(table)


def test_pairs_below_a_hundredth_count_for_the_brier_score_and_as_edges_below_alone():
    row = judge_pairs(np.array([0.005, 0.01, 0.011, 1.0]), np.array([1, 0, 0, 1]))
    assert row["pairs 0.0"] == 1
    assert row["pairs 0.9"] == row["right 0.9"] == 1
    assert row["Brier"] == pytest.approx((0.995**2 + 0.01**2 + 0.011**2) / 4, abs=1e-6)
    table = pd.DataFrame([{"d": 3, "edges": 2} | row])
    assert edges_below(table) == "25.00 %"  # of six pairs two are above, of two edges one


def test_the_diagonal_is_no_pair():
    row = judge(np.eye(3), np.zeros((3, 3), dtype=np.int64))
    assert row["Brier"] == 0.0
    assert row["pairs 0.9"] == 0


def test_a_family_that_is_measured_again_replaces_itself_alone_and_families_keep_their_order(tmp_path):
    path = tmp_path / "families.csv"
    for label, name, seeds in (
        ("old", "mixed", 1),
        ("now", "mixed", 1),
        ("now", "linear-150", 1),
        ("now", "mixed", 2),
    ):
        table = keep(path, label, name, [{"family": name, "seed": seed} for seed in range(seeds)])
    assert table[["family", "seed"]].to_numpy().tolist() == [["linear-150", 0], ["mixed", 0], ["mixed", 1]]
    assert pd.read_csv(path).label.tolist() == ["old", "now", "now", "now"]


def test_sparse_graphs_are_a_group_of_their_own():
    table = pd.DataFrame({"family": "linear-500", "d": 12, "n": 500, "seed": range(8)})
    titles = {title: chosen.seed.tolist() for title, chosen in groups(table)}
    assert titles == {
        "linear Gaussian, d = 12, n = 500": list(range(8)),
        "linear Gaussian, d = 12, n = 500, about d edges": [1, 2, 5, 6],
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_draws_tables_of_its_kind(name):
    X, truth = FAMILIES[name].draw(1, 6, 300)
    gaps = pd.DataFrame(X).isna().to_numpy().mean()
    share = {"missing-10": 0.1, "missing-30": 0.3}.get(name.partition("-")[2], 0.0)
    assert X.shape == (300, 6)
    assert truth.shape == (6, 6)
    assert gaps == pytest.approx(share, abs=0.03)
    if name.endswith("rounded"):
        assert max(len(np.unique(column)) for column in X.T) < 100


def test_intervals_of_shares_hold_what_they_should():
    low, high = wilson(np.array([0.0, 5.0, 10.0]), np.array([10.0, 10.0, 10.0]))
    assert low == pytest.approx([0.0, 0.2366, 0.7225], abs=1e-4)
    assert high == pytest.approx([0.2775, 0.7634, 1.0], abs=1e-4)


def test_a_failure_of_sumu_is_told_with_what_it_said(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no module named sumu >&2\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(RuntimeError, match="no module named sumu"):
        calibration.ask_sumu(str(python), "sumu", np.zeros((4, 3)))
