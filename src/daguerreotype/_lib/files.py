"""Files: reading that no device or bomb can make endless, replacement in one step, and CSV without formulas."""

import csv
import errno
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pandas as pd

MIB = 2**20
WORDS = 64 * MIB  # bytes of a file of words, such as a specification or knowledge: far more than any has
LEAST, RATIO = 256 * MIB, 100  # what a packed file may hold: so much, or so many times its size
PIPED = 4096 * MIB  # of a pipe, whose size nobody knows beforehand
PARTIAL = ".partial"
STALE = 3600.0  # seconds since the last write, after which whoever wrote a partial file is taken to be dead
STEM = 40  # characters of a file's name within that of its partial file, so that a long name stays a valid one
# A spreadsheet runs a cell that begins so; some take the wide forms for the same.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


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
        status = os.fstat(file.fileno())
    except (OSError, io.UnsupportedOperation):
        return PIPED
    return max(LEAST, RATIO * status.st_size) if stat.S_ISREG(status.st_mode) else PIPED


class Bounded(io.RawIOBase):
    """The bytes of another stream, up to a limit beyond which reading is an error."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._left, self._limit = stream, limit, limit

    def readable(self) -> bool:
        """The stream can be read from."""
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


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` in one step at the end.

    Whenever the process dies, the path holds the old file or the new one; an error leaves the old one. Any number
    of processes may do this at once: the last one wins. What killed ones left beside the path is removed. A link
    stays a link, a mode stays as it is, and what is no regular file (a terminal, a pipe) is written to as it is.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as stream:
            yield stream
        return
    with _named(path, target):
        if mode is not None and not os.access(target, os.W_OK):  # as opening it would say
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _remove_stale(target)
        partial = target.with_name(f".{target.name[:STEM]}.{secrets.token_hex(8)}{PARTIAL}")
        try:
            with open(partial, "xb") as file:
                if mode is not None:
                    os.chmod(partial, stat.S_IMODE(mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    _sync_folder(target.parent)


def replace_text(path: Path, text: str) -> None:
    """Replace the file by one of this text, in UTF-8."""
    with replaced(path) as file:
        file.write(text.encode())


def check_place(path: Path) -> None:
    """Raise now what `replaced` would raise because of the folder or the old file; nothing is left or changed."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not path.exists() or path.is_file():
        with suppress(_Checked), replaced(path):
            raise _Checked


class _Checked(Exception):  # noqa: N818
    """Ends a replacement before anything is replaced."""


@contextmanager
def _named(path: Path, target: Path) -> Iterator[None]:
    """Let errors of the system name the file that the user knows."""
    try:
        yield
    except OSError as error:
        ours = error.filename in (None, str(target.parent)) or str(error.filename).endswith(PARTIAL)
        if error.errno is not None and ours:
            raise OSError(error.errno, error.strerror, str(path)) from error  # of the same subclass
        raise


def _remove_stale(target: Path) -> None:
    """Remove the partial files that killed processes left."""
    pattern = re.compile(rf"\.{re.escape(target.name[:STEM])}\.[0-9a-f]{{16}}{re.escape(PARTIAL)}")
    with suppress(PermissionError):  # a folder that may be written to, but not listed
        for partial in target.parent.iterdir():
            if pattern.fullmatch(partial.name):
                with suppress(OSError):  # gone, or another user's
                    if time.time() - partial.stat().st_mtime > STALE:
                        partial.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a replacement in ``folder`` survive a power failure, where folders can be read and synchronized."""
    if os.name == "posix":
        with suppress(PermissionError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def write_csv(path: Path, frame: "pd.DataFrame", *, index: bool = True) -> None:
    """Replace the file by one with the cells of ``frame``, which spreadsheets take for text and numbers alone.

    Names that a spreadsheet would run get an apostrophe in front, which it does not show; so do those that begin
    with apostrophes before such a sign, so that :func:`as_written` can take one off again. Numbers stay.
    """
    import pandas as pd

    written = frame.rename(columns=as_text, index=as_text if index else None)
    texts = [*map(str, written.columns), *(map(str, written.index) if index else ())]
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            written.isetitem(place, frame.iloc[:, place].map(as_text).to_numpy())
            texts += map(str, written.iloc[:, place])
    # By itself the writer leaves a carriage return bare, which readers take for the end of a line.
    bare = any("\r" in text for text in texts)
    with replaced(path) as file:
        written.to_csv(file, index=index, quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL)


def as_text(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    >>> as_text("=A1"), as_text("'=A1"), as_text("-1"), as_text("rain")
    ("'=A1", "''=A1", '-1', 'rain')
    """
    dangerous = isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if dangerous else cell


def as_written(cell: str) -> str:
    """The name that `as_text` was given."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
