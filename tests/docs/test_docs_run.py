"""Every page runs: its python blocks one after the other, with the output that the page shows."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python\n" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(line, language, content) of the fenced blocks of a page."""
    return [(text[: match.start()].count("\n") + 2, *match.groups()) for match in BLOCK.finditer(text)]


def run_page(text, name):
    """Execute the python blocks in one namespace; a text block right after one is what it prints."""
    namespace = {"__name__": "__main__"}
    printed = None
    for line, language, content in blocks(text):
        if language == "python":
            code = compile("\n" * (line - 1) + content, name, "exec")
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(code, namespace)
            printed = stream.getvalue()
        elif language == "text" and printed is not None:
            assert printed == content, f"{name}, line {line}: the code above prints\n{printed}"
            printed = None
    return namespace


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whatever a page writes does not stay
    run_page(page.read_text(encoding="utf-8"), str(page))


def test_output_that_differs_from_the_page_is_noticed():
    with pytest.raises(AssertionError, match="page, line 5: the code above prints\n2"):
        run_page("```python\nprint(1 + 1)\n```\n```text\n3\n```\n", "page")


def test_the_tutorial_shows_the_example_script_as_it_is():
    page = (ROOT / "docs" / "bring-your-own-estimator.md").read_text(encoding="utf-8")
    script = (ROOT / "examples" / "own_estimator.py").read_text(encoding="utf-8")
    assert script in [content for _, language, content in blocks(page) if language == "python"]
