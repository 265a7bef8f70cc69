"""How do docstrings in reStructuredText become Markdown? Formulas and references, the two that ours use."""

import re
from textwrap import dedent
from typing import Any

import griffe

BLOCK = re.compile(r"^([ \t]*)\.\. math::(.*\n?(?:(?:\1[ \t]+.*)?\n?)*?)(?=^\1\S|\Z)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]*)`")
CHOICES = re.compile(r"^(\w[\w, ]* : )\{(.*?)\}", re.MULTILINE)  # griffe would drop what follows the braces
REFERENCE = re.compile(r":(?:class|func|meth|attr|mod|data):`~?([^`]*)`")


def to_markdown(text: str) -> str:
    """The docstring with ``$`` around formulas, plain code for references, and choices without braces."""
    text = BLOCK.sub(lambda found: f"{found[1]}$$\n{found[1]}{_one_line(found[2])}\n{found[1]}$$\n\n", text)
    text = INLINE.sub(lambda found: f"${_one_line(found[1])}$", text)
    text = CHOICES.sub(r"\1\2", text)
    return REFERENCE.sub(lambda found: f"`{found[1].removeprefix('daguerreotype.')}`", text)


def _one_line(latex: str) -> str:
    """A formula without its line breaks."""
    return " ".join(dedent(latex).split())


class Docstrings(griffe.Extension):
    """Converts every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
