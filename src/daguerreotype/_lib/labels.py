"""Names of columns in messages and in results: short lists, suggestions, plurals, labelled matrices."""

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5


def listed(items: Collection[Any], *, more: str = "more", quote: bool = True) -> str:
    """The first five items, quoted, and how many there are beside them.

    >>> listed(["a", "b"]), listed("abcdefg", more="more columns")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more columns")
    """
    shown = ", ".join(repr(str(item)) if quote else str(item) for item in list(items)[:SHOWN])
    return shown + (f" and {len(items) - SHOWN} {more}" if len(items) > SHOWN else "")


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

    names = list(names)
    return pd.DataFrame(matrix, index=names, columns=names)
