"""Tables of results on the pages of the notebook: a link to a table that stands alone becomes that table."""

import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
LINK = re.compile(r"^\[[^\]]*\]\(\.\./results/(\S+\.md)\)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put every table in the place of its link, so that its numbers stand in one file alone."""
    return LINK.sub(lambda link: (RESULTS / link[1]).read_text(encoding="utf-8").strip(), markdown)
