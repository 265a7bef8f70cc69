"""Text that a terminal shows and does not obey: names may hold escapes, control characters and bidi marks."""

import unicodedata

# Control characters, formats such as the overrides of writing direction, lone surrogates, line and paragraph ends.
OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = "\u200c\u200d"  # of letters and of emoji: they change how neighbours look, and nothing else


def printable(text: str) -> str:
    r"""The text with what a terminal would obey spelled out, but for ends of lines.

    >>> printable("a\x1b[31mred\nb\u202e")
    'a\\x1b[31mred\nb\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode()
        if unicodedata.category(letter) in OBEYED and letter not in JOINERS + "\n"
        else letter
        for letter in text
    )
