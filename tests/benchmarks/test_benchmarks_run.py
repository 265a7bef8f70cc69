"""Benchmarks cannot rot: each has a smoke version, and it runs here."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from problems import FAMILIES, MISSPECIFIED, hill_kinetics, problem

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("operators.py", "SparseMAP"),
        ("defaults.py", "winners"),
        ("learner.py", "spread on Sachs"),
        ("knowledge.py", "20 fits"),
        ("rows.py", "same graph True"),
        ("interventions.py", "told, 7466 rows"),
    ],
)
def test_the_smoke_version_prints_its_tables(script, expected):
    run = subprocess.run(
        [sys.executable, BENCHMARKS / script, "--smoke"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert expected in run.stdout


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
