"""Benchmarks cannot rot: each has a smoke version, and it runs here."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daguerreotype.training.start import make_temperature
from interventional_rows import Observed, worth
from misfit import count_by_strength, weak_edges, write
from missing import (
    coverage,
    errors,
    gaps_at_random,
    gaps_given_others,
    impute_frame_in_turns,
    impute_means,
    table_of,
    with_gaps,
)
from problems import FAMILIES, MISSPECIFIED, hill_kinetics, mixed_table, problem, standardized
from temperature import differences, mean_and_error, schedules

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("operators.py", "SparseMAP"),
        ("defaults.py", "winners"),
        ("few_rows.py", "| 8 | 5 | noise | 0.0 |"),
        ("learner.py", "spread on Sachs"),
        ("knowledge.py", "20 fits"),
        ("rows.py", "same graph True"),
        ("interventions.py", "told, 7466 rows"),
        ("gradient.py", "bilevel  sparsemap"),
    ],
)
def test_the_smoke_version_prints_its_tables(script, expected):
    run = subprocess.run(
        [sys.executable, BENCHMARKS / script, "--smoke"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert expected in run.stdout


def test_the_smoke_version_of_the_misfit_writes_its_tables_and_figure(tmp_path):
    for more in (["--label", "before"], ["--rows", "--floor", "--set", "edges=bic"]):
        command = [sys.executable, BENCHMARKS / "misfit.py", "--smoke", "--out", tmp_path, *more]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
    labels = {path.stem: pd.read_csv(path).label.unique().tolist() for path in tmp_path.glob("*.csv")}
    assert (
        {path.stem for path in tmp_path.glob("*.md")}
        == set(labels)
        == {"families", "lines", "rows", "real", "sachs", "floor"}
    )
    assert labels["rows"] == labels["floor"] == ["before", "after"]
    assert labels["real"] == labels["sachs"] == ["before"]
    assert "<svg" in (tmp_path / "edges.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("script", "files"),
    [
        ("warm_start.py", {"steps.csv", "steps.md", "fits.csv", "fits.md"}),
        (
            "temperature.py",
            {"fits.csv", "schedules.md", "problems.md", "schedules.svg", "refined.csv", "refined.md"},
        ),
        ("interventional_rows.py", {"fits.csv", "observed.md", "replaced.md", "rows.svg"}),
        (
            "paper_cells.py",
            {
                f"{part}.{ending}"
                for part in ("orders", "rates", "networks", "patience", "again")
                for ending in ("csv", "md")
            },
        ),
    ],
)
def test_the_quick_version_writes_its_tables_and_figures(script, files, tmp_path):
    command = [sys.executable, BENCHMARKS / script, "--quick", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert {path.name for path in tmp_path.iterdir()} == files
    for path in tmp_path.glob("*.md"):
        assert path.read_text(encoding="utf-8") in run.stdout


def test_the_tables_of_claims_are_those_of_the_committed_runs(tmp_path):
    command = [sys.executable, BENCHMARKS / "paper_claims.py", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    committed = BENCHMARKS.parent / "docs" / "results" / "claims"
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in committed.iterdir()}
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8") == (committed / path.name).read_text(encoding="utf-8"), path.name


def test_the_tables_of_cells_are_those_of_the_committed_runs(tmp_path):
    committed = BENCHMARKS.parent / "docs" / "results" / "paper-cells"
    for path in committed.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, BENCHMARKS / "paper_cells.py", "--no-run", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in committed.iterdir()}
    for path in tmp_path.glob("*.md"):
        assert path.read_text(encoding="utf-8") == (committed / path.name).read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("tau = 0.3", (0.3, 0.3)),
        ("10 to 0.1, geometric", (10.0, 0.1)),
        ("10 to 0.1, linear", (10.0, 0.1)),
        ("10 to 0.1, cosine", (10.0, 0.1)),
        ("0.1 to 10, geometric", (0.1, 10.0)),
    ],
)
def test_a_schedule_goes_one_way_from_one_end_to_the_other(name, ends):
    tau = make_temperature(schedules(300)[name], 300)
    path = np.array([tau(step) for step in range(300)])
    assert (path[0], path[-1]) == pytest.approx(ends)
    steps = np.diff(path)
    assert (steps <= 0).all() or (steps >= 0).all()


def test_differences_are_those_to_the_same_table_at_temperature_one():
    table = pd.DataFrame(
        [
            {"problem": "a", "d": 5, "seed": seed, "operator": "sparsemax", "schedule": schedule, "SHD": distance}
            for seed, schedule, distance in [
                (0, "tau = 1", 3),
                (0, "tau = 3", 1),
                (1, "tau = 3", 9),
                (1, "tau = 1", 8),
            ]
        ]
    )
    paired = differences(table)
    hot = paired[paired.schedule == "tau = 3"]
    assert hot.difference.tolist() == [-2, 1]
    assert mean_and_error(hot) == pytest.approx((-0.5, 1.5))


def test_the_observed_rows_that_an_experiment_replaces_are_read_off_the_curve_of_observations():
    observed = Observed(np.array([100.0, 400.0, 1600.0]), np.array([[8.0, 4.0, 2.0], [4.0, 2.0, 2.0]]))
    every = np.arange(2)
    assert observed.rows_needed(3.0, every) == 400
    assert observed.rows_needed(4.5, every) == pytest.approx(200)  # halfway, on a scale of logarithms
    assert observed.rows_needed(9.0, every) == 100
    assert observed.rows_needed(1.9, every) == np.inf
    assert observed.rows_needed(2.0, np.array([1, 1])) == 400
    chosen = pd.DataFrame({"seed": [1, 0], "n": 100, "M": 50, "SHD": [2.0, 4.0]})
    assert worth(observed, chosen)[0] == pytest.approx((400 - 50) / 50)


def test_the_smoke_version_of_missing_values_writes_its_tables(tmp_path):
    for more in (["--label", "before"], ["--imputed"]):
        command = [sys.executable, BENCHMARKS / "missing.py", "--smoke", "--out", tmp_path, *more]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
    labels = {path.stem: pd.read_csv(path).label.unique().tolist() for path in tmp_path.glob("*.csv")}
    assert labels == {
        "random": ["before"],
        "given": ["before"],
        "intervened": ["before"],
        "imputed": ["before", "now"],
    }
    assert {path.stem for path in tmp_path.glob("*.md")} == {*labels, "seconds"}


def test_gaps_that_depend_on_others_have_their_share_and_leave_a_third_of_the_columns_alone():
    X, _ = table_of("linear", 0, 6, 20_000)
    for gaps in gaps_given_others(X, 0.3, 0):
        assert np.sort(gaps.mean(axis=0)) == pytest.approx([0, 0, 0.3, 0.3, 0.3, 0.3], abs=0.02)
    depends, plain = (largest_difference(X, gaps) for gaps in gaps_given_others(X, 0.3, 0))
    assert depends > 1.0
    assert plain < 0.1


def largest_difference(X, gaps):
    """By how many standard deviations seen columns differ where another is missing, at most."""
    Z = standardized(X[:, ~gaps.any(axis=0)])
    return max(abs(Z[gap].mean(axis=0) - Z[~gap].mean(axis=0)).max() for gap in gaps.T if gap.any())


def test_a_row_whose_cells_are_hidden_keeps_the_others_and_the_kind_of_its_columns():
    frame, _ = mixed_table("lines", 0, 6, 200)
    gaps = gaps_at_random(frame.shape, 0.2, 0)
    left = with_gaps(frame, gaps)
    assert np.array_equal(left.isna(), gaps)
    for filled in (impute_means(left), impute_frame_in_turns(left)):
        assert not filled.isna().any().any()
        assert (filled.astype(object).to_numpy() == frame.astype(object).to_numpy())[~gaps].all()
        assert filled.dtypes.equals(left.dtypes)


def test_errors_of_imputed_values_are_those_of_hidden_cells():
    frame = pd.DataFrame({"number0": [0.0, 1.0, 2.0], "category1": ["red", "green", "red"]})
    gaps = np.array([[True, True], [False, False], [False, True]])
    guess = pd.DataFrame({"number0": [0.5, 9.0, 9.0], "category1": ["red", "white", "green"]})
    assert errors(frame, gaps, guess) == {"numbers": 0.5, "levels": 0.5}
    for spread, share in ((0.2, 0.0), (0.3, 1.0)):
        assert coverage(frame, gaps, guess, guess.assign(number0=spread)) == share


def test_a_label_that_is_measured_again_keeps_its_place_and_the_rows_of_others(tmp_path):
    path = tmp_path / "rows.csv"
    for label, edges in (("before", [1, 2]), ("after", [3]), ("before", [4, 5])):
        table = write(path, label, [{"edges": count} for count in edges])
    assert table.to_numpy().tolist() == [["before", 4], ["before", 5], ["after", 3]]
    assert pd.read_csv(path).to_numpy().tolist() == table.to_numpy().tolist()


def test_the_strength_of_a_weak_edge_is_its_partial_correlation_given_the_other_parents():
    X, strengths = weak_edges(False, 0, 6, 50_000)
    for effect in range(6):
        parents = np.flatnonzero(strengths[:, effect])
        for parent in parents:
            others = np.column_stack([np.ones(len(X)), X[:, parents[parents != parent]]])
            left = X[:, [parent, effect]] - others @ np.linalg.lstsq(others, X[:, [parent, effect]])[0]
            partial = abs(np.corrcoef(left.T)[0, 1])
            assert partial == pytest.approx(strengths[parent, effect], abs=0.015)


def test_edges_are_counted_by_strength_whichever_way_they_point():
    strengths = np.array([[0.0, 0.04, 0.3], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = np.array([[0, 0, 1], [1, 0, 1], [0, 0, 0]])
    counted = {row.pop("strength"): row for row in count_by_strength(strengths, found)}
    assert counted["0.03 to 0.05"] == {"pairs": 1, "joined": 1, "directed": 0}
    assert counted["0.2 to 0.6"] == {"pairs": 1, "joined": 1, "directed": 1}
    assert counted["0.08 to 0.12"] == {"pairs": 0, "joined": 0, "directed": 0}
    assert counted["no edge"] == {"pairs": 1, "joined": 1, "directed": 0}


@pytest.mark.parametrize("family", [*FAMILIES, *MISSPECIFIED])
def test_a_seed_gives_one_finite_table_without_constant_columns(family):
    X, adjacency = problem(family, 3, d=6, n=50)
    again, same = problem(family, 3, d=6, n=50)
    other, _ = problem(family, 4, d=6, n=50)
    assert X.shape == (50, 6)
    assert adjacency.shape == (6, 6)
    assert np.isfinite(X).all()
    assert (X.std(axis=0) > 0).all()
    assert np.array_equal(X, again)
    assert np.array_equal(adjacency, same)
    assert not np.array_equal(X, other)


def test_without_noise_a_gene_is_a_bounded_monotone_function_of_its_only_regulator():
    for seed in range(10):
        levels = hill_kinetics(np.array([[0, 1], [0, 0]]), 200, np.random.default_rng(seed), noise=0.0)
        steps = np.diff(levels[np.argsort(levels[:, 0]), 1])
        assert (steps >= 0).all() or (steps <= 0).all()
        assert 0.1 <= levels[:, 1].min() < levels[:, 1].max() <= 1.1


def test_an_unknown_family_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown family 'cubic': choose one of 'linear-gaussian', .*'hidden'"):
        problem("cubic", 0)
