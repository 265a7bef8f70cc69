"""Which numbers do the pages of results show? Puts tables of this folder between their markers.

Run ``python docs/results/page.py`` after ``daguerreotype reproduce``, or after ``bench.py``, ``mixed.py``,
``misfit.py``, ``missing.py``, ``calibration.py``, ``temperature.py``, ``interventional_rows.py``,
``warm_start.py``, ``paper_claims.py``, ``paper_cells.py`` or ``gradient.py`` of the benchmarks. A marker is a
comment that names a file: ``<!-- sachs/table.md -->``. What stands between it and ``<!-- end -->`` is replaced by
that table, if it is there.
"""

import re
from pathlib import Path

RESULTS = Path(__file__).parent
NAMES = ("reproduction.md", "speed.md", "mixed-tables.md", "misfit.md", "missing.md", "calibration.md")
NAMES += ("future-work.md", "claims.md", "gradient-edges.md", "baselines.md")
PAGES = tuple(RESULTS.parent / name for name in NAMES)
BLOCK = re.compile(r"<!-- (\S+\.md) -->\n.*?<!-- end -->", re.DOTALL)


def filled(text: str, results: Path = RESULTS) -> str:
    """The text of a page with the tables that are there."""

    def replace(block: re.Match[str]) -> str:
        path = results / block[1]
        if not path.is_file():
            return block[0]
        return f"<!-- {block[1]} -->\n\n{path.read_text(encoding='utf-8').strip()}\n\n<!-- end -->"

    return BLOCK.sub(replace, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
