"""HTML page of the report: template, style, scripts and data in one file that needs nothing else."""

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.checks import check_path, check_text
from daguerreotype._lib.files import replace_text
from daguerreotype.graphs import GraphLike
from daguerreotype.report.content import collect

SCRIPTS = ("shared", "graph", "tables", "charts", "effects", "gaps", "main")  # one after the other
# Within a script element only these could end it or be read as markup; JSON strings may spell them out.
ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: npt.ArrayLike | pd.DataFrame | None = None,
    *,
    truth: GraphLike | None = None,
    bootstrap: Any = None,
    title: str = "Learned graph",
) -> Path:
    """Write the report of a fitted learner to ``path`` and return it; see ``Daguerreotype.report``."""
    target = check_path(path, "path")
    check_text(title, "title")
    page = render(collect(model, X, truth=truth, bootstrap=bootstrap, title=title))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} for the report; make it first.")
    replace_text(target, page)
    return target


def render(content: dict[str, Any]) -> str:
    """The page of collected content. Its policy forbids every request, and every script and style but its own."""
    folder = files("daguerreotype.report")
    style = folder.joinpath("report.css").read_text(encoding="utf-8")
    parts = "".join(folder.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'(function () {{\n"use strict";\n{parts}}}());\n'
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    template = Template(folder.joinpath("template.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(content["title"]), policy=policy, style=style, script=script, data=to_json(content)
    )


def to_json(content: dict[str, Any]) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")).translate(ESCAPES)


def _hash(source: str) -> str:
    """What a content security policy calls this very text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
