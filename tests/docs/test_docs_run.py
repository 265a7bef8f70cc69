"""Every page runs: its python blocks one after the other, with the output that the page shows."""

import contextlib
import io
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest

from daguerreotype.experiments import read_spec

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python\n" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python_blocks(text, languages=("python",)):
    """(first line, code, output) of every python block; the output is a text block right after it, or None."""
    for block, following in pairwise([*BLOCK.finditer(text), None]):
        shown = None
        if following is not None and following[1] == "text" and not text[block.end() : following.start()].strip():
            shown = following[2]
        if block[1] in languages:
            yield text[: block.start()].count("\n") + 2, block[2], shown


def run_page(text, name, languages=("python",)):
    """Execute the python blocks of a page in one namespace, and compare what they print."""
    namespace = {"__name__": "__main__"}
    for line, code, shown in python_blocks(text, languages):
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            exec(compile("\n" * (line - 1) + code, name, "exec"), namespace)
        if shown is not None:
            assert stream.getvalue() == shown, f"{name}: not what the code from line {line} prints"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whatever a page writes does not stay
    run_page(page.read_text(encoding="utf-8"), str(page))


def test_output_that_differs_from_the_page_is_noticed():
    with pytest.raises(AssertionError, match="page: not what the code from line 3 prints"):
        run_page("# Sum\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "page")


def test_the_code_of_other_libraries_runs_beside_ours():
    for library in ("castle", "dagma", "causallearn", "lingam"):
        pytest.importorskip(library)
    page = ROOT / "docs" / "coming-from.md"
    run_page(page.read_text(encoding="utf-8"), str(page), ("python", "py"))  # py blocks need what may be missing


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.name)
def test_the_example_runs(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "matplotlib" in script.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.argv", [str(script), "picture.png"])
    runpy.run_path(str(script), run_name="__main__")


def test_the_tutorial_shows_the_example_script_as_it_is():
    page = (ROOT / "docs" / "bring-your-own-estimator.md").read_text(encoding="utf-8")
    script = (ROOT / "examples" / "own_estimator.py").read_text(encoding="utf-8")
    assert script in [code for _, code, _ in python_blocks(page)]


def test_the_comparison_of_ones_own_is_a_valid_spec():
    text = (ROOT / "docs" / "comparisons.md").read_text(encoding="utf-8")
    spec = text.split("```toml\n")[1].split("```")[0]
    assert len(read_spec(spec, "mine", trust=True).methods) == 6
    assert len(read_spec(spec, "mine", quick=True, trust=True).problems) == 2
