"""The installed command as a shell meets it."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import daguerreotype
from daguerreotype.cli import options
from daguerreotype.data import SCALES

COMMAND = Path(sysconfig.get_path("scripts")) / "daguerreotype"
HEAVY = {"numpy", "numba", "torch", "sklearn", "pandas", "matplotlib", "scipy", "networkx"}


def shell(*arguments, **settings):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, **settings)


VERBS = ("fit", "compare", "evaluate", "simulate", "report", "reproduce", "tune")


def test_help_and_version_load_no_heavy_library():
    code = (
        "import sys\n"
        "from daguerreotype.cli.main import app\n"
        f"for arguments in [['--help'], ['--version'], *([verb, '--help'] for verb in {VERBS})]:\n"
        "    assert app(arguments, standalone_mode=False) in (0, None)\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stderr.split()}
    assert "typer" in loaded
    assert not HEAVY & loaded


def test_the_scales_that_help_names_are_those_of_the_registry():
    assert {name: scale.help for name, scale in SCALES.items() if scale.fit} == options.SCALES


def test_the_help_lists_verbs_options_and_exit_codes():
    page = " ".join(shell("--help", env=os.environ | {"COLUMNS": "200"}).stdout.split())
    assert all(verb in page for verb in VERBS)
    for code in ("0 done", "1 unexpected", "2 wrong", "3 a file", "4 an optional", "5 compare", "130 interrupted"):
        assert code in page


def test_the_version_is_that_of_the_package_and_no_verb_shows_the_help():
    run = shell("--version")
    assert (run.returncode, run.stdout) == (0, f"daguerreotype {daguerreotype.__version__}\n")
    assert "Usage" in shell().stdout + shell().stderr


def test_a_pipe_gets_one_json_object_and_nothing_else():
    run = shell("fit", "--json", "--quiet", "--edges", "bic", "--scales", "none")
    assert run.returncode == 0
    assert run.stderr == ""
    answer = json.loads(run.stdout)
    assert sorted(answer["order"]) == sorted(answer["data"]["columns"])
    assert answer["metrics"]["n_edges"] == len(answer["edges"])


def test_a_table_comes_through_a_pipe():
    table = "a;b\n" + "\n".join(f"{i % 7},5;{(i % 7) ** 2 + i % 3},5" for i in range(60))
    run = shell("fit", "-", "--json", "--edges", "bic", "--scales", "none", input=table)
    assert run.returncode == 0
    assert json.loads(run.stdout)["data"] == {"name": "standard input", "rows": 60, "columns": ["a", "b"]}
    assert "note: read decimal commas in 'a', 'b'." in run.stderr


def complete(line):
    """What bash is told when a person asks how ``line`` might go on."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_DAGUERREOTYPE_COMPLETE": "complete_bash"}
    return shell(env=os.environ | asked).stdout.split()


def test_the_shell_completes_verbs_options_and_their_values():
    for line, expected in (
        ("daguerreotype ", list(VERBS)),
        ("daguerreotype fit --edges l", ["lars", "lasso", "linear"]),
        ("daguerreotype fit --dro", ["--drop"]),
        ("daguerreotype fit my-", []),  # bash goes on with names of files
    ):
        assert complete(line) == expected


def test_completion_is_installed_for_the_shell_of_the_user(tmp_path):
    variables = {
        "HOME": str(tmp_path),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }  # which shell, by name
    run = shell("--install-completion", "bash", env=os.environ | variables)
    assert run.returncode == 0
    assert "complete_bash" in (tmp_path / ".bash_completions" / "daguerreotype.sh").read_text()
    assert "daguerreotype.sh" in (tmp_path / ".bashrc").read_text()


def test_a_terminal_that_knows_ascii_alone_gets_all_the_same(tmp_path):
    rows = "\n".join(f"{i % 7},{(i * 3) % 7 + i % 2}" for i in range(60))
    (tmp_path / "ü.csv").write_text(f"größe,→\n{rows}\n", encoding="utf-8")
    ascii_alone = {"PYTHONIOENCODING": "ascii:strict", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "1"}
    ended = shell("fit", "ü.csv", "-q", "--posterior", "0", cwd=tmp_path, env=os.environ | ascii_alone)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.isascii()
    assert r"gr\xf6\xdfe" in ended.stdout
