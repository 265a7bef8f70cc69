"""Atomic replacement of files: whoever reads one sees all of the old contents or all of the new."""

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":  # where nobody can tell whether a writer lives
    import fcntl

PARTIAL = ".partial"
STEM = 40  # characters of a file's name within that of its partial file, so that a long name stays a valid one


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
        partial, file = _open_partial(target)
        try:
            if mode is not None:
                os.chmod(partial, stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":
                file.close()  # nothing that is open can be renamed there
            os.replace(partial, target)  # elsewhere before it is closed: until then it is locked
        except BaseException:
            with suppress(OSError):
                file.close()  # may try to write what is left on a full disk
            partial.unlink(missing_ok=True)
            raise
    file.close()
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


def _open_partial(target: Path) -> tuple[Path, BinaryIO]:
    """A new file beside ``target``, locked for as long as it is open; its mode is that of any new file."""
    while True:
        partial = target.with_name(f".{target.name[:STEM]}.{secrets.token_hex(8)}{PARTIAL}")
        file = open(partial, "xb")  # noqa: SIM115
        # Another process may take it for a stale one before it is locked; then it is begun again.
        if _lock(file) is not False and os.fstat(file.fileno()).st_nlink:
            return partial, file
        file.close()


def _remove_stale(target: Path) -> None:
    """Remove the partial files that killed processes left: nobody holds their locks."""
    pattern = re.compile(rf"\.{re.escape(target.name[:STEM])}\.[0-9a-f]{{16}}{re.escape(PARTIAL)}")
    with suppress(PermissionError):  # a folder that may be written to, but not listed
        for partial in target.parent.iterdir():
            if pattern.fullmatch(partial.name):
                with suppress(OSError), open(partial, "rb+") as file:  # gone, or another user's
                    if _lock(file):
                        partial.unlink()


def _lock(file: BinaryIO) -> bool | None:
    """Lock a file that nobody else has locked: whether it went, or None where files cannot be locked."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some file systems have no locks
        return None
    return True


def _sync_folder(folder: Path) -> None:
    """Make a replacement in ``folder`` survive a power failure, where folders can be read and synchronized."""
    if os.name == "posix":
        with suppress(PermissionError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
