"""Archives of plain arrays with a JSON header: files that are always complete and can never run code."""

import json
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Header: TypeAlias = dict[str, Any]

HEADER = "header"
# What numpy, zipfile and json are known to raise on bytes that nobody wrote as an archive.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    NotImplementedError,
    SyntaxError,
    MemoryError,
    RecursionError,
    RuntimeError,  # an encrypted member
)


class UnreadableError(ValueError):
    """A file that is there, but is no complete archive; the text says in a few words why."""


def write_archive(path: Path, arrays: Arrays, header: Header, *, compress: bool = False) -> None:
    """Replace the file by one of plain ``arrays`` (npz) with a JSON ``header``."""
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with replaced(path) as file:
        write = np.savez_compressed if compress else np.savez
        write(file, allow_pickle=False, **{HEADER: text}, **arrays)


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` in one step at the end.

    Whenever the process dies, the path holds the old file or the new one. An error leaves the old one.
    """
    # In the same folder, so that the replacement is one step of the file system.
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_archive(path: Path) -> tuple[Arrays, Header]:
    """Arrays by name, and the header, of a file that `write_archive` wrote.

    Raises
    ------
    OSError
        If the file cannot be opened.
    UnreadableError
        If it is not a complete archive, or holds anything but plain arrays.
    """
    with open(path, "rb") as file:
        try:
            if file.read(4) != b"PK\x03\x04":
                raise ValueError("it is no zip archive")
            file.seek(0)
            with np.load(file, allow_pickle=False) as members:
                arrays = {name: members[name] for name in members.files}
            strange = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
            if strange or HEADER not in arrays:
                raise ValueError(f"{strange[0]!r} is no array" if strange else "it has no header")
            header = json.loads(arrays.pop(HEADER).tobytes())
            if not isinstance(header, dict):
                raise ValueError("its header is not of this kind")
        except UNREADABLE as error:
            raise UnreadableError(str(error) or type(error).__name__) from error
    return arrays, header


def _sync_folder(folder: Path) -> None:
    """Make a replacement in ``folder`` survive a power failure, where folders can be synchronized."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
