"""Forked child of a case: its output, its exit status and its memory, with limits, and a kill if wanted."""

import contextlib
import os
import pickle
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HANG = 90.0  # seconds after which a child has not ended by itself


@dataclass(frozen=True)
class Ended:
    """What is left of a child.

    Attributes
    ----------
    code : int or None
        Exit status; None if a signal ended it.
    signal : int or None
        That signal.
    out, err : bytes
        What it wrote.
    result : object
        What its function returned, or the exception that it raised.
    grown : int
        Bytes that it needed beyond what it began with.
    seconds : float
        How long it took.
    """

    code: int | None
    signal: int | None
    out: bytes
    err: bytes
    result: Any
    grown: int
    seconds: float


class Child:
    """A function that runs in a forked process of its own.

    Parameters
    ----------
    function : callable
        What to do; its result must survive pickling.
    folder : path
        Where it works.
    memory : int, optional
        Bytes of address space beyond what there is already.
    file_size : int, optional
        Bytes that a file may have: what does not fit is refused, as on a full disk.
    powerless : bool
        Give up the rights of a superuser, for whom no folder is read-only.
    stdin : bytes
        What it reads.
    """

    def __init__(
        self,
        function: Callable[[], Any],
        folder: Path,
        *,
        memory: int | None = None,
        file_size: int | None = None,
        powerless: bool = False,
        stdin: bytes = b"",
    ) -> None:
        self._files = [tempfile.TemporaryFile() for _ in range(4)]
        self._files[0].write(stdin)
        self._files[0].seek(0)
        self._before = _resident()
        self._started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._become(function, folder, memory, file_size, powerless)
            finally:
                os._exit(99)

    def _become(
        self, function: Callable[[], Any], folder: Path, memory: int | None, file_size: int | None, powerless: bool
    ) -> None:
        """Run the function in the child, and leave."""
        os.setpgid(0, 0)
        for descriptor in range(3):
            os.dup2(self._files[descriptor].fileno(), descriptor)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False) for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.chdir(folder)
        if powerless and os.geteuid() == 0:
            os.setresuid(65534, 65534, 65534)
        if memory is not None:
            limit = _address_space() + memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if file_size is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
        code = 0
        try:
            result = function()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
            result = None
        except BaseException as error:
            code, result = 98, error
        sys.stdout.flush()
        sys.stderr.flush()
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        try:
            text = pickle.dumps(result)
            pickle.loads(text)
        except Exception as error:  # exceptions with arguments of their own do not survive it: their kind does
            plain = next((kind for kind in type(result).__mro__ if kind.__module__ == "builtins"), RuntimeError)
            text = pickle.dumps(plain(f"{result}") if isinstance(result, BaseException) else error)
        self._files[3].write(text)
        self._files[3].flush()
        os._exit(code)

    def send(self, number: int) -> None:
        """A signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, seconds: float = HANG) -> Ended:
        """Wait for its end; one that does not come is a TimeoutError, and the child is killed."""
        hung = threading.Event()

        def kill() -> None:
            hung.set()
            os.killpg(self.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, kill)
        timer.start()
        _, status, usage = os.wait4(self.pid, 0)
        timer.cancel()
        if hung.is_set():
            raise TimeoutError(f"no end after {seconds:g} seconds")
        took = time.monotonic() - self._started
        out, err = (self._read(number) for number in (1, 2))
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        self._files[3].seek(0)
        written = self._files[3].read()
        result = pickle.loads(written) if written and ended_by is None else None
        for file in self._files:
            file.close()
        return Ended(code, ended_by, out, err, result, usage.ru_maxrss * 1024 - self._before, took)

    def _read(self, number: int) -> bytes:
        self._files[number].seek(0)
        return self._files[number].read(1_000_000)


def run_forked(function: Callable[[], Any], folder: Path, **limits: Any) -> Ended:
    """Run ``function`` in a child to its end."""
    return Child(function, folder, **limits).wait()


def run_command(arguments: list[str], folder: Path, **limits: Any) -> Ended:
    """Run the command line in a child."""

    def command() -> None:
        from daguerreotype.cli.main import app

        app(arguments, prog_name="daguerreotype")

    return run_forked(command, folder, **limits)


def _resident() -> int:
    """Bytes that this process holds in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _address_space() -> int:
    """Bytes of address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
