"""Forked child of a case: how it ended, and a signal to it if wanted."""

import contextlib
import os
import pickle
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
    """What is left of a child: exit status, signal, output, result or exception, seconds."""

    code: int | None
    signal: int | None
    out: bytes
    err: bytes
    result: Any
    seconds: float

    def __str__(self) -> str:
        if self.signal is not None:
            return f"signal {self.signal}"
        if isinstance(self.result, BaseException):
            return f"{type(self.result).__name__}: {self.result}"
        return f"exit {self.code}: {self.err.decode(errors='replace').strip()[-300:]}"


class Child:
    """A function in a forked process of its own, in a folder."""

    def __init__(self, function: Callable[[], Any], folder: Path, *, stdin: bytes = b"") -> None:
        self._files = [tempfile.TemporaryFile() for _ in range(4)]  # its three streams, and its result
        self._files[0].write(stdin)
        self._files[0].seek(0)
        self._started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._become(function, folder)
            finally:
                os._exit(99)

    def _become(self, function: Callable[[], Any], folder: Path) -> None:
        """Run the function in the child, and leave."""
        os.setpgid(0, 0)
        for descriptor in range(3):
            os.dup2(self._files[descriptor].fileno(), descriptor)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False) for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        code: int = 0
        result: Any = None
        try:
            result = function()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        except BaseException as error:
            code, result = 98, error
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            text = pickle.dumps(result)
            pickle.loads(text)
        except Exception:  # exceptions with arguments of their own do not survive it: their kind does
            plain = next((kind for kind in type(result).__mro__ if kind.__module__ == "builtins"), RuntimeError)
            text = pickle.dumps(plain(f"{result}"))
        self._files[3].write(text)
        self._files[3].flush()
        os._exit(code)

    def send(self, number: int) -> None:
        """A signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> Ended:
        """Wait for its end; one that does not come is a TimeoutError, and the child is killed."""
        hung = threading.Event()

        def kill() -> None:
            hung.set()
            os.killpg(self.pid, signal.SIGKILL)

        timer = threading.Timer(HANG, kill)
        timer.start()
        _, status = os.waitpid(self.pid, 0)
        timer.cancel()
        if hung.is_set():
            raise TimeoutError(f"no end after {HANG:g} seconds")
        out, err, written = (self._read(number) for number in (1, 2, 3))
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        result = pickle.loads(written) if written and ended_by is None else None
        for file in self._files:
            file.close()
        return Ended(code, ended_by, out, err, result, time.monotonic() - self._started)

    def _read(self, number: int) -> bytes:
        self._files[number].seek(0)
        return self._files[number].read()


def command(*arguments: str) -> None:
    """The command line, in this process."""
    from daguerreotype.cli.main import app

    app(list(arguments), prog_name="daguerreotype")
