"""Locks on files between processes: sole use of a path, and claims of single bytes.

The system gives a lock back when its process ends, however it ends. On Windows nothing is locked: there, one
process at a time must do.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

if sys.platform != "win32":
    import fcntl


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
        file = open(beside, "ab")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have taken the file away meanwhile: then this lock is on nothing.
            same = os.path.samestat(os.fstat(file.fileno()), os.stat(beside))
        except BlockingIOError:
            file.close()
            raise InUseError(
                f"{path} is in use by another process, or by another thread of this one. Wait until that has "
                "ended, or give another path."
            ) from None
        except FileNotFoundError:
            same = False
        except BaseException:
            file.close()
            raise
        if same:
            break
        file.close()
    try:
        yield
    finally:
        with suppress(OSError):  # the folder may be gone, or read-only by now
            beside.unlink()
        file.close()


def wait_for(file: IO[Any]) -> None:
    """Wait until no other process holds an open file, and hold it until it is closed."""
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX)


def claim_byte(file: IO[Any], place: int) -> bool:
    """Take a byte of a file, which need not be there, for this process; False if another one has it."""
    if sys.platform != "win32":
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError:
            return False
    return True


def release_byte(file: IO[Any], place: int) -> None:
    """Give a byte back."""
    if sys.platform != "win32":
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
