"""Worker processes of a campaign: forked from one that has everything loaded, and ended when they hang."""

import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeAlias

from fuzz.part import BrokenError, Case, keep_quiet

LIFE = 400  # cases of one worker, so that a leak does not add up
PASSED, FAILED = "passed", "failed"
Job: TypeAlias = tuple[str, int, Case]  # part, number, case


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes
    ----------
    verdict : {"passed", "failed"}
        Whether all properties held.
    word : str
        How it ended: a word of the part, or the property that failed.
    text : str
        All there is to say of a failure.
    """

    verdict: str
    word: str
    text: str = ""


def try_case(run: Callable[[Case], str], case: Case) -> Outcome:
    """Run a case in this process."""
    try:
        return Outcome(PASSED, run(case))
    except BrokenError as failure:
        return Outcome(FAILED, str(failure).split("\n")[0][:200], str(failure))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        word = f"unexpected {type(error).__name__} in {Path(where.filename).name}, {where.name}: {error}"
        return Outcome(FAILED, word.split("\n")[0][:200], traceback.format_exc())


class Worker:
    """A forked process that tries one case after the other."""

    def __init__(self, parts: dict[str, Any]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        os.chmod(self._folder.name, 0o755)  # for children that give up their rights
        self.process = context.Process(target=_serve, args=(theirs, self.connection, parts, self._folder.name))
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.deadline = 0.0
        self.n_done = 0

    def give(self, job: Job, seconds: float) -> None:
        """Begin with a case."""
        self.job, self.deadline = job, time.monotonic() + seconds
        self.connection.send(job)

    def take(self) -> Outcome:
        """The outcome that has arrived; that of a worker that died says so."""
        try:
            outcome: Outcome = self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return Outcome(FAILED, f"the process died with status {self.process.exitcode}")
        self.n_done += 1
        return outcome

    def end(self) -> None:
        """End the process and all that it started, and remove what they left."""
        self.connection.close()
        self.process.kill()
        for entry in Path("/proc").glob("[0-9]*"):  # children of cases are in groups of their own
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry.name)) == self.process.pid:
                    os.kill(int(entry.name), signal.SIGKILL)
        self.process.join()
        self._folder.cleanup()


def _serve(connection: Connection, other_end: Connection, parts: dict[str, Any], folder: str) -> None:
    """Try cases until somebody ends this process, or the parent is gone. Ctrl-C is for the parent."""
    other_end.close()
    os.setsid()  # by which all that it starts can be found
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_quiet(os.open(os.devnull, os.O_WRONLY))
    tempfile.tempdir = folder
    os.chdir(folder)
    while True:
        try:
            part, _, case = connection.recv()
        except EOFError:
            return
        connection.send(try_case(parts[part].run, case))


def run_cases(
    jobs: Iterator[Job], parts: dict[str, Any], n_workers: int, on_outcome: Callable[[Job, Outcome], None]
) -> None:
    """Try all ``jobs``, so many at a time; ``on_outcome`` is told of each as it ends."""
    idle: list[Worker] = []
    busy: list[Worker] = []
    try:
        while True:
            while len(busy) < n_workers:
                job = next(jobs, None)
                if job is None:
                    break
                worker = idle.pop() if idle else Worker(parts)
                worker.give(job, parts[job[0]].seconds)
                busy.append(worker)
            if not busy:
                return
            until = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.connection for worker in busy], max(until, 0.0))
            for worker in list(busy):
                assert worker.job is not None
                hangs = worker.connection not in ready and time.monotonic() >= worker.deadline
                if worker.connection not in ready and not hangs:
                    continue
                busy.remove(worker)
                seconds = parts[worker.job[0]].seconds
                outcome = Outcome(FAILED, f"hangs: no end after {seconds:g} seconds") if hangs else worker.take()
                on_outcome(worker.job, outcome)
                if hangs or not worker.process.is_alive() or worker.n_done >= LIFE:
                    worker.end()
                else:
                    idle.append(worker)
    finally:
        for worker in idle + busy:
            worker.end()
