"""Lines of a journal: a checksum and JSON, so that a torn or damaged one is noticed."""

import json
import zlib
from typing import Any


def encode_line(record: dict[str, Any]) -> bytes:
    """One line of a file that is only appended to: CRC-32 in hexadecimal, blank, JSON."""
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The record of a line without its end; None if it is damaged."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):  # not ours: whoever wrote it knew the checksum
        return None
    return record if isinstance(record, dict) else None
