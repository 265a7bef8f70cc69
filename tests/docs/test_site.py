"""The site builds without a warning, and its pages load nothing from elsewhere."""

import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
STYLE_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Loaded(HTMLParser):
    """Addresses that a browser fetches to show a page: all but the links that a reader may follow."""

    def __init__(self, text):
        super().__init__()
        self.addresses = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "link" and values.get("rel") not in {"canonical", "next", "prev"}:
            self.addresses.append(values["href"])
        if values.get(LOADS.get(tag)):
            self.addresses.append(values[LOADS[tag]])
        if tag in {"img", "source"} and values.get("srcset"):
            self.addresses += [part.split()[0] for part in values["srcset"].split(",")]
        self.addresses += styled(values.get("style") or "")


def styled(text):
    return [first or second for first, second in STYLE_ADDRESS.findall(text)]


def from_elsewhere(addresses):
    return [address for address in addresses if re.match(r"(\w+:)?//", address)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for library in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert built.returncode == 0, built.stderr
    return {page: page.read_text(encoding="utf-8") for page in folder.rglob("*.html")}, folder


def test_every_page_is_built_with_its_tables_and_formulas(site):
    pages, folder = site
    written = {path.relative_to(DOCS) for path in DOCS.rglob("*.md")}
    expected = {path.with_suffix(".html") for path in written if path.parts[0] != "results"}  # pages show those
    assert expected <= {page.relative_to(folder) for page in pages}
    assert pages[folder / "theory.html"].count("<math") > 20
    for page, text in pages.items():
        source = ('class="arithmatex"', ".. math::", ":math:", ":class:", ":meth:", ":func:", ">the table</a>")
        assert not [mark for mark in source if mark in text], page.name


def test_no_page_loads_anything_from_another_host(site):
    pages, folder = site
    for page, text in pages.items():
        assert not from_elsewhere(Loaded(text).addresses), page.name
        assert 'class="mermaid"' not in text, page.name  # which the theme would draw with a script from elsewhere
    for sheet in folder.rglob("*.css"):
        assert not from_elsewhere(styled(sheet.read_text(encoding="utf-8"))), sheet.name


def test_what_loads_from_another_host_is_noticed_and_a_link_is_not():
    for markup in (
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/f.css">',
        '<img src="a.png" srcset="http://img.example/a2.png 2x">',
        "<p style=\"background: url('https://img.example/b.png')\">",
    ):
        assert from_elsewhere(Loaded(markup).addresses), markup
    assert not from_elsewhere(Loaded('<a href="https://arxiv.org/abs/2301.11898">the paper</a>').addresses)


def test_formulas_become_mathml_and_one_that_cannot_stops_the_build():
    pytest.importorskip("latex2mathml")
    to_mathml = runpy.run_path(str(DOCS / "hooks" / "mathml.py"))["to_mathml"]
    assert "<munder><mo>min</mo>" in to_mathml(r"\min_\theta f", block=True)
    assert "<msub><mo>min</mo>" in to_mathml(r"\min_\theta f", block=False)
    with pytest.raises(ValueError, match=r"has \\nosuchthing, for which there is no MathML. Reword it."):
        to_mathml(r"a + \nosuchthing", block=True)


def test_docstrings_become_markdown():
    pytest.importorskip("griffe")
    to_markdown = runpy.run_path(str(DOCS / "hooks" / "rst.py"))["to_markdown"]
    for docstring, markdown in (
        ("Solves :math:`a\n + b` here.", "Solves $a + b$ here."),
        ("See :func:`~daguerreotype.metrics.shd`.", "See `metrics.shd`."),
        ('loss : {"a", "b"} or callable', 'loss : "a", "b" or callable'),
        ("Text\n\n.. math:: x\n          + y\n\nMore", "Text\n\n$$\nx + y\n$$\n\nMore"),
        ("  .. math:: x\n", "  $$\n  x\n  $$\n\n"),
    ):
        assert to_markdown(docstring) == markdown
