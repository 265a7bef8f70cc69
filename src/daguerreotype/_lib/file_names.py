"""Names of files that other files give: they stay within the folder that the user chose."""

import re

from daguerreotype._lib.labels import shown

PLAIN = re.compile(r"\w[\w .,()+-]{0,99}", re.UNICODE)


def check_file_name(name: object, what: str) -> str:
    """A name without folders; ``what`` is what it is called in the error.

    >>> check_file_name("graph-2", "figure")
    'graph-2'
    """
    if not isinstance(name, str) or not PLAIN.fullmatch(name):
        raise ValueError(
            f"{what} is {shown(name)}; expected the name of a file without a folder: it begins with a letter or "
            "digit and has at most 100 letters, digits, blanks and any of . , ( ) + - _"
        )
    return name
