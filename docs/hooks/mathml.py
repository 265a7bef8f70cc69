"""How do formulas get on a page that loads nothing? As MathML, made when the site is built."""

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves behind: a span for a formula in a line, a div for one of its own.
FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL)
MATHML = "http://www.w3.org/1998/Math/MathML"
BELOW = {"min", "max", "argmin", "argmax", "∑"}  # operators whose index stands below them
STACKED = {"msub": "munder", "msubsup": "munderover"}


def on_page_content(html: str, **_: Any) -> str:
    """Put MathML in the place of every formula."""
    return FORMULA.sub(lambda found: to_mathml(found[2], block=found[1] == "div"), html)


def to_mathml(latex: str, *, block: bool) -> str:
    """The markup of one formula, in the line or in a block of its own."""
    latex = " ".join(unescape(latex).split())
    math = ElementTree.fromstring(convert(latex, display="block" if block else "inline"))
    for element in math.iter():
        kind = element.tag.removeprefix(f"{{{MATHML}}}")
        if (element.text or "").startswith("\\"):
            raise ValueError(f"the formula {latex!r} has {element.text}, for which there is no MathML. Reword it.")
        if block and kind in STACKED and "".join(element[0].itertext()) in BELOW:
            element.tag = f"{{{MATHML}}}{STACKED[kind]}"
    ElementTree.register_namespace("", MATHML)
    markup = ElementTree.tostring(math, encoding="unicode")
    return f'<div class="formula">{markup}</div>' if block else markup
