"""Reading of files that may be anything: devices are refused, and no file gives more bytes than it may."""

import io
import os
import stat
from pathlib import Path
from typing import IO

MIB = 2**20
WORDS = 64 * MIB  # bytes of a file of words, such as a specification or knowledge: far more than any has
LEAST, RATIO = 256 * MIB, 100  # what a packed file may hold: so much, or so many times its size
PIPED = 4096 * MIB  # of a pipe, whose size nobody knows beforehand


class TooLongError(ValueError):
    """A file that goes on beyond what may be read of it."""


def open_regular(path: Path) -> IO[bytes]:
    """The bytes of a regular file; a device, a pipe or a folder is refused, whose bytes may have no end."""
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ValueError(f"{path} is a device or a pipe; expected a file")


def read_words(path: Path) -> str:
    """The text of a regular file of words, in UTF-8, of a length that such files have."""
    with open_regular(path) as file:
        data = file.read(WORDS + 1)
    if len(data) > WORDS:
        raise TooLongError(f"{path} has more than {WORDS // MIB} MiB; expected a short text")
    return data.decode()


def is_device(file: IO[bytes]) -> bool:
    """Whether bytes come from a device, such as /dev/zero; a terminal is a person, who ends some day."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (OSError, io.UnsupportedOperation):  # nothing that the system knows
        return False
    return (stat.S_ISCHR(mode) and not file.isatty()) or stat.S_ISBLK(mode)


def most_bytes(file: IO[bytes]) -> int:
    """Bytes that a file may hold once it is unpacked, if nobody says otherwise."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, io.UnsupportedOperation):
        return PIPED
    return max(LEAST, RATIO * found.st_size) if stat.S_ISREG(found.st_mode) else PIPED


class Bounded(io.RawIOBase):
    """The bytes of another stream, up to a limit beyond which reading is an error."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._left, self._limit = stream, limit, limit

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        """Fill a buffer with what comes next."""
        data = self._stream.read(min(len(buffer), self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise TooLongError(f"it goes on after {size_of(self._limit)}")
        buffer[: len(data)] = data
        return len(data)


def size_of(count: int) -> str:
    """Bytes in words.

    >>> size_of(1000), size_of(3 * 2**28), size_of(2**32)
    ('1,000 bytes', '768 MiB', '4 GiB')
    """
    for unit, word in ((1024 * MIB, "GiB"), (MIB, "MiB")):
        if count >= unit:
            return f"{count / unit:.3g} {word}"
    return f"{count:,} bytes"


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
