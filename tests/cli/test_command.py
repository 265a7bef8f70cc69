"""The installed command as a shell meets it."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import daguerreotype

COMMAND = Path(sysconfig.get_path("scripts")) / "daguerreotype"
HEAVY = {"numpy", "numba", "torch", "sklearn", "pandas", "matplotlib", "scipy", "networkx"}


def shell(*arguments, **settings):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, **settings)


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_and_version_load_no_heavy_library(arguments):
    code = (
        "import sys, atexit\n"
        "from daguerreotype.cli.main import app\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        f"app({arguments!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stderr.split()}
    assert "typer" in loaded
    assert not HEAVY & loaded


def test_the_help_lists_the_verb_and_its_options():
    assert "fit" in shell("--help").stdout
    page = shell("fit", "--help").stdout
    for option in ("--edges", "--operator", "--transform", "--penalty", "--seed", "--truth", "--json", "--quiet"):
        assert option in page


def test_the_version_is_that_of_the_package():
    run = shell("--version")
    assert (run.returncode, run.stdout) == (0, f"daguerreotype {daguerreotype.__version__}\n")


def test_no_verb_shows_the_help():
    assert "Usage" in shell().stdout + shell().stderr


def test_a_pipe_gets_one_json_object_and_nothing_else():
    run = shell("fit", "--json", "--quiet", "--edges", "bic", "--transform", "none")
    assert run.returncode == 0
    assert run.stderr == ""
    found = json.loads(run.stdout)
    assert sorted(found["order"]) == sorted(found["data"]["columns"])
    assert found["metrics"]["n_edges"] == len(found["edges"])


def test_a_missing_file_is_one_line_on_stderr_and_status_2(tmp_path):
    run = shell("fit", "nowhere.csv", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == "error: there is no file nowhere.csv. Check its name and folder.\n"
