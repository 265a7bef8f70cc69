"""Work that is gone on with: fingerprints of what it depends on, locks on its files, and journals of its records.

The system gives a lock back when its process ends, however it ends. On Windows nothing is locked: there, one
process at a time must do.
"""

import hashlib
import json
import logging
import os
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.files import open_regular

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("daguerreotype")

DEPTH = 12  # levels of objects within objects that are looked at
DIGEST = "digest of "  # begins the name of an entry whose value means nothing to a reader


class Journal:
    """Records of resumable work in a file that is only appended to: a checksum and JSON, line by line.

    The first line says what the records are and what they depend on. A line counts when it is complete: whenever
    a process dies, the file holds all records before, and a torn line is skipped. Any number of processes may
    append to one file, and each sees what the others wrote when it reads on. If a line cannot be written, that is
    said once, and the next :meth:`append` tries again.

    Parameters
    ----------
    path : path
        The file, which is made with the first record.
    what : str
        What the records are, for messages: "resamples of a bootstrap".
    settings : dict
        What a record depends on, as JSON values by name. A file with others is refused.
    """

    def __init__(self, path: str | os.PathLike[str], what: str, settings: Mapping[str, Any] | None = None) -> None:
        self.path, self.what = check_path(path, "path"), what
        # As they will be read back: lists, no tuples.
        self._head: dict[str, Any] = json.loads(json.dumps({"journal": what, "settings": dict(settings or {})}))
        self._read = 0  # bytes of whole lines
        self._waiting: list[bytes] = []  # lines that could not be written
        self._lock = threading.Lock()  # threads that look for work read while others write

    def read(self) -> list[dict[str, Any]]:
        """Records that were appended since the last time, by whomever."""
        records: list[dict[str, Any]] = []
        with self._lock, suppress(FileNotFoundError), open_regular(self.path) as file:
            file.seek(self._read)
            *lines, torn = file.read().split(b"\n")
            if self._read == 0 and (lines or not encode_line(self._head).startswith(torn)):
                self._check(decode_line(lines[0]) if lines else None)
                self._read += len(lines.pop(0)) + 1
            for line in lines:
                record = decode_line(line)
                if record is not None:
                    records.append(record)
                elif line:
                    logger.warning("skipped a damaged line of %s, after %d bytes", self.path, self._read)
                self._read += len(line) + 1
        return records

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record, and those that could not be written before; then they are on the disk."""
        with self._lock:
            warned = bool(self._waiting)
            self._waiting.append(encode_line(record))
            try:
                with open(self.path, "ab+") as file:
                    if sys.platform != "win32":
                        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
                    self._write(file)
                self._waiting.clear()
            except OSError as error:
                if not warned:
                    logger.warning(
                        "cannot add to %s: %s. The work goes on, and the next record tries again; if it is killed "
                        "before that, what is not in the file is lost.",
                        self.path,
                        error.strerror or error,
                    )

    def _write(self, file: IO[bytes]) -> None:
        """Add the lines that wait to the locked file."""
        file.seek(0)
        if not file.readline().endswith(b"\n"):  # new, or whoever made it died at the first line
            file.truncate(0)
            text = encode_line(self._head)
        else:  # after a torn line, which becomes one of its own
            file.seek(-1, os.SEEK_END)
            text = b"" if file.read(1) == b"\n" else b"\n"
        text += b"".join(self._waiting)
        end = file.seek(0, os.SEEK_END)
        try:
            while text:
                text = text[os.write(file.fileno(), text) :]
            os.fsync(file.fileno())
        except OSError:  # half a line would spoil the next one
            os.ftruncate(file.fileno(), end)
            raise

    def _check(self, head: dict[str, Any] | None) -> None:
        """Refuse a file of something else, and records that this work would not have made."""
        if head is None or head.get("journal") != self.what or not isinstance(head.get("settings"), dict):
            raise ValueError(
                f"{self.path} does not hold {self.what}. Give another path: a file that is not there is made."
            )
        if changed := differences(head["settings"], self._head["settings"]):
            raise ValueError(
                f"{self.path} holds {self.what} of other work: {changed}. Give the table and settings that it "
                "began with, or another path."
            )


def encode_line(record: Mapping[str, Any]) -> bytes:
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


class InUseError(ValueError):
    """Another process, or another thread of this one, is using a file that only one may use."""


@contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Keep all others that ask for it from using ``path``, by a file beside it that is gone in the end.

    Raises
    ------
    InUseError
        If somebody else is using it.
    OSError
        If the file beside it cannot be made or locked.
    """
    if sys.platform == "win32":
        yield
        return
    beside = path.with_name(path.name + ".lock")
    while True:
        with open(beside, "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUseError(
                    f"{path} is in use by another process, or by another thread of this one. Wait until that has "
                    "ended, or give another path."
                ) from None
            if not os.fstat(file.fileno()).st_nlink:  # whoever had it has taken the file away: locked is nothing
                continue
            try:
                yield
            finally:
                with suppress(OSError):  # the folder may be gone, or read-only by now
                    beside.unlink()
            return


def digest(*arrays: npt.NDArray[Any]) -> str:
    """SHA-256 of shapes, types and bytes."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.shape}{array.dtype}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def digest_table(frame: pd.DataFrame) -> str:
    """SHA-256 of the shape and of all values, whatever they are and however they lie in memory."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashlib.sha256(str(frame.shape).encode() + rows.tobytes()).hexdigest()


def differences(saved: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """How two runs differ, in words, from what they depend on by name; "" if they do not.

    >>> differences({"k": 10, "digest of data": "a1"}, {"k": 20, "digest of data": "b2"})
    'k was 10 and is now 20; data differ'
    """
    names = [name for name in {**saved, **given} if saved.get(name) != given.get(name)]
    return "; ".join(
        f"{name.removeprefix(DIGEST)} differ"
        if name.startswith(DIGEST)
        else f"{name} was {saved.get(name)!r} and is now {given.get(name)!r}"
        for name in names
    )


def plain_setting(value: Any, depth: int = DEPTH) -> Any:
    """A parameter as JSON that is the same in every process: no addresses, tables by their digest."""
    if isinstance(value, float) and np.isnan(value):
        return "NaN"  # which equals itself
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | pd.DataFrame | pd.Series):
        return digest_table(pd.DataFrame(value))
    if isinstance(value, type) or depth == 0:
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, Mapping):
        return {str(key): plain_setting(item, depth - 1) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [plain_setting(item, depth - 1) for item in value]
    if isinstance(value, FunctionType):
        return [value.__qualname__, _code(value), *(plain_setting(part, depth - 1) for part in _bound(value))]
    # Of anything else, what pickle would make it from: its class, arguments and state.
    try:
        parts = value.__reduce_ex__(2)
    except TypeError:  # a lock, a ufunc: known by name at best
        parts = getattr(value, "__name__", type(value).__qualname__)
    return parts if isinstance(parts, str) else [type(value).__qualname__, *plain_setting(parts[1:3], depth - 1)]


def _code(function: FunctionType) -> str:
    """Digest of what a function does, apart from the values that it was made with."""
    code = function.__code__
    constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
    return hashlib.sha256(code.co_code + repr((constants, code.co_names)).encode()).hexdigest()[:12]


def _bound(function: FunctionType) -> tuple[Any, Any]:
    """Defaults and closure of a function."""
    return function.__defaults__, [cell.cell_contents for cell in function.__closure__ or ()]
