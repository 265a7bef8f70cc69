"""JSON tables: a list of records, lists by column, or a record in every line."""

import json
from typing import Any

import pandas as pd

from daguerreotype._lib.labels import listed

EXPECTED = (
    "expected a list of records, [{...}, {...}], a record in every line, or an object with a list for every column"
)


def read_json(data: bytes, name: str) -> pd.DataFrame:
    """The cells of a file, from all its bytes; what a record lacks is missing."""
    try:
        text = data.decode("utf-8-sig")
        try:
            content = json.loads(text)
        except ValueError:
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
        if isinstance(content, dict) and not any(isinstance(each, list) for each in content.values()):
            content = [content]  # a single line
        frame = _as_frame(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"cannot read {name} as a table of JSON: {error}. {EXPECTED.capitalize()}.") from None
    nested = [column for column in frame if frame[column].map(lambda cell: isinstance(cell, list | dict)).any()]
    if nested:
        raise ValueError(
            f"cannot read {name} as a table of JSON: {listed(nested)} hold lists or objects; expected numbers and "
            "texts."
        )
    return frame


def _as_frame(content: Any) -> pd.DataFrame:
    """A table of what the file holds."""
    if isinstance(content, dict):
        lengths = {len(each) if isinstance(each, list) else -1 for each in content.values()}
        if len(lengths) != 1 or -1 in lengths:
            raise ValueError("its columns are no lists of one length")
        return pd.DataFrame(content)
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise ValueError("it holds something else")
    return pd.DataFrame.from_records(content)
