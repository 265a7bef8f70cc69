"""How is a run ended that takes too long, or outlived that crashes? In a process that can be replaced."""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from typing import IO, Any

from daguerreotype.experiments.methods import Method
from daguerreotype.experiments.problems import Data
from daguerreotype.experiments.store import FAILED, OK, TIMED_OUT

READY = b"."
CODE = "from daguerreotype.experiments.worker import serve; serve()"
SHOWN = 500  # characters of a reason


class Worker:
    """A child process that makes one run after another, so that libraries and kernels are loaded once.

    It is killed when a run takes too long, and a new one is started for the next. It ends with its parent.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._trouble: IO[bytes] | None = None

    def run(self, method: Method, data: Data, seed: int, time_limit: float | None) -> dict[str, Any]:
        """What became of one run: its status, and its outcome or the reason why there is none."""
        child = self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        late = threading.Event()
        watch: threading.Timer | None = None
        try:
            pickle.dump((method, data, seed), child.stdin)
            child.stdin.flush()
            ready = child.stdout.read(len(READY))
            if ready and time_limit is not None:  # the clock starts when everything is loaded
                watch = threading.Timer(time_limit, self._end, [child, late])
                watch.daemon = True
                watch.start()
            answer: dict[str, Any] = pickle.load(child.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):  # of a pipe whose end is gone, or closed
            self.close()
            child.wait()
            if late.is_set():
                return {"status": TIMED_OUT, "reason": f"did not finish within {time_limit:g} s"}
            return {"status": FAILED, "reason": f"its process ended with code {child.returncode}: {self._last()}"}
        finally:
            if watch is not None:
                watch.cancel()
        return answer

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None  # in one step: the thread that waits for it may close it, too
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # a request that nobody reads any more
                        pipe.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        """The process, a new one if there is none."""
        if self._child is None or self._child.poll() is not None:
            self.close()
            self._trouble = tempfile.TemporaryFile()  # noqa: SIM115
            self._child = subprocess.Popen(
                [sys.executable, "-c", CODE, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._trouble,
                start_new_session=True,  # Ctrl-C is for the parent
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
            )
        return self._child

    def _last(self) -> str:
        """The last line that the process wrote to stderr."""
        if self._trouble is None:
            return ""
        self._trouble.seek(0)
        lines = self._trouble.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:SHOWN] if lines else "it left no message"

    @staticmethod
    def _end(child: "subprocess.Popen[bytes]", late: threading.Event) -> None:
        late.set()
        child.kill()


class Crew:
    """A worker for every thread that asks."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._closed = False

    def run(self, method: Method, data: Data, seed: int, time_limit: float | None) -> dict[str, Any]:
        """What `Worker.run` gives, from the worker of this thread."""
        if not hasattr(self._own, "worker"):
            self._own.worker = Worker()
            self._workers.append(self._own.worker)
        if self._closed:
            return {"status": FAILED, "reason": "interrupted"}
        outcome: dict[str, Any] = self._own.worker.run(method, data, seed, time_limit)
        return outcome

    def close(self) -> None:
        """End all processes, whatever they are at."""
        self._closed = True
        for worker in self._workers:
            worker.close()


def serve() -> None:
    """Answer requests on standard input until it ends: the child's side of `Worker`."""
    threading.Thread(target=_end_with, args=[int(sys.argv[1])], daemon=True).start()
    warm: set[str] = set()
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)  # what a library prints must not mix with the replies
        while True:
            try:
                method, data, seed = pickle.load(sys.stdin.buffer)
            except EOFError:
                os._exit(0)
            answer = _answer(method, data, seed, warm, replies)
            pickle.dump(answer, replies)
            replies.flush()


def _answer(method: Method, data: Data, seed: int, warm: set[str], replies: IO[bytes]) -> dict[str, Any]:
    """Load what is needed, say so, and fit."""
    from threadpoolctl import threadpool_limits

    said = False
    try:
        with threadpool_limits(1):
            if method.label not in warm:
                method.warm_up()
                warm.add(method.label)
            replies.write(READY)
            replies.flush()
            said = True
            return {"status": OK} | method.fit(data, seed)
    except Exception as error:  # whatever a method raises is its result
        traceback.print_exc()
        if not said:
            replies.write(READY)
        return {"status": FAILED, "reason": f"{type(error).__name__}: {' '.join(str(error).split())}"[:SHOWN]}


def _end_with(parent: int) -> None:
    """Leave when the parent is gone: nobody would read what comes out."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
