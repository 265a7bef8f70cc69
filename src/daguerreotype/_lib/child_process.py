"""Spawned child processes with a deadline: calls that can be killed, and whose crash is an error like any other.

Requests go to the child's standard input as pickles, answers come back through a pipe. A plain subprocess rather
than multiprocessing: a fork would inherit locks of threads, a spawn would run the user's script again.
"""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, cast

READY = b"."
CODE = "from daguerreotype._lib.child_process import serve; serve()"
GRACE = 5.0  # seconds for a process to end that has closed its pipe
SHOWN = 500  # characters of the last line on stderr


class DeadlineError(TimeoutError):
    """A call did not end before its deadline; its process was killed."""


class CrashError(RuntimeError):
    """The process of a call ended without an answer.

    Attributes
    ----------
    code : int
        Exit code.
    last : str
        The last line that it wrote to stderr.
    """

    def __init__(self, code: int, last: str) -> None:
        super().__init__(code, last)
        self.code, self.last = code, last

    def __str__(self) -> str:
        return f"its process ended with code {self.code}: {self.last}"


class ChildPool:
    """Child processes for any number of threads: a call takes a free one, and starts another where all are busy.

    A process makes one call after another, so that libraries and kernels are loaded once. It ends with its parent,
    and Ctrl-C is for the parent alone.
    """

    def __init__(self) -> None:
        self._free: list[_Child] = []
        self._busy: set[_Child] = set()
        self._closed = False

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        load: Callable[[], object] | None = None,
        limit: float | None = None,
    ) -> Any:
        """``function(*args)``, from a child.

        Parameters
        ----------
        function : callable
            Called in the child. It, its arguments and its result must be picklable.
        load : callable, optional
            Called before it; the clock starts when this is done.
        limit : float, optional
            Seconds until the deadline.

        Raises
        ------
        DeadlineError
            If the deadline passed.
        CrashError
            If the process ended instead of answering.
        Exception
            Whatever ``load`` or ``function`` raised, its traceback as a note.
        """
        # Unlike pickle's, this takes along what is defined in a script or a notebook.
        from joblib.externals.loky.backend.reduction import dumps

        # As bytes: a view of a buffer that an error's traceback keeps ends Python 3.12 as garbage is collected.
        request = bytes(dumps((load, function, args)))
        try:
            child = self._free.pop()
        except IndexError:
            child = _Child()
        self._busy.add(child)
        try:
            if self._closed:
                raise RuntimeError("the child processes were closed")
            result, error, story = child.answer(request, limit)
        except BaseException:  # KeyboardInterrupt, say, of which the child knows nothing
            child.end()
            raise
        finally:
            self._busy.discard(child)
        if child.late:  # the answer came just before the end
            child.end()
        else:
            self._free.append(child)
        if error is not None:
            error.add_note(story)
            raise error
        return result

    def close(self) -> None:
        """Kill all processes for good; calls under way end with an error."""
        self._closed = True
        for child in list(self._busy):
            child.process.kill()
        while self._free:
            self._free.pop().end()


class _Child:
    """A process, and whether it was killed because a call came late."""

    def __init__(self) -> None:
        self.late = False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
        )

    def answer(self, request: bytes, limit: float | None) -> tuple[Any, Exception | None, str]:
        """What comes back for a request: (result, error, traceback of the error)."""
        requests, answers = cast(IO[bytes], self.process.stdin), cast(IO[bytes], self.process.stdout)
        clock = threading.Timer(limit or 0.0, self._kill_late)
        clock.daemon = True
        try:
            requests.write(request)
            requests.flush()
            if answers.read(len(READY)) and limit is not None:
                clock.start()
            answer: tuple[Any, Exception | None, str] = pickle.load(answers)
            return answer
        except (EOFError, OSError, pickle.UnpicklingError):  # the other end of a pipe is gone
            with suppress(subprocess.TimeoutExpired):  # what ends by itself has last words
                self.process.wait(GRACE)
            self.end()
            if self.late:
                raise DeadlineError(f"did not finish within {limit:g} s") from None
            raise CrashError(self.process.returncode, self._last_line()) from None
        finally:
            clock.cancel()

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):  # a request that nobody reads any more
                cast(IO[bytes], pipe).close()

    def _kill_late(self) -> None:
        self.late = True
        self.process.kill()

    def _last_line(self) -> str:
        """The last line that the process wrote to stderr."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:SHOWN] if lines else "it left no message"


def describe_error(error: Exception) -> str:
    """An error in a line: its type, its text, and notes of one line.

    >>> describe_error(ValueError("matrix\\nis singular"))
    'ValueError: matrix is singular'
    """
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()) if "\n" not in note)
    return f"{type(error).__name__}: {' '.join(str(error).split())}{notes}"


def serve() -> None:
    """Answer requests on standard input until it ends: the child's side of `ChildPool`."""
    threading.Thread(target=_end_with, args=[int(sys.argv[1])], daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)  # what a library prints must not mix with the replies
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                os._exit(0)
            pickle.dump(_answer(replies, *request), replies)
            replies.flush()


def _answer(
    replies: IO[bytes], load: Callable[[], object] | None, function: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Any, Exception | None, str]:
    """Load what is needed, say so, and call: (result, error, traceback of the error)."""
    answer: tuple[Any, Exception | None, str] | None = None
    try:
        if load is not None:
            load()
    except Exception as error:
        answer = None, _picklable(error), traceback.format_exc()
    replies.write(READY)
    replies.flush()
    if answer is not None:
        return answer
    try:
        return function(*args), None, ""
    except Exception as error:
        return None, _picklable(error), traceback.format_exc()


def _picklable(error: Exception) -> Exception:
    """The error itself where it survives pickling, else one with the same words."""
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
        return copy
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _end_with(parent: int) -> None:
    """Leave when the parent is gone: nobody would read what comes out."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
