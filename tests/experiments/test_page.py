"""Do the pages show the tables that docs/results/ holds?"""

import runpy
from pathlib import Path

import pytest

from daguerreotype.experiments import read_spec

ROOT = Path(__file__).parents[2]
PAGE = runpy.run_path(str(ROOT / "docs" / "results" / "page.py"))


@pytest.mark.parametrize("page", ["reproduction.md", "speed.md", "mixed-tables.md", "future-work.md"])
def test_the_page_shows_the_tables_of_the_results_folder(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert PAGE["filled"](text) == text, "run: python docs/results/page.py"


def test_tables_that_are_there_take_the_place_of_what_stood_between_markers(tmp_path):
    (tmp_path / "sachs").mkdir()
    (tmp_path / "sachs" / "table.md").write_text("| new |\n")
    text = "a\n<!-- sachs/table.md -->\nold\n<!-- end -->\nb\n<!-- gone/table.md -->\nkept\n<!-- end -->\n"
    shown = (
        "a\n<!-- sachs/table.md -->\n\n| new |\n\n<!-- end -->\nb\n<!-- gone/table.md -->\nkept\n<!-- end -->\n"
    )
    assert PAGE["filled"](text, tmp_path) == shown
    assert PAGE["filled"](shown, tmp_path) == shown


def test_the_own_comparison_of_the_page_is_a_valid_spec():
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    spec = text.split("```toml\n")[1].split("```")[0]
    assert len(read_spec(spec, "mine", trust=True).methods) == 6
    assert len(read_spec(spec, "mine", quick=True, trust=True).problems) == 2
