"""Names in messages and results: lists, suggestions, places, plurals, matrices, and what a terminal may obey."""

import unicodedata
from collections.abc import Collection, Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5
WIDEST = 81  # characters of a value in a message
# Control characters, formats such as the overrides of writing direction, lone surrogates, line and paragraph ends.
OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = "\u200c\u200d"  # of letters and of emoji: they change how neighbours look, and nothing else


def listed(items: Collection[Any], *, more: str = "more", quote: bool = True) -> str:
    """The first five items, quoted, and how many there are beside them.

    >>> listed(["a", "b"]), listed("abcdefg", more="more columns")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more columns")
    """
    shown = ", ".join(repr(str(item)) if quote else str(item) for item in list(items)[:SHOWN])
    return shown + (f" and {len(items) - SHOWN} {more}" if len(items) > SHOWN else "")


def shown(value: object) -> str:
    """A value that was given, as messages show it: on one line, and not all of a table.

    >>> shown("gamm"), shown([1.5] * 100)
    ("'gamm'", '[1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, ...')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}..."


def row_called(place: int) -> str:
    """A row in a message: in tables and files alike, the first is row 1.

    >>> row_called(0)
    'row 1'
    """
    return f"row {place + 1}"


def chunk_called(number: int) -> str:
    """A chunk of rows in a message, counted as rows are: the first is chunk 1."""
    return f"chunk {number + 1}"


def check_writable(names: Iterable[object], what: str) -> None:
    """Refuse names that no file can hold: text with half of a surrogate pair is none.

    >>> check_writable(["a", "\\ud800"], "column")
    Traceback (most recent call last):
        ...
    ValueError: the column name '\\ud800' cannot be written: it has half of a surrogate pair. Rename it.
    """
    for name in names:
        try:
            str(name).encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"the {what} name {name!r} cannot be written: it has half of a surrogate pair. Rename it."
            ) from None


class ColumnPlaces:
    """Where the columns are that a user names.

    A column is named by its own name, of any type, or by what prints like it: files and the command line know
    names as text alone. In a table without names columns are known by their position, and by x0, x1, ...

    >>> years = ColumnPlaces([2019, 2020])
    >>> years.find(2020), years.find("2020"), years.find(0)
    (1, 1, None)
    """

    def __init__(self, names: Iterable[Hashable], *, numbered: bool = False) -> None:
        called = list(names)
        self._texts = {str(name): place for place, name in enumerate(called)}
        self._own = {name: place for place, name in enumerate(range(len(called)) if numbered else called)}
        self._truth_values = any(isinstance(name, bool) for name in self._own)

    def find(self, column: Any) -> int | None:
        """The position of a column; None if no column is called that."""
        if not isinstance(column, Hashable) or (isinstance(column, bool) and not self._truth_values):
            return None  # True would be found as 1
        try:
            place = self._own.get(column)
        except TypeError:  # a tuple with a list in it
            return None
        return self._texts.get(str(column)) if place is None else place


def suggest(name: str, names: Sequence[str], what: str = "columns") -> str:
    """What an unknown name may have meant, as the end of a sentence.

    >>> suggest("hight", ["height", "age"]), suggest("q", ["height", "age"])
    ("did you mean 'height'?", "the columns are 'height', 'age'.")
    """
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"the {what} are {listed(names)}."


def plural(count: int) -> str:
    """An s, unless it is one.

    >>> f"1 row{plural(1)}, 2 row{plural(2)}"
    '1 row, 2 rows'
    """
    return "" if count == 1 else "s"


def label(matrix: Any, names: Iterable[Any] | None) -> "Any | pd.DataFrame":
    """A square matrix as a DataFrame with these names on both sides; as it is without names."""
    if names is None:
        return matrix
    import pandas as pd

    index = pd.Index(list(names))  # tuples make a MultiIndex again
    return pd.DataFrame(matrix, index=index, columns=index)


def printable(text: str) -> str:
    r"""The text with escapes, control characters and bidi marks spelled out: a terminal would obey them.

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
