"""Files of learners in format 2, which knew no kinds of columns, in the terms of today's format."""

from daguerreotype._lib.archive import Header
from daguerreotype.data.kinds import Kind


def upgrade(header: Header) -> Header:
    """The header as it would be written now: all columns were continuous."""
    result = dict(header["result"]["fields"])
    kind = Kind("continuous", "saved before there were other kinds")
    saved = {"kind": {"name": kind.name, "reason": kind.reason, "levels": [], "step": kind.step}}
    result["kinds"] = {"list": [saved] * len(result["names"]["list"])}
    return {**header, "result": {**header["result"], "fields": result}}
