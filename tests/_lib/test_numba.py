"""Kernels are compiled once and cached on disk, beside the source or in the user's cache folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import daguerreotype

CALL = (
    "from daguerreotype.operators import k_best_rankings, ranking_search\n"
    "k_best_rankings([0.0, 1.0], 2)\n"
    "stats = ranking_search.search.stats\n"
    "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
)


@pytest.fixture
def installed(tmp_path):
    """A copy of the package as an installation of its own, with an empty user cache."""
    source = Path(daguerreotype.__file__).parent
    target = tmp_path / "install" / "daguerreotype"
    for name in ("operators", "_lib"):
        shutil.copytree(source / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(source / "__init__.py", target)
    return target


def call(installed, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": str(installed.parent),
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    run = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True)
    hits, misses = map(int, run.stdout.split())
    return hits, misses


def test_a_second_process_takes_the_compiled_kernels_from_beside_the_source(installed, tmp_path):
    assert call(installed, tmp_path) == (0, 1)
    assert call(installed, tmp_path) == (1, 0)
    assert list((installed / "operators" / "__pycache__").glob("*.nbc"))


def test_where_the_install_folder_takes_no_files_the_users_cache_folder_does(installed, tmp_path):
    # A file in the place of the cache folder keeps even root from writing there.
    (installed / "operators" / "__pycache__").write_text("")
    assert call(installed, tmp_path) == (0, 1)
    assert call(installed, tmp_path) == (1, 0)
    assert list((tmp_path / "home" / "cache").rglob("*.nbc"))
