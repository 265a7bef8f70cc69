"""Archives of plain arrays with a JSON header: files that are always complete and can never run code."""

import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.files import MIB, open_regular, replaced, size_of

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Header: TypeAlias = dict[str, Any]

HEADER = "header"
START = 256  # bytes before the numbers of an array, about
NUMBERS = "biuf"  # kinds of the arrays that are written
READ_START = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class UnreadableError(ValueError):
    """A file that is there, but is no complete archive; the text says in a few words why."""


def write_archive(path: Path, arrays: Arrays, header: Header, *, compress: bool = False) -> None:
    """Replace the file by one of plain ``arrays`` (npz) with a JSON ``header``."""
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    members = {HEADER: text, **arrays}
    with replaced(path) as file:
        if compress:
            np.savez_compressed(file, allow_pickle=False, **members)
            # What shrinks so much is what a reader would refuse.
            total = sum(array.nbytes + START for array in members.values())
            compress = text.nbytes <= most_of_header(file.tell()) and total <= most_in_all(file.tell())
        if not compress:
            file.seek(0)
            file.truncate()
            np.savez(file, allow_pickle=False, **members)


def read_archive(path: Path) -> tuple[Arrays, Header]:
    """Arrays by name, and the header, of a file that `write_archive` wrote.

    The file may come from anyone: what it unpacks to is bounded by its size before anything is unpacked, and its
    arrays hold numbers alone.

    Raises
    ------
    OSError
        If the file cannot be opened.
    UnreadableError
        If it is not a complete archive, or holds anything but plain arrays.
    """
    try:
        file = open_regular(path)
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    with file:
        try:
            if file.read(4) != b"PK\x03\x04":
                raise ValueError("it is no zip archive")
            size = os.fstat(file.fileno()).st_size
            with zipfile.ZipFile(file) as archive:
                members = _members(archive, size)
                arrays = {name: _read_array(archive, member) for name, member in members.items()}
            header = json.loads(arrays.pop(HEADER).tobytes())
            if not isinstance(header, dict):
                raise ValueError("its header is not of this kind")
        except Exception as error:  # whatever numpy, zipfile and json raise on bytes that nobody wrote so
            raise UnreadableError(str(error) or type(error).__name__) from error
    return arrays, header


def most_in_all(size: int) -> int:
    """Bytes that the arrays of a file of ``size`` bytes may take in memory."""
    return max(256 * MIB, 64 * size)


def most_of_header(size: int) -> int:
    """Bytes that the header of a file of ``size`` bytes may have; in memory they are some times as many."""
    return max(16 * MIB, size)


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Members by the names of their arrays, after all checks that need no unpacking."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name == member.filename or name in members:
            raise ValueError(f"{member.filename!r} is {'twice in it' if name in members else 'no array'}")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name!r} is packed in a way that we do not use")
        members[name] = member
    if HEADER not in members:
        raise ValueError("it has no header")
    if sum(member.file_size for member in members.values()) > most_in_all(size):
        raise ValueError(f"its arrays would take more than {size_of(most_in_all(size))}, far more than it has")
    if members[HEADER].file_size > most_of_header(size):
        raise ValueError(f"its header would take more than {size_of(most_of_header(size))}")
    return members


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """The array of a member, if its numbers take as many bytes as the member has."""
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)  # type: ignore[no-untyped-call]
        if version not in READ_START:
            raise ValueError(f"{member.filename!r} is an array of version {version}")
        shape, by_columns, dtype = READ_START[version](stream)  # type: ignore[no-untyped-call]
        if dtype.hasobject or dtype.kind not in NUMBERS or min(shape, default=0) < 0:
            raise ValueError(f"{member.filename!r} holds {dtype} in place of numbers")
        count = math.prod(shape)
        if count * dtype.itemsize != member.file_size - stream.tell():
            raise ValueError(f"{member.filename!r} has another length than its shape says")
        data = bytearray(stream.read(count * dtype.itemsize))  # arrays over it can be written to
        if stream.read(1) or len(data) != count * dtype.itemsize:  # at the end the checksum is looked at
            raise ValueError(f"{member.filename!r} is cut short")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")
