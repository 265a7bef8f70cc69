"""How is a method ended that runs too long? In a process of its own, which can be killed."""

import os
import pickle
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from daguerreotype._lib.typing import FloatArray

if TYPE_CHECKING:
    from daguerreotype.baselines.base import Baseline, Learned

READY = b"."
CODE = "from daguerreotype.baselines.limit import serve; serve()"


class TimeLimitError(TimeoutError):
    """A baseline took longer than its ``time_limit``."""


def learn_in_child(
    baseline: "Baseline", X: FloatArray, rng: np.random.Generator, limit: float
) -> tuple["Learned", float, float]:
    """What ``baseline.timed(X, rng)`` gives, from a new process that is killed after ``limit`` seconds.

    The clock starts when the process has imported its libraries and read the data. A plain subprocess rather than
    multiprocessing: a fork would inherit locks of threads, a spawn would run the user's script again.
    """
    name = type(baseline).__name__
    child = subprocess.Popen(
        [sys.executable, "-c", CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
    )
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        with child.stdin as pipe:
            pickle.dump((baseline, X, rng), pipe)
        child.stdin = None  # or communicate would flush what is closed
        child.stdout.read(len(READY))
        reply, trouble = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise TimeLimitError(
            f"{name} did not finish within time_limit={limit:g} seconds on {X.shape[0]} rows and {X.shape[1]} "
            "columns. Raise time_limit, or set it to None."
        ) from None
    except BrokenPipeError:
        reply, trouble = b"", child.stderr.read() if child.stderr is not None else b""
    finally:
        child.kill()
        child.wait()
    if not reply:
        last = trouble.decode(errors="replace").strip().splitlines()[-1:] or ["it left no message"]
        raise RuntimeError(f"{name} ended with exit code {child.returncode}: {last[0]}")
    result, error, story = pickle.loads(reply)
    if error is not None:
        error.add_note(story)
        raise error
    timed: tuple[Learned, float, float] = result
    return timed


def serve() -> None:
    """Answer one request on standard input: the child's side of `learn_in_child`."""
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)  # what a library prints must not mix with the reply
        _answer(sys.stdin.buffer, replies)
    os._exit(0)  # the clock still runs: what an interpreter tidies up as it ends is of no use here


def _answer(requests: BinaryIO, replies: BinaryIO) -> None:
    """Say when ready, then send (result, error, story of the error)."""
    baseline, X, rng = pickle.load(requests)
    baseline.load_libraries()
    replies.write(READY)
    replies.flush()
    try:
        answer: tuple[Any, Exception | None, str] = baseline.timed(X, rng), None, ""
    except Exception as error:
        answer = None, _picklable(error), traceback.format_exc()
    pickle.dump(answer, replies)


def _picklable(error: Exception) -> Exception:
    """The error itself where it survives pickling, else one with the same words."""
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
        return copy
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
